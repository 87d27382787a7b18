// Triple term patterns in the order of joins: their cost, and look-ups by the first parts.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

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

// indexUnfolds fills the indexes of the unfoldings, because a search looks them up for each pattern in each step.
func (p *planner) indexUnfolds() {
	p.byTerm, p.byParts = map[int]int{}, map[[3]int][]int{}
	for i, u := range p.unfolds {
		if _, ok := p.byTerm[u.term]; !ok {
			p.byTerm[u.term] = i
		}
		p.byParts[u.parts] = append(p.byParts[u.parts], i)
	}
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
	if len(p.unfolds) > 0 && one.local[triple.Graph] < 0 {
		for _, i := range p.byParts[[3]int(one.local[:3])] {
			if terms := s.distinct[p.unfolds[i].term]; terms > 0 {
				return min(1, one.rows/terms)
			}
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
	if i, ok := p.byTerm[one.local[triple.Object]]; ok {
		return &p.unfolds[i]
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
	in = c.terms(in, one.vars.Union(c.unfolds[i].inner))
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
