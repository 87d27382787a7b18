// The cost of scans and look-ups in the order of joins.

package order

import (
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// scan sets the cost of the first pattern of a plan.
func (m *joinModel) scan(to *joinState, one *cost.Candidate) {
	to.sorted = scanned(one)
	to.cost = to.rows*cost.Row + cost.Seek
}

// lookUp sets the cost of a state that looks up one more pattern by the rows of another.
func (m *joinModel) lookUp(to, from *joinState, one *cost.Candidate) {
	seeks := from.seeks(one)
	to.cost = from.cost + from.rows*cost.Key + to.rows*cost.Row + seeks
	matched := 1.0
	for position, v := range one.Local {
		if v >= 0 && from.distinct[v] > 0 {
			matched = min(matched, one.Distinct[position]/from.distinct[v])
		}
	}
	to.risk = from.risk + (1-matched)*(from.cost+seeks)
}

// scanned returns the variable in whose sequence a scan of a pattern comes.
func scanned(one *cost.Candidate) int32 {
	mask := uint8(0)
	for position, at := range one.Pat.Places {
		if at.Key != "" {
			mask |= 1 << position
		}
	}
	a := one.Pat.Access(mask)
	if a.Prefix < 4 && len(a.Consts) == 0 {
		return int32(one.Local[a.Order.Positions()[a.Prefix]])
	}
	return -1
}

// rowsAround is about how many rows a subject or an object has for each of a
// pattern.
const rowsAround = 8

// seeks returns the cost to find the ranges of a pattern for the rows of a state: a seek for
// each range, if it is not near the one before.
func (s *joinState) seeks(one *cost.Candidate) float64 {
	keys, mask, sorted := 1.0, uint8(0), -1
	for position, v := range one.Local {
		if v >= 0 && s.distinct[v] > 0 && !one.Repeated(position) {
			keys *= s.distinct[v]
			mask |= 1 << position
			if int(s.sorted) == v {
				sorted = position
			}
		}
		if one.Pat.Places[position].Key != "" {
			mask |= 1 << position
		}
	}
	keys = min(keys, s.rows)
	if sorted < 0 { // rows of a chunk with the same key share a range
		keys = s.rows / exec.LastChunkRows * min(keys, exec.LastChunkRows)
		if s.rows < exec.LastChunkRows {
			keys = min(keys, s.rows)
		}
		return keys * cost.Seek
	}
	// If the pattern's terms lead to the variable, its rows lie together; else
	// among all rows of their subjects, or objects.
	near := one.Rows
	if positions := one.Pat.Best(mask).Positions(); positions[0] == sorted {
		near *= rowsAround
	}
	return keys * min(cost.Seek, max(1, near/keys)*cost.Step)
}
