// Casts: the constructor functions of XSD types.

package expr

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/trefoildb/trefoil/triple"
)

// Casts (section 17.5, and XPath functions and operators, section 17).

// castOf returns the cast with an IRI.
func castOf(iri string) (cast func(Value) Value, ok bool) {
	kind := typeOf(iri)
	if kind == Other {
		return nil, false
	}
	return func(v Value) Value {
		v = v.Parsed()
		if v.kind <= Error {
			return v.asError()
		}
		r := castTo(v, kind)
		if kind != Integer || r.kind == Error || iri == triple.XSDInteger {
			return r
		}
		if !r.inLimits(iri) {
			return errCast
		}
		r.term = triple.NewTyped(r.canonical(), iri)
		return r
	}, true
}

var errCast = errorValue("a cast of a value that the datatype has not")

// castTo returns v as a value of the kind. v must be parsed and a term.
func castTo(v Value, kind Kind) Value {
	switch {
	case kind == String:
		return castString(v)
	case v.kind == String:
		// Casts from strings take white space around the lexical form.
		r := Value{}
		if !r.parseAs(kind, strings.Trim(v.term.Value(), " \t\r\n")) {
			return errCast
		}
		return r
	case v.kind == kind:
		return v.bare()
	// A boolean is 1 or 0 as a number. A number is true unless it is 0 or NaN.
	case v.kind == Boolean && kind >= Integer && kind <= Double:
		return castNumber(FromInt(v.n), kind)
	case v.isNumeric() && kind == Boolean:
		b, _ := v.EBV()
		return FromBool(b)
	case v.isNumeric() && kind >= Integer && kind <= Double:
		return castNumber(v, kind)
	// Instants and durations are cast within their families only.
	case v.isInstant() && kind >= DateTime && kind <= Time:
		return castInstant(v, kind)
	case v.isDuration() && kind >= Duration && kind <= YearMonthDuration:
		months, seconds := v.parts()
		r := Value{}
		r.setDuration(kind, months, seconds)
		return r
	}
	return errCast
}

// castString: XPath writes floats and doubles from 0.000001 to 1000000 without an exponent.
func castString(v Value) Value {
	switch v.kind {
	case Blank, TripleTerm, IllTyped:
		return errCast
	case Float, Double:
		f, bits := v.float(), 64
		if v.kind == Float {
			bits = 32
		}
		if m := math.Abs(f); m == 0 || m >= 1e-6 && m < 1e6 {
			return FromString(strconv.FormatFloat(f, 'f', -1, bits))
		}
		return FromString(floatText(f, bits))
	case IRI, String, LangString, Other:
		return FromString(v.term.Value())
	}
	return FromString(v.canonical())
}

func castNumber(v Value, kind Kind) Value {
	switch kind {
	case Double:
		return FromDouble(v.double())
	case Float:
		return fromFloat(v.single())
	}
	return toExact(v, kind)
}

// floatDigits is how many digits of a float's exact value are behind the first one, at most.
const floatDigits = 111

// toExact returns a number as an Integer or a Decimal. A fraction is cut off for an integer. A
// float keeps its exact value, as XPath has it, and so does a double of magnitude 2^53 or more.
// Another double becomes its shortest decimal (0.1e0 is 0.1), as in all peers.
func toExact(v Value, kind Kind) Value {
	// 1. A float or double has an exact decimal if it is finite. Large ones must become
	// integers bit by bit, because printing would round their digits.
	if !v.isExact() {
		f := v.float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return errCast
		}
		digits := -1
		if v.kind == Float {
			digits = floatDigits
		}
		d := new(apd.Decimal)
		if math.Abs(f) >= 1<<53 {
			whole, _ := big.NewFloat(f).Int(nil)
			d.Coeff.SetMathBigInt(whole.Abs(whole))
			d.Negative = f < 0
		} else if _, _, err := d.SetString(strconv.FormatFloat(f, 'e', digits, 64)); err != nil {
			return errTooLarge
		}
		if v = exactValue(d, Decimal); v.kind == Error {
			return v
		}
	}
	// 2. An integer is cut towards zero.
	if kind == Integer && v.kind == Decimal {
		negative := v.sign() < 0
		v = v.integral(func(int) bool { return negative })
	}
	if v.kind != Error {
		v.kind = kind
	}
	return v.bare()
}

func castInstant(v Value, kind Kind) Value {
	days, clock := v.local()
	r := v.bare()
	r.kind = kind
	switch {
	case v.kind == DateTime && kind == Date:
		r.n, r.nanos, r.big = v.n-clock, 0, nil
	case v.kind == DateTime && kind == Time:
		r.n -= days * secondsOfDay
	case v.kind == Date && kind == DateTime:
	default:
		return errCast
	}
	return r
}
