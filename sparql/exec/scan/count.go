// Counts and distinct terms of a single pattern, read from ranges.

package scan

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// CountRange gives one row with the number of solutions of a pattern.
type CountRange struct {
	Exec    *exec.Execution
	Pattern *pattern.Pattern
	Access  *pattern.Access
	Plain   bool // every row of the store is one
	Slots   []int
	Plan    *explain.Plan
	done    bool
}

func (c *CountRange) Next(out *solution.Batch) error {
	if c.done {
		return nil
	}
	c.done = true
	var total int64
	ranges, _ := c.Pattern.Ranges(nil, nil, c.Access, nil)
	for _, r := range ranges {
		count := c.rows
		if c.Plain {
			count = c.Exec.Source.Count
		}
		n, err := count(c.Exec.Ctx, r)
		if err != nil {
			return err
		}
		total += n
	}
	row := out.Add(make([]string, c.Exec.Width), 0)
	for _, slot := range c.Slots {
		row[slot] = solution.Encode(expr.FromInt(total).Term())
	}
	return nil
}

// rows counts the matching rows of a range. If graphs are merged, each triple counts once.
func (c *CountRange) rows(ctx context.Context, r triple.Range) (n int64, err error) {
	// The rows must be read, because the source's count includes mismatches, and a triple once
	// for each graph.
	rows, err := c.Exec.Source.Scan(ctx, r, false)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	// A triple of several graphs has its rows one after the other, because the graph is last in
	// the key. So it is enough to compare a row with the one before.
	var before []byte
	reads := 0
	for rows.Next() {
		if reads++; reads%solution.BatchRows == 0 {
			if err := c.Exec.Check(); err != nil {
				return 0, err
			}
		}
		key, _ := rows.Row()
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return 0, err
		}
		if !c.Pattern.Accept(c.Access, &terms) {
			continue
		}
		// If graphs are merged, a triple must count once.
		if c.Pattern.Graphs.Merged() {
			bare := pattern.BareKey(key, &terms)
			if bytes.Equal(bare, before) {
				continue
			}
			before = append(before[:0], bare...)
		}
		n++
	}
	c.Plan.AddReads(reads)
	return n, rows.Err()
}

func (c *CountRange) Reset() { c.done = false }
func (c *CountRange) Close() {}

// TermRuns gives each term of a variable once. The order must have the rows of a term together.
// With counts it also gives the number of rows of each.
type TermRuns struct {
	Exec   *exec.Execution
	Cursor Cursor
	Slot   int
	Counts []int // slots; empty if nothing is counted

	Empty  []string
	open   bool
	soft   exec.SoftLimit
	term   []byte
	target []byte
}

// countedRun is how many rows of a term are counted one by one. If a term has more, the store
// counts them.
const countedRun = 64

func (t *TermRuns) Next(out *solution.Batch) error {
	c := &t.Cursor
	if !t.open {
		t.open = true
		if err := c.begin(t.Exec); err != nil {
			return err
		}
	}
	// 1. Give few rows at first, because a LIMIT above may want no more.
	most := t.soft.Next()
	for steps := 0; out.Len < most && !out.Full() && len(c.term) > 0; steps++ {
		if steps%solution.BatchRows == 0 {
			if err := t.Exec.Check(); err != nil {
				return err
			}
		}
		// 2. Take the first matching row of the term.
		key, value := c.rows.Row()
		found, ok, err := c.Reader.Read(c.Access, key, value)
		if err != nil {
			return err
		}
		if !ok {
			if err := c.next(); err != nil {
				return err
			}
			continue
		}
		row := out.Add(t.Empty, 0)
		row[t.Slot] = found[c.Position]
		out.AddWeight(row[t.Slot])
		// 3. Pass or count the other rows of the term.
		t.term = append(t.term[:0], c.term...)
		if len(t.Counts) == 0 {
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
func (t *TermRuns) pass() error {
	t.target = append(append(t.target[:0], t.term...), 0, 2)
	return t.Cursor.leap(t.target)
}

// count counts the rows of the term and moves behind them.
func (t *TermRuns) count(row []string) error {
	c := &t.Cursor
	n := int64(0)
	for ; n < countedRun && bytes.Equal(c.term, t.term); n++ {
		if err := c.next(); err != nil {
			return err
		}
	}
	if bytes.Equal(c.term, t.term) {
		lo := append(bytes.Clone(c.key[:c.prefix]), t.term...)
		var err error
		if n, err = t.Exec.Source.Count(t.Exec.Ctx, triple.Range{Lo: lo, Hi: append(bytes.Clone(lo), 0, 2)}); err != nil {
			return err
		}
		if err := t.pass(); err != nil {
			return err
		}
	}
	for _, slot := range t.Counts {
		row[slot] = solution.Encode(expr.FromInt(n).Term())
	}
	return nil
}

func (t *TermRuns) Reset() { t.Close(); t.open, t.soft = false, 0 }
func (t *TermRuns) Close() { t.Cursor.close() }

// CountTerms gives one row with the number of terms.
type CountTerms struct {
	Runs *TermRuns
	Slot int
	Got  *solution.Batch
	done bool
}

func (c *CountTerms) Next(out *solution.Batch) error {
	if c.done {
		return nil
	}
	c.done = true
	total := int64(0)
	for {
		c.Got.Clear()
		if err := c.Runs.Next(c.Got); err != nil {
			return err
		}
		if c.Got.Len == 0 {
			break
		}
		total += int64(c.Got.Len)
	}
	out.Add(c.Runs.Empty, 0)[c.Slot] = solution.Encode(expr.FromInt(total).Term())
	return nil
}

func (c *CountTerms) Reset() { c.done = false; c.Runs.Reset() }
func (c *CountTerms) Close() { c.Runs.Close() }
