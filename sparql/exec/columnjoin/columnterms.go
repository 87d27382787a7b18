// Operators that answer from a column alone: the keys of its lists, and counts.

package columnjoin

import (
	"math"

	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// Terms gives each key of lists once, in ascending order, as a number (see
// [solution.AppendNumber]). With counts it also gives how many values each has.
type Terms struct {
	Exec   *exec.Execution
	Lists  *columns.Lists
	Slot   int   // of the key
	Counts []int // slots of the numbers
	Plan   *explain.Plan

	keys columns.KeyRange
	open bool
	soft exec.SoftLimit
}

func (t *Terms) Next(out *solution.Batch) error {
	if err := t.Exec.Check(); err != nil {
		return err
	}
	if !t.open {
		t.open, t.keys = true, t.Lists.All()
	}
	empty := make([]string, t.Exec.Width)
	for most := t.soft.Next(); out.Len < most && !out.Full(); {
		key, ok := t.Lists.Next(&t.keys)
		if !ok {
			break
		}
		row := out.Add(empty, 0)
		row[t.Slot] = t.Exec.Arena.Number(t.Lists.Key(key))
		lo, hi := t.Lists.Bounds(key)
		for _, slot := range t.Counts {
			row[slot] = solution.Encode(expr.FromInt(int64(hi - lo)).Term())
		}
	}
	t.Plan.AddReads(out.Len)
	return nil
}

func (t *Terms) Reset() { t.open, t.soft = false, 0 }
func (t *Terms) Close() {}

// CountKeys counts the values of the keys of lists for which conditions hold. It gives one row.
type CountKeys struct {
	Exec       *exec.Execution
	Lists      *columns.Lists
	Spans      [][2]uint32 // of the keys, see [Step]
	Slot       int         // of a key in the conditions
	Conditions []*expr.Expr
	Env        *expr.Env
	Slots      []int // of the number
	Plan       *explain.Plan

	view solution.View
	row  []string
	done bool
}

func (k *CountKeys) Next(out *solution.Batch) error {
	if k.done {
		return nil
	}
	k.done = true
	k.row = make([]string, k.Exec.Width)
	spans := k.Spans
	if spans == nil {
		spans = [][2]uint32{{0, math.MaxUint32}}
	}
	total := 0
	for _, s := range spans {
		n, err := k.count(k.Lists.KeysBetween(s[0], s[1]))
		if err != nil {
			return err
		}
		total += n
	}
	row := out.Add(make([]string, k.Exec.Width), 0)
	for _, slot := range k.Slots {
		row[slot] = solution.Encode(expr.FromInt(int64(total)).Term())
	}
	return nil
}

// count returns the number of values of some keys.
func (k *CountKeys) count(keys columns.KeyRange) (n int, err error) {
	for {
		i, ok := k.Lists.Next(&keys)
		if !ok {
			return n, nil
		}
		k.Plan.AddReads(1)
		if err := k.Exec.Tick(); err != nil {
			return n, err
		}
		k.row[k.Slot] = k.Exec.Arena.Number(k.Lists.Key(i))
		passes, err := exec.Holds(k.Env, k.Conditions, k.view.MoveTo(k.row, k.Exec.Terms), k.Plan.Conditions)
		if err != nil {
			return n, err
		}
		if passes {
			lo, hi := k.Lists.Bounds(i)
			n += hi - lo
		}
	}
}

// SetPlan makes k count in a plan.
func (k *CountKeys) SetPlan(p *explain.Plan) { k.Plan = p.WithConditions(len(k.Conditions)) }

func (k *CountKeys) Reset() { k.done = false }
func (k *CountKeys) Close() {}

// NumberRow gives one row with a number that the planner knows.
type NumberRow struct {
	Exec   *exec.Execution
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
