// What conditions of FILTER depend on, and which are equalities.

package optimize

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// OfRowAlone reports whether the value of e depends on the bindings of a row only.
func OfRowAlone(e ast.Expr) bool {
	return !ast.AnyExpr(e, func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Exists:
			return true
		case *ast.Call:
			switch e.Func {
			case ast.FuncBNode, ast.FuncUUID, ast.FuncStrUUID, ast.FuncRand:
				return true
			}
		}
		return false
	})
}

// Equality returns the slots of ?left = ?right or sameTerm(?left, ?right).
func Equality(e ast.Expr) (left, right int, ok bool) {
	a, b, ok := Equated(e)
	l, ok1 := a.(*ast.Var)
	r, ok2 := b.(*ast.Var)
	if !ok || !ok1 || !ok2 || l.Slot < 0 || r.Slot < 0 || l.Slot == r.Slot {
		return 0, 0, false
	}
	return l.Slot, r.Slot, true
}

// Equated returns both sides of = or sameTerm.
func Equated(e ast.Expr) (a, b ast.Expr, ok bool) {
	switch e := e.(type) {
	case *ast.Binary:
		return e.Left, e.Right, e.Op == ast.OpEqual
	case *ast.Call:
		if e.Func == ast.FuncSameTerm && len(e.Args) == 2 {
			return e.Args[0], e.Args[1], true
		}
	}
	return nil, nil, false
}

// EqualityKeys gives a slot behind those of the query to each equality of two variables.
func EqualityKeys(body *algebra.Body) map[ast.Expr]int {
	keys := map[ast.Expr]int{}
	var walk func(n algebra.Node)
	walk = func(n algebra.Node) {
		var conds []ast.Expr
		switch n := n.(type) {
		case *algebra.Filter:
			conds = n.Conds
		case *algebra.LeftJoin:
			conds = n.Conds
		}
		for _, e := range algebra.SplitConds(conds) {
			if _, _, ok := Equality(e); ok && keys[e] == 0 {
				keys[e] = body.Scope.Len() + len(keys)
			}
		}
		for _, in := range algebra.Inputs(n) {
			walk(in)
		}
	}
	walk(body.Root)
	for _, x := range body.Exists {
		walk(x.Pattern)
	}
	return keys
}
