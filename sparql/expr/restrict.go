// Restrictions: ranges of terms outside which a filter cannot be true.

package expr

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// A filter restricts its variable to ranges of the key order, so a planner may read a range
// instead of everything. The key order refines the operator <: a term less by < has the lesser
// key. But terms equal by = may have different keys (0.1 and 0.1e0), so ranges with <=, >= and
// = must be widened, because promotion rounds. Dates need no widening: one without a zone is
// keyed as UTC, and is less or greater only when 14 hours apart.

// Range is a range of terms, as [triple.Bounds] has it.
type Range struct {
	GE, GT, LE, LT triple.Term
	Starts         triple.Starts
}

// Bounds returns the range after fixed leading terms of an order.
func (r Range) Bounds(o triple.Order, prefix []triple.Term) triple.Bounds {
	return triple.Bounds{Order: o, Prefix: prefix, GE: r.GE, GT: r.GT, LE: r.LE, LT: r.LT, Starts: r.Starts}
}

// Restriction is a necessary condition of a filter: its variable must be one of Terms or in one
// of Ranges. If both are empty, the filter is never true.
type Restriction struct {
	Var    *ast.Var
	Terms  []triple.Term
	Ranges []Range
	// Exact is true if the filter holds for all of them and need not be tested.
	Exact bool
	// NodesOnly is true if literals outside of the ranges may pass too. Then the restriction
	// holds only if the variable is a subject, a predicate or a graph.
	NodesOnly bool
}

// Restrict derives a restriction of a single variable from a filter, or one conjunct of it: ?v
// op constant, constant op ?v, ?v IN (...), sameTerm, STRSTARTS of ?v or STR(?v), REGEX(?v,
// "^text"), and those between || and &&.
func Restrict(e ast.Expr) (Restriction, bool) {
	switch e := e.(type) {
	case *ast.Binary:
		return restrictBinary(e)
	case *ast.In:
		return restrictIn(e)
	case *ast.Call:
		return restrictCall(e)
	}
	return Restriction{}, false
}

func restrictBinary(e *ast.Binary) (Restriction, bool) {
	// 1. Both sides of AND restrict. For OR both must restrict the same variable.
	if e.Op == ast.OpOr || e.Op == ast.OpAnd {
		left, ok1 := Restrict(e.Left)
		right, ok2 := Restrict(e.Right)
		switch {
		case ok1 && ok2 && left.Var.Name == right.Var.Name:
			if e.Op == ast.OpAnd {
				return left.And(right), true
			}
			return left.or(right), true
		case e.Op == ast.OpAnd && (ok1 || ok2):
			if !ok1 {
				left = right
			}
			left.Exact = false
			return left, true
		}
		return Restriction{}, false
	}
	// 2. A comparison with a constant, on either side.
	if v, ok := e.Left.(*ast.Var); ok {
		if c, ok := constantOf(e.Right); ok {
			return restrictTo(v, e.Op, c)
		}
	}
	if v, ok := e.Right.(*ast.Var); ok {
		if c, ok := constantOf(e.Left); ok {
			return restrictTo(v, mirrored(e.Op), c)
		}
	}
	return Restriction{}, false
}

// constantOf returns the value of an expression without variables.
func constantOf(e ast.Expr) (Value, bool) {
	if _, ok := e.(*ast.Var); ok {
		return Value{}, false
	}
	x, err := Compile(e, Scope{Slot: func(*ast.Var) int { return 0 }})
	if err != nil {
		return Value{}, false
	}
	v, ok := x.Constant()
	return v, ok && v.IsBound()
}

// mirrored returns the operator with its operands exchanged.
func mirrored(op ast.Op) ast.Op {
	switch op {
	case ast.OpLess:
		return ast.OpGreater
	case ast.OpGreater:
		return ast.OpLess
	case ast.OpLessEq:
		return ast.OpGreatEq
	case ast.OpGreatEq:
		return ast.OpLessEq
	}
	return op
}

// restrictTo returns the restriction of v by v op c.
func restrictTo(v *ast.Var, op ast.Op, c Value) (Restriction, bool) {
	r := Restriction{Var: v, Exact: true}
	if !op.IsComparison() || op == ast.OpNotEqual {
		return r, false
	}
	// A range is exact only if keys have the operator's order. Numbers and instants need a
	// wider range, because values of different types may be equal.
	switch {
	case c.isNumeric():
		if !c.isExact() && math.IsNaN(c.float()) {
			return r, true // nothing compares with NaN
		}
		low, high := widened(c)
		r.Exact = false
		r.Ranges = []Range{rangeOf(op, c.Term(), low, high)}
		return r, true
	case c.isInstant():
		r.Exact = false
		r.Ranges = []Range{rangeOf(op, c.Term(), c.Term(), c.Term())}
		return r, true
	case c.kind == Boolean || c.kind == String && op != ast.OpEqual:
		r.Ranges = []Range{rangeOf(op, c.Term(), c.Term(), c.Term())}
		return r, true
	case op != ast.OpEqual || c.isDuration():
		return r, false
	case c.kind == TripleTerm: // objects are compared by value
		r.Exact = false
		r.Ranges = []Range{sameBefore(c.term)}
		return r, true
	}
	r.Terms = []triple.Term{c.Term()}
	return r, true
}

// sameBefore returns a range with the triple terms that differ from t in the innermost object only.
func sameBefore(t triple.Term) Range {
	_, before := innermost(t)
	return Range{Starts: triple.Starts{Kind: triple.TripleTerm, Text: before}}
}

// rangeOf returns the range of v op c: strict bounds at c, the others at low and high, the
// least and greatest terms equal to c.
func rangeOf(op ast.Op, c, low, high triple.Term) Range {
	switch op {
	case ast.OpLess:
		return Range{LT: c}
	case ast.OpGreater:
		return Range{GT: c}
	case ast.OpLessEq:
		return Range{LE: high}
	case ast.OpGreatEq:
		return Range{GE: low}
	}
	return Range{GE: low, LE: high}
}

// widened returns bounds: if a number is beyond them, it is not equal to c when promoted. An
// integer or decimal is equal to the float and the double nearest to it; a float or double to
// all decimals nearest to it.
func widened(c Value) (low, high triple.Term) {
	lowest, highest := c, c
	include := func(v Value) {
		if Compare(v, lowest) < 0 {
			lowest = v
		}
		if Compare(v, highest) > 0 {
			highest = v
		}
	}
	switch c.kind {
	case Float:
		include(fromFloat(math.Nextafter32(c.single(), float32(math.Inf(-1)))))
		include(fromFloat(math.Nextafter32(c.single(), float32(math.Inf(1)))))
	case Double:
		include(FromDouble(math.Nextafter(c.float(), math.Inf(-1))))
		include(FromDouble(math.Nextafter(c.float(), math.Inf(1))))
	default:
		include(fromFloat(c.single()))
		include(FromDouble(c.double()))
	}
	return lowest.Term(), highest.Term()
}

func restrictIn(e *ast.In) (Restriction, bool) {
	v, ok := e.Arg.(*ast.Var)
	if !ok || e.Not {
		return Restriction{}, false
	}
	r := Restriction{Var: v, Exact: true}
	for _, x := range e.List {
		c, ok := constantOf(x)
		if !ok {
			return Restriction{}, false
		}
		one, ok := restrictTo(v, ast.OpEqual, c)
		if !ok {
			return Restriction{}, false
		}
		r = r.or(one)
	}
	return r, true
}

func restrictCall(e *ast.Call) (Restriction, bool) {
	if len(e.Args) != 2 {
		return Restriction{}, false
	}
	c, ok := constantOf(e.Args[1])
	if !ok {
		return Restriction{}, false
	}
	v, isVar := e.Args[0].(*ast.Var)
	// A condition on the beginning of a term is a range of keys, because keys have the order of
	// text.
	switch e.Func {
	case ast.FuncSameTerm:
		return Restriction{Var: v, Terms: []triple.Term{c.Term()}, Exact: true}, isVar
	case ast.FuncStrStarts:
		if isVar {
			return startsWith(v, c)
		}
		if inner, ok := e.Args[0].(*ast.Call); ok && inner.Func == ast.FuncStr && c.kind == String {
			if v, ok := inner.Args[0].(*ast.Var); ok {
				starts := triple.Starts{Kind: triple.IRI, Text: c.term.Value()}
				return Restriction{Var: v, Ranges: []Range{{Starts: starts}}, NodesOnly: true}, true
			}
		}
	case ast.FuncRegex:
		if text, ok := regexPrefix(c); ok && isVar {
			r, ok := startsWith(v, FromString(text))
			r.Exact = false
			return r, ok
		}
	}
	return Restriction{}, false
}

// startsWith returns the strings with the prefix c. They may have any language, or must have
// the one of c if c has one.
func startsWith(v *ast.Var, c Value) (Restriction, bool) {
	if !c.isString() {
		return Restriction{}, false
	}
	text := c.term.Value()
	starts := triple.Starts{Kind: triple.Literal, Text: text, Lang: c.term.LangDir()}
	if c.kind == LangString {
		return Restriction{Var: v, Ranges: []Range{{Starts: starts}}}, true
	}
	// No tag sorts before a.
	tagged := Range{GE: triple.NewLang(text, "a")}
	if next := successor(text); next != "" {
		tagged.LT = triple.NewLang(next, "a")
	}
	return Restriction{Var: v, Ranges: []Range{{Starts: starts}, tagged}}, true
}

// successor returns the least text greater than all with the prefix s, or "" if there is none.
func successor(s string) string {
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		if r++; r == 0xD800 {
			r = 0xE000
		}
		if r <= utf8.MaxRune {
			return s + string(r)
		}
	}
	return ""
}

// regexPrefix returns the common prefix of all matches of a pattern ^text... .
func regexPrefix(c Value) (string, bool) {
	pattern, ok := asSimple(c)
	if !ok || !strings.HasPrefix(pattern, "^") || strings.Contains(pattern, "|") {
		return "", false
	}
	pattern = pattern[1:]
	end := strings.IndexAny(pattern, `.\?*+{}()[]^$`)
	if end < 0 {
		return pattern, pattern != ""
	}
	text := pattern[:end]
	if strings.IndexByte("?*{", pattern[end]) >= 0 { // the last character may be missing
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text, text != ""
}

// or returns the union of two restrictions. It takes r's slices over, because thousands of
// alternatives come one by one.
func (r Restriction) or(o Restriction) Restriction {
	r.Terms = append(r.Terms, o.Terms...)
	r.Ranges = append(r.Ranges, o.Ranges...)
	r.Exact = r.Exact && o.Exact
	r.NodesOnly = r.NodesOnly || o.NodesOnly
	return r
}

// And returns the conjunction of two restrictions of one variable: the tighter bounds of two
// value ranges, else one of both. In the latter case the result is not exact.
func (r Restriction) And(o Restriction) Restriction {
	r.Exact = r.Exact && o.Exact
	o.Exact = r.Exact
	a, ok1 := r.single()
	b, ok2 := o.single()
	if !ok1 || !ok2 {
		if r.NodesOnly && !o.NodesOnly || len(r.Ranges) > 0 && len(o.Ranges) == 0 {
			r = o
		}
		r.Exact = false
		return r
	}
	if classOf(a) != classOf(b) {
		r.Ranges = nil // no value is of both classes
		return r
	}
	a.raise(b.GE, false)
	a.raise(b.GT, true)
	a.lower(b.LE, false)
	a.lower(b.LT, true)
	r.Ranges = []Range{a}
	return r
}

// single returns a restriction's range by values, if it is just one.
func (r Restriction) single() (Range, bool) {
	if r.NodesOnly || len(r.Terms) > 0 || len(r.Ranges) != 1 || r.Ranges[0].Starts.Kind != triple.None {
		return Range{}, false
	}
	return r.Ranges[0], true
}

// classOf returns the class of a range's terms: the first byte of their keys.
func classOf(r Range) byte {
	for _, t := range []triple.Term{r.GE, r.GT, r.LE, r.LT} {
		if !t.IsZero() {
			return triple.AppendWholeTerm(nil, t)[0]
		}
	}
	return 0
}

// raise takes a lower bound if it is the tighter one.
func (r *Range) raise(t triple.Term, strict bool) {
	if t.IsZero() {
		return
	}
	old, oldStrict := r.GE, false
	if !r.GT.IsZero() {
		old, oldStrict = r.GT, true
	}
	if !old.IsZero() {
		if c := Compare(FromTerm(t), FromTerm(old)); c < 0 || c == 0 && (oldStrict || !strict) {
			return
		}
	}
	r.GE, r.GT = t, triple.Term{}
	if strict {
		r.GE, r.GT = triple.Term{}, t
	}
}

// lower takes an upper bound if it is the tighter one.
func (r *Range) lower(t triple.Term, strict bool) {
	if t.IsZero() {
		return
	}
	old, oldStrict := r.LE, false
	if !r.LT.IsZero() {
		old, oldStrict = r.LT, true
	}
	if !old.IsZero() {
		if c := Compare(FromTerm(t), FromTerm(old)); c > 0 || c == 0 && (oldStrict || !strict) {
			return
		}
	}
	r.LE, r.LT = t, triple.Term{}
	if strict {
		r.LE, r.LT = triple.Term{}, t
	}
}
