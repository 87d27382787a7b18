// The number of copies of a triple.

package recovery

import "cmp"

// The number of copies that a cluster may choose: how many machines hold each row of a triple. One copy is not allowed, because a single
// loss would lose data. More than five cost more than they protect.
//
// DefaultCopies must stay three, because stored views without a number mean it. The default for
// new clusters is a flag of trefoil serve.
const (
	MinCopies     = 2
	MaxCopies     = 5
	DefaultCopies = 3
)

// Required returns how many distinct machines hold each triple at least: Copies, or all
// machines of the placement if they are fewer.
func (l Layout) Required() int {
	return min(cmp.Or(l.Copies, DefaultCopies), len(l.Placement.Machines()))
}
