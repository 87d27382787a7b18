// Triple term patterns: when terms are made of their parts, and when parts are taken from terms.

package plan

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// unfolding is an [algebra.Unfold] of a join. It waits until the rows bind the term, then it binds the parts,
// or until they bind all parts, then it makes the term, which the other patterns look up.
type unfolding struct {
	node  *algebra.Unfold
	inner algebra.Set // the variables of the parts
	done  bool
}

// withUnfolds returns a compiler of a join with triple term patterns.
func (c *compiler) withUnfolds(list []*algebra.Unfold) *compiler {
	sub := *c
	sub.unfolds = nil
	for _, node := range list {
		one := &unfolding{node: node}
		for _, at := range node.Places() {
			if at.IsVar() {
				one.inner.Add(at.Slot)
			}
		}
		sub.unfolds = append(sub.unfolds, one)
	}
	sub.spans = unfoldSpans(c.spans, list)
	return &sub
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
func (c *compiler) unfold(s stream) (stream, error) {
	for again := true; again; {
		again = false
		for _, one := range c.unfolds {
			if one.done {
				continue
			}
			var err error
			switch {
			case s.certain.Has(one.node.Slot):
				s = c.takeParts(one, s)
			case s.certain.ContainsAll(one.inner) && !s.possible.Has(one.node.Slot):
				s, err = c.makeTerm(one, s)
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
func (c *compiler) allUnfolded(s stream) (stream, error) {
	s, err := c.ready(s)
	for _, one := range c.unfolds {
		if err == nil && !one.done {
			err = fmt.Errorf("no pattern binds %s", c.body.Scope.Unfold(one.node))
		}
	}
	return s, err
}

// takeParts binds the parts of a term that all rows bind.
func (c *compiler) takeParts(one *unfolding, s stream) stream {
	// A variable that only some rows bind must not be a number in these and a term in the others.
	s = c.terms(s, one.inner.Without(s.certain))
	op := &exec.Unfold{Exec: c.query, Input: s.op, Slot: one.node.Slot, Places: *unfoldPlaces(one.node)}
	for slot := range one.inner.All {
		s.bind(slot)
	}
	return c.traced(s, op, "unfold", c.unfoldText(one.node), s.plan)
}

// makeTerm binds the term whose parts all rows bind. A row is dropped if they make no triple.
func (c *compiler) makeTerm(one *unfolding, s stream) (stream, error) {
	bound := &ast.Call{Pos: one.node.Pos, Func: ast.FuncBound, Args: []ast.Expr{&ast.Var{Pos: one.node.Pos, Slot: one.node.Slot}}}
	exprs, err := compileExprs([]ast.Expr{bound})
	if err != nil {
		return s, err
	}
	e := &exec.Extend{
		Exec: c.query, Input: s.op, Slots: []int{one.node.Slot}, Parts: unfoldPlaces(one.node),
		Env: c.query.NewEnv(), Large: c.query.Account.NewHolder("extend"),
	}
	s = c.traced(s, e, "extend", c.unfoldText(one.node), s.plan)
	f := &exec.Filter{Exec: c.query, Input: s.op, Conditions: exprs, Slots: []int{-1}, Nodes: []*exec.NodeTest{nil}, Env: c.query.NewEnv()}
	s = c.traced(s, f, "filter", func() string { return "a triple term" }, s.plan)
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

func (c *compiler) unfoldText(node *algebra.Unfold) func() string {
	return func() string { return c.body.Scope.Unfold(node) }
}

// inUnfold reports whether a waiting unfolding has a variable.
func (c *compiler) inUnfold(slot int) bool {
	return slices.ContainsFunc(c.unfolds, func(one *unfolding) bool {
		return !one.done && (one.node.Slot == slot || one.inner.Has(slot))
	})
}

// unfolded returns the variables that unfoldings bind in rows that bind certain variables.
func (c *compiler) unfolded(certain algebra.Set) (more algebra.Set) {
	for again := true; again; {
		again = false
		for _, one := range c.unfolds {
			if one.done {
				continue
			}
			bound, all := union(certain, more), with(one.inner, one.node.Slot)
			if (bound.Has(one.node.Slot) || bound.ContainsAll(one.inner)) && !bound.ContainsAll(all) {
				more.AddAll(all.Without(certain))
				again = true
			}
		}
	}
	return more
}

// plannedUnfold is a waiting unfolding with the planner's numbers of its variables.
type plannedUnfold struct {
	term  int
	parts [3]int // negative for terms
}

// newUnfolds returns the waiting unfoldings. It numbers their variables.
func (p *planner) newUnfolds(number map[int]int) (list []plannedUnfold) {
	of := func(slot int) int {
		v, ok := number[slot]
		if !ok {
			v = len(p.slots)
			number[slot] = v
			p.slots = append(p.slots, slot)
		}
		return v
	}
	for _, one := range p.c.unfolds {
		if one.done {
			continue
		}
		u := plannedUnfold{term: of(one.node.Slot), parts: [3]int{-1, -1, -1}}
		for i, at := range one.node.Places() {
			if at.IsVar() {
				u.parts[i] = of(at.Slot)
			}
		}
		list = append(list, u)
	}
	return list
}

// unfold sets the bindings of a state that unfoldings make, with their cost and the rows that they leave.
// from are the bindings before the last pattern.
func (p *planner) unfold(s *joinState, from []float64) {
	done := make([]bool, len(p.unfolds))
	for again := true; again; {
		again = false
		for i := range p.unfolds {
			u := &p.unfolds[i]
			if done[i] || from[u.term] > 0 {
				continue
			}
			switch {
			case s.distinct[u.term] > 0:
				p.takeParts(s, u)
			case u.bound(s.distinct):
				s.cost += s.rows * costMake
				s.distinct[u.term] = max(s.rows, 0.05)
			default:
				continue
			}
			done[i], again = true, true
		}
	}
}

// bound reports whether bindings have all parts.
func (u *plannedUnfold) bound(distinct []float64) bool {
	return !slices.ContainsFunc(u.parts[:], func(v int) bool { return v >= 0 && distinct[v] == 0 })
}

var allMethods = [...]joinMethod{byLookup, byHash, byEquality, byNarrow}

// methods returns the ways to join one more pattern.
func (p *planner) methods() []joinMethod {
	if p.unfolds == nil {
		return allMethods[:3]
	}
	return allMethods[:]
}

// fan is [candidate.fan]. If the pattern's variables are the parts of a known triple term, a row has one match
// at most.
func (p *planner) fan(s *joinState, one *candidate) float64 {
	for i := range p.unfolds {
		u := &p.unfolds[i]
		if terms := s.distinct[u.term]; terms > 0 && [3]int(one.local[:3]) == u.parts && one.local[triple.Graph] < 0 {
			return min(1, one.rows/terms)
		}
	}
	return one.fan(s.distinct)
}

// narrow reports whether rows of a state know the first parts of the triple terms that are the objects of a
// pattern. share is the expected share of the pattern's rows with parts of one row.
func (p *planner) narrow(s *joinState, one *candidate) (share float64, ok bool) {
	u := p.unfoldOf(one)
	if u == nil || s.distinct[u.term] > 0 {
		return 1, false
	}
	share = 1
	for i, v := range u.parts {
		switch {
		case v < 0:
			continue
		case s.distinct[v] == 0:
			return share, ok
		}
		share /= max(1, u.guess(i, one.distinct[triple.Object]), s.distinct[v])
		ok = true
	}
	return share, ok
}

// unfoldOf returns the unfolding of the objects of a pattern; nil if there is none.
func (p *planner) unfoldOf(one *candidate) *plannedUnfold {
	for i := range p.unfolds {
		if p.unfolds[i].term == one.local[triple.Object] {
			return &p.unfolds[i]
		}
	}
	return nil
}

// joinNarrow returns the state of a look-up by the first parts of triple terms.
func (p *planner) joinNarrow(s *joinState, one *candidate, to joinState) (joinState, bool) {
	share, ok := p.narrow(s, one)
	if !ok {
		return to, false
	}
	seeks := s.rows * costSeek
	to.rows *= share
	to.cost = s.cost + s.rows*costMake + seeks + to.rows*costRow
	to.risk = s.risk + seeks
	return to, true
}

// lookNarrow joins in with a pattern by look-ups of the triple terms whose first parts the rows have.
func (p *planner) lookNarrow(one *candidate, in stream, rows float64) stream {
	c := p.c
	i := slices.IndexFunc(c.unfolds, func(u *unfolding) bool { return u.node.Slot == one.pat.Places[triple.Object].Slot })
	node := c.unfolds[i].node
	in = c.terms(in, union(one.vars, c.unfolds[i].inner))
	pat := *one.pat
	pat.Narrow = func(row []string) pattern.Span {
		span, _ := tripleSpan(node, func(at algebra.VarOrTerm) (string, bool) {
			if at.IsVar() {
				return row[at.Slot], row[at.Slot] != ""
			}
			return solution.Encode(at.Term), true
		})
		return span
	}
	narrow := *one
	narrow.pat = &pat
	text := one.text
	narrow.text = func() string { return text() + ", " + c.body.Scope.Unfold(node) + "," }
	return c.look(&narrow, in, rows)
}

// guess returns how many distinct terms a part of triple terms has.
func (u *plannedUnfold) guess(part int, terms float64) float64 {
	if part == triple.Predicate {
		return min(terms, 30)
	}
	return max(1, terms/2)
}

// takeParts sets the bindings of the parts of a term. A part that was bound before leaves few of the rows,
// unless they were looked up by it.
func (p *planner) takeParts(s *joinState, u *plannedUnfold) {
	s.cost += s.rows * costUnfold
	terms := s.distinct[u.term]
	for i, v := range u.parts {
		if v < 0 {
			continue
		}
		parts := u.guess(i, terms)
		if s.distinct[v] > 0 && s.method == byNarrow {
			continue
		}
		if s.distinct[v] > 0 {
			s.rows /= max(1, parts, s.distinct[v])
			continue
		}
		s.distinct[v] = parts
	}
	for v, d := range s.distinct {
		if d > s.rows {
			s.distinct[v] = max(s.rows, 0.05)
		}
	}
}
