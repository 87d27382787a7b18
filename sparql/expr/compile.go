// From the tree of an expression to functions.

package expr

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Row gives the values of a solution's variables by slot. If an executor keeps terms as bytes,
// it decodes them here, when an expression needs one. It may keep a [Value.Parsed] one for the
// next call.
type Row interface {
	// Value returns the value in a slot, the zero Value if it is unbound.
	Value(slot int) Value
	// Bound reports whether a slot is bound, without decoding.
	Bound(slot int) bool
}

// Comparer is a Row that can compare some terms without decoding them.
type Comparer interface {
	// CompareSlots compares the terms in two slots: order is 0 if they are equal. If ordered is true,
	// it is negative if the first is less, and positive if it is greater. ok is false if the terms must
	// be decoded.
	CompareSlots(a, b int) (order int, ordered, ok bool)
}

// Terms is a Row on an array of terms. A term is zero if the variable is unbound.
type Terms []triple.Term

// Value returns the value in a slot.
func (t Terms) Value(slot int) Value { return FromTerm(t[slot]) }

// Bound reports whether a slot is bound.
func (t Terms) Bound(slot int) bool { return !t[slot].IsZero() }

// Scope is the environment of Compile. The zero Scope is usable.
type Scope struct {
	// Slot returns the slot of a variable, a negative one if the variable is never bound. If
	// Slot is nil, ast.Var.Slot holds.
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

// ErrCompile is wrapped by all errors of Compile.
var ErrCompile = errors.New("cannot compile an expression")

// Compile compiles e. A part without variables is evaluated now. Compile fails if every
// evaluation would: for an unsupported regular expression, or an aggregate, because the
// translation must replace aggregates.
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

// Constant returns the value of an expression if it is the same in all rows.
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

// computed returns a node of eval, evaluated now if all it is made of are constants.
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
	return node{eval: eval} // if it is evaluated, the query ends
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
		return c.compileIn(e)
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
		if a, b := c.slotOf(e.Left), c.slotOf(e.Right); a >= 0 && b >= 0 {
			return node{eval: func(_ *Env, row Row) Value { return relateSlots(op, row, a, b) }}
		}
		return computed(func(env *Env, row Row) Value {
			x, y := left.eval(env, row), right.eval(env, row)
			return relate(op, &x, &y)
		}, left, right)
	}
	return computed(func(env *Env, row Row) Value { return arithmetic(op, left.eval(env, row), right.eval(env, row)) }, left, right)
}

// slotOf returns the slot of an expression that is a variable, else a negative number.
func (c *compiler) slotOf(e ast.Expr) int {
	if v, ok := e.(*ast.Var); ok {
		return c.slot(v)
	}
	return -1
}

// logical is || if decides is true, && if it is false: the deciding value wins even if the
// other operand is an error (section 17.2).
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

// compileIn is IN as a chain of =. A match wins over errors.
func (c *compiler) compileIn(e *ast.In) node {
	arg := c.compile(e.Arg)
	list := make([]node, len(e.List))
	nodes := true // all are IRIs
	for i, x := range e.List {
		list[i] = c.compile(x)
		nodes = nodes && list[i].constant && list[i].value.kind == IRI
	}
	// 1. Compile the list. An empty one has no member.
	found, missing := FromBool(!e.Not), FromBool(e.Not)
	if len(list) == 0 {
		return constant(missing)
	}
	// 2. IRIs are equal only if they are the same, so a set answers for all.
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
		// Other values are compared one by one. An error counts only if no member is equal.
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
