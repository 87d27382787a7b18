// Rewriting rules. They keep the solutions and help the planner.

package algebra

import "github.com/trefoildb/trefoil/sparql/ast"

// Simplify returns a tree of the same meaning as n, with fewer operators:
//
//	Join(..., Unit, ...)              without the Unit
//	Join(..., Join(a, b), ...)        Join(..., a, b, ...)
//	Join(..., BGP(p), BGP(q), ...)    Join(..., BGP(p, q), ...)
//	Join(a), Union(a)                 a
//	Join(), BGP(), VALUES () { () }   Unit
//	Union(..., Union(a, b), ...)      Union(..., a, b, ...)
//	Filter(a && b, P)                 Filter(a, b, P)
//	Filter(a, Filter(b, P))           Filter(b, a, P)
//	LeftJoin(P, Unit)                 P, without conditions
//	Minus(P, Unit)                    P
//	Lateral(P, Unit)                  P
//
// A condition or a join's side never moves over an operator, because only the planner has the
// variables. n stays as it is.
func Simplify(n Node) Node { return simplifier{}.node(n) }

// simplifier simplifies a tree. In the pattern of an EXISTS, and behind LATERAL, groups begin with a
// solution: there a Unit is that solution, and MINUS of it removes what binds one of its variables.
type simplifier struct{ correlated bool }

func (s simplifier) node(n Node) Node {
	// Nodes are made anew, because others may share them. A rule must keep the solutions and how
	// often each comes.
	switch n := n.(type) {
	case *BGP:
		if len(n.Patterns) == 0 {
			return &Unit{}
		}
	case *Table:
		if len(n.Slots) == 0 && len(n.Rows) == 1 {
			return &Unit{}
		}
	case *Join:
		return s.join(n)
	case *Union:
		return s.union(n)
	case *Filter:
		return s.filter(n)
	case *LeftJoin:
		left, right := s.node(n.Left), s.node(n.Right)
		conds := SplitConds(n.Conds)
		// An empty OPTIONAL adds nothing.
		if isUnit(right) && len(conds) == 0 {
			return left
		}
		return &LeftJoin{left, right, conds}
	case *Minus:
		left, right := s.node(n.Left), s.node(n.Right)
		// MINUS of a solution without variables removes nothing.
		if isUnit(right) && !s.correlated {
			return left
		}
		return &Minus{left, right}
	case *Lateral:
		left, right := s.node(n.Left), simplifier{correlated: true}.node(n.Right)
		if isUnit(right) {
			return left
		}
		return &Lateral{left, right}
	case *Graph, *Extend, *LinkRank, *Group, *OrderBy, *Project, *Distinct, *Reduced, *Slice:
		return WithInputs(n, []Node{s.node(Inputs(n)[0])})
	}
	return n
}

// Simplify simplifies the root and the patterns of EXISTS.
func (b Body) Simplify() Body {
	exists := make([]ExistsPattern, len(b.Exists))
	for i, x := range b.Exists {
		exists[i] = ExistsPattern{simplifier{correlated: true}.node(x.Pattern), x.Copies}
	}
	return Body{Simplify(b.Root), b.Scope, exists}
}

func isUnit(n Node) bool {
	_, ok := n.(*Unit)
	return ok
}

func (s simplifier) join(j *Join) Node {
	var args []Node
	var merged *BGP // the last of args if it was made here and may grow
	// 1. Neighbouring basic graph patterns become one. A pattern of the input is not changed,
	// because the tree may be shared.
	add := func(n Node) {
		bgp, ok := n.(*BGP)
		if !ok || len(args) == 0 {
			args, merged = append(args, n), nil
			return
		}
		if merged == nil {
			last, ok := args[len(args)-1].(*BGP)
			if !ok {
				args = append(args, n)
				return
			}
			merged = &BGP{append([]TriplePattern(nil), last.Patterns...)}
			args[len(args)-1] = merged
		}
		merged.Patterns = append(merged.Patterns, bgp.Patterns...)
	}
	// 2. Units are left out, and joins in joins are one.
	for _, arg := range j.Args {
		switch arg := s.node(arg).(type) {
		case *Unit:
		case *Join:
			for _, inner := range arg.Args {
				add(inner)
			}
		default:
			add(arg)
		}
	}
	// 3. A join of one argument is the argument.
	switch len(args) {
	case 0:
		return &Unit{}
	case 1:
		return args[0]
	}
	return &Join{args}
}

func (s simplifier) union(u *Union) Node {
	var args []Node
	for _, arg := range u.Args {
		arg = s.node(arg)
		if inner, ok := arg.(*Union); ok {
			args = append(args, inner.Args...)
		} else {
			args = append(args, arg)
		}
	}
	if len(args) == 1 {
		return args[0]
	}
	return &Union{args}
}

func (s simplifier) filter(f *Filter) Node {
	input := s.node(f.Input)
	conds := SplitConds(f.Conds)
	if inner, ok := input.(*Filter); ok {
		conds = append(inner.Conds[:len(inner.Conds):len(inner.Conds)], conds...)
		input = inner.Input
	}
	if len(conds) == 0 {
		return input
	}
	return &Filter{input, conds}
}

// SplitConds splits every && at the top of conds. The results all hold if and only if all of
// conds do, because && is true only if both operands are, errors or not.
func SplitConds(conds []ast.Expr) []ast.Expr {
	var out []ast.Expr
	for _, cond := range conds {
		// The left operand may be a long chain; the right ones are gathered backwards.
		var rights []ast.Expr
		for {
			and, ok := cond.(*ast.Binary)
			if !ok || and.Op != ast.OpAnd {
				break
			}
			rights = append(rights, and.Right)
			cond = and.Left
		}
		out = append(out, cond)
		for i := len(rights) - 1; i >= 0; i-- {
			out = append(out, SplitConds(rights[i:i+1])...)
		}
	}
	return out
}
