// The visible variables of a node, and whether it may start from the solutions so far.

package optimize

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// Variables knows the variables of a body's nodes. It keeps what it knows of each node, because deep trees need
// the same nodes at every level. It is not safe for concurrent use.
type Variables struct {
	body  *algebra.Body
	known map[algebra.Node]*known
	// counts has how often each variable stands in the query; see Mentions.
	counts map[int]int
}

// known is what is known of a node.
type known struct {
	certain, possible algebra.Set // the result of [algebra.Vars]
	nodes             algebra.Set
	structural        bool
	// blocked are the variables of which an outer binding would change the result of n. It is set if
	// n is structural.
	blocked algebra.Set
}

// VariablesOf returns the variables of a body, whose nodes must not change.
func VariablesOf(body *algebra.Body) *Variables {
	return &Variables{body: body, known: map[algebra.Node]*known{}}
}

// knownOf returns what is known of a node.
func (v *Variables) knownOf(n algebra.Node) *known {
	k := v.known[n]
	if k == nil {
		k = &known{structural: v.isStructural(n)}
		v.known[n] = k
		k.certain, k.possible = algebra.VarsFrom(n, v.Vars)
		k.nodes = v.nodesOf(n)
		if k.structural {
			k.blocked = v.blockedOf(n)
		}
	}
	return k
}

// Vars returns [algebra.Vars] of a node.
func (v *Variables) Vars(n algebra.Node) (certain, possible algebra.Set) {
	k := v.knownOf(n)
	return k.certain, k.possible
}

// Nodes returns variables that each row of n binds to an IRI or a blank node.
func (v *Variables) Nodes(n algebra.Node) algebra.Set { return v.knownOf(n).nodes }

// Structural reports whether n may start from rows at all, whatever it sees.
func (v *Variables) Structural(n algebra.Node) bool { return v.knownOf(n).structural }

// Lateral reports whether n may start from rows with possible bindings of outer. The result
// must be the same as a join with n on its own.
func (v *Variables) Lateral(n algebra.Node, outer algebra.Set) bool {
	k := v.knownOf(n)
	return k.structural && outer.Intersect(k.blocked).Len() == 0
}

func (v *Variables) isStructural(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.Unit, *algebra.BGP, *algebra.Path, *algebra.Unfold, *algebra.Table, *algebra.Service, *algebra.LinkJoin, *algebra.TextJoin:
		return true
	case *algebra.Join, *algebra.Filter, *algebra.SemiJoin, *algebra.LeftJoin, *algebra.Union, *algebra.Extend:
		for _, in := range algebra.Inputs(n) {
			if !v.Structural(in) {
				return false
			}
		}
		return true
	case *algebra.Graph:
		return v.Structural(n.Input) && (!n.Name.IsVar() || OneScan(n.Input, n.Name.Slot))
	}
	return false
}

// nodesOf returns variables that each row of a node binds to an IRI or a blank node.
func (v *Variables) nodesOf(n algebra.Node) (nodes algebra.Set) {
	// Patterns have nodes as subjects and predicates, also those of triple terms.
	switch n := n.(type) {
	case *algebra.BGP:
		for _, p := range n.Patterns {
			for _, at := range []algebra.VarOrTerm{p.Subject, p.Predicate} {
				if at.IsVar() {
					nodes.Add(at.Slot)
				}
			}
		}
	case *algebra.Unfold:
		for _, at := range []algebra.VarOrTerm{n.Subject, n.Predicate} {
			if at.IsVar() {
				nodes.Add(at.Slot)
			}
		}
	case *algebra.Join:
		for _, arg := range n.Args {
			nodes.AddAll(v.knownOf(arg).nodes)
		}
	case *algebra.Filter, *algebra.SemiJoin, *algebra.LeftJoin, *algebra.Extend, *algebra.Minus, *algebra.Graph, *algebra.LinkRank:
		return v.knownOf(algebra.Inputs(n)[0]).nodes // of the left side
	case *algebra.Union:
		for i, arg := range n.Args {
			if i == 0 {
				nodes = v.knownOf(arg).nodes
				continue
			}
			nodes = nodes.Intersect(v.knownOf(arg).nodes)
		}
	}
	return nodes
}

// blockedOf returns the blocked variables of a structural node.
func (v *Variables) blockedOf(n algebra.Node) (blocked algebra.Set) {
	for _, in := range algebra.Inputs(n) {
		blocked.AddAll(v.knownOf(in).blocked)
	}
	// An expression sees a variable from outside if the rows of its own input may leave it
	// unbound.
	seen := func(certain algebra.Set, exprs ...ast.Expr) {
		for _, e := range exprs {
			for slot := range v.body.Uses(e).All {
				if !certain.Has(slot) {
					blocked.Add(slot)
				}
			}
		}
	}
	// The result of an operator must not depend on such a variable.
	switch n := n.(type) {
	case *algebra.Filter:
		certain, _ := v.Vars(n.Input)
		seen(certain, n.Conds...)
	case *algebra.SemiJoin:
		certain, _ := v.Vars(n.Input)
		seen(certain, algebra.Exprs(n)...)
	case *algebra.Extend:
		certain, _ := v.Vars(n.Input)
		blocked.Add(n.Slot)
		seen(certain, n.Expr)
	case *algebra.LeftJoin:
		left, _ := v.Vars(n.Left)
		right, possible := v.Vars(n.Right)
		for slot := range possible.All {
			if !left.Has(slot) {
				blocked.Add(slot)
			}
		}
		seen(left.Union(right), n.Conds...)
	}
	return blocked
}
