// How often each variable stands in a query.

package optimize

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// Mentions returns how often each variable stands in the query.
func (v *Variables) Mentions() map[int]int {
	if v.counts != nil {
		return v.counts
	}
	// 1. A variable counts at each of its places.
	v.counts = map[int]int{}
	add := func(at algebra.VarOrTerm) {
		if at.IsVar() {
			v.counts[at.Slot]++
		}
	}
	each := func(slots []int) {
		for _, slot := range slots {
			v.counts[slot]++
		}
	}
	// 2. Visit all nodes, with those of EXISTS. COUNT(DISTINCT *), some EXISTS and some LATERAL read whole solutions.
	var walk func(n algebra.Node)
	walk = func(n algebra.Node) {
		switch n := n.(type) {
		case *algebra.BGP:
			for _, p := range n.Patterns {
				add(p.Subject)
				add(p.Predicate)
				add(p.Object)
			}
		case *algebra.Path:
			add(n.Subject)
			add(n.Object)
		// A triple term counts, too, because its pattern must bind it.
		case *algebra.Unfold:
			v.counts[n.Slot]++
			for _, at := range n.Places() {
				add(at)
			}
		case interface{ Places() []algebra.VarOrTerm }: // functions of links, and text search
			for _, at := range n.Places() {
				add(at)
			}
		case *algebra.Graph:
			add(n.Name)
		case *algebra.Service:
			add(n.Name)
			for _, column := range n.Columns {
				v.counts[column.Slot]++
			}
		case *algebra.Extend:
			v.counts[n.Slot]++
		case *algebra.Table:
			each(n.Slots)
		case *algebra.Project:
			each(n.Slots)
		case *algebra.Group:
			for _, a := range n.Aggregates {
				if a.Agg.Arg == nil && a.Agg.Distinct {
					_, possible := v.Vars(n.Input)
					each(possible.Slots())
				}
			}
		}
		if n, ok := n.(*algebra.Lateral); ok && v.groupReadsRows(n.Right) {
			_, possible := v.Vars(n.Left)
			each(possible.Slots())
		}
		for _, e := range algebra.Exprs(n) {
			for slot := range v.body.Uses(e).All {
				v.counts[slot]++
			}
			if v.readsRows(e) {
				for _, in := range algebra.Inputs(n) {
					_, possible := v.Vars(in)
					each(possible.Slots())
				}
			}
		}
		for _, in := range algebra.Inputs(n) {
			walk(in)
		}
	}
	walk(v.body.Root)
	for _, x := range v.body.Exists {
		walk(x.Pattern)
		for _, one := range x.Copies {
			each([]int{one.From, one.To})
		}
	}
	return v.counts
}

// readsRows reports whether an expression has an EXISTS whose value depends on variables that it does not name.
func (v *Variables) readsRows(e ast.Expr) bool {
	return ast.AnyExpr(e, func(e ast.Expr) bool {
		x, ok := e.(*ast.Exists)
		return ok && v.groupReadsRows(v.body.Exists[x.Index].Pattern)
	})
}

// groupReadsRows reports whether a group of EXISTS or LATERAL depends on variables that it does not name: each group in
// it begins with the outer solution, and MINUS compares solutions only if they share a variable.
func (v *Variables) groupReadsRows(n algebra.Node) bool {
	return !v.Structural(n) || slices.ContainsFunc(algebra.Exprs(n), v.readsRows) || slices.ContainsFunc(algebra.Inputs(n), v.groupReadsRows)
}
