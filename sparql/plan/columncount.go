// Counts and distinct terms of a single pattern over a column.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// numberRow returns an operator that gives a number in slots.
func (l lonePattern) numberRow(number int, slots ...int) stream {
	out := stream{rows: 1}
	for _, slot := range slots {
		out.bind(slot)
	}
	return l.c.traced(out, &exec.NumberRow{Exec: l.c.query, Number: int64(number), Slots: slots}, "count of a column", l.c.patternText(&l.node))
}

// knownCount answers COUNT of all rows, if the pattern has a column.
func (l lonePattern) knownCount(aggregates []algebra.Aggregate) (stream, bool) {
	rows, ok := l.knownRows()
	if !ok {
		return stream{}, false
	}
	var slots []int
	for _, a := range aggregates {
		slots = append(slots, a.Slot)
	}
	return l.numberRow(rows, slots...), true
}

// knownRows returns the number of solutions of the pattern; ok is false if columns do not know it.
func (l lonePattern) knownRows() (rows int, ok bool) {
	if col := l.c.column(l.pat); col != nil {
		return col.rows(), true
	}
	if _, rows, ok := l.everything(); ok {
		return rows, true
	}
	return 0, false
}

// everything returns the predicates and the number of triples of the default graph, if the pattern is of
// three variables and its solutions are these triples.
func (l lonePattern) everything() (predicates []string, rows int, ok bool) {
	var vars algebra.Set
	for _, at := range l.pat.Places[:triple.Graph] {
		if at.Slot < 0 {
			return nil, 0, false
		}
		vars.Add(at.Slot)
	}
	if vars.Len() < 3 || l.c.columns == nil || l.pat.Graphs.Mode != pattern.DefaultGraph {
		return nil, 0, false
	}
	return l.c.columns.All()
}

// maxListed is how many predicates a plan lists. If there are more, rows are read.
const maxListed = 1000

// predicateRows returns an operator over the predicates of all triples, with the number of triples of each
// in counts; ok is false if the pattern is another one, or the slot not that of its predicate.
func (l lonePattern) predicateRows(slot int, counts []int) (stream, bool) {
	predicates, _, ok := l.everything()
	if !ok || slot != l.pat.Places[triple.Predicate].Slot || len(predicates) > maxListed {
		return stream{}, false
	}
	op := &exec.Values{Exec: l.c.query, Input: &exec.Unit{}, Slots: append([]int{slot}, counts...), Batch: l.c.query.NewBatch()}
	for _, p := range predicates {
		if triple.IsLongTerm([]byte(p)) {
			return stream{}, false
		}
		column, _ := l.c.columns.Column(p)
		row := make([]string, len(op.Slots))
		row[0] = p
		for i := range counts {
			row[i+1] = solution.Encode(expr.FromInt(int64(column.Rows())).Term())
		}
		op.Rows = append(op.Rows, row)
	}
	out := stream{rows: float64(max(len(predicates), 1))}
	for _, slot := range op.Slots {
		out.bind(slot)
	}
	return l.c.traced(out, op, "predicates of the columns", l.c.patternText(&l.node)), true
}

// filteredCount answers COUNT of all rows of a pattern over a column under conditions of one variable, of
// which each term is tested once; ok is false if the group is anything else.
func (c *compiler) filteredCount(n *algebra.Group, g pattern.Graphs) (out stream, ok bool, err error) {
	f, isFilter := n.Input.(*algebra.Filter)
	if !isFilter || c.columns == nil || len(n.Keys) > 0 {
		return stream{}, false, nil
	}
	l, lone := c.lonePattern(f.Input, g)
	vars, _ := c.visible.vars(f)
	if !lone || !plainCounts(n.Aggregates, vars) {
		return stream{}, false, nil
	}
	// 1. All conditions must depend on one variable, and on nothing else.
	var uses algebra.Set
	for _, cond := range f.Conds {
		uses.AddAll(c.body.Uses(cond))
		if !ofRowAlone(cond) {
			return stream{}, false, nil
		}
	}
	// 2. It is one end of a pattern whose other end is another variable.
	if uses.Len() != 1 {
		return stream{}, false, nil
	}
	slot := uses.Slots()[0]
	if lists, long := l.columnTerms(slot); lists == nil || long {
		return stream{}, false, nil
	}
	spans, err := c.withCandidates(&l.node, g, algebra.Set{}, restrictions(nil, f.Conds))
	if err != nil {
		return stream{}, false, err
	}
	l.pat = newPattern(l.node.Subject, l.node.Predicate, l.node.Object, g, spans)
	lists, long := l.columnTerms(slot)
	if lists == nil || long {
		return stream{}, false, nil
	}
	end := &l.c.column(l.pat).object
	if l.pat.Places[triple.Subject].Slot == slot {
		end = &l.c.column(l.pat).subject
	}
	// 3. Make the operator.
	conds, err := compileExprs(f.Conds)
	if err != nil {
		return stream{}, false, err
	}
	op := &exec.CountKeys{Exec: c.query, Lists: lists, Spans: end.spans, Slot: slot, Conditions: conds, Env: c.query.NewEnv()}
	out = stream{rows: 1}
	for _, a := range n.Aggregates {
		op.Slots = append(op.Slots, a.Slot)
		out.bind(a.Slot)
	}
	out = c.traced(out, op, "count of a column", func() string { return c.body.Scope.Pattern(l.node) + " FILTER(" + exprText(f.Conds)() + ")" })
	return out, true, nil
}

// columnTerms returns the lists whose keys are the terms of a variable; nil if the pattern has no column,
// or a term beside the variable. long means that some of the terms may be long.
func (l lonePattern) columnTerms(slot int) (lists *columns.Lists, long bool) {
	col := l.c.column(l.pat)
	switch {
	case col == nil || col.subject.term || col.object.term:
		return nil, false
	case l.pat.Places[triple.Subject].Slot == slot:
		return &col.BySubject, col.LongSubjects
	case l.pat.Places[triple.Object].Slot == slot:
		return &col.ByObject, col.LongObjects
	}
	return nil, false
}

// termsOf returns an operator over the keys of lists, none of which is long, with the number of their
// values in counts.
func (l lonePattern) termsOf(lists *columns.Lists, slot int, counts []int) stream {
	out := stream{rows: float64(max(lists.Keys(), 1))}
	for _, one := range append([]int{slot}, counts...) {
		out.bind(one)
	}
	out.numbers = setOf([]int{slot})
	op := &exec.ColumnTerms{Exec: l.c.query, Lists: lists, Slot: slot, Counts: counts}
	name := "terms of a column"
	if len(counts) > 0 {
		name = "count of each term of a column"
	}
	out = l.c.traced(out, op, name, l.c.patternText(&l.node))
	op.Plan = out.plan
	return out
}

// countJoin counts the rows of a join over columns, or the pairs of a path; ok is false if in is something
// else, or n more than counts of its rows: of all, or of the rows that bind the variable of an OPTIONAL.
func (c *compiler) countJoin(n *algebra.Group, in stream) (out stream, ok bool) {
	// 1. Pairs bind both of their variables.
	if in.pairs != nil && len(n.Keys) == 0 && plainCounts(n.Aggregates, in.certain) {
		op := &path.CountPairs{Closure: in.pairs}
		out = stream{rows: 1}
		for _, a := range n.Aggregates {
			op.Slots = append(op.Slots, a.Slot)
			out.bind(a.Slot)
		}
		return c.traced(out, op, "count", nil, in.plan), true
	}
	// 2. A join may have groups by a variable.
	join, below := in.join, in.plan
	if in.taken != nil {
		join, below = in.taken.join, in.taken.plan
	}
	if join == nil || c.feed != nil || !plainCounts(n.Aggregates, in.possible) {
		return stream{}, false
	}
	op := &exec.CountJoin{Key: -1, Holder: c.query.Account.NewHolder("count")}
	out = stream{rows: 1}
	if len(n.Keys) > 0 {
		v, isVar := n.Keys[0].Expr.(*ast.Var)
		if !isVar || v.Slot != n.Keys[0].Slot || len(n.Keys) > 1 || !in.numbers.Has(v.Slot) || !join.Binds(v.Slot) || !c.heldGroups(len(n.Aggregates)) {
			return stream{}, false
		}
		op.Key = v.Slot
		out.rows = max(1, in.rows/4)
		out.bind(v.Slot)
		out.numbers = setOf([]int{v.Slot})
	}
	// 3. It may leave variables of OPTIONAL unbound.
	for _, a := range n.Aggregates {
		one := exec.JoinCount{Slot: a.Slot, Optional: -1}
		if v, isVar := a.Agg.Arg.(*ast.Var); isVar && !in.certain.Has(v.Slot) {
			one.Optional = join.OptionalStep(v.Slot)
			if one.Optional < 0 {
				return stream{}, false // rows of the input may leave it unbound
			}
		}
		op.Counts = append(op.Counts, one)
		out.bind(a.Slot)
	}
	// 4. The parts of a triple term need not be bound.
	if in.taken != nil {
		join = in.taken.tested(c.unfoldText(in.taken.node))
	}
	op.ColumnJoin = join
	var detail func() string
	if op.Key >= 0 {
		detail = func() string { return "by ?" + c.body.Scope.Name(op.Key) }
	}
	return c.traced(out, op, "count", detail, below), true
}

// heldGroups reports whether counts for each term of the columns fit into memory, because those of a join
// cannot go to files.
func (c *compiler) heldGroups(counts int) bool {
	return int64(c.columns.Dictionary().Len())*int64(exec.CountGroupBytes*(1+counts)) <= c.query.Account.Limit/4
}
