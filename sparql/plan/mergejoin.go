// Merge joins from the steps of a join order.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// merge begins a plan with a merge join.
func (b *patternJoin) merge(step *joinStep) stream {
	q := b.exec
	m := &exec.MergeJoin{
		Exec: q, Pick: make([]int, len(step.list)), Empty: make([]string, q.Width),
		Holder: q.Account.NewHolder("merge join"),
	}
	out := stream{rows: step.rows, sequence: true}
	var inputs []*explain.Plan
	// Each pattern must be scanned in an order with its rows in the sequence of the variable.
	for _, i := range step.list {
		one := &b.list[i]
		pat := *one.pat
		pat.Order = one.sortedBy(step.slot)
		c := &exec.Cursor{Pattern: &pat}
		c.Reader = q.NewReader(c.Pattern)
		c.Access = pat.Access(pat.Mask(m.Empty))
		c.Position = pat.Order.Positions()[c.Access.Prefix]
		scanned := candidate{pat: c.Pattern, text: one.text}
		c.Plan = newPlan("index scan", scanned.accessText(algebra.Set{}), one.rows)
		inputs = append(inputs, c.Plan)
		for slot := range one.vars.All {
			out.bind(slot)
		}
		m.Cursors = append(m.Cursors, c)
	}
	// With three scans and more, the join leaps.
	name := "merge join"
	if len(step.list) > 2 {
		name = "leapfrog join"
	}
	out = b.traced(out, m, name, b.names(algebra.SetOf(step.slot)), inputs...)
	m.SetPlan(out.plan)
	return out
}
