package expr

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Row gives the values of a solution's variables by slot. An executor that
// keeps terms as bytes decodes them here, when an expression asks, and may keep
// a [Value.Parsed] one for the next.
type Row interface {
	// Value returns the value in a slot, the zero Value where it is unbound.
	Value(slot int) Value
	// Bound reports whether a slot is bound, without decoding.
	Bound(slot int) bool
}

// Terms is a Row that is an array of terms, zero where unbound.
type Terms []triple.Term

// Value returns the value in a slot.
func (t Terms) Value(slot int) Value { return FromTerm(t[slot]) }

// Bound reports whether a slot is bound.
func (t Terms) Bound(slot int) bool { return !t[slot].IsZero() }

// Scope is what an expression is compiled in. The zero Scope is usable.
type Scope struct {
	// Slot returns the slot of a variable, a negative one where the variable is
	// never bound. nil: the slot that the tree has (ast.Var.Slot).
	Slot func(*ast.Var) int
}

// Expr is a compiled expression. It has no state: it may be evaluated in several
// goroutines, each with an [Env] of its own.
type Expr struct{ node node }

// node is a compiled expression, or a constant.
type node struct {
	eval     func(*Env, Row) Value
	constant bool
	value    Value // of a constant
}

// ErrCompile is what all errors of Compile wrap.
var ErrCompile = errors.New("cannot compile an expression")

// Compile compiles e. What has no variables is evaluated now. An error is one
// that would make every evaluation one: a regular expression that is
// unsupported, or an aggregate, which the translation has left.
func Compile(e ast.Expr, scope Scope) (*Expr, error) {
	c := compiler{scope: scope}
	n := c.compile(e)
	if c.err != nil {
		return nil, c.err
	}
	return &Expr{n}, nil
}

// Eval returns the value of x in a row; an error is a Value whose Err is not nil.
func (x *Expr) Eval(env *Env, row Row) Value {
	if x.node.constant {
		return x.node.value
	}
	return x.node.eval(env, row)
}

// Test reports whether x is true in a row, as FILTER and HAVING ask: its effective
// boolean value is true and no error.
func (x *Expr) Test(env *Env, row Row) bool {
	v := x.Eval(env, row)
	if v.kind == Boolean {
		return v.n != 0
	}
	value, ok := v.EBV()
	return value && ok
}

// Constant returns the value of an expression that has the same in all rows.
func (x *Expr) Constant() (Value, bool) { return x.node.value, x.node.constant }

type compiler struct {
	scope Scope
	err   error
}

func (c *compiler) fail(e ast.Expr, err error) node {
	if c.err == nil {
		c.err = fmt.Errorf("%w: at %s: %w", ErrCompile, e.Position(), err)
	}
	return constant(errType)
}

func constant(v Value) node {
	v = v.Parsed()
	return node{eval: func(*Env, Row) Value { return v }, constant: true, value: v}
}

// computed returns a node of eval, evaluated now where all it is made of are constants.
func computed(eval func(*Env, Row) Value, operands ...node) node {
	for _, n := range operands {
		if !n.constant {
			return node{eval: eval}
		}
	}
	env := &Env{}
	if v := eval(env, nil); env.err == nil {
		return constant(v)
	}
	return node{eval: eval} // where it is evaluated, the query ends
}

func (c *compiler) compile(e ast.Expr) node {
	switch e := e.(type) {
	case *ast.Var:
		return c.variable(e)
	case *ast.Constant:
		return constant(FromTerm(e.Term))
	case *ast.Unary:
		return c.unary(e)
	case *ast.Binary:
		return c.binary(e)
	case *ast.In:
		return c.in(e)
	case *ast.Call:
		return c.call(e)
	case *ast.FunctionCall:
		return c.functionCall(e)
	case *ast.Exists:
		return exists(e)
	case *ast.Aggregate:
		return c.fail(e, fmt.Errorf("aggregate %s outside of a group", e.Func))
	}
	return c.fail(e, fmt.Errorf("expression of type %T", e))
}

func (c *compiler) slot(v *ast.Var) int {
	if c.scope.Slot != nil {
		return c.scope.Slot(v)
	}
	return v.Slot
}

func (c *compiler) variable(v *ast.Var) node {
	slot := c.slot(v)
	if slot < 0 {
		return constant(Value{})
	}
	return node{eval: func(_ *Env, row Row) Value { return row.Value(slot) }}
}

func (c *compiler) unary(e *ast.Unary) node {
	arg := c.compile(e.Arg)
	if e.Op != ast.OpNot {
		op := e.Op
		return computed(func(env *Env, row Row) Value { return unary(op, arg.eval(env, row)) }, arg)
	}
	return computed(func(env *Env, row Row) Value {
		v := arg.eval(env, row)
		b, ok := v.EBV()
		if !ok {
			return noBoolean(v)
		}
		return FromBool(!b)
	}, arg)
}

// noBoolean returns the error of a value without an effective boolean value.
func noBoolean(v Value) Value {
	if v.kind <= Error {
		return v.asError()
	}
	return errorValue("a value without an effective boolean value")
}

func (c *compiler) binary(e *ast.Binary) node {
	left, right := c.compile(e.Left), c.compile(e.Right)
	op := e.Op
	switch {
	case op == ast.OpOr || op == ast.OpAnd:
		return logical(op == ast.OpOr, left, right)
	case op.IsComparison() && right.constant:
		value := right.value // parsed: relate does not write to it
		return computed(func(env *Env, row Row) Value {
			x := left.eval(env, row)
			return relate(op, &x, &value)
		}, left)
	case op.IsComparison():
		return computed(func(env *Env, row Row) Value {
			x, y := left.eval(env, row), right.eval(env, row)
			return relate(op, &x, &y)
		}, left, right)
	}
	return computed(func(env *Env, row Row) Value { return arithmetic(op, left.eval(env, row), right.eval(env, row)) }, left, right)
}

// logical is || where decides is true, && where it is false: the value that
// decides does so whatever the other operand is, an error too (section 17.2).
func logical(decides bool, left, right node) node {
	for _, n := range []node{left, right} {
		if value, ok := n.value.EBV(); n.constant && ok && value == decides {
			return constant(FromBool(decides))
		}
	}
	return computed(func(env *Env, row Row) Value {
		x := left.eval(env, row)
		a, ok := x.EBV()
		if ok && a == decides {
			return FromBool(decides)
		}
		y := right.eval(env, row)
		b, okRight := y.EBV()
		switch {
		case okRight && b == decides:
			return FromBool(decides)
		case !ok:
			return noBoolean(x)
		case !okRight:
			return noBoolean(y)
		}
		return FromBool(!decides)
	}, left, right)
}

// in is IN as a chain of =, in which a match wins over errors.
func (c *compiler) in(e *ast.In) node {
	arg := c.compile(e.Arg)
	list := make([]node, len(e.List))
	nodes := true // all are IRIs
	for i, x := range e.List {
		list[i] = c.compile(x)
		nodes = nodes && list[i].constant && list[i].value.kind == IRI
	}
	found, missing := FromBool(!e.Not), FromBool(e.Not)
	if len(list) == 0 {
		return constant(missing)
	}
	if nodes {
		set := make(map[triple.Term]struct{}, len(list))
		for _, n := range list {
			set[n.value.term] = struct{}{}
		}
		return computed(func(env *Env, row Row) Value {
			v := arg.eval(env, row)
			if v.kind <= Error {
				return v.asError()
			}
			if v.kind == IRI {
				if _, ok := set[v.term]; ok {
					return found
				}
			}
			return missing
		}, arg)
	}
	return computed(func(env *Env, row Row) Value {
		v := arg.eval(env, row).Parsed()
		if v.kind <= Error {
			return v.asError()
		}
		result := missing
		for i := range list {
			x := list[i].eval(env, row)
			r := relate(ast.OpEqual, &v, &x)
			switch {
			case r.kind == Error:
				result = r
			case r.n != 0:
				return found
			}
		}
		return result
	}, append(list, arg)...)
}

func (c *compiler) functionCall(e *ast.FunctionCall) node {
	cast, ok := castOf(e.IRI)
	if !ok || len(e.Args) != 1 || e.Distinct {
		return constant(errorValue("no function <" + e.IRI + "> of so many arguments"))
	}
	arg := c.compile(e.Args[0])
	return computed(func(env *Env, row Row) Value { return cast(arg.eval(env, row)) }, arg)
}

func exists(e *ast.Exists) node {
	return node{eval: func(env *Env, row Row) Value {
		found, err := env.exists(e, row)
		if err != nil {
			return errorValue("EXISTS: " + err.Error())
		}
		return FromBool(found != e.Not)
	}}
}
