package exec

import (
	"bytes"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/triple"
)

// mergeJoin joins patterns that share one variable, each scanned in the sequence
// of its terms. All scans leap to the greatest term that one of them is at, until
// they are at the same (Veldhuizen, "Leapfrog Triejoin", section 3); then what
// they have of it is multiplied.
type mergeJoin struct {
	q *query
	holder

	cursors []*cursor
	open    bool
	ended   bool
	term    []byte // the term that all cursors were aligned at
	found   [4]string
	has     bool  // found is a row of the last cursor, to be multiplied
	pick    []int // of the groups of all cursors but the last
	steps   int
	empty   []string
	soft    softLimit
}

// cursor is the scan of one pattern.
type cursor struct {
	pat      *pattern
	reader   reader
	access   *access
	position int // of the variable
	plan     *Plan
	ranges   []triple.Range // ascending
	rows     Rows
	at       int    // the range that the row is in
	key      []byte // of seeks: the range's beginning up to the variable
	prefix   int
	term     []byte // of the row, in its key form; empty at the end
	near     int    // how many steps to try before a seek
	group    [][4]string
}

func (m *mergeJoin) next(out *batch) error {
	if !m.open {
		m.open = true
		for _, c := range m.cursors {
			if err := c.begin(m.q); err != nil {
				return err
			}
			m.ended = m.ended || len(c.term) == 0
		}
	}
	most := m.soft.next()
	for out.n < most && !out.full() && !m.ended {
		if m.steps++; m.steps%batchRows == 0 {
			if err := m.q.check(); err != nil {
				return err
			}
		}
		if m.has {
			m.multiply(out)
			continue
		}
		last := m.cursors[len(m.cursors)-1]
		if len(m.term) > 0 && bytes.Equal(last.term, m.term) {
			if err := m.read(last); err != nil {
				return err
			}
			continue
		}
		if err := m.align(); err != nil || m.ended {
			return err
		}
		if err := m.groups(); err != nil {
			return err
		}
	}
	return nil
}

// align moves all cursors to the next term that they have in common.
func (m *mergeJoin) align() error {
	target := append(m.term[:0], m.cursors[0].term...)
	for same, i := 0, 0; same < len(m.cursors); i = (i + 1) % len(m.cursors) {
		c := m.cursors[i]
		if len(c.term) > 0 && bytes.Compare(c.term, target) < 0 {
			if err := c.leap(target); err != nil {
				return err
			}
			if m.steps++; m.steps%batchRows == 0 {
				if err := m.q.check(); err != nil {
					return err
				}
			}
		}
		if len(c.term) == 0 {
			m.term, m.ended = target, true
			return nil
		}
		if bytes.Equal(c.term, target) {
			same++
			continue
		}
		target = append(target[:0], c.term...)
		same = 1
	}
	m.term = target
	return nil
}

// groups takes the rows of the term from all cursors but the last.
func (m *mergeJoin) groups() error {
	m.free()
	for _, c := range m.cursors[:len(m.cursors)-1] {
		c.group = c.group[:0]
		for bytes.Equal(c.term, m.term) {
			found, ok, err := c.reader.read(c.access, c.rows.Key(), c.rows.Value())
			if err != nil {
				return err
			}
			if ok {
				if len(c.group) >= batchRows {
					if err := m.grow(groupRow(&found)); err != nil {
						return err
					}
				}
				c.group = append(c.group, found)
			}
			if m.steps++; m.steps%batchRows == 0 {
				if err := m.q.check(); err != nil {
					return err
				}
			}
			if err := c.next(); err != nil {
				return err
			}
		}
		if len(c.group) == 0 { // of other graphs only
			m.term = m.term[:0]
			return nil
		}
	}
	return nil
}

// groupRow is what a found row takes, of which most is shared with others.
func groupRow(found *[4]string) int {
	n := 64
	for _, cell := range found {
		n += len(cell)
	}
	return n
}

// read takes a row of the last cursor.
func (m *mergeJoin) read(c *cursor) error {
	var err error
	if m.found, m.has, err = c.reader.read(c.access, c.rows.Key(), c.rows.Value()); err != nil {
		return err
	}
	clear(m.pick)
	return c.next()
}

// multiply gives the row with what the groups have, until out is full.
func (m *mergeJoin) multiply(out *batch) {
	last := len(m.cursors) - 1
	for !out.full() {
		row := out.add(m.empty, 0)
		for i, c := range m.cursors {
			found := &m.found
			if i < last {
				found = &c.group[m.pick[i]]
			}
			for _, position := range c.access.free {
				row[c.pat.place[position].slot] = found[position]
				out.weigh(found[position])
			}
		}
		i := 0
		for ; i < last; i++ {
			if m.pick[i]++; m.pick[i] < len(m.cursors[i].group) {
				break
			}
			m.pick[i] = 0
		}
		if i == last {
			m.has = false
			return
		}
	}
}

func (m *mergeJoin) reset() {
	m.close()
	m.open, m.ended, m.has, m.term, m.soft = false, false, false, m.term[:0], 0
}

func (m *mergeJoin) close() {
	for _, c := range m.cursors {
		c.close()
	}
	m.free()
}

// begin moves to the first row.
func (c *cursor) begin(q *query) error {
	c.ranges, _ = c.pat.ranges(nil, nil, c.access, nil)
	c.at, c.near, c.term = 0, nearLeaps, nil
	c.reader.spo = c.reader.spo[:0]
	if len(c.ranges) == 0 {
		return nil
	}
	hull := triple.Range{Lo: c.ranges[0].Lo, Hi: c.ranges[len(c.ranges)-1].Hi}
	whole := *c.access
	whole.spans = nil
	prefix, _ := c.pat.ranges(nil, nil, &whole, nil)
	c.key = append(c.key[:0], prefix[0].Lo...)
	c.prefix = len(c.key)
	rows, err := q.src.Scan(q.ctx, hull, false)
	if err != nil {
		return err
	}
	c.rows = rows
	return c.load(rows.Next())
}

const nearLeaps = 8

// next moves to the next row.
func (c *cursor) next() error { return c.load(c.rows.Next()) }

// leap moves to the first row whose term is target or greater: by steps where it
// was near the last times, else by a seek.
func (c *cursor) leap(target []byte) error {
	for step := range c.near + 1 {
		if err := c.next(); err != nil || len(c.term) == 0 {
			return err
		}
		if bytes.Compare(c.term, target) >= 0 {
			if step > 0 || c.near == 0 {
				c.near = min(c.near+2, nearLeaps)
			}
			return nil
		}
	}
	c.near = max(c.near-2, 0)
	c.key = append(c.key[:c.prefix], target...)
	return c.load(c.rows.SeekGE(c.key))
}

// load sets the term of the row that the scan is at, which is in a range, or else
// moves on to the next one.
func (c *cursor) load(ok bool) error {
	c.plan.read(1)
	for ok {
		key := c.rows.Key()
		for c.at < len(c.ranges) && c.ranges[c.at].Hi != nil && bytes.Compare(key, c.ranges[c.at].Hi) >= 0 {
			c.at++
		}
		if c.at == len(c.ranges) {
			break
		}
		if bytes.Compare(key, c.ranges[c.at].Lo) < 0 {
			ok = c.rows.SeekGE(c.ranges[c.at].Lo)
			continue
		}
		_, terms, err := triple.SplitKey(key)
		c.term = terms[c.position]
		return err
	}
	c.term = nil
	return c.rows.Err()
}

func (c *cursor) close() {
	if c.rows != nil {
		_ = c.rows.Close() // what ends here is not read any more
		c.rows = nil
	}
	c.group = nil
}

// merge begins a plan with a merge join.
func (p *planner) merge(step *joinStep) stream {
	q := p.c.query
	m := &mergeJoin{
		q: q, pick: make([]int, len(step.list)), empty: make([]string, q.width),
		holder: holder{account: &q.account, name: "merge join"},
	}
	out := stream{rows: step.rows, sequence: true}
	var inputs []*Plan
	for _, i := range step.list {
		one := &p.list[i]
		pat := *one.pat
		pat.order = one.sortedBy(step.slot)
		c := &cursor{pat: &pat}
		c.reader = reader{q: q, pat: c.pat}
		c.access = pat.access(pat.mask(m.empty))
		c.position = pat.order.Positions()[c.access.prefix]
		scanned := candidate{pat: c.pat, text: one.text}
		c.plan = p.c.plan("index scan", p.c.accessText(&scanned, algebra.Set{}), one.rows)
		inputs = append(inputs, c.plan)
		for _, slot := range one.vars.Slots() {
			out.bind(slot)
		}
		m.cursors = append(m.cursors, c)
	}
	name := "merge join"
	if len(step.list) > 2 {
		name = "leapfrog join"
	}
	out = p.c.traced(out, m, name, "?"+p.c.body.Scope.Name(step.slot), inputs...)
	m.setPlan(out.plan)
	return out
}
