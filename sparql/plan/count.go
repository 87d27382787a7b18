// Operators for counts and distinct terms of a single pattern. They read no more than they
// need.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// lonePattern is a basic graph pattern of one triple pattern, joined with nothing.
type lonePattern struct {
	c    *compiler
	node algebra.TriplePattern
	pat  *pattern.Pattern
}

// lonePattern returns the only pattern of a node; ok is false if it has none or several, or if
// leaves start from a feed.
func (c *compiler) lonePattern(n algebra.Node, g pattern.Graphs) (one lonePattern, ok bool) {
	bgp, ok := n.(*algebra.BGP)
	if !ok || len(bgp.Patterns) != 1 || c.feed != nil {
		return lonePattern{}, false
	}
	p := bgp.Patterns[0]
	return lonePattern{c: c, node: p, pat: newPattern(p.Subject, p.Predicate, p.Object, g, nil)}, true
}

// text returns the detail of an operator on the pattern in an order.
func (l lonePattern) text(order triple.Order) func() string {
	return func() string { return order.String() + " " + l.c.body.Scope.Pattern(l.node) }
}

// plainCounts reports whether all aggregates count all rows of a pattern.
func plainCounts(aggregates []algebra.Aggregate, vars algebra.Set) bool {
	for _, a := range aggregates {
		v, isVar := a.Agg.Arg.(*ast.Var)
		if a.Agg.Func != ast.AggCount || a.Agg.Distinct || a.Agg.Arg != nil && (!isVar || !vars.Has(v.Slot)) {
			return false
		}
	}
	return len(aggregates) > 0
}

// oneToOne reports whether every row in the ranges of the pattern is one solution.
func (l lonePattern) oneToOne(a *pattern.Access) (bool, error) {
	pat := l.pat
	if len(a.Consts) > 0 || len(a.Same) > 0 || pat.Graphs.Mode == pattern.SomeGraphs || pat.Graphs.Mode == pattern.EachGraph {
		return false, nil
	}
	if pat.Graphs.Mode == pattern.OneGraph { // other orders have the graph last
		return a.Order == triple.GSPO, nil
	}
	some, err := l.c.query.HasRow(triple.OrderRange(triple.GSPO), nil)
	return !some, err
}

// counts compiles a group if it only counts the rows or the terms of one pattern; ok is false
// if it does more.
func (c *compiler) counts(n *algebra.Group, g pattern.Graphs) (out stream, ok bool, err error) {
	if s, ok, err := c.filteredCount(n, g); ok || err != nil {
		return s, ok, err
	}
	l, ok := c.lonePattern(n.Input, g)
	switch {
	case ok && len(n.Keys) == 0:
		return l.count(n)
	case ok && len(n.Keys) == 1:
		return l.groupCounts(n)
	}
	return stream{}, false, nil
}

// count compiles COUNT over one pattern, from the store's own count if every row of the store
// is one solution.
func (l lonePattern) count(n *algebra.Group) (stream, bool, error) {
	c, pat := l.c, l.pat
	vars, _ := c.visible.vars(n.Input)
	if !plainCounts(n.Aggregates, vars) {
		return l.countDistinct(n)
	}
	if s, ok := l.knownCount(n.Aggregates); ok {
		return s, true, nil
	}
	a := pat.Access(pat.Mask(make([]string, c.query.Width)))
	plain, err := l.oneToOne(a)
	if err != nil {
		return stream{}, false, err
	}
	op := &exec.CountRange{Exec: c.query, Pattern: pat, Access: a, Plain: plain}
	out := stream{rows: 1}
	for _, agg := range n.Aggregates {
		op.Slots = append(op.Slots, agg.Slot)
		out.bind(agg.Slot)
	}
	out = c.traced(out, op, "count", l.text(a.Order))
	op.Plan = out.plan
	return out, true, nil
}

// countDistinct answers COUNT(DISTINCT ?v) over one pattern, if an order has the
// rows of a term together.
func (l lonePattern) countDistinct(n *algebra.Group) (stream, bool, error) {
	if len(n.Aggregates) != 1 {
		return stream{}, false, nil
	}
	one := n.Aggregates[0]
	v, isVar := one.Agg.Arg.(*ast.Var)
	if !isVar || one.Agg.Func != ast.AggCount || !one.Agg.Distinct {
		return stream{}, false, nil
	}
	if lists, _ := l.columnTerms(v.Slot); lists != nil {
		return l.numberRow(lists.Keys(), one.Slot), true, nil
	}
	if predicates, _, ok := l.everything(); ok && v.Slot == l.pat.Places[triple.Predicate].Slot {
		return l.numberRow(len(predicates), one.Slot), true, nil
	}
	runs, detail, ok := l.termRuns(v.Slot)
	if !ok {
		return stream{}, false, nil
	}
	out := stream{rows: 1}
	out.bind(one.Slot)
	out = l.c.traced(out, &exec.CountTerms{Runs: runs, Slot: one.Slot, Got: l.c.query.NewBatch()}, "count of terms", detail)
	runs.Cursor.Plan = out.plan
	return out, true, nil
}

// groupCounts answers COUNT over one pattern for each term of a variable, if an
// order has the rows of a term together.
func (l lonePattern) groupCounts(n *algebra.Group) (stream, bool, error) {
	c := l.c
	v, isVar := n.Keys[0].Expr.(*ast.Var)
	vars, _ := c.visible.vars(n.Input)
	if !isVar || v.Slot != n.Keys[0].Slot || !plainCounts(n.Aggregates, vars) {
		return stream{}, false, nil
	}
	// 1. A column has the number of each term, and all together that of each predicate.
	var counts []int
	for _, agg := range n.Aggregates {
		counts = append(counts, agg.Slot)
	}
	if lists, long := l.columnTerms(v.Slot); lists != nil && !long {
		return l.termsOf(lists, v.Slot, counts), true, nil
	}
	if s, ok := l.predicateRows(v.Slot, counts); ok {
		return s, true, nil
	}
	// 2. Otherwise the rows of each term are counted, if each is one solution.
	runs, detail, ok := l.termRuns(v.Slot)
	if !ok {
		return stream{}, false, nil
	}
	if plain, err := l.oneToOne(runs.Cursor.Access); !plain || err != nil {
		return stream{}, false, err
	}
	out := stream{rows: solution.BatchRows}
	out.bind(v.Slot)
	for _, agg := range n.Aggregates {
		runs.Counts = append(runs.Counts, agg.Slot)
		out.bind(agg.Slot)
	}
	out = c.traced(out, runs, "count of each term", detail)
	runs.Cursor.Plan = out.plan
	return out, true, nil
}

// distinctTerms answers DISTINCT of one variable of one pattern.
func (c *compiler) distinctTerms(n algebra.Node, g pattern.Graphs) (stream, bool, error) {
	project, ok := n.(*algebra.Project)
	if !ok || len(project.Slots) != 1 {
		return stream{}, false, nil
	}
	l, ok := c.lonePattern(project.Input, g)
	if !ok {
		return stream{}, false, nil
	}
	// 1. A column has the terms, and all together have the predicates.
	if lists, long := l.columnTerms(project.Slots[0]); lists != nil && !long {
		return l.termsOf(lists, project.Slots[0], nil), true, nil
	}
	if s, ok := l.predicateRows(project.Slots[0], nil); ok {
		return s, true, nil
	}
	// 2. Otherwise an order has the rows of each term together.
	one, err := l.candidate()
	if err != nil {
		return stream{}, false, err
	}
	runs, detail, ok := l.termRuns(project.Slots[0])
	if !ok {
		return stream{}, false, nil
	}
	out := stream{rows: one.rows}
	out.bind(project.Slots[0])
	out = c.traced(out, runs, "distinct terms", detail)
	runs.Cursor.Plan = out.plan
	return out, true, nil
}

// candidate returns the pattern with its estimates.
func (l lonePattern) candidate() (*candidate, error) {
	c := l.c
	list := []candidate{{pat: l.pat, text: c.patternText(&l.node)}}
	err := c.estimator.estimate(list, 0)
	newPlanner(c, list, c.begin())
	return &list[0], err
}

// termRuns returns an operator over the terms of a variable of the pattern, and its detail; ok is
// false if no order has their rows together.
func (l lonePattern) termRuns(slot int) (t *exec.TermRuns, detail func() string, ok bool) {
	c, pat := l.c, l.pat
	one := candidate{pat: pat}
	order := one.sortedBy(slot)
	if order == 0 {
		return nil, nil, false
	}
	sorted := *pat
	sorted.Order = order
	t = &exec.TermRuns{Exec: c.query, Slot: slot, Empty: make([]string, c.query.Width)}
	t.Cursor = exec.Cursor{Pattern: &sorted, Reader: c.query.NewReader(&sorted)}
	t.Cursor.Access = sorted.Access(sorted.Mask(t.Empty))
	if len(t.Cursor.Access.Same) > 0 {
		return nil, nil, false
	}
	t.Cursor.Position = order.Positions()[t.Cursor.Access.Prefix]
	return t, l.text(order), true
}
