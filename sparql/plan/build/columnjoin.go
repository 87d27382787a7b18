// The join that reads columns.

package build

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/columnjoin"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/triple"
)

// columnSteps returns how many of the next steps a join over columns does. It ends with the first
// step after which a waiting condition may run.
func (b *patternJoin) columnSteps(steps []order.Step, in Stream) int {
	if in.Start && in.Sorted {
		return 0 // the first pattern is scanned in the sequence of a variable
	}
	certain := in.Certain
	for n := range steps {
		one := &b.list[steps[n].List[0]]
		// Parts of triple terms are taken, and terms are made of parts, before a pattern needs them.
		if b.At.Unfolds != nil && n > 0 && b.unfolded(certain).Overlaps(one.Vars) {
			return n
		}
		if one.Column == nil || steps[n].Method == order.ByEquality && !steps[n].OverColumn || steps[n].Method != order.ByLookup && steps[n].Method != order.ByEquality {
			return n
		}
		// A variable that some rows bind and others do not has no one way to be read.
		for slot := range one.Vars.All {
			if in.Possible.Has(slot) && !in.Certain.Has(slot) {
				return n
			}
		}
		certain = certain.Union(one.Vars)
		if slices.ContainsFunc(b.At.Waiting, func(w *order.Condition) bool {
			return !w.Done && certain.HasEach(w.Uses) && !slices.ContainsFunc(steps[:n+1], func(s order.Step) bool { return s.Equality == w })
		}) {
			return n + 1
		}
	}
	return len(steps)
}

// columnJoin joins in with patterns over columns. needed reports whether the operators above use a variable.
func (b *patternJoin) columnJoin(steps []order.Step, in Stream, needed func(slot int) bool) (out Stream, err error) {
	var list []columnjoin.Step
	var bound, give []int
	var texts []func() string
	known := in.Certain
	var longs algebra.Set
	for i := range steps {
		// 1. An equality binds the object to each equal term of the column.
		one := &b.list[steps[i].List[0]]
		col := one.Column
		if cond := steps[i].Equality; cond != nil {
			step, err := b.equalTerms(cond, one, known)
			if err != nil {
				return in, err
			}
			list = append(list, step)
			texts = append(texts, ExprText([]ast.Expr{cond.Expr}))
			if slot := step.Key.Slot; in.Certain.Has(slot) && !slices.Contains(bound, slot) {
				bound = append(bound, slot)
			}
			if needed(step.Value.Slot) {
				give = append(give, step.Value.Slot)
			}
			known = known.With(step.Value.Slot)
			cond.Done = true
		}
		// 2. A bound end is the key. If neither is bound, the end that is more restricted is.
		end := func(e *cost.End, position int, long bool, order triple.Order) columnjoin.End {
			slot := one.Pat.Places[position].Slot
			end := columnjoin.End{Slot: slot, Number: e.Number, Free: slot >= 0 && !known.Has(slot)}
			if long && end.Free {
				end.Long = order
				longs.Add(slot)
			}
			return end
		}
		subject := end(&col.Subject, triple.Subject, col.LongSubjects, triple.SPO)
		object := end(&col.Object, triple.Object, col.LongObjects, triple.OSP)
		step := columnjoin.Step{Lists: &col.BySubject, Key: subject, Value: object, Spans: col.Subject.Spans}
		_, bySubject := col.Subject.Count(&col.BySubject)
		_, byObject := col.Object.Count(&col.ByObject)
		if subject.Free && (!object.Free || byObject < bySubject) {
			step = columnjoin.Step{Lists: &col.ByObject, Key: object, Value: subject, Spans: col.Object.Spans}
		}
		list = append(list, step)
		texts = append(texts, one.ColumnText())
		// 3. Variables of the input are read once, those of the steps are given if they are needed.
		for slot := range one.Vars.All {
			switch {
			case !known.Has(slot):
				if needed(slot) {
					give = append(give, slot)
				}
			case in.Certain.Has(slot) && !slices.Contains(bound, slot):
				bound = append(bound, slot)
			}
		}
		known = known.Union(one.Vars)
	}
	j := columnjoin.New(b.Exec, in.Op, list, bound, give)
	out = in
	out.Numbers = in.Numbers.Union(algebra.SetOf(give...).Minus(longs))
	out.Certain, out.Possible = known, in.Possible.Union(known)
	out.Rows = steps[len(steps)-1].Rows
	out = b.Traced(out, j, "column join", ListText(texts, " . ", func(text func() string) string { return text() }), in.Plan)
	j.Plan, out.join = out.Plan, j
	return out, nil
}

// equalTerms returns the step that binds the object of a pattern by an equality with a known variable.
func (b *patternJoin) equalTerms(cond *order.Condition, one *cost.Candidate, known algebra.Set) (columnjoin.Step, error) {
	of, key := cond.Left, cond.Right
	if !known.Has(of) {
		of, key = key, of
	}
	conds, err := CompileExprs([]ast.Expr{cond.Expr})
	lists := &one.Column.ByObject
	return columnjoin.Step{
		Lists: lists, Key: columnjoin.End{Slot: of}, Value: columnjoin.End{Slot: key, Free: true},
		Equal: &columnjoin.EqualTerms{Exec: b.Exec, Lists: lists, Of: of, Key: key, Same: cond.Same, Condition: conds, Env: b.Exec.NewEnv()},
	}, err
}

// neededBehind returns a function that reports whether the steps from one on, or the rest of the query, use a
// variable of patterns. It looks at all steps once, because a join over columns may end after each of them.
func (b *patternJoin) neededBehind(steps []order.Step, patterns []algebra.TriplePattern) func(from, slot int) bool {
	needed := b.needed(patterns, b.At.projected)
	for _, a := range b.aliases {
		if a.To.IsVar() {
			needed.Add(a.To.Slot)
		}
	}
	last := map[int]int{} // the last step that has a variable
	for i := range steps {
		for _, n := range steps[i].List {
			for slot := range b.list[n].Vars.All {
				last[slot] = i
			}
		}
	}
	return func(from, slot int) bool {
		at, ok := last[slot]
		return needed.Has(slot) || ok && at >= from
	}
}

// ColumnStep adds a step of a kind to the join over columns that makes the rows of in, or to a new one
// over in. n must be one pattern over a column, linked with in by a term or a variable that each row
// binds. Its other end must be bound, too, or not occur in the rows. ok is false if n is anything else.
func (q *Query) ColumnStep(kind columnjoin.StepKind, name string, n algebra.Node, in Stream, g pattern.Graphs) (out Stream, ok bool) {
	// 1. The pattern, and which of its ends are bound.
	bgp, isBGP := n.(*algebra.BGP)
	if !isBGP || len(bgp.Patterns) != 1 || q.Columns == nil {
		return in, false
	}
	p := bgp.Patterns[0]
	pat := cost.NewPattern(p.Subject, p.Predicate, p.Object, g, nil)
	col := q.Column(pat)
	if col == nil {
		return in, false
	}
	step := columnjoin.Step{Kind: kind, Lists: &col.BySubject}
	subject, okSubject := stepEnd(&col.Subject, p.Subject, in, col.LongSubjects, triple.SPO)
	object, okObject := stepEnd(&col.Object, p.Object, in, col.LongObjects, triple.OSP)
	if !okSubject || !okObject || subject.Free && object.Free {
		return in, false
	}
	step.Key, step.Value = subject, object
	if subject.Free {
		step.Lists, step.Key, step.Value = &col.ByObject, object, subject
	}
	// 2. Add the step.
	out = in
	text := func() string { return name + " { " + q.Body.Scope.Pattern(p) + " }" }
	if in.join == nil {
		j := columnjoin.New(q.Exec, in.Op, nil, nil, nil)
		out = q.Traced(out, j, "column join", text, in.Plan)
		j.Plan, out.join = out.Plan, j
	} else {
		before := out.Plan.Detail
		out.Plan.Detail = func() string { return before() + " . " + text() }
	}
	out.join.Append(step, kind == columnjoin.OptionalStep)
	if kind == columnjoin.OptionalStep && step.Value.Free {
		out.Possible = out.Possible.With(step.Value.Slot)
		if step.Value.Long == 0 {
			out.Numbers = out.Numbers.With(step.Value.Slot)
		}
	}
	return out, true
}

// stepEnd returns an end of a pattern whose variable is bound by each row of in, or by none.
func stepEnd(e *cost.End, at algebra.VarOrTerm, in Stream, long bool, order triple.Order) (end columnjoin.End, ok bool) {
	end = columnjoin.End{Slot: at.Slot, Number: e.Number}
	if !at.IsVar() {
		return end, true
	}
	end.Free = !in.Possible.Has(at.Slot)
	if end.Free && long {
		end.Long = order
	}
	return end, end.Free || in.Certain.Has(at.Slot)
}
