// Functions of hyperlinks that rank the solutions of a group.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/linkcall"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// linkRank ranks the solutions of its input. These are all there are, because it is executed on its own.
func (c *compiler) linkRank(n *algebra.LinkRank, in build.Stream, at build.Scope) (build.Stream, error) {
	if err := c.CheckLinks(&n.LinkCall); err != nil {
		return in, err
	}
	out, err := c.compile(n.Input, in, at.Unfiltered(), order.Request{})
	if err != nil {
		return in, err
	}
	if n.Page.IsVar() && !out.Possible.Has(n.Page.Slot) {
		return in, fmt.Errorf("%w of %s at %s: it ranks the solutions of the rest of its group, where nothing binds ?%s; add a pattern that does",
			exec.ErrLinks, n.Function, n.Pos, c.Body.Scope.Name(n.Page.Slot))
	}
	// It holds rows, so terms take the place of all numbers.
	out = c.Terms(out, out.Numbers)
	r := &linkcall.Rank{Exec: c.Exec, Input: out.Op, Call: &n.LinkCall, Holder: c.Exec.Account.NewHolder(n.Function.String())}
	for _, at := range n.Places() {
		if at.IsVar() {
			out.Bind(at.Slot)
		}
	}
	out.Sequence = false
	return c.Traced(out, r, "link ranking", c.LinkText(&n.LinkCall), out.Plan), nil
}
