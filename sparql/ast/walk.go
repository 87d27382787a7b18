// Walks over the nodes of a tree.

package ast

// Operands calls visit with each operand of e, in the order of the text. The
// pattern of an EXISTS is none, and neither is a nil Arg of an aggregate.
func Operands(e Expr, visit func(Expr)) {
	switch e := e.(type) {
	case *Unary:
		visit(e.Arg)
	case *Binary:
		visit(e.Left)
		visit(e.Right)
	case *In:
		visit(e.Arg)
		for _, x := range e.List {
			visit(x)
		}
	case *Call:
		for _, x := range e.Args {
			visit(x)
		}
	case *FunctionCall:
		for _, x := range e.Args {
			visit(x)
		}
	case *Aggregate:
		if e.Arg != nil {
			visit(e.Arg)
		}
	}
}

// AnyExpr calls test for e and all below it, without the patterns of EXISTS, until
// it returns true, and reports whether it did. A nil e has nothing.
func AnyExpr(e Expr, test func(Expr) bool) bool {
	if e == nil {
		return false
	}
	if test(e) {
		return true
	}
	found := false
	Operands(e, func(x Expr) { found = found || AnyExpr(x, test) })
	return found
}

// HasAggregate reports whether e has an aggregate. A nil e has none.
func HasAggregate(e Expr) bool {
	return AnyExpr(e, func(x Expr) bool {
		_, ok := x.(*Aggregate)
		return ok
	})
}
