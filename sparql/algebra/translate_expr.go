// Translation of expressions: EXISTS and aggregates get numbers.

package algebra

import "github.com/trefoildb/trefoil/sparql/ast"

// expr returns a copy of an expression with its slots set, and with the patterns
// of EXISTS translated.
func (t *translator) expr(e ast.Expr) ast.Expr {
	return t.rewrite(e, func(ast.Expr) ast.Expr { return nil })
}

// rewrite is expr, but it first calls replace for every expression, from above. If replace
// returns an expression, it takes the place of the original.
func (t *translator) rewrite(e ast.Expr, replace func(ast.Expr) ast.Expr) ast.Expr {
	if other := replace(e); other != nil {
		return other
	}
	// 1. Copy the rest, because a query may be translated more than once and must not change.
	all := func(list []ast.Expr) []ast.Expr {
		out := make([]ast.Expr, len(list))
		for i, x := range list {
			out[i] = t.rewrite(x, replace)
		}
		return out
	}
	// 2. Variables get slots, and patterns of EXISTS get numbers.
	switch e := e.(type) {
	case *ast.Var:
		slot := t.slot(e.Name)
		return &ast.Var{Pos: e.Pos, Name: t.scope.Name(slot), Slot: slot}
	case *ast.Unary:
		return &ast.Unary{Pos: e.Pos, Op: e.Op, Arg: t.rewrite(e.Arg, replace)}
	case *ast.Binary:
		left := t.rewrite(e.Left, replace)
		return &ast.Binary{Pos: e.Pos, Op: e.Op, Left: left, Right: t.rewrite(e.Right, replace)}
	case *ast.In:
		return &ast.In{Pos: e.Pos, Not: e.Not, Arg: t.rewrite(e.Arg, replace), List: all(e.List)}
	case *ast.Call:
		return &ast.Call{Pos: e.Pos, Func: e.Func, Args: all(e.Args), Base: e.Base}
	case *ast.FunctionCall:
		return &ast.FunctionCall{Pos: e.Pos, IRI: e.IRI, Distinct: e.Distinct, Args: all(e.Args)}
	case *ast.Exists:
		outer := t.around
		t.around = &surroundings{frame: t.frame}
		pattern := t.group(e.Group)
		t.exists = append(t.exists, ExistsPattern{pattern, t.around.copies})
		t.around = outer
		return &ast.Exists{Pos: e.Pos, Not: e.Not, Group: e.Group, Index: len(t.exists) - 1}
	}
	return e // a constant
}
