// From lexical forms to typed values.

package expr

import (
	"math"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/trefoildb/trefoil/triple"
)

// maxDigits is how many digits a number has at most, without leading zeros and
// zeros at the end of a fraction. A literal with more is not looked into.
const maxDigits = 10000

// typeOf returns the kind of the values of a datatype, Other if they are not
// known.
func typeOf(datatype string) Kind {
	const prefix = len(triple.XSD)
	// Types of other namespaces have no values, because no operator is defined for them.
	if len(datatype) <= prefix || datatype[:prefix] != triple.XSD {
		return Other
	}
	// The derived integer types are left for the end, because they are many and need a map.
	switch datatype[prefix:] {
	case "string":
		return String
	case "boolean":
		return Boolean
	case "decimal":
		return Decimal
	case "float":
		return Float
	case "double":
		return Double
	case "dateTime":
		return DateTime
	case "date":
		return Date
	case "time":
		return Time
	case "duration":
		return Duration
	case "dayTimeDuration":
		return DayTimeDuration
	case "yearMonthDuration":
		return YearMonthDuration
	}
	if _, ok := integerLimits(datatype); ok {
		return Integer
	}
	return Other
}

// parse sets v to the typed value of its term, a literal of a known datatype.
func (v *Value) parse() {
	if !v.parseAs(typeOf(v.term.Datatype()), v.term.Value()) {
		v.kind = IllTyped
		return
	}
	if v.kind == Integer && !v.inLimits(v.term.Datatype()) {
		*v = Value{kind: IllTyped, term: v.term}
	}
}

// parseAs sets the typed value of v from a lexical form. It returns false if the form has no
// value, or one beyond the limits.
func (v *Value) parseAs(kind Kind, lexical string) (ok bool) {
	switch kind {
	case String:
		ok = true
	case Boolean:
		switch lexical {
		case "true", "1":
			v.n, ok = 1, true
		case "false", "0":
			v.n, ok = 0, true
		}
	case Integer:
		ok = v.parseExact(lexical, false)
	case Decimal:
		ok = v.parseExact(lexical, true)
	case Float, Double:
		ok = v.parseFloat(lexical, kind)
	case DateTime, Date, Time:
		ok = v.parseInstant(lexical, kind)
	case Duration, DayTimeDuration, YearMonthDuration:
		ok = v.parseDuration(lexical, kind)
	}
	if ok {
		v.kind = kind
	}
	return ok
}

// parseExact reads an integer or a decimal.
func (v *Value) parseExact(s string, point bool) bool {
	if s == "" {
		return false
	}
	// 1. Split the sign, the digits in front of the point and those behind it.
	negative := s[0] == '-'
	if negative || s[0] == '+' {
		s = s[1:]
	}
	whole, fraction := s, ""
	if point {
		if i := strings.IndexByte(s, '.'); i >= 0 {
			whole, fraction = s[:i], s[i+1:]
		}
	}
	if whole == "" && fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return false
	}
	whole = strings.TrimLeft(whole, "0")
	fraction = strings.TrimRight(fraction, "0")
	v.n, v.scale, v.big = 0, 0, nil
	// 2. Up to 18 digits fit in an int64 for certain.
	if len(whole)+len(fraction) <= 18 {
		for i := range len(whole) {
			v.n = v.n*10 + int64(whole[i]-'0')
		}
		for i := range len(fraction) {
			v.n = v.n*10 + int64(fraction[i]-'0')
		}
		if negative {
			v.n = -v.n
		}
		v.scale = uint8(len(fraction))
		return true
	}
	if len(whole)+len(fraction) > maxDigits {
		return false
	}
	// 3. All others are large numbers, unless the integer still fits.
	d := new(apd.Decimal)
	if _, ok := d.Coeff.SetString(whole+fraction, 10); !ok {
		return false
	}
	d.Exponent = -int32(len(fraction))
	d.Negative = negative
	v.big = d
	if fraction == "" && d.Coeff.IsInt64() {
		v.n, v.big = d.Coeff.Int64(), nil
		if negative {
			v.n = -v.n
		}
	}
	return true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// parseFloat reads an xsd:float or xsd:double. A number too great is INF.
func (v *Value) parseFloat(s string, kind Kind) bool {
	f, ok := 0.0, true
	switch s {
	case "INF", "+INF":
		f = math.Inf(1)
	case "-INF":
		f = math.Inf(-1)
	case "NaN":
		f = math.NaN()
	default:
		if !isFloatForm(s) {
			return false
		}
		bits := 64
		if kind == Float {
			bits = 32
		}
		f, _ = strconv.ParseFloat(s, bits) // beyond the range: INF
	}
	v.n = int64(math.Float64bits(f))
	return ok
}

// isFloatForm reports whether s is digits with a point and an exponent or not.
func isFloatForm(s string) bool {
	i, digits := 0, 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			digits++
		}
	}
	// A mantissa must have a digit, in front of the point or behind it.
	if digits == 0 {
		return false
	}
	if i == len(s) {
		return true
	}
	if s[i] != 'e' && s[i] != 'E' {
		return false
	}
	i++
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	// An exponent must have digits.
	return i < len(s) && allDigits(s[i:])
}

// limits holds the least and greatest value of an integer type. A nil one does
// not bound; unsignedLong's greatest is beyond an int64.
type limits struct{ least, greatest *int64 }

func pointer(n int64) *int64 { return &n }

var integerTypes = map[string]limits{
	"integer":            {},
	"long":               {pointer(math.MinInt64), pointer(math.MaxInt64)},
	"int":                {pointer(math.MinInt32), pointer(math.MaxInt32)},
	"short":              {pointer(math.MinInt16), pointer(math.MaxInt16)},
	"byte":               {pointer(math.MinInt8), pointer(math.MaxInt8)},
	"nonNegativeInteger": {pointer(0), nil},
	"positiveInteger":    {pointer(1), nil},
	"nonPositiveInteger": {nil, pointer(0)},
	"negativeInteger":    {nil, pointer(-1)},
	"unsignedLong":       {pointer(0), nil},
	"unsignedInt":        {pointer(0), pointer(math.MaxUint32)},
	"unsignedShort":      {pointer(0), pointer(math.MaxUint16)},
	"unsignedByte":       {pointer(0), pointer(math.MaxUint8)},
}

// integerLimits returns the limits of an integer datatype.
func integerLimits(datatype string) (limits, bool) {
	if datatype == triple.XSDInteger { // nearly always
		return limits{}, true
	}
	if !strings.HasPrefix(datatype, triple.XSD) {
		return limits{}, false
	}
	l, ok := integerTypes[datatype[len(triple.XSD):]]
	return l, ok
}

var maxUnsignedLong = FromInt(math.MaxInt64).add(FromInt(math.MaxInt64)).add(FromInt(1))

// inLimits reports whether the Integer v is in the value space of its datatype.
func (v Value) inLimits(datatype string) bool {
	l, _ := integerLimits(datatype)
	if l.least != nil && compareExact(v, FromInt(*l.least)) < 0 {
		return false
	}
	if l.greatest != nil && compareExact(v, FromInt(*l.greatest)) > 0 {
		return false
	}
	return datatype != triple.XSD+"unsignedLong" || compareExact(v, maxUnsignedLong) <= 0
}
