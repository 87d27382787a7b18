// The merge join of scans in the sequence of one variable.

package scan

import (
	"bytes"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// MergeJoin joins patterns on one shared variable, each scanned in the sequence of its terms.
// All scans leap to the greatest current term, until they are at the same one (Veldhuizen,
// "Leapfrog Triejoin", section 3). Then their rows of it are multiplied.
type MergeJoin struct {
	Exec *exec.Execution
	memory.Holder

	Cursors []*Cursor
	open    bool
	ended   bool
	term    []byte // the last common term of all cursors
	found   [4]string
	has     bool  // found is a row of the last cursor, to be multiplied
	Pick    []int // of the groups of all cursors but the last
	steps   int
	Empty   []string
	soft    exec.SoftLimit
}

func (m *MergeJoin) Next(out *solution.Batch) error {
	// 1. Move all scans to their first rows. If one has none, the join has none.
	if !m.open {
		m.open = true
		for _, c := range m.Cursors {
			if err := c.begin(m.Exec); err != nil {
				return err
			}
			m.ended = m.ended || len(c.term) == 0
		}
	}
	most := m.soft.Next()
	for out.Len < most && !out.Full() && !m.ended {
		if m.steps++; m.steps%solution.BatchRows == 0 {
			if err := m.Exec.Check(); err != nil {
				return err
			}
		}
		// 2. Multiply the row of the last scan with the groups of the others.
		if m.has {
			m.multiply(out)
			continue
		}
		// 3. Take the next row of the term. The last scan needs no group, because each of its
		// rows is used once.
		last := m.Cursors[len(m.Cursors)-1]
		if len(m.term) > 0 && bytes.Equal(last.term, m.term) {
			if err := m.read(last); err != nil {
				return err
			}
			continue
		}
		// 4. Move to the next common term, and take the groups of it.
		if err := m.align(); err != nil || m.ended {
			return err
		}
		if err := m.groups(); err != nil {
			return err
		}
	}
	return nil
}

// align moves all cursors to their next common term.
func (m *MergeJoin) align() error {
	target := append(m.term[:0], m.Cursors[0].term...)
	// Invariant: same scans before i are at target. A scan beyond it raises the target.
	for same, i := 0, 0; same < len(m.Cursors); i = (i + 1) % len(m.Cursors) {
		c := m.Cursors[i]
		if len(c.term) > 0 && bytes.Compare(c.term, target) < 0 {
			if err := c.leap(target); err != nil {
				return err
			}
			if m.steps++; m.steps%solution.BatchRows == 0 {
				if err := m.Exec.Check(); err != nil {
					return err
				}
			}
		}
		// If one scan is at its end, no further term is common.
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
func (m *MergeJoin) groups() error {
	m.Free()
	for _, c := range m.Cursors[:len(m.Cursors)-1] {
		c.group = c.group[:0]
		for bytes.Equal(c.term, m.term) {
			key, value := c.rows.Row()
			found, ok, err := c.Reader.Read(c.Access, key, value)
			if err != nil {
				return err
			}
			if ok {
				// A group is counted only if it is large, because there are few cursors.
				if len(c.group) >= solution.BatchRows || large(&found) {
					if err := m.Grow(groupRow(&found)); err != nil {
						return err
					}
				}
				c.group = append(c.group, found)
			}
			// The query may have ended: a group can have millions of rows.
			if m.steps++; m.steps%solution.BatchRows == 0 {
				if err := m.Exec.Check(); err != nil {
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

// large reports whether a binding of a found row is large.
func large(found *[4]string) bool {
	return slices.ContainsFunc(found[:], func(binding string) bool { return len(binding) >= solution.LargeBinding })
}

// groupRow returns the bytes of a found row. Most of its memory is shared with others.
func groupRow(found *[4]string) int {
	n := 64
	for _, cell := range found {
		n += len(cell)
	}
	return n
}

// read takes a row of the last cursor.
func (m *MergeJoin) read(c *Cursor) error {
	var err error
	key, value := c.rows.Row()
	if m.found, m.has, err = c.Reader.Read(c.Access, key, value); err != nil {
		return err
	}
	clear(m.Pick)
	return c.next()
}

// multiply joins the row with the rows of the groups, until out is full.
func (m *MergeJoin) multiply(out *solution.Batch) {
	last := len(m.Cursors) - 1
	for !out.Full() {
		row := out.Add(m.Empty, 0)
		for i, c := range m.Cursors {
			found := &m.found
			if i < last {
				found = &c.group[m.Pick[i]]
			}
			for _, position := range c.Access.Free {
				row[c.Pattern.Places[position].Slot] = found[position]
				out.AddWeight(found[position])
			}
		}
		i := 0
		for ; i < last; i++ {
			if m.Pick[i]++; m.Pick[i] < len(m.Cursors[i].group) {
				break
			}
			m.Pick[i] = 0
		}
		if i == last {
			m.has = false
			return
		}
	}
}

func (m *MergeJoin) Reset() {
	m.Close()
	m.open, m.ended, m.has, m.term, m.soft = false, false, false, m.term[:0], 0
}

func (m *MergeJoin) Close() {
	for _, c := range m.Cursors {
		c.close()
	}
	m.Free()
}
