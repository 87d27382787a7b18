// Patterns over columns: what is known of them, and the join that reads them.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/triple"
)

// column is the column of a pattern, with what the pattern says of both ends.
type column struct {
	*columns.Column
	subject, object columnEnd
}

// columnEnd is the subject or the object of a pattern over a column.
type columnEnd struct {
	term   bool
	number uint32 // of the term; 0 if no column has it
	// spans restrict the numbers of a variable: from [0] up to [1] of each. nil means all.
	spans [][2]uint32
}

// column returns the column of a pattern; nil if its rows must be read. It needs the default graph, a
// predicate with a column and two different ends.
func (c *compiler) column(pat *pattern.Pattern) *column {
	subject, predicate, object := &pat.Places[triple.Subject], &pat.Places[triple.Predicate], &pat.Places[triple.Object]
	if c.columns == nil || predicate.Key == "" || pat.Graphs.Mode != pattern.DefaultGraph || subject.Slot >= 0 && subject.Slot == object.Slot {
		return nil
	}
	of, ok := c.columns.Column(predicate.Key)
	if !ok {
		return nil
	}
	return &column{of, c.columnEnd(pat, triple.Subject), c.columnEnd(pat, triple.Object)}
}

// columnEnd returns an end of a pattern.
func (c *compiler) columnEnd(pat *pattern.Pattern, position int) (e columnEnd) {
	terms := c.columns.Dictionary()
	if at := &pat.Places[position]; at.Slot < 0 {
		e.term = true
		e.number = terms.Number([]byte(at.Key))
		return e
	}
	spans := pat.Restricted(position)
	if spans == nil {
		return e
	}
	e.spans = [][2]uint32{}
	for _, s := range spans {
		e.spans = terms.Spans(e.spans, s.Lo, s.Hi)
	}
	return e
}

// count returns how many keys and values of lists have a key that an end allows.
func (e *columnEnd) count(l *columns.Lists) (keys, values int) {
	switch {
	case e.term:
		if i, ok := l.Find(e.number, 0); ok {
			lo, hi := l.Bounds(i)
			return 1, hi - lo
		}
		return 0, 0
	case e.spans == nil:
		return l.Keys(), l.Values()
	}
	for _, s := range e.spans {
		k, v := l.Count(s[0], s[1])
		keys, values = keys+k, values+v
	}
	return keys, values
}

// rows returns how many triples match the pattern. If a variable is restricted, it returns an upper bound.
func (col *column) rows() int {
	_, bySubject := col.subject.count(&col.BySubject)
	_, byObject := col.object.count(&col.ByObject)
	if !col.subject.term || !col.object.term {
		return min(bySubject, byObject)
	}
	l := &col.BySubject
	if i, ok := l.Find(col.subject.number, 0); ok {
		lo, hi := l.Bounds(i)
		if j := l.FindValue(lo, hi, col.object.number); j < hi && l.Value(j) == col.object.number {
			return 1
		}
	}
	return 0
}

// measure sets the rows of a candidate and how many terms they have.
func (one *candidate) measure() {
	col := one.column
	subjects, _ := col.subject.count(&col.BySubject)
	objects, _ := col.object.count(&col.ByObject)
	rows := col.rows()
	one.rows = max(float64(rows), leastRows)
	one.distinct[triple.Subject] = max(float64(min(subjects, rows)), leastRows)
	one.distinct[triple.Object] = max(float64(min(objects, rows)), leastRows)
}

// columnSteps returns how many of the next steps a join over columns does. It ends with the first
// step after which a waiting condition may run.
func (p *planner) columnSteps(steps []joinStep, in stream) int {
	c := p.c
	if in.start && c.want != nil && c.want.got {
		return 0 // the first pattern is scanned in the sequence of a variable
	}
	certain := in.certain
	for n := range steps {
		one := &p.list[steps[n].list[0]]
		// Parts of triple terms are taken, and terms are made of parts, before a pattern needs them.
		if c.unfolds != nil && n > 0 && c.unfolded(certain).Overlaps(one.vars) {
			return n
		}
		if one.column == nil || steps[n].method == byEquality && !p.equalStep(steps[n].equality, one) || steps[n].method != byLookup && steps[n].method != byEquality {
			return n
		}
		// A variable that some rows bind and others do not has no one way to be read.
		for slot := range one.vars.All {
			if in.possible.Has(slot) && !in.certain.Has(slot) {
				return n
			}
		}
		certain = certain.Union(one.vars)
		if slices.ContainsFunc(c.waiting, func(w *condition) bool {
			return !w.done && certain.HasEach(w.uses) && !slices.ContainsFunc(steps[:n+1], func(s joinStep) bool { return s.equality == w })
		}) {
			return n + 1
		}
	}
	return len(steps)
}

// columnJoin joins in with patterns over columns. needed reports whether the operators above use a variable.
func (p *planner) columnJoin(steps []joinStep, in stream, needed func(slot int) bool) (out stream, err error) {
	c := p.c
	var list []exec.ColumnStep
	var bound, give []int
	var texts []func() string
	known := in.certain
	var longs algebra.Set
	for i := range steps {
		// 1. An equality binds the object to each equal term of the column.
		one := &p.list[steps[i].list[0]]
		col := one.column
		if cond := steps[i].equality; cond != nil {
			step, err := c.equalTerms(cond, one, known)
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
	j := exec.NewColumnJoin(c.query, in.op, list, bound, give)
	out = in
	out.numbers = in.numbers.Union(algebra.SetOf(give...).Without(longs))
	out.certain, out.possible = known, in.possible.Union(known)
	out.rows = steps[len(steps)-1].rows
	out = c.traced(out, j, "column join", listText(texts, " . ", func(text func() string) string { return text() }), in.plan)
	j.Plan, out.join = out.plan, j
	return out, nil
}

// equalStep reports whether a join over columns finds the objects of a pattern that an equality links
// with the rows before: as terms of its column, if they are few. Columns do not have long terms whole.
func (p *planner) equalStep(cond *condition, one *candidate) bool {
	if one.column == nil || int64(one.column.ByObject.Keys())*rowBytes > p.c.query.Account.Limit/8 {
		return false
	}
	object := one.pat.Places[triple.Object].Slot
	longs := p.longEnds()
	return (object == cond.left || object == cond.right) && !longs.Has(cond.left) && !longs.Has(cond.right)
}

// longEnds returns the variables that a pattern reads from a column with long terms.
func (p *planner) longEnds() algebra.Set {
	if p.longs == nil {
		p.longs = &algebra.Set{}
		for i := range p.list {
			col, at := p.list[i].column, &p.list[i].pat.Places
			if col != nil && col.LongSubjects && at[triple.Subject].Slot >= 0 {
				p.longs.Add(at[triple.Subject].Slot)
			}
			if col != nil && col.LongObjects && at[triple.Object].Slot >= 0 {
				p.longs.Add(at[triple.Object].Slot)
			}
		}
	}
	return *p.longs
}

// equalTerms returns the step that binds the object of a pattern by an equality with a known variable.
func (c *compiler) equalTerms(cond *condition, one *candidate, known algebra.Set) (exec.ColumnStep, error) {
	of, key := cond.left, cond.right
	if !known.Has(of) {
		of, key = key, of
	}
	conds, err := compileExprs([]ast.Expr{cond.expr})
	lists := &one.column.ByObject
	return exec.ColumnStep{
		Lists: lists, Key: exec.ColumnEnd{Slot: of}, Value: exec.ColumnEnd{Slot: key, Free: true},
		Equal: &exec.EqualTerms{Exec: c.query, Lists: lists, Of: of, Key: key, Same: cond.same, Condition: conds, Env: c.query.NewEnv()},
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

// joinColumn sets the cost of a state that joins one more pattern over its column.
func (p *planner) joinColumn(to, from *joinState, one *candidate) {
	to.cost = from.cost + to.rows*costColumnRow
	if from.last < 0 && from.method != byMerge && p.in.start && p.c.feed == nil {
		to.sorted = -1
		return
	}
	probes := from.rows * costColumnProbe
	to.cost += probes
	to.risk = from.risk + probes
}

// neededBehind returns a function that reports whether the steps from one on, or the rest of the query, use a
// variable of patterns. It looks at all steps once, because a join over columns may end after each of them.
func (p *planner) neededBehind(steps []joinStep, patterns []algebra.TriplePattern, aliases []optimize.Alias) func(from, slot int) bool {
	needed := p.c.needed(patterns)
	for _, a := range aliases {
		if a.To.IsVar() {
			needed.Add(a.To.Slot)
		}
	}
	last := map[int]int{} // the last step that has a variable
	for i := range steps {
		for _, n := range steps[i].list {
			for slot := range p.list[n].vars.All {
				last[slot] = i
			}
		}
	}
	return func(from, slot int) bool {
		at, ok := last[slot]
		return needed.Has(slot) || ok && at >= from
	}
}

// needed returns the variables of patterns that the rest of the query uses. Outside of a projection or
// a group that is every variable.
func (c *compiler) needed(patterns []algebra.TriplePattern) (needed algebra.Set) {
	inside := map[int]int{}
	for _, p := range patterns {
		for _, at := range []algebra.VarOrTerm{p.Subject, p.Predicate, p.Object} {
			if at.IsVar() {
				inside[at.Slot]++
			}
		}
	}
	for slot, n := range inside {
		if !c.projected || c.visible.Mentions()[slot] > n {
			needed.Add(slot)
		}
	}
	return needed
}
