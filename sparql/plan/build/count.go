// Tallies: what is counted or listed of one triple pattern, without its rows if the source knows it.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/scan"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/triple"
)

// tally is an [algebra.Tally] being planned: ways to answer it, the cheapest one first. A way returns ok false if the
// source does not know enough.
type tally struct {
	p    *Part
	node *algebra.Tally
	pat  *pattern.Pattern
}

// Tally returns an operator of the first way that answers a tally of one pattern; ok is false if the rows are needed.
func (p *Part) Tally(n *algebra.Tally) (out Stream, ok bool, err error) {
	if n.Pattern == nil {
		return Stream{}, false, nil
	}
	t := &tally{p: p, node: n, pat: cost.NewPattern(n.Pattern.Subject, n.Pattern.Predicate, n.Pattern.Object, p.At.Graphs, nil)}
	type way = func() (Stream, bool, error)
	ways := []way{t.columnTerms, t.columnPredicates, t.rangeTerms}
	switch {
	case len(n.Conds) > 0:
		ways = []way{t.columnKeys}
	case n.Kind == algebra.TallyRows:
		ways = []way{t.columnNumber, t.rangeRows}
	case n.Kind == algebra.TallyTerms:
		ways = []way{t.columnNumber, t.rangeTerms}
	}
	for _, way := range ways {
		if s, ok, err := way(); ok || err != nil {
			return s, ok, err
		}
	}
	return Stream{}, false, nil
}

// detail returns the detail of an operator on the pattern in an order.
func (t *tally) detail(order triple.Order) func() string {
	return func() string { return order.String() + " " + t.p.Body.Scope.Pattern(*t.node.Pattern) }
}

// binding returns a stream of some rows that bind the variables of the counts, and the term's if there are several.
func (t *tally) binding(rows float64) Stream {
	out := Stream{Rows: rows}
	for _, slot := range t.node.Counts {
		out.Bind(slot)
	}
	if t.node.Kind == algebra.TallyEach || t.node.Kind == algebra.TallyList {
		out.Bind(t.node.Slot)
	}
	return out
}

// rangeRows counts the rows of the pattern's ranges. The store's own count serves if each of them is one solution.
func (t *tally) rangeRows() (Stream, bool, error) {
	a := t.pat.Access(t.pat.Mask(make([]string, t.p.Exec.Width)))
	plain, err := t.oneToOne(a)
	if err != nil {
		return Stream{}, false, err
	}
	op := &scan.CountRange{Exec: t.p.Exec, Pattern: t.pat, Access: a, Plain: plain, Slots: t.node.Counts}
	out := t.p.Traced(t.binding(1), op, "count", t.detail(a.Order))
	op.Plan = out.Plan
	return out, true, nil
}

// oneToOne reports whether every row in the ranges of the pattern is one solution.
func (t *tally) oneToOne(a *pattern.Access) (bool, error) {
	pat := t.pat
	if len(a.Consts) > 0 || len(a.Same) > 0 || pat.Graphs.Mode == pattern.SomeGraphs || pat.Graphs.Mode == pattern.EachGraph {
		return false, nil
	}
	if pat.Graphs.Mode == pattern.OneGraph { // other orders have the graph last
		return a.Order == triple.GSPO, nil
	}
	some, err := t.p.Exec.HasRow(triple.OrderRange(triple.GSPO), nil)
	return !some, err
}

// rangeTerms steps from term to term in an order that has the rows of a term together.
func (t *tally) rangeTerms() (Stream, bool, error) {
	runs, detail, ok := t.runs()
	if !ok {
		return Stream{}, false, nil
	}
	var op exec.Operator = runs
	out, name := t.binding(1), "count of terms"
	switch t.node.Kind {
	case algebra.TallyTerms:
		op = &scan.CountTerms{Runs: runs, Slot: t.node.Counts[0], Got: t.p.Exec.NewBatch()}
	case algebra.TallyEach:
		if plain, err := t.oneToOne(runs.Cursor.Access); !plain || err != nil {
			return Stream{}, false, err
		}
		out.Rows, name = solution.BatchRows, "count of each term"
		runs.Counts = t.node.Counts
	default:
		one, err := t.candidate()
		if err != nil {
			return Stream{}, false, err
		}
		out.Rows, name = one.Rows, "distinct terms"
	}
	out = t.p.Traced(out, op, name, detail)
	runs.Cursor.Plan = out.Plan
	return out, true, nil
}

// candidate returns the pattern with its estimates.
func (t *tally) candidate() (*cost.Candidate, error) {
	list := []cost.Candidate{{Pat: t.pat, Text: t.p.patternText(t.node.Pattern)}}
	err := t.p.Estimator.Estimate(list, 0)
	return &list[0], err
}

// runs returns an operator over the terms of the variable, and its detail; ok is false if no order has their rows together.
func (t *tally) runs() (r *scan.TermRuns, detail func() string, ok bool) {
	one := cost.Candidate{Pat: t.pat}
	order := one.SortedBy(t.node.Slot)
	if order == 0 {
		return nil, nil, false
	}
	sorted := *t.pat
	sorted.Order = order
	r = &scan.TermRuns{Exec: t.p.Exec, Slot: t.node.Slot, Empty: make([]string, t.p.Exec.Width)}
	r.Cursor = scan.Cursor{Pattern: &sorted, Reader: t.p.Exec.NewReader(&sorted)}
	r.Cursor.Access = sorted.Access(sorted.Mask(r.Empty))
	if len(r.Cursor.Access.Same) > 0 {
		return nil, nil, false
	}
	r.Cursor.Position = order.Positions()[r.Cursor.Access.Prefix]
	return r, t.detail(order), true
}
