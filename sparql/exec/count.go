package exec

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// countRange gives one row with the number of solutions of a pattern.
type countRange struct {
	q      *query
	pat    *pattern
	access *access
	plain  bool // every row of the store is one
	slots  []int
	plan   *Plan
	done   bool
}

func (c *countRange) next(out *batch) error {
	if c.done {
		return nil
	}
	c.done = true
	var total int64
	ranges, _ := c.pat.ranges(nil, nil, c.access, nil)
	for _, r := range ranges {
		count := c.rows
		if c.plain {
			count = c.q.src.Count
		}
		n, err := count(c.q.ctx, r)
		if err != nil {
			return err
		}
		total += n
	}
	row := out.add(make([]string, c.q.width), 0)
	for _, slot := range c.slots {
		row[slot] = encode(expr.FromInt(total).Term())
	}
	return nil
}

// rows counts the rows of a range that match, each triple of a merge of graphs
// once.
func (c *countRange) rows(ctx context.Context, r triple.Range) (n int64, err error) {
	rows, err := c.q.src.Scan(ctx, r, false)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var before []byte
	reads := 0
	for rows.Next() {
		if reads++; reads%batchRows == 0 {
			if err := c.q.check(); err != nil {
				return 0, err
			}
		}
		key := rows.Key()
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return 0, err
		}
		if !c.pat.accept(c.access, &terms) {
			continue
		}
		if c.pat.graphs.merged() {
			bare := bareKey(key, &terms)
			if bytes.Equal(bare, before) {
				continue
			}
			before = append(before[:0], bare...)
		}
		n++
	}
	c.plan.read(reads)
	return n, rows.Err()
}

func (c *countRange) reset() { c.done = false }
func (c *countRange) close() {}

// termRuns gives each term of a variable once, from an order that has its rows
// together; with counts also how many rows there are of it.
type termRuns struct {
	q      *query
	cursor cursor
	slot   int
	counts []int // slots; empty where nothing is counted
	text   string

	empty  []string
	open   bool
	soft   softLimit
	term   []byte
	target []byte
}

// countedRun is how many rows of a term are counted one by one before the store
// is asked.
const countedRun = 64

func (t *termRuns) next(out *batch) error {
	c := &t.cursor
	if !t.open {
		t.open = true
		if err := c.begin(t.q); err != nil {
			return err
		}
	}
	most := t.soft.next()
	for steps := 0; out.n < most && !out.full() && len(c.term) > 0; steps++ {
		if steps%batchRows == 0 {
			if err := t.q.check(); err != nil {
				return err
			}
		}
		found, ok, err := c.reader.read(c.access, c.rows.Key(), c.rows.Value())
		if err != nil {
			return err
		}
		if !ok {
			if err := c.next(); err != nil {
				return err
			}
			continue
		}
		row := out.add(t.empty, 0)
		row[t.slot] = found[c.position]
		out.weigh(row[t.slot])
		t.term = append(t.term[:0], c.term...)
		if len(t.counts) == 0 {
			err = t.pass()
		} else {
			err = t.count(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pass moves behind the rows of the term.
func (t *termRuns) pass() error {
	t.target = append(append(t.target[:0], t.term...), 0, 2)
	return t.cursor.leap(t.target)
}

// count counts the rows of the term and moves behind them.
func (t *termRuns) count(row []string) error {
	c := &t.cursor
	n := int64(0)
	for ; n < countedRun && bytes.Equal(c.term, t.term); n++ {
		if err := c.next(); err != nil {
			return err
		}
	}
	if bytes.Equal(c.term, t.term) {
		lo := append(bytes.Clone(c.key[:c.prefix]), t.term...)
		var err error
		if n, err = t.q.src.Count(t.q.ctx, triple.Range{Lo: lo, Hi: append(bytes.Clone(lo), 0, 2)}); err != nil {
			return err
		}
		if err := t.pass(); err != nil {
			return err
		}
	}
	for _, slot := range t.counts {
		row[slot] = encode(expr.FromInt(n).Term())
	}
	return nil
}

func (t *termRuns) reset() { t.close(); t.open, t.soft = false, 0 }
func (t *termRuns) close() { t.cursor.close() }

// countTerms gives one row with the number of terms.
type countTerms struct {
	runs *termRuns
	slot int
	got  *batch
	done bool
}

func (c *countTerms) next(out *batch) error {
	if c.done {
		return nil
	}
	c.done = true
	total := int64(0)
	for {
		c.got.clear()
		if err := c.runs.next(c.got); err != nil {
			return err
		}
		if c.got.n == 0 {
			break
		}
		total += int64(c.got.n)
	}
	out.add(c.runs.empty, 0)[c.slot] = encode(expr.FromInt(total).Term())
	return nil
}

func (c *countTerms) reset() { c.done = false; c.runs.reset() }
func (c *countTerms) close() { c.runs.close() }
