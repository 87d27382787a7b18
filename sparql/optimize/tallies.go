// COUNT and DISTINCT of one triple pattern: what a store may know without its rows.

package optimize

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// tallies finds the groups that only count the rows or the terms of one pattern, and the DISTINCT of one of its variables.
func tallies(p *passes, n algebra.Node, at place) algebra.Node {
	if at.outer {
		return n
	}
	var tally *algebra.Tally
	switch n := n.(type) {
	case *algebra.Group:
		tally = p.tallyOfGroup(n)
	case *algebra.Distinct:
		if project, ok := n.Input.(*algebra.Project); ok && len(project.Slots) == 1 {
			if one, ok := lonePattern(project.Input); ok {
				tally = &algebra.Tally{Kind: algebra.TallyList, Pattern: one, Slot: project.Slots[0]}
			}
		}
	}
	if tally == nil {
		return n
	}
	tally.Rows = n
	return tally
}

// tallyOfGroup returns the tally of a group without its rows; nil if the group does more than count.
func (p *passes) tallyOfGroup(n *algebra.Group) *algebra.Tally {
	// 1. The rows are those of one pattern, perhaps under conditions.
	input := n.Input
	tally := &algebra.Tally{}
	if f, ok := input.(*algebra.Filter); ok && len(n.Keys) == 0 && p.ofOneVariable(f.Conds) {
		input, tally.Conds = f.Input, f.Conds
	}
	one, ok := lonePattern(input)
	if !ok {
		return nil
	}
	tally.Pattern = one
	certain, _ := p.vars.Vars(n.Input)
	for _, a := range n.Aggregates {
		tally.Counts = append(tally.Counts, a.Slot)
	}
	plain := PlainCounts(n.Aggregates, certain)
	// 2. Each kind of tally answers one form of group.
	switch {
	case plain && len(n.Keys) == 0:
		tally.Kind = algebra.TallyRows
		return tally
	case plain && len(n.Keys) == 1:
		v, isVar := n.Keys[0].Expr.(*ast.Var)
		if !isVar || v.Slot != n.Keys[0].Slot {
			return nil
		}
		tally.Kind, tally.Slot = algebra.TallyEach, v.Slot
		return tally
	case len(n.Keys) == 0 && len(n.Aggregates) == 1 && tally.Conds == nil:
		agg := n.Aggregates[0].Agg
		v, isVar := agg.Arg.(*ast.Var)
		if !isVar || agg.Func != ast.AggCount || !agg.Distinct {
			return nil
		}
		tally.Kind, tally.Slot = algebra.TallyTerms, v.Slot
		return tally
	}
	return nil
}

// PlainCounts reports whether all aggregates count all rows, each of which binds certain variables.
func PlainCounts(aggregates []algebra.Aggregate, certain algebra.Set) bool {
	for _, a := range aggregates {
		v, isVar := a.Agg.Arg.(*ast.Var)
		if a.Agg.Func != ast.AggCount || a.Agg.Distinct || a.Agg.Arg != nil && (!isVar || !certain.Has(v.Slot)) {
			return false
		}
	}
	return len(aggregates) > 0
}

// ofOneVariable reports whether all conditions depend on one variable, the same one, and on nothing else.
func (p *passes) ofOneVariable(conds []ast.Expr) bool {
	var uses algebra.Set
	for _, cond := range conds {
		uses.AddAll(p.body.Uses(cond))
	}
	return uses.Len() == 1 && !slices.ContainsFunc(conds, func(e ast.Expr) bool { return !OfRowAlone(e) })
}
