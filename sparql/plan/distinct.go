// DISTINCT and REDUCED.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// distinct gives each row of the input once.
func (c *compiler) distinct(input algebra.Node, in stream, at scope, want request) (stream, error) {
	out, err := c.compile(input, in, at.unfiltered(), request{goal: 4 * want.goal}) // a guess
	if err != nil {
		return in, err
	}
	d := &exec.Distinct{Exec: c.exec, Input: out.op, Slots: out.possible.Slots(), KeepOrder: sorts(input), Holder: c.exec.Account.NewHolder("distinct")}
	return c.traced(out, d, "distinct", nil, out.plan), nil
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
func (c *compiler) reduced(input algebra.Node, in stream, at scope) (stream, error) {
	out, err := c.compile(input, in, at.unfiltered(), request{})
	if err != nil {
		return in, err
	}
	r := &exec.Reduced{Exec: c.exec, Input: out.op, Slots: out.possible.Slots(), Holder: c.exec.Account.NewHolder("reduced")}
	return c.traced(out, r, "reduced", nil, out.plan), nil
}
