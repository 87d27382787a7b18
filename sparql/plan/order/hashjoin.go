// The cost of hash joins in the order of joins.

package order

import "github.com/trefoildb/trefoil/sparql/plan/cost"

// joinHash sets the cost of a hash join, and reports whether it is possible. It reads the pattern once, by itself, and a column has no rows to read.
func (m *joinModel) joinHash(to, from *joinState, one *cost.Candidate) bool {
	if one.Column != nil || from.rows < 100 || !from.shares(one) || one.Rows*cost.RowBytes > float64(m.memory/4) {
		return false
	}
	to.cost = from.cost + one.Rows*(cost.Row+cost.Build) + from.rows*cost.Probe + to.rows*cost.Probe
	return true
}
