// Candidates for merge joins at the start of a join order.

package order

import (
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// merges sets the states of merge joins at the beginning of a plan. Each pattern is scanned in
// the sequence of one variable.
func (p *search) merges(states []joinState, steps map[int]Step) {
	m := p.model
	for v, slot := range m.vars.slots {
		// 1. Find the patterns with an order in the sequence of the variable, the smallest first.
		var list []int
		for i := range m.list {
			if one := &m.list[i]; one.Column == nil && one.SortedBy(slot) != 0 && !one.Same {
				list = append(list, i)
			}
		}
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(m.list[a].Rows, m.list[b].Rows) })
		var taken []int
		mask := 0
		so := joinState{reached: true, method: ByMerge, last: -1, sorted: int32(v), rows: 1, distinct: make([]float64, len(m.vars.slots))}
		// 2. Join them one after the other. Each prefix of two and more is a candidate.
		for _, i := range list {
			if !isApart(m.list, taken, i, v) {
				continue
			}
			one := &m.list[i]
			// A scan steps over its rows or seeks, whichever is less.
			keys := so.distinct[v]
			so.rows *= one.Fan(so.distinct)
			if len(taken) == 0 {
				so.cost = one.Rows * cost.Row
			} else {
				so.cost += min(one.Rows*cost.Step, keys*(cost.Seek+cost.Step)) + min(one.Rows, so.rows)*cost.Row + so.rows*cost.Row
			}
			m.bind(&so, so.distinct, i)
			taken = append(taken, i)
			mask |= 1 << i
			to := &states[mask]
			if len(taken) > 1 && (!to.reached || so.cost < to.cost) {
				copy(to.distinct, so.distinct)
				distinct := to.distinct
				*to = so
				to.distinct = distinct
				steps[mask] = Step{Method: ByMerge, List: slices.Clone(taken), Slot: slot}
			}
		}
	}
}

// isApart reports whether a pattern of a list shares no variable with others but v.
func isApart(list []cost.Candidate, others []int, i, v int) bool {
	for _, other := range others {
		for _, a := range list[other].Local {
			for _, b := range list[i].Local {
				if a == b && a >= 0 && a != v {
					return false
				}
			}
		}
	}
	return true
}
