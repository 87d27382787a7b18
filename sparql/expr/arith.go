// Arithmetic on numbers of all types.

package expr

import (
	"github.com/trefoildb/trefoil/sparql/ast"
)

// arithmetic returns a op b for one of + - * / (section 17.3).
func arithmetic(op ast.Op, a, b Value) Value {
	a, b = a.Parsed(), b.Parsed()
	switch {
	case a.isNumeric() && b.isNumeric():
		return numeric(op, a, b)
	case a.kind <= Error:
		return a.asError()
	case b.kind <= Error:
		return b.asError()
	case a.isInstant():
		return instantArithmetic(op, a, b)
	case a.isDuration():
		return durationArithmetic(op, a, b)
	case b.kind == DayTimeDuration || b.kind == YearMonthDuration:
		if op == ast.OpMultiply && a.isNumeric() {
			return scaleDuration(op, b, a)
		}
	}
	return errType
}

func numeric(op ast.Op, a, b Value) Value {
	switch promoted(a, b) {
	case Double:
		return FromDouble(floating(op, a.double(), b.double()))
	case Float:
		return fromFloat(floating(op, a.single(), b.single()))
	}
	switch op {
	case ast.OpAdd:
		return a.add(b)
	case ast.OpSubtract:
		return a.add(b.negated())
	case ast.OpMultiply:
		return a.times(b)
	}
	return a.quotient(b)
}

func floating[F float32 | float64](op ast.Op, a, b F) F {
	switch op {
	case ast.OpAdd:
		return a + b
	case ast.OpSubtract:
		return a - b
	case ast.OpMultiply:
		return a * b
	}
	return a / b
}

// instantArithmetic: an instant and a duration, or the difference of two
// instants of one kind, both with a zone or both without.
func instantArithmetic(op ast.Op, a, b Value) Value {
	// 1. The difference of two instants is a duration, if both or none have a zone.
	switch {
	case op == ast.OpSubtract && a.kind == b.kind:
		if (a.zone == noZone) != (b.zone == noZone) {
			return errorValue("the difference of an instant with a time zone and one without")
		}
		difference := a.seconds().add(b.seconds().negated())
		if difference.kind != Error {
			difference.kind = DayTimeDuration
		}
		return difference
	case op != ast.OpAdd && op != ast.OpSubtract || !b.isDuration():
		return errType
	}
	// 2. Add a duration: months first, because their length depends on the date.
	months, seconds := b.parts()
	if months != 0 && a.kind == Time {
		return errType
	}
	if op == ast.OpSubtract {
		months, seconds = -months, seconds.negated()
	}
	r := a.bare()
	if months != 0 {
		if r = a.addMonths(months); r.kind == Error {
			return r
		}
	}
	if seconds.sign() != 0 {
		r = r.instantAt(r.seconds().add(seconds))
	}
	return r
}

// durationArithmetic: a duration and an instant, a number or a duration of the
// same kind.
func durationArithmetic(op ast.Op, a, b Value) Value {
	switch {
	case b.isInstant() && op == ast.OpAdd:
		return instantArithmetic(op, b, a)
	case a.kind == Duration:
		return errType
	case b.isNumeric() && (op == ast.OpMultiply || op == ast.OpDivide):
		return scaleDuration(op, a, b)
	case a.kind != b.kind || op == ast.OpMultiply:
		return errType
	}
	x, y := a.asNumber(), b.asNumber()
	if op == ast.OpDivide {
		return x.quotient(y)
	}
	return numeric(op, x, y).asDuration(a.kind)
}

// asNumber returns a DayTimeDuration in seconds or a YearMonthDuration in months.
func (v Value) asNumber() Value {
	if v.kind == YearMonthDuration {
		return FromInt(v.n)
	}
	return Value{kind: Decimal, n: v.n, scale: v.scale, big: v.big}
}

// asDuration is the inverse of asNumber. Months are rounded, half up.
func (v Value) asDuration(kind Kind) Value {
	if v.kind == Error {
		return v
	}
	if kind == YearMonthDuration {
		v = v.integral(func(half int) bool { return half >= 0 })
		if v.kind == Error || v.big != nil {
			return errTooLarge
		}
		return Value{kind: kind, n: v.n}
	}
	v.kind = kind
	return v.bare()
}

// scaleDuration multiplies or divides a duration by a number.
func scaleDuration(op ast.Op, d, by Value) Value {
	if !by.isExact() {
		if by = toExact(by, Decimal); by.kind == Error {
			return by
		}
	}
	return numeric(op, d.asNumber(), by).asDuration(d.kind)
}

// unary returns +v or -v.
func unary(op ast.Op, v Value) Value {
	v = v.Parsed()
	switch {
	case v.kind <= Error:
		return v.asError()
	case !v.isNumeric():
		return errType
	case op == ast.OpPlus:
		return v.bare()
	}
	switch v.kind {
	case Float:
		return fromFloat(-v.single())
	case Double:
		return FromDouble(-v.float())
	}
	return v.negated()
}
