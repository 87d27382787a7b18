// The visible variables of a node, and whether it may start from the solutions so far.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// visibility returns the bound and visible variables of a query's nodes. It keeps those of each
// node, because deep trees need the same nodes at every level.
type visibility struct {
	body  *algebra.Body
	known map[algebra.Node]known
}

// known is the result of [algebra.Vars] for a node.
type known struct{ certain, possible algebra.Set }

// vars returns [algebra.Vars] of a node, and computes it once.
func (v *visibility) vars(n algebra.Node) (certain, possible algebra.Set) {
	k, ok := v.known[n]
	if !ok {
		k.certain, k.possible = algebra.Vars(n)
		v.known[n] = k
	}
	return k.certain, k.possible
}

// structural reports whether n may start from rows at all, whatever it sees.
func structural(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.Unit, *algebra.BGP, *algebra.Path, *algebra.Table, *algebra.Service:
		return true
	case *algebra.Join, *algebra.Filter, *algebra.LeftJoin, *algebra.Union, *algebra.Extend:
		for _, in := range algebra.Inputs(n) {
			if !structural(in) {
				return false
			}
		}
		return true
	case *algebra.Graph:
		return structural(n.Input) && (!n.Name.IsVar() || pushable(n.Input, n.Name.Slot))
	}
	return false
}

// lateral reports whether n may start from rows with possible bindings of outer. The result
// must be the same as a join with n on its own.
func (v *visibility) lateral(n algebra.Node, outer algebra.Set) bool {
	if !structural(n) {
		return false
	}
	for _, in := range algebra.Inputs(n) {
		if !v.lateral(in, outer) {
			return false
		}
	}
	// An expression sees a variable from outside if the rows of its own input may leave it
	// unbound.
	sees := func(certain algebra.Set, exprs ...ast.Expr) bool {
		for _, e := range exprs {
			for _, slot := range v.body.Uses(e).Slots() {
				if outer.Has(slot) && !certain.Has(slot) {
					return true
				}
			}
		}
		return false
	}
	// The result of an operator must not depend on such a variable.
	switch n := n.(type) {
	case *algebra.Filter:
		certain, _ := v.vars(n.Input)
		return !sees(certain, n.Conds...)
	case *algebra.Extend:
		certain, _ := v.vars(n.Input)
		return !outer.Has(n.Slot) && !sees(certain, n.Expr)
	case *algebra.LeftJoin:
		left, _ := v.vars(n.Left)
		right, possible := v.vars(n.Right)
		for _, slot := range possible.Slots() {
			if outer.Has(slot) && !left.Has(slot) {
				return false
			}
		}
		return !sees(union(left, right), n.Conds...)
	}
	return true
}
