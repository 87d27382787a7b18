// Merge joins from the steps of a join order.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/scan"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// merge begins a plan with a merge join.
func (b *patternJoin) merge(step *order.Step) Stream {
	q := b.Exec
	m := &scan.MergeJoin{
		Exec: q, Pick: make([]int, len(step.List)), Empty: make([]string, q.Width),
		Holder: q.Account.NewHolder("merge join"),
	}
	out := Stream{Rows: step.Rows, Sequence: true}
	var inputs []*explain.Plan
	// Each pattern must be scanned in an order with its rows in the sequence of the variable.
	for _, i := range step.List {
		one := &b.list[i]
		pat := *one.Pat
		pat.Order = one.SortedBy(step.Slot)
		c := &scan.Cursor{Pattern: &pat}
		c.Reader = q.NewReader(c.Pattern)
		c.Access = pat.Access(pat.Mask(m.Empty))
		c.Position = pat.Order.Positions()[c.Access.Prefix]
		scanned := cost.Candidate{Pat: c.Pattern, Text: one.Text}
		c.Plan = NewPlan("index scan", scanned.AccessText(algebra.Set{}), one.Rows)
		inputs = append(inputs, c.Plan)
		for slot := range one.Vars.All {
			out.Bind(slot)
		}
		m.Cursors = append(m.Cursors, c)
	}
	// With three scans and more, the join leaps.
	name := "merge join"
	if len(step.List) > 2 {
		name = "leapfrog join"
	}
	out = b.Traced(out, m, name, b.VarsText(algebra.SetOf(step.Slot)), inputs...)
	m.SetPlan(out.Plan)
	return out
}
