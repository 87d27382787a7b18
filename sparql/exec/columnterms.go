// The keys of a column's lists, with the number of their values.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// ColumnTerms gives each key of lists once, in ascending order, as a number (see
// [solution.AppendNumber]). With counts it also gives how many values each has.
type ColumnTerms struct {
	Exec   *Execution
	Lists  *columns.Lists
	Slot   int   // of the key
	Counts []int // slots of the numbers
	Plan   *explain.Plan

	at   int
	soft softLimit
	buf  []byte
}

func (t *ColumnTerms) Next(out *solution.Batch) error {
	if err := t.Exec.Check(); err != nil {
		return err
	}
	first, empty := t.at, make([]string, t.Exec.Width)
	for most := t.soft.next(); out.Len < most && !out.Full() && t.at < t.Lists.Keys(); t.at++ {
		row := out.Add(empty, 0)
		t.buf = solution.AppendNumber(t.buf[:0], t.Lists.Key(t.at))
		row[t.Slot] = t.Exec.Arena.Copy(t.buf)
		lo, hi := t.Lists.Bounds(t.at)
		for _, slot := range t.Counts {
			row[slot] = solution.Encode(expr.FromInt(int64(hi - lo)).Term())
		}
	}
	t.Plan.AddReads(t.at - first)
	return nil
}

func (t *ColumnTerms) Reset() { t.at, t.soft = 0, 0 }
func (t *ColumnTerms) Close() {}

// NumberRow gives one row with a number that the planner knows.
type NumberRow struct {
	Exec   *Execution
	Number int64
	Slots  []int
	done   bool
}

func (n *NumberRow) Next(out *solution.Batch) error {
	if n.done {
		return nil
	}
	n.done = true
	row := out.Add(make([]string, n.Exec.Width), 0)
	for _, slot := range n.Slots {
		row[slot] = solution.Encode(expr.FromInt(n.Number).Term())
	}
	return nil
}

func (n *NumberRow) Reset() { n.done = false }
func (n *NumberRow) Close() {}
