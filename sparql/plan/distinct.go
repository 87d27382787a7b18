// DISTINCT and REDUCED.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// distinct gives each row of the input once.
func (c *compiler) distinct(input algebra.Node, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	out, err := c.compile(input, in, at.Unfiltered(), order.Request{Goal: 4 * want.Goal}) // a guess
	if err != nil {
		return in, err
	}
	d := &blocking.Distinct{Exec: c.Exec, Input: out.Op, Slots: out.Possible.Slots(), KeepOrder: sorts(input), Holder: c.Exec.Account.NewHolder("distinct")}
	return c.Traced(out, d, "distinct", nil, out.Plan), nil
}

// sorts reports whether the rows of n must come in an order requested by the query.
func sorts(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.OrderBy:
		return true
	case *algebra.Project:
		return sorts(n.Input)
	case *algebra.Extend:
		return sorts(n.Input)
	case *algebra.Distinct:
		return sorts(n.Input)
	case *algebra.Reduced:
		return sorts(n.Input)
	case *algebra.Slice:
		return sorts(n.Input)
	}
	return false
}

// reduced drops some of the rows that are equal.
func (c *compiler) reduced(input algebra.Node, in build.Stream, at build.Scope) (build.Stream, error) {
	out, err := c.compile(input, in, at.Unfiltered(), order.Request{})
	if err != nil {
		return in, err
	}
	r := &blocking.Reduced{Exec: c.Exec, Input: out.Op, Slots: out.Possible.Slots(), Holder: c.Exec.Account.NewHolder("reduced")}
	return c.Traced(out, r, "reduced", nil, out.Plan), nil
}
