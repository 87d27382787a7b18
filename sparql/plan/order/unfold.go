// Triple term patterns in the order of joins: their cost, and look-ups by the first parts.

package order

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/triple"
)

// Unfolding is an [algebra.Unfold] of a join. It waits until the rows bind the term, then it binds the parts,
// or until they bind all parts, then it makes the term, which the other patterns look up.
type Unfolding struct {
	Node  *algebra.Unfold
	Inner algebra.Set // the variables of the parts
	Parts []int       // the same as a list
	Done  bool
}

// BindsAll reports whether the variables of an unfolding are different ones, and no row with possible bindings binds one of them.
func (one *Unfolding) BindsAll(possible algebra.Set) bool {
	n := 0
	for _, at := range one.Node.Places() {
		if at.IsVar() {
			n++
		}
	}
	return n == one.Inner.Len() && one.Inner.Intersect(possible).Len() == 0
}

// plannedUnfold is a waiting unfolding with the model's numbers of its variables.
type plannedUnfold struct {
	term  int
	parts [3]int // negative for terms
}

// plannedUnfolds are waiting unfoldings, with indexes, because a search looks them up for each pattern in each step.
type plannedUnfolds struct {
	list    []plannedUnfold
	byTerm  map[int]int      // the first place in list of each term's variable
	byParts map[[3]int][]int // the places in list of all with the same parts
}

// newUnfolds returns the waiting unfoldings of a list. It numbers their variables.
func newUnfolds(list []*Unfolding, vars *variables) plannedUnfolds {
	all := plannedUnfolds{byTerm: map[int]int{}, byParts: map[[3]int][]int{}}
	for _, one := range list {
		if one.Done {
			continue
		}
		// A term may stand for several unfoldings: the first one is looked up by it.
		u := plannedUnfold{term: vars.number(one.Node.Slot), parts: [3]int{-1, -1, -1}}
		for i, at := range one.Node.Places() {
			if at.IsVar() {
				u.parts[i] = vars.number(at.Slot)
			}
		}
		if _, ok := all.byTerm[u.term]; !ok {
			all.byTerm[u.term] = len(all.list)
		}
		all.byParts[u.parts] = append(all.byParts[u.parts], len(all.list))
		all.list = append(all.list, u)
	}
	return all
}

// unfold sets the bindings of a state that unfoldings make, with their cost and the rows that they leave.
// from are the bindings before the last pattern.
func (m *joinModel) unfold(s *joinState, from []float64) {
	done := make([]bool, len(m.unfolds.list))
	for again := true; again; {
		again = false
		for i := range m.unfolds.list {
			u := &m.unfolds.list[i]
			if done[i] || from[u.term] > 0 {
				continue
			}
			switch {
			case s.distinct[u.term] > 0:
				u.takeParts(s)
			case u.bound(s.distinct):
				s.cost += s.rows * cost.Make
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

// fan is [cost.Candidate.Fan]. If the pattern's variables are the parts of a known triple term, a row has one match
// at most.
func (m *joinModel) fan(s *joinState, one *cost.Candidate) float64 {
	if len(m.unfolds.list) > 0 && one.Local[triple.Graph] < 0 {
		for _, i := range m.unfolds.byParts[[3]int(one.Local[:3])] {
			if terms := s.distinct[m.unfolds.list[i].term]; terms > 0 {
				return min(1, one.Rows/terms)
			}
		}
	}
	return one.Fan(s.distinct)
}

// narrow reports whether rows of a state know the first parts of the triple terms that are the objects of a
// pattern. share is the expected share of the pattern's rows with parts of one row.
func (m *joinModel) narrow(s *joinState, one *cost.Candidate) (share float64, ok bool) {
	u := m.unfolds.termOf(one)
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
		share /= max(1, u.guess(i, one.Distinct[triple.Object]), s.distinct[v])
		ok = true
	}
	return share, ok
}

// termOf returns the unfolding of the objects of a pattern; nil if there is none.
func (all *plannedUnfolds) termOf(one *cost.Candidate) *plannedUnfold {
	if i, ok := all.byTerm[one.Local[triple.Object]]; ok {
		return &all.list[i]
	}
	return nil
}

// joinNarrow sets the rows and the cost of a look-up by the first parts of triple terms, and reports whether
// the rows know them.
func (m *joinModel) joinNarrow(to, from *joinState, one *cost.Candidate) bool {
	share, ok := m.narrow(from, one)
	if !ok {
		return false
	}
	seeks := from.rows * cost.Seek
	to.rows *= share
	to.cost = from.cost + from.rows*cost.Make + seeks + to.rows*cost.Row
	to.risk = from.risk + seeks
	return true
}

// guess returns how many distinct terms a part of triple terms has.
func (u *plannedUnfold) guess(part int, terms float64) float64 {
	if part == triple.Predicate {
		return min(terms, 30)
	}
	return max(1, terms/2)
}

// takeParts sets a state's bindings of the parts of the term. A part that was bound before leaves few of the rows,
// unless they were looked up by it.
func (u *plannedUnfold) takeParts(s *joinState) {
	s.cost += s.rows * cost.Unfold
	terms := s.distinct[u.term]
	for i, v := range u.parts {
		if v < 0 {
			continue
		}
		parts := u.guess(i, terms)
		if s.distinct[v] > 0 && s.method == ByNarrow {
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
