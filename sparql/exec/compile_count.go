// How counts and distinct terms of a single pattern become operators that read no
// more than they need.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// alonePattern returns the pattern that a node is, by itself.
func (c *compiler) alonePattern(n algebra.Node, g graphs) (algebra.TriplePattern, *pattern, bool) {
	bgp, ok := n.(*algebra.BGP)
	if !ok || len(bgp.Patterns) != 1 || c.feed != nil {
		return algebra.TriplePattern{}, nil, false
	}
	p := bgp.Patterns[0]
	return p, c.alone().newPattern(p.Subject, p.Predicate, p.Object, g), true
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

// oneToOne reports whether every row in the ranges of a pattern is one solution.
func (c *compiler) oneToOne(pat *pattern, a *access) (bool, error) {
	if len(a.consts) > 0 || len(a.same) > 0 || pat.graphs.mode == someGraphs || pat.graphs.mode == eachGraph {
		return false, nil
	}
	if pat.graphs.mode == oneGraph { // other orders have the graph last
		return a.order == triple.GSPO, nil
	}
	some, err := c.query.any(triple.OrderRange(triple.GSPO), nil)
	return !some, err
}

// count answers COUNT over one pattern, from the store's own count where every row
// of the store is one solution.
func (c *compiler) count(n *algebra.Group, g graphs) (stream, bool, error) {
	p, pat, ok := c.alonePattern(n.Input, g)
	if !ok || len(n.Keys) > 0 {
		return stream{}, false, nil
	}
	vars, _ := c.vars(n.Input)
	if !plainCounts(n.Aggregates, vars) {
		return c.countDistinct(n, p, pat)
	}
	a := pat.access(pat.mask(make([]string, c.query.width)))
	plain, err := c.oneToOne(pat, a)
	if err != nil {
		return stream{}, false, err
	}
	op := &countRange{q: c.query, pat: pat, access: a, plain: plain}
	out := stream{rows: 1}
	for _, agg := range n.Aggregates {
		op.slots = append(op.slots, agg.Slot)
		out.bind(agg.Slot)
	}
	out = c.traced(out, op, "count", a.order.String()+" "+c.body.Scope.Pattern(p))
	op.plan = out.plan
	return out, true, nil
}

// countDistinct answers COUNT(DISTINCT ?v) over one pattern, where an order has the
// rows of a term together.
func (c *compiler) countDistinct(n *algebra.Group, p algebra.TriplePattern, pat *pattern) (stream, bool, error) {
	if len(n.Aggregates) != 1 {
		return stream{}, false, nil
	}
	one := n.Aggregates[0]
	v, isVar := one.Agg.Arg.(*ast.Var)
	if !isVar || one.Agg.Func != ast.AggCount || !one.Agg.Distinct {
		return stream{}, false, nil
	}
	runs, ok := c.termRuns(p, pat, v.Slot)
	if !ok {
		return stream{}, false, nil
	}
	out := stream{rows: 1}
	out.bind(one.Slot)
	out = c.traced(out, &countTerms{runs: runs, slot: one.Slot, got: newBatch(c.query.width)}, "count of terms", runs.text)
	runs.cursor.plan = out.plan
	return out, true, nil
}

// groupCounts answers COUNT over one pattern for each term of a variable, where an
// order has the rows of a term together.
func (c *compiler) groupCounts(n *algebra.Group, g graphs) (stream, bool, error) {
	p, pat, ok := c.alonePattern(n.Input, g)
	if !ok || len(n.Keys) != 1 {
		return stream{}, false, nil
	}
	v, isVar := n.Keys[0].Expr.(*ast.Var)
	vars, _ := c.vars(n.Input)
	if !isVar || v.Slot != n.Keys[0].Slot || !plainCounts(n.Aggregates, vars) {
		return stream{}, false, nil
	}
	runs, ok := c.termRuns(p, pat, v.Slot)
	if !ok {
		return stream{}, false, nil
	}
	if plain, err := c.oneToOne(pat, runs.cursor.access); !plain || err != nil {
		return stream{}, false, err
	}
	out := stream{rows: batchRows}
	out.bind(v.Slot)
	for _, agg := range n.Aggregates {
		runs.counts = append(runs.counts, agg.Slot)
		out.bind(agg.Slot)
	}
	out = c.traced(out, runs, "count of each term", runs.text)
	runs.cursor.plan = out.plan
	return out, true, nil
}

// distinctTerms answers DISTINCT of one variable of one pattern.
func (c *compiler) distinctTerms(n algebra.Node, g graphs) (stream, bool, error) {
	project, ok := n.(*algebra.Project)
	if !ok || len(project.Slots) != 1 {
		return stream{}, false, nil
	}
	p, pat, ok := c.alonePattern(project.Input, g)
	if !ok {
		return stream{}, false, nil
	}
	one, err := c.candidateOf(p, pat)
	if err != nil {
		return stream{}, false, err
	}
	runs, ok := c.termRuns(p, pat, project.Slots[0])
	if !ok {
		return stream{}, false, nil
	}
	out := stream{rows: one.rows}
	out.bind(project.Slots[0])
	out = c.traced(out, runs, "distinct terms", runs.text)
	runs.cursor.plan = out.plan
	return out, true, nil
}

func (c *compiler) candidateOf(p algebra.TriplePattern, pat *pattern) (*candidate, error) {
	list := []candidate{{pat: pat, text: c.body.Scope.Pattern(p)}}
	err := c.estimate(list, 0)
	c.newPlanner(list, c.begin())
	return &list[0], err
}

// termRuns returns an operator over the terms of a variable of a pattern; ok is
// false where no order has their rows together.
func (c *compiler) termRuns(p algebra.TriplePattern, pat *pattern, slot int) (*termRuns, bool) {
	one := candidate{pat: pat}
	order := one.sortedBy(slot)
	if order == 0 {
		return nil, false
	}
	sorted := *pat
	sorted.order = order
	t := &termRuns{q: c.query, slot: slot, empty: make([]string, c.query.width)}
	t.cursor = cursor{pat: &sorted, reader: reader{q: c.query, pat: &sorted}}
	t.cursor.access = sorted.access(sorted.mask(t.empty))
	if len(t.cursor.access.same) > 0 {
		return nil, false
	}
	t.cursor.position = order.Positions()[t.cursor.access.prefix]
	t.text = order.String() + " " + c.body.Scope.Pattern(p)
	return t, true
}
