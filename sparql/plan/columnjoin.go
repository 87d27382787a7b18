// The join that reads columns.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// columnSteps returns how many of the next steps a join over columns does. It ends with the first
// step after which a waiting condition may run.
func (b *patternJoin) columnSteps(steps []joinStep, in stream) int {
	if in.start && in.sorted {
		return 0 // the first pattern is scanned in the sequence of a variable
	}
	certain := in.certain
	for n := range steps {
		one := &b.list[steps[n].list[0]]
		// Parts of triple terms are taken, and terms are made of parts, before a pattern needs them.
		if b.at.unfolds != nil && n > 0 && b.unfolded(certain).Overlaps(one.vars) {
			return n
		}
		if one.column == nil || steps[n].method == byEquality && !b.search.equalStep(steps[n].equality, one) || steps[n].method != byLookup && steps[n].method != byEquality {
			return n
		}
		// A variable that some rows bind and others do not has no one way to be read.
		for slot := range one.vars.All {
			if in.possible.Has(slot) && !in.certain.Has(slot) {
				return n
			}
		}
		certain = certain.Union(one.vars)
		if slices.ContainsFunc(b.at.waiting, func(w *condition) bool {
			return !w.done && certain.HasEach(w.uses) && !slices.ContainsFunc(steps[:n+1], func(s joinStep) bool { return s.equality == w })
		}) {
			return n + 1
		}
	}
	return len(steps)
}

// columnJoin joins in with patterns over columns. needed reports whether the operators above use a variable.
func (b *patternJoin) columnJoin(steps []joinStep, in stream, needed func(slot int) bool) (out stream, err error) {
	var list []exec.ColumnStep
	var bound, give []int
	var texts []func() string
	known := in.certain
	var longs algebra.Set
	for i := range steps {
		// 1. An equality binds the object to each equal term of the column.
		one := &b.list[steps[i].list[0]]
		col := one.column
		if cond := steps[i].equality; cond != nil {
			step, err := b.equalTerms(cond, one, known)
			if err != nil {
				return in, err
			}
			list = append(list, step)
			texts = append(texts, exprText([]ast.Expr{cond.expr}))
			if slot := step.Key.Slot; in.certain.Has(slot) && !slices.Contains(bound, slot) {
				bound = append(bound, slot)
			}
			if needed(step.Value.Slot) {
				give = append(give, step.Value.Slot)
			}
			known = known.With(step.Value.Slot)
			cond.done = true
		}
		// 2. A bound end is the key. If neither is bound, the end that is more restricted is.
		end := func(e *columnEnd, position int, long bool, order triple.Order) exec.ColumnEnd {
			slot := one.pat.Places[position].Slot
			end := exec.ColumnEnd{Slot: slot, Number: e.number, Free: slot >= 0 && !known.Has(slot)}
			if long && end.Free {
				end.Long = order
				longs.Add(slot)
			}
			return end
		}
		subject := end(&col.subject, triple.Subject, col.LongSubjects, triple.SPO)
		object := end(&col.object, triple.Object, col.LongObjects, triple.OSP)
		step := exec.ColumnStep{Lists: &col.BySubject, Key: subject, Value: object, Spans: col.subject.spans}
		_, bySubject := col.subject.count(&col.BySubject)
		_, byObject := col.object.count(&col.ByObject)
		if subject.Free && (!object.Free || byObject < bySubject) {
			step = exec.ColumnStep{Lists: &col.ByObject, Key: object, Value: subject, Spans: col.object.spans}
		}
		list = append(list, step)
		texts = append(texts, one.columnText())
		// 3. Variables of the input are read once, those of the steps are given if they are needed.
		for slot := range one.vars.All {
			switch {
			case !known.Has(slot):
				if needed(slot) {
					give = append(give, slot)
				}
			case in.certain.Has(slot) && !slices.Contains(bound, slot):
				bound = append(bound, slot)
			}
		}
		known = known.Union(one.vars)
	}
	j := exec.NewColumnJoin(b.exec, in.op, list, bound, give)
	out = in
	out.numbers = in.numbers.Union(algebra.SetOf(give...).Minus(longs))
	out.certain, out.possible = known, in.possible.Union(known)
	out.rows = steps[len(steps)-1].rows
	out = b.traced(out, j, "column join", listText(texts, " . ", func(text func() string) string { return text() }), in.plan)
	j.Plan, out.join = out.plan, j
	return out, nil
}

// equalTerms returns the step that binds the object of a pattern by an equality with a known variable.
func (b *patternJoin) equalTerms(cond *condition, one *candidate, known algebra.Set) (exec.ColumnStep, error) {
	of, key := cond.left, cond.right
	if !known.Has(of) {
		of, key = key, of
	}
	conds, err := compileExprs([]ast.Expr{cond.expr})
	lists := &one.column.ByObject
	return exec.ColumnStep{
		Lists: lists, Key: exec.ColumnEnd{Slot: of}, Value: exec.ColumnEnd{Slot: key, Free: true},
		Equal: &exec.EqualTerms{Exec: b.exec, Lists: lists, Of: of, Key: key, Same: cond.same, Condition: conds, Env: b.exec.NewEnv()},
	}, err
}

// columnText returns the detail of a pattern that is read from its column.
func (one *candidate) columnText() func() string {
	at := one.pat.Places[triple.Object]
	if at.Slot < 0 || one.pat.Restrictions[at.Slot].Candidates == "" {
		return one.text
	}
	return func() string { return one.text() + one.rangeText(triple.Object) }
}

// neededBehind returns a function that reports whether the steps from one on, or the rest of the query, use a
// variable of patterns. It looks at all steps once, because a join over columns may end after each of them.
func (b *patternJoin) neededBehind(steps []joinStep, patterns []algebra.TriplePattern) func(from, slot int) bool {
	needed := b.needed(patterns, b.at.projected)
	for _, a := range b.aliases {
		if a.To.IsVar() {
			needed.Add(a.To.Slot)
		}
	}
	last := map[int]int{} // the last step that has a variable
	for i := range steps {
		for _, n := range steps[i].list {
			for slot := range b.list[n].vars.All {
				last[slot] = i
			}
		}
	}
	return func(from, slot int) bool {
		at, ok := last[slot]
		return needed.Has(slot) || ok && at >= from
	}
}

// columnStep adds a step of a kind to the join over columns that makes the rows of in, or to a new one
// over in. n must be one pattern over a column, linked with in by a term or a variable that each row
// binds. Its other end must be bound, too, or not occur in the rows. ok is false if n is anything else.
func (q *query) columnStep(kind exec.StepKind, name string, n algebra.Node, in stream, g pattern.Graphs) (out stream, ok bool) {
	// 1. The pattern, and which of its ends are bound.
	bgp, isBGP := n.(*algebra.BGP)
	if !isBGP || len(bgp.Patterns) != 1 || q.columns == nil {
		return in, false
	}
	p := bgp.Patterns[0]
	pat := newPattern(p.Subject, p.Predicate, p.Object, g, nil)
	col := q.column(pat)
	if col == nil {
		return in, false
	}
	step := exec.ColumnStep{Kind: kind, Lists: &col.BySubject}
	subject, okSubject := stepEnd(&col.subject, p.Subject, in, col.LongSubjects, triple.SPO)
	object, okObject := stepEnd(&col.object, p.Object, in, col.LongObjects, triple.OSP)
	if !okSubject || !okObject || subject.Free && object.Free {
		return in, false
	}
	step.Key, step.Value = subject, object
	if subject.Free {
		step.Lists, step.Key, step.Value = &col.ByObject, object, subject
	}
	// 2. Add the step.
	out = in
	text := func() string { return name + " { " + q.body.Scope.Pattern(p) + " }" }
	if in.join == nil {
		j := exec.NewColumnJoin(q.exec, in.op, nil, nil, nil)
		out = q.traced(out, j, "column join", text, in.plan)
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
func stepEnd(e *columnEnd, at algebra.VarOrTerm, in stream, long bool, order triple.Order) (end exec.ColumnEnd, ok bool) {
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
