// Triple term patterns: when terms are made of their parts, and when parts are taken from terms.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/triple"
)

// unfolding is an [algebra.Unfold] of a join. It waits until the rows bind the term, then it binds the parts,
// or until they bind all parts, then it makes the term, which the other patterns look up.
type unfolding struct {
	node  *algebra.Unfold
	inner algebra.Set // the variables of the parts
	parts []int       // the same as a list
	done  bool
}

// withUnfolds returns the scope of a join with triple term patterns, and patterns that may bind their terms.
func (p *part) withUnfolds(list []*algebra.Unfold, patterns []algebra.TriplePattern) scope {
	at := p.at
	at.unfolds = nil
	for _, node := range list {
		one := &unfolding{node: node}
		for _, at := range node.Places() {
			if at.IsVar() {
				one.inner.Add(at.Slot)
			}
		}
		one.parts = one.inner.Slots()
		at.unfolds = append(at.unfolds, one)
	}
	at.ranges = unfoldSpans(p.at.ranges, list)
	for _, node := range list {
		if spans, ok := p.objectSpans(node, patterns, at.graphs); ok {
			at.ranges[node.Slot] = pattern.Restriction{Spans: spans}
		}
	}
	return at
}

// maxObjectSpans bounds the triple terms of one object that are looked up one by one.
const maxObjectSpans = 1 << 12

// objectSpans returns the triple terms of a known object and an unknown subject as ranges, because keys find terms
// by their subjects only. ok is false if they are many, or if columns do not have the objects of each pattern that
// binds the term.
func (q *query) objectSpans(node *algebra.Unfold, patterns []algebra.TriplePattern, g pattern.Graphs) (spans []pattern.Span, ok bool) {
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
		col := q.column(newPattern(p.Subject, p.Predicate, p.Object, g, nil))
		if col == nil || col.LongObjects {
			return nil, false
		}
		found = true
	}
	if !found {
		return nil, false
	}
	// 2. Make their ranges.
	terms, ok := q.columns.Dictionary().TriplesWith([]byte(predicate.Key), []byte(object.Key), maxObjectSpans)
	spans = []pattern.Span{} // none is not all
	for _, term := range terms {
		spans = append(spans, termSpan(term))
	}
	return spans, ok
}

// unfoldSpans adds the ranges of the triple terms to restrictions: those with the terms of a pattern up to
// its first variable.
func unfoldSpans(above map[int]pattern.Restriction, list []*algebra.Unfold) map[int]pattern.Restriction {
	if len(list) == 0 {
		return above
	}
	out := make(map[int]pattern.Restriction, len(above)+len(list))
	for slot, r := range above {
		out[slot] = r
	}
	for _, node := range list {
		span, _ := tripleSpan(node, func(at algebra.VarOrTerm) (string, bool) { return solution.Encode(at.Term), !at.IsVar() })
		out[node.Slot] = pattern.Restriction{Spans: []pattern.Span{span}}
	}
	return out
}

// tripleSpan returns the range of the triple terms with the known terms of a pattern up to the first unknown
// one, and how many those are.
func tripleSpan(node *algebra.Unfold, known func(algebra.VarOrTerm) (encoded string, ok bool)) (span pattern.Span, n int) {
	var whole []byte
	for i, at := range node.Places() {
		term, ok := known(at)
		if !ok {
			break
		}
		if i > 0 {
			whole = append(whole, tripleFieldEnd...)
		}
		whole = append(whole, term...)
		n++
	}
	if n > 0 && n < 3 {
		whole = append(whole, tripleFieldEnd...)
	}
	kr, err := triple.Bounds{Order: triple.OSP, Starts: triple.Starts{Kind: triple.TripleTerm, Text: string(whole)}}.KeyRange()
	if err != nil { // starts of a triple term have a range
		panic(err)
	}
	return pattern.Span{Lo: kr.Range.Lo[1:], Hi: kr.Range.Hi[1:]}, n
}

// tripleFieldEnd separates the parts of an encoded triple term.
var tripleFieldEnd = []byte{0, 3}

// unfold carries out the unfoldings that are ready with the rows of s.
func (p *part) unfold(s stream) (stream, error) {
	for again := true; again; {
		again = false
		for _, one := range p.at.unfolds {
			if one.done {
				continue
			}
			var err error
			switch {
			case s.certain.Has(one.node.Slot):
				s = p.takeParts(one, s)
			case s.certain.HasEach(one.parts) && !s.possible.Has(one.node.Slot):
				s, err = p.makeTerm(one, s)
			default:
				continue
			}
			if err != nil {
				return s, err
			}
			one.done, again = true, true
		}
	}
	return s, nil
}

// allUnfolded carries out the rest of the unfoldings of a join behind its last argument.
func (p *part) allUnfolded(s stream) (stream, error) {
	s, err := p.ready(s)
	for _, one := range p.at.unfolds {
		if err == nil && !one.done {
			err = fmt.Errorf("no pattern binds %s", p.body.Scope.Unfold(one.node))
		}
	}
	return s, err
}

// takeParts binds the parts of a term that all rows bind.
func (p *part) takeParts(one *unfolding, s stream) stream {
	// A variable that only some rows bind must not be a number in these and a term in the others.
	s = p.terms(s, one.inner.Minus(s.certain))
	op := &exec.Unfold{Exec: p.exec, Input: s.op, Slot: one.node.Slot, Places: *unfoldPlaces(one.node)}
	var taken *takenParts
	if s.join != nil && s.numbers.Has(one.node.Slot) && one.bindsAll(s) {
		taken = &takenParts{node: one.node, join: s.join, plan: s.plan}
	}
	for slot := range one.inner.All {
		s.bind(slot)
	}
	out := p.traced(s, op, "unfold", p.unfoldText(one.node), s.plan)
	out.taken = taken
	return out
}

// takenParts is an unfolding of a term that a join over columns binds to numbers, none of them of a long term. It binds its
// variables. A count, which does not need these, tests the term in a step of the join.
type takenParts struct {
	node *algebra.Unfold
	join *exec.ColumnJoin
	plan *explain.Plan // of the join
}

// bindsAll reports whether the variables of an unfolding are different ones, and no row of s binds one of them.
func (one *unfolding) bindsAll(s stream) bool {
	n := 0
	for _, at := range one.node.Places() {
		if at.IsVar() {
			n++
		}
	}
	return n == one.inner.Len() && one.inner.Intersect(s.possible).Len() == 0
}

// tested returns the join with a test of the terms as its last step.
func (t *takenParts) tested(text func() string) *exec.ColumnJoin {
	end := exec.ColumnEnd{Slot: -1}
	t.join.Append(exec.ColumnStep{Key: exec.ColumnEnd{Slot: t.node.Slot}, Value: end, Triple: &exec.TripleTest{Places: *unfoldPlaces(t.node)}}, false)
	before := t.plan.Detail
	t.plan.Detail = func() string { return before() + " . " + text() }
	return t.join
}

// makeTerm binds the term whose parts all rows bind. A row is dropped if they make no triple.
func (p *part) makeTerm(one *unfolding, s stream) (stream, error) {
	bound := &ast.Call{Pos: one.node.Pos, Func: ast.FuncBound, Args: []ast.Expr{&ast.Var{Pos: one.node.Pos, Slot: one.node.Slot}}}
	exprs, err := compileExprs([]ast.Expr{bound})
	if err != nil {
		return s, err
	}
	e := &exec.Extend{
		Exec: p.exec, Input: s.op, Slots: []int{one.node.Slot}, Parts: unfoldPlaces(one.node),
		Env: p.exec.NewEnv(), Large: p.exec.Account.NewHolder("extend"),
	}
	s = p.traced(s, e, "extend", p.unfoldText(one.node), s.plan)
	f := &exec.Filter{Exec: p.exec, Input: s.op, Conditions: exprs, Slots: []int{-1}, Nodes: []*exec.NodeTest{nil}, Env: p.exec.NewEnv()}
	s = p.traced(s, f, "filter", func() string { return "a triple term" }, s.plan)
	s.bind(one.node.Slot)
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
func (p *part) unfolded(certain algebra.Set) (more algebra.Set) {
	bound := certain.Clone()
	for again := true; again; {
		again = false
		for _, one := range p.at.unfolds {
			if one.done {
				continue
			}
			term, parts := one.node.Slot, bound.HasEach(one.parts)
			if bound.Has(term) == parts {
				continue
			}
			for _, slot := range append(one.parts[:len(one.parts):len(one.parts)], term) {
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
