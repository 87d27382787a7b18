// The cost of hash joins in the order of joins.

package order

import "github.com/trefoildb/trefoil/sparql/plan/cost"

// joinHash sets the cost of a hash join. It reads the pattern once, by itself, and a column has no rows to read.
func (p *search) joinHash(s *joinState, one *cost.Candidate, to joinState) (joinState, bool) {
	if one.Column != nil || s.rows < 100 || !s.shares(one) || one.Rows*cost.RowBytes > float64(p.Exec.Account.Limit/4) {
		return to, false
	}
	to.cost = s.cost + one.Rows*(cost.Row+cost.Build) + s.rows*cost.Probe + to.rows*cost.Probe
	return to, true
}
