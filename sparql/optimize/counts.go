// COUNT and DISTINCT: what a plan may know without the rows, and groups that need each row once only.

package optimize

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// counts finds what is only counted, or listed once: a group over a union is a sum of groups, a group whose aggregates are
// DISTINCT needs each row once, and a group that only counts, or the DISTINCT of one variable of a pattern, is a tally.
func counts(p *passes, n algebra.Node, at place) algebra.Node {
	if at.outer {
		return n
	}
	switch n := n.(type) {
	case *algebra.Group:
		if sum := p.sum(n, at); sum != nil {
			return sum
		}
		if slots := p.distinctBy(n); slots != nil {
			n = &algebra.Group{Input: n.Input, Keys: n.Keys, Aggregates: n.Aggregates, DistinctBy: slots}
		}
		if tally := p.tally(n); tally != nil {
			return tally
		}
		return n
	case *algebra.Distinct:
		if project, ok := n.Input.(*algebra.Project); ok && len(project.Slots) == 1 && lonePattern(project.Input) != nil {
			return &algebra.Tally{Rows: n, Kind: algebra.TallyList, Slot: project.Slots[0], Pattern: lonePattern(project.Input)}
		}
	}
	return n
}

// tally returns a group that only counts as a tally; nil if it does more.
func (p *passes) tally(n *algebra.Group) *algebra.Tally {
	if len(n.Aggregates) == 0 || len(n.Keys) > 1 {
		return nil
	}
	// 1. A variable must be one of the input, because COUNT of another one is 0.
	tally := &algebra.Tally{Rows: n, Counts: make([]int, len(n.Aggregates)), Of: make([]int, len(n.Aggregates))}
	certain, possible := p.vars.Vars(n.Input)
	for i, a := range n.Aggregates {
		v, isVar := a.Agg.Arg.(*ast.Var)
		if a.Agg.Func != ast.AggCount || a.Agg.Arg != nil && (!isVar || !possible.Has(v.Slot)) {
			return nil
		}
		tally.Counts[i], tally.Of[i] = a.Slot, -1
		switch {
		case a.Agg.Distinct && (!isVar || len(n.Keys)+len(n.Aggregates) > 1):
			return nil
		case a.Agg.Distinct:
			tally.Kind, tally.Slot = algebra.TallyTerms, v.Slot
		case isVar && !certain.Has(v.Slot):
			tally.Of[i] = v.Slot
		}
	}
	for _, key := range n.Keys {
		v, isVar := key.Expr.(*ast.Var)
		if !isVar || v.Slot != key.Slot {
			return nil
		}
		tally.Kind, tally.Slot = algebra.TallyEach, v.Slot
	}
	// 2. More is known if the rows are those of one pattern, perhaps under conditions.
	tally.Pattern = lonePattern(n.Input)
	if f, ok := n.Input.(*algebra.Filter); ok && tally.Kind == algebra.TallyRows && p.ofOneVariable(f.Conds) {
		tally.Pattern, tally.Conds = lonePattern(f.Input), f.Conds
	}
	return tally
}

// ofOneVariable reports whether all conditions depend on one variable, the same one, and on nothing else.
func (p *passes) ofOneVariable(conds []ast.Expr) bool {
	var uses algebra.Set
	for _, cond := range conds {
		uses.AddAll(p.body.Uses(cond))
	}
	return uses.Len() == 1 && !slices.ContainsFunc(conds, func(e ast.Expr) bool { return !OfRowAlone(e) })
}

// distinctBy returns the variables by which a group needs each row once; nil if it needs all rows, or a key is no variable.
func (p *passes) distinctBy(n *algebra.Group) []int {
	// 1. All keys must be variables, because an expression has no slot.
	var slots, args algebra.Set
	for _, key := range n.Keys {
		v, isVar := key.Expr.(*ast.Var)
		if !isVar || v.Slot < 0 {
			return nil
		}
		slots.Add(v.Slot)
	}
	// 2. All aggregates must be DISTINCT of the same variable, or all of the whole solution.
	whole := 0
	for _, a := range n.Aggregates {
		v, isVar := a.Agg.Arg.(*ast.Var)
		switch {
		case !a.Agg.Distinct || a.Agg.Arg != nil && (!isVar || v.Slot < 0):
			return nil
		case isVar:
			args.Add(v.Slot)
		default:
			whole = 1
		}
	}
	if args.Len()+whole != 1 {
		return nil
	}
	// 3. The whole solution has the variables that the query names.
	if whole > 0 {
		_, possible := p.vars.Vars(n.Input)
		args = algebra.SetOf(p.body.Scope.Visible(possible)...)
	}
	return slots.Union(args).Slots()
}
