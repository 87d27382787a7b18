// The cost of joins over columns in the order of joins.

package order

import "github.com/trefoildb/trefoil/sparql/plan/cost"

// joinColumn sets the cost of a state that joins one more pattern over its column.
func (m *joinModel) joinColumn(to, from *joinState, one *cost.Candidate) {
	to.cost = from.cost + to.rows*cost.ColumnRow
	if m.first(from) {
		to.sorted = -1
		return
	}
	probes := from.rows * cost.ColumnProbe
	to.cost += probes
	to.risk = from.risk + probes
}
