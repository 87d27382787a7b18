// Equality and order of values, as operators define them.

package expr

import (
	"cmp"
	"strings"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// comparison is the result of comparing two values.
type comparison uint8

const (
	less comparison = iota
	equal
	greater
	unordered // not equal, neither less nor greater: NaN
	unequal   // known to differ, but without an order: an error for < and the like
	same      // equal, but without an order: IRIs have no <=
	unknown   // an error
)

func order(c int) comparison { return comparison(c + 1) }

// compareValues compares a and b by value, as the operators of section 17.3 do.
//
// a and b are pointers, because copies of such large values would be slow. Both are parsed in
// place.
func compareValues(a, b *Value) comparison {
	if a.kind == unparsed {
		a.parse()
	}
	if b.kind == unparsed {
		b.parse()
	}
	switch {
	case a.isNumeric() && b.isNumeric():
		return compareNumbers(a, b)
	case a.kind <= Error || b.kind <= Error:
		return unknown
	case a.kind == b.kind:
		return compareKind(a, b)
	case !a.isLiteral() || !b.isLiteral():
		return unequal
	case a.isDuration() && b.isDuration():
		return compareDurations(a, b)
	case a.kind == LangString || b.kind == LangString:
		return unequal
	case a.kind >= Other || b.kind >= Other:
		return unknown
	}
	return unequal
}

func compareNumbers(a, b *Value) comparison {
	if a.isExact() && b.isExact() {
		if a.big == nil && b.big == nil && a.scale == b.scale {
			return order(cmp.Compare(a.n, b.n))
		}
		return order(compareExact(*a, *b))
	}
	if a.kind == Double || b.kind == Double {
		return compareFloats(a.double(), b.double())
	}
	return compareFloats(float64(a.single()), float64(b.single()))
}

func compareFloats(a, b float64) comparison {
	switch {
	case a < b:
		return less
	case a > b:
		return greater
	case a == b:
		return equal
	}
	return unordered
}

// compareKind compares two values of one kind. They must not be numbers.
func compareKind(a, b *Value) comparison {
	// Some kinds have an order. All others are equal if they are the same term.
	switch a.kind {
	case Boolean:
		return order(cmp.Compare(a.n, b.n))
	case String:
		return order(strings.Compare(a.term.Value(), b.term.Value()))
	case DateTime, Date, Time:
		if c, ok := compareInstants(a, b); ok {
			return order(c)
		}
		return unknown
	case Duration, DayTimeDuration, YearMonthDuration:
		return compareDurations(a, b)
	case TripleTerm:
		return compareTriples(a.term, b.term)
	}
	switch {
	case a.term == b.term:
		return same
	case a.kind >= Other:
		return unknown
	}
	return unequal
}

// compareDurations: all durations are equal or not, only two of the same of the
// two totally ordered kinds are less or greater.
func compareDurations(a, b *Value) comparison {
	m, s := a.parts()
	n, t := b.parts()
	months, seconds := compareExact(FromInt(m), FromInt(n)), compareExact(s, t)
	switch {
	case a.kind == b.kind && a.kind != Duration:
		return order(months + seconds) // one of both is 0
	case months == 0 && seconds == 0:
		return same
	}
	return unequal
}

// holds applies one of = != < > <= >=.
func (c comparison) holds(op ast.Op) Value {
	switch {
	case c == unknown:
		return errNotComparable
	case op == ast.OpEqual:
		return FromBool(c == equal || c == same)
	case op == ast.OpNotEqual:
		return FromBool(c != equal && c != same)
	case c == unequal || c == same:
		return errNotComparable
	}
	switch op {
	case ast.OpLess:
		return FromBool(c == less)
	case ast.OpGreater:
		return FromBool(c == greater)
	case ast.OpLessEq:
		return FromBool(c == less || c == equal)
	}
	return FromBool(c == greater || c == equal)
}

var errNotComparable = errorValue("values that are not comparable")

// relateSlots returns a op b for two variables of a row and one of = != < > <= >=.
func relateSlots(op ast.Op, row Row, a, b int) Value {
	if c, ok := row.(Comparer); ok {
		switch n, ordered, ok := c.CompareSlots(a, b); {
		case ok && ordered:
			return order(n).holds(op)
		case ok && n == 0:
			return same.holds(op)
		case ok:
			return unequal.holds(op)
		}
	}
	x, y := row.Value(a), row.Value(b)
	return relate(op, &x, &y)
}

// relate returns a op b for one of = != < > <= >=; it parses both in place.
func relate(op ast.Op, a, b *Value) Value {
	if a.kind <= Error {
		return a.asError()
	}
	if b.kind <= Error {
		return b.asError()
	}
	return compareValues(a, b).holds(op)
}
