// The variables of a node, and sets of variables.

package algebra

import "github.com/trefoildb/trefoil/sparql/ast"

// Vars returns two sets of variables of n: every solution binds the certain ones, and some
// solution may bind the possible ones. Invariant: certain is a part of possible.
//
// A filter may move to a node if its variable is certain there. Two operands of a join may be
// hashed on a variable if it is certain in both.
func Vars(n Node) (certain, possible Set) { return VarsFrom(n, Vars) }

// VarsFrom is [Vars], and gets the sets of inputs from a function, which may keep them. It does not
// change them.
func VarsFrom(n Node, of func(Node) (certain, possible Set)) (certain, possible Set) {
	// Sets of inputs are shared, and must be copied before they change.
	switch n := n.(type) {
	case *BGP:
		for _, p := range n.Patterns {
			for _, v := range []VarOrTerm{p.Subject, p.Predicate, p.Object} {
				v.addTo(&possible)
			}
		}
		return possible, possible
	case *Path:
		n.Subject.addTo(&possible)
		n.Object.addTo(&possible)
		return possible, possible
	case *Join:
		for _, arg := range n.Args {
			c, p := of(arg)
			certain = certain.Union(c)
			possible = possible.Union(p)
		}
	case *Lateral:
		certain, possible = of(n.Left)
		c, p := of(n.Right)
		return certain.Union(c), possible.Union(p)
	// The right side may have no match, so its variables are only possible.
	case *LeftJoin:
		certain, possible = of(n.Left)
		_, right := of(n.Right)
		possible = possible.Union(right)
	// A variable of a union is certain only if it is certain in every argument.
	case *Union:
		for i, arg := range n.Args {
			c, p := of(arg)
			if i == 0 {
				certain = c
			} else {
				certain = certain.Intersect(c)
			}
			possible = possible.Union(p)
		}
	case *Graph:
		certain, possible = of(n.Input)
		certain, possible = certain.Clone(), possible.Clone()
		n.Name.addTo(&certain)
		n.Name.addTo(&possible)
	// If an expression may be an error, its variable may stay unbound.
	case *Extend:
		certain, possible = of(n.Input)
		if isCertain(n.Expr, certain) {
			certain = certain.Clone()
			certain.Add(n.Slot)
		}
		possible = possible.Clone()
		possible.Add(n.Slot)
	case *Minus:
		return of(n.Left)
	case *Table:
		return n.vars()
	case *Service:
		n.Name.addTo(&possible)
		for _, column := range n.Columns {
			possible.Add(column.Slot)
		}
	case *Unfold:
		possible.Add(n.Slot)
		for _, at := range n.Places() {
			at.addTo(&possible)
		}
		return possible, possible
	// A function that does not know a page has no solution for it.
	case *LinkJoin:
		for _, at := range n.Places() {
			at.addTo(&possible)
		}
		return possible, possible
	case *TextJoin:
		for _, at := range n.Places() {
			at.addTo(&possible)
		}
		return possible, possible
	case *LinkRank:
		certain, possible = of(n.Input)
		certain, possible = certain.Clone(), possible.Clone()
		for _, at := range n.Places() {
			at.addTo(&certain)
			at.addTo(&possible)
		}
	case *Group:
		return n.vars(of)
	// Variables outside of a projection may exist outside too, but those are others.
	case *Project:
		certain, possible = of(n.Input)
		var projected Set
		for _, slot := range n.Slots {
			projected.Add(slot)
		}
		return certain.Intersect(projected), possible.Intersect(projected)
	default:
		for _, input := range Inputs(n) { // the one
			return of(input)
		}
	}
	return certain, possible
}

func (v VarOrTerm) addTo(s *Set) {
	if v.IsVar() {
		s.Add(v.Slot)
	}
}

// isCertain reports whether e has a value wherever the certain variables have.
func isCertain(e ast.Expr, certain Set) bool {
	switch e := e.(type) {
	case *ast.Constant:
		return true
	case *ast.Var:
		return certain.Has(e.Slot)
	}
	return false
}

func (t *Table) vars() (certain, possible Set) {
	for i, slot := range t.Slots {
		bound, unbound := false, false
		for _, row := range t.Rows {
			bound = bound || !row[i].IsZero()
			unbound = unbound || row[i].IsZero()
		}
		if bound {
			possible.Add(slot)
			if !unbound {
				certain.Add(slot)
			}
		}
	}
	return certain, possible
}

func (g *Group) vars(of func(Node) (certain, possible Set)) (certain, possible Set) {
	input, _ := of(g.Input)
	for _, key := range g.Keys {
		possible.Add(key.Slot)
		if isCertain(key.Expr, input) {
			certain.Add(key.Slot)
		}
	}
	for _, a := range g.Aggregates {
		possible.Add(a.Slot)
		if a.Agg.Func == ast.AggCount {
			certain.Add(a.Slot)
		}
	}
	return certain, possible
}

// Uses returns the variables of an expression, with those of its EXISTS patterns.
func (b *Body) Uses(e ast.Expr) Set {
	var used Set
	b.use(e, &used)
	return used
}

func (b *Body) use(e ast.Expr, used *Set) {
	switch e := e.(type) {
	case *ast.Var:
		used.Add(e.Slot)
	case *ast.Exists:
		x := &b.Exists[e.Index]
		b.mention(x.Pattern, used)
		for _, one := range x.Copies {
			used.Add(one.From)
		}
	default:
		ast.Operands(e, func(x ast.Expr) { b.use(x, used) })
	}
}

// mention adds all variables of a tree, in patterns and in expressions.
func (b *Body) mention(n Node, used *Set) {
	_, possible := Vars(n)
	used.AddAll(possible)
	for _, e := range Exprs(n) {
		b.use(e, used)
	}
	for _, input := range Inputs(n) {
		b.mention(input, used)
	}
}
