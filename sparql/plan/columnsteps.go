// OPTIONAL and EXISTS of one pattern over a column: a step of the join below.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// columnStep adds a step of a kind to the join over columns that makes the rows of in, or to a new one
// over in. n must be one pattern over a column, linked with in by a term or a variable that each row
// binds. Its other end must be bound, too, or not occur in the rows. ok is false if n is anything else.
func (c *compiler) columnStep(kind exec.StepKind, name string, n algebra.Node, in stream, g pattern.Graphs) (out stream, ok bool) {
	// 1. The pattern, and which of its ends are bound.
	bgp, isBGP := n.(*algebra.BGP)
	if !isBGP || len(bgp.Patterns) != 1 || c.columns == nil {
		return in, false
	}
	p := bgp.Patterns[0]
	pat := newPattern(p.Subject, p.Predicate, p.Object, g, nil)
	col := c.column(pat)
	if col == nil {
		return in, false
	}
	step := exec.ColumnStep{Kind: kind, Lists: &col.BySubject}
	subject, okSubject := c.stepEnd(&col.subject, p.Subject, in, col.LongSubjects, triple.SPO)
	object, okObject := c.stepEnd(&col.object, p.Object, in, col.LongObjects, triple.OSP)
	if !okSubject || !okObject || subject.Free && object.Free {
		return in, false
	}
	step.Key, step.Value = subject, object
	if subject.Free {
		step.Lists, step.Key, step.Value = &col.ByObject, object, subject
	}
	// 2. Add the step.
	out = in
	text := func() string { return name + " { " + c.body.Scope.Pattern(p) + " }" }
	if in.join == nil {
		j := exec.NewColumnJoin(c.query, in.op, nil, nil, nil)
		out = c.traced(out, j, "column join", text, in.plan)
		j.Plan, out.join = out.plan, j
	} else {
		before := out.plan.Detail
		out.plan.Detail = func() string { return before() + " . " + text() }
	}
	out.join.Append(step, kind == exec.OptionalStep)
	if kind == exec.OptionalStep && step.Value.Free {
		out.possible = out.possible.With(step.Value.Slot)
		if step.Value.Long == 0 {
			out.numbers = out.numbers.With(step.Value.Slot)
		}
	}
	return out, true
}

// stepEnd returns an end of a pattern whose variable is bound by each row of in, or by none.
func (c *compiler) stepEnd(e *columnEnd, at algebra.VarOrTerm, in stream, long bool, order triple.Order) (end exec.ColumnEnd, ok bool) {
	end = exec.ColumnEnd{Slot: at.Slot, Number: e.number}
	if !at.IsVar() {
		return end, true
	}
	end.Free = !in.possible.Has(at.Slot)
	if end.Free && long {
		end.Long = order
	}
	return end, end.Free || in.certain.Has(at.Slot)
}
