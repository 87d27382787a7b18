// Triple term patterns: when terms are made of their parts, and when parts are taken from terms.

package build

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/columnjoin"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/triple"
)

// WithUnfolds returns the scope of a join with triple term patterns, and patterns that may bind their terms.
func (p *Part) WithUnfolds(list []*algebra.Unfold, patterns []algebra.TriplePattern) Scope {
	at := p.At
	at.Unfolds = nil
	for _, node := range list {
		one := &order.Unfolding{Node: node}
		for _, at := range node.Places() {
			if at.IsVar() {
				one.Inner.Add(at.Slot)
			}
		}
		one.Parts = one.Inner.Slots()
		at.Unfolds = append(at.Unfolds, one)
	}
	at.Ranges = cost.TripleSpans(p.At.Ranges, list)
	for _, node := range list {
		if spans, ok := p.objectSpans(node, patterns, at.Graphs); ok {
			at.Ranges[node.Slot] = pattern.Restriction{Spans: spans}
		}
	}
	return at
}

// maxObjectSpans bounds the triple terms of one object that are looked up one by one.
const maxObjectSpans = 1 << 12

// objectSpans returns the triple terms of a known object and an unknown subject as ranges, because keys find terms
// by their subjects only. ok is false if they are many, or if columns do not have the objects of each pattern that
// binds the term.
func (q *Query) objectSpans(node *algebra.Unfold, patterns []algebra.TriplePattern, g pattern.Graphs) (spans []pattern.Span, ok bool) {
	subject, predicate, object := node.Places()[triple.Subject], node.Places()[triple.Predicate], node.Places()[triple.Object]
	if !subject.IsVar() || object.IsVar() {
		return nil, false
	}
	// 1. Each pattern that binds the term must have a column, because a row would read each range. The term is then
	// in the dictionary.
	found := false
	for _, p := range patterns {
		if p.Object.Slot != node.Slot {
			continue
		}
		col := q.Column(cost.NewPattern(p.Subject, p.Predicate, p.Object, g, nil))
		if col == nil || col.LongObjects {
			return nil, false
		}
		found = true
	}
	if !found {
		return nil, false
	}
	// 2. Make their ranges.
	terms, ok := q.Columns.Dictionary().TriplesWith([]byte(predicate.Key), []byte(object.Key), maxObjectSpans)
	spans = []pattern.Span{} // none is not all
	for _, term := range terms {
		spans = append(spans, cost.TermSpan(term))
	}
	return spans, ok
}

// unfold carries out the unfoldings that are ready with the rows of s.
func (p *Part) unfold(s Stream) (Stream, error) {
	for again := true; again; {
		again = false
		for _, one := range p.At.Unfolds {
			if one.Done {
				continue
			}
			var err error
			switch {
			case s.Certain.Has(one.Node.Slot):
				s = p.takeParts(one, s)
			case s.Certain.HasEach(one.Parts) && !s.Possible.Has(one.Node.Slot):
				s, err = p.makeTerm(one, s)
			default:
				continue
			}
			if err != nil {
				return s, err
			}
			one.Done, again = true, true
		}
	}
	return s, nil
}

// AllUnfolded carries out the rest of the unfoldings of a join behind its last argument.
func (p *Part) AllUnfolded(s Stream) (Stream, error) {
	s, err := p.Ready(s)
	for _, one := range p.At.Unfolds {
		if err == nil && !one.Done {
			err = fmt.Errorf("no pattern binds %s", p.Body.Scope.Unfold(one.Node))
		}
	}
	return s, err
}

// takeParts binds the parts of a term that all rows bind.
func (p *Part) takeParts(one *order.Unfolding, s Stream) Stream {
	// A variable that only some rows bind must not be a number in these and a term in the others.
	s = p.Terms(s, one.Inner.Minus(s.Certain))
	op := &exec.Unfold{Exec: p.Exec, Input: s.Op, Slot: one.Node.Slot, Places: *unfoldPlaces(one.Node)}
	var taken *takenParts
	if s.join != nil && s.Numbers.Has(one.Node.Slot) && one.BindsAll(s.Possible) {
		taken = &takenParts{node: one.Node, join: s.join, plan: s.Plan}
	}
	for slot := range one.Inner.All {
		s.Bind(slot)
	}
	out := p.Traced(s, op, "unfold", p.unfoldText(one.Node), s.Plan)
	out.taken = taken
	return out
}

// takenParts is an unfolding of a term that a join over columns binds to numbers, none of them of a long term. It binds its
// variables. A count, which does not need these, tests the term in a step of the join.
type takenParts struct {
	node *algebra.Unfold
	join *columnjoin.Join
	plan *explain.Plan // of the join
}

// tested returns the join with a test of the terms as its last step.
func (t *takenParts) tested(text func() string) *columnjoin.Join {
	end := columnjoin.End{Slot: -1}
	t.join.Append(columnjoin.Step{Key: columnjoin.End{Slot: t.node.Slot}, Value: end, Triple: &columnjoin.TripleTest{Places: *unfoldPlaces(t.node)}}, false)
	before := t.plan.Detail
	t.plan.Detail = func() string { return before() + " . " + text() }
	return t.join
}

// makeTerm binds the term whose parts all rows bind. A row is dropped if they make no triple.
func (p *Part) makeTerm(one *order.Unfolding, s Stream) (Stream, error) {
	bound := &ast.Call{Pos: one.Node.Pos, Func: ast.FuncBound, Args: []ast.Expr{&ast.Var{Pos: one.Node.Pos, Slot: one.Node.Slot}}}
	exprs, err := CompileExprs([]ast.Expr{bound})
	if err != nil {
		return s, err
	}
	e := &exec.Extend{
		Exec: p.Exec, Input: s.Op, Slots: []int{one.Node.Slot}, Parts: unfoldPlaces(one.Node),
		Env: p.Exec.NewEnv(), Large: p.Exec.Account.NewHolder("extend"),
	}
	s = p.Traced(s, e, "extend", p.unfoldText(one.Node), s.Plan)
	f := &exec.Filter{Exec: p.Exec, Input: s.Op, Conditions: exprs, Slots: []int{-1}, Nodes: []*exec.NodeTest{nil}, Env: p.Exec.NewEnv()}
	s = p.Traced(s, f, "filter", func() string { return "a triple term" }, s.Plan)
	s.Bind(one.Node.Slot)
	return s, nil
}

// unfoldPlaces returns the places of a triple term pattern.
func unfoldPlaces(node *algebra.Unfold) *[3]exec.UnfoldPlace {
	var places [3]exec.UnfoldPlace
	for i, at := range node.Places() {
		places[i] = exec.UnfoldPlace{Slot: at.Slot}
		if !at.IsVar() {
			places[i] = exec.UnfoldPlace{Slot: -1, Term: solution.Encode(at.Term)}
		}
	}
	return &places
}

// unfolded returns the variables that unfoldings bind in rows that bind certain variables.
func (p *Part) unfolded(certain algebra.Set) (more algebra.Set) {
	bound := certain.Clone()
	for again := true; again; {
		again = false
		for _, one := range p.At.Unfolds {
			if one.Done {
				continue
			}
			term, parts := one.Node.Slot, bound.HasEach(one.Parts)
			if bound.Has(term) == parts {
				continue
			}
			for _, slot := range append(one.Parts[:len(one.Parts):len(one.Parts)], term) {
				if !bound.Has(slot) {
					bound.Add(slot)
					more.Add(slot)
				}
			}
			again = true
		}
	}
	return more
}
