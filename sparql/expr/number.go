// Numbers: integers, decimals, floats and doubles.

package expr

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// Arithmetic on numbers. Integers and decimals take the path of int64 if they
// can, else apd's, without rounding.

var pow10 = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// exactContext computes without rounding.
var exactContext = apd.BaseContext

// decimal returns an exact number as apd's; it must not be changed.
func (v Value) decimal() *apd.Decimal {
	if v.big != nil {
		return v.big
	}
	return apd.New(v.n, -int32(v.scale))
}

// sign returns the sign of an exact number.
func (v Value) sign() int {
	if v.big != nil {
		return v.big.Sign()
	}
	switch {
	case v.n < 0:
		return -1
	case v.n > 0:
		return 1
	}
	return 0
}

// exactValue takes d over and returns it as a value of the kind Integer, Decimal or
// DayTimeDuration.
func exactValue(d *apd.Decimal, kind Kind) Value {
	d.Reduce(d)
	if d.IsZero() {
		return Value{kind: kind}
	}
	digits := d.NumDigits()
	if digits > maxDigits || d.Exponent > maxDigits || d.Exponent < -maxDigits || digits+int64(d.Exponent) > maxDigits {
		return errTooLarge
	}
	if d.Exponent <= 0 && d.Exponent >= -18 && d.Coeff.IsInt64() {
		v := Value{kind: kind, n: d.Coeff.Int64(), scale: uint8(-d.Exponent)}
		if d.Negative {
			v.n = -v.n
		}
		return v
	}
	if d.Exponent > 0 && digits+int64(d.Exponent) <= 18 {
		v := Value{kind: kind, n: d.Coeff.Int64() * pow10[d.Exponent]}
		if d.Negative {
			v.n = -v.n
		}
		return v
	}
	return Value{kind: kind, big: d}
}

// reduced returns v with the least scale. v must not have a big.
func (v Value) reduced() Value {
	for v.scale > 0 && v.n%10 == 0 {
		v.n /= 10
		v.scale--
	}
	return v
}

// align returns the numbers of a and b at one scale; ok is false if an int64
// does not hold them.
func align(a, b Value) (x, y int64, scale uint8, ok bool) {
	if a.big != nil || b.big != nil {
		return 0, 0, 0, false
	}
	x, y, scale, ok = a.n, b.n, a.scale, true
	switch {
	case a.scale < b.scale:
		x, ok = multiply(a.n, pow10[b.scale-a.scale])
		scale = b.scale
	case a.scale > b.scale:
		y, ok = multiply(b.n, pow10[a.scale-b.scale])
	}
	return x, y, scale, ok
}

// multiply returns a x b; ok is false if an int64 does not hold it.
func multiply(a, b int64) (_ int64, ok bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// compareExact compares two exact numbers.
func compareExact(a, b Value) int {
	if x, y, _, ok := align(a, b); ok {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return a.decimal().Cmp(b.decimal())
}

// exactKind is the kind of a sum, difference or product.
func exactKind(a, b Value) Kind {
	if a.kind == Integer && b.kind == Integer {
		return Integer
	}
	return Decimal
}

// add returns the sum of two exact numbers.
func (v Value) add(b Value) Value {
	kind := exactKind(v, b)
	if x, y, scale, ok := align(v, b); ok {
		if sum := x + y; (sum > x) == (y > 0) {
			return Value{kind: kind, n: sum, scale: scale}.reduced()
		}
	}
	d := new(apd.Decimal)
	if _, err := exactContext.Add(d, v.decimal(), b.decimal()); err != nil {
		return errTooLarge
	}
	return exactValue(d, kind)
}

// negated returns -v of an exact number.
func (v Value) negated() Value {
	if v.big == nil && v.n != math.MinInt64 {
		return Value{kind: v.kind, n: -v.n, scale: v.scale}
	}
	return exactValue(new(apd.Decimal).Neg(v.decimal()), v.kind)
}

// times returns the product of two exact numbers.
func (v Value) times(b Value) Value {
	kind := exactKind(v, b)
	if v.big == nil && b.big == nil && v.scale+b.scale <= 18 {
		if n, ok := multiply(v.n, b.n); ok {
			return Value{kind: kind, n: n, scale: v.scale + b.scale}.reduced()
		}
	}
	x, y := v.decimal(), b.decimal()
	if x.NumDigits()+y.NumDigits() > 2*maxDigits {
		return errTooLarge
	}
	d := new(apd.Decimal)
	if _, err := exactContext.Mul(d, x, y); err != nil {
		return errTooLarge
	}
	return exactValue(d, kind)
}

// Digits of a quotient: significant ones, and those behind the point at least.
const (
	quotientDigits   = 34
	quotientFraction = 18
)

// quotient returns the quotient of two exact numbers, a decimal.
func (v Value) quotient(b Value) Value {
	if b.sign() == 0 {
		return errDivide
	}
	if v.big == nil && b.big == nil && v.scale == b.scale && v.n != math.MinInt64 && v.n%b.n == 0 {
		return Value{kind: Decimal, n: v.n / b.n}
	}
	x, y := v.decimal(), b.decimal()
	whole := x.NumDigits() + int64(x.Exponent) - y.NumDigits() - int64(y.Exponent) + 1
	c := *exactContext.WithPrecision(uint32(max(quotientDigits, whole+quotientFraction)))
	c.Rounding = apd.RoundHalfUp
	d := new(apd.Decimal)
	if _, err := c.Quo(d, x, y); err != nil {
		return errTooLarge
	}
	return exactValue(d, Decimal)
}

// double returns a number as a double: nearest for exact ones.
func (v Value) double() float64 {
	switch {
	case v.kind == Float || v.kind == Double:
		return v.float()
	case v.big != nil:
		f, _ := strconv.ParseFloat(v.big.Text('E'), 64)
		return f
	case v.scale == 0:
		return float64(v.n)
	case magnitude(v.n) <= 1<<53:
		return float64(v.n) / float64(pow10[v.scale]) // both are exact
	}
	f, _ := strconv.ParseFloat(v.canonical(), 64)
	return f
}

// single returns a number as a float: nearest for all others.
func (v Value) single() float32 {
	switch {
	case v.kind == Float || v.kind == Double:
		return float32(v.float())
	case v.big == nil && v.scale == 0:
		return float32(v.n)
	case v.big != nil:
		f, _ := strconv.ParseFloat(v.big.Text('E'), 32)
		return float32(f)
	}
	// A double must not stand between, because it would round twice.
	f, _ := strconv.ParseFloat(v.canonical(), 32)
	return float32(f)
}

// promoted returns the common kind of an operation on two numbers.
func promoted(a, b Value) Kind {
	switch {
	case a.kind == Double || b.kind == Double:
		return Double
	case a.kind == Float || b.kind == Float:
		return Float
	}
	return Decimal
}

// integral returns an exact number rounded to a whole one: the next below, or
// if there is a fraction and up says so, the next above. up gets how the
// distance from the one below compares with one half.
func (v Value) integral(up func(half int) bool) Value {
	// 1. An integer needs no rounding.
	if v.big == nil && v.scale == 0 {
		return Value{kind: v.kind, n: v.n}
	}
	// 2. A small decimal. The remainder of Go's division may be negative, so floor must be
	// adjusted.
	kind := v.kind
	if v.big == nil {
		p := pow10[v.scale]
		floor, rest := v.n/p, v.n%p
		if rest < 0 {
			floor, rest = floor-1, rest+p
		}
		if rest != 0 && up(compareHalf(rest, p)) {
			floor++
		}
		return Value{kind: kind, n: floor}
	}
	// 3. A large one.
	if v.big.Exponent >= 0 {
		return Value{kind: kind, big: v.big}
	}
	floor := new(apd.Decimal)
	context := *exactContext.WithPrecision(uint32(v.big.NumDigits() + 2))
	if _, err := context.Floor(floor, v.big); err != nil {
		return errTooLarge
	}
	rest := new(apd.Decimal)
	if _, err := exactContext.Sub(rest, v.big, floor); err != nil {
		return errTooLarge
	}
	if !rest.IsZero() && up(rest.Cmp(apd.New(5, -1))) {
		if _, err := exactContext.Add(floor, floor, apd.New(1, 0)); err != nil {
			return errTooLarge
		}
	}
	return exactValue(floor, kind)
}

func compareHalf(rest, whole int64) int {
	switch half := whole / 2; {
	case rest < half:
		return -1
	case rest > half:
		return 1
	}
	return 0
}

// exactText returns the canonical form of an exact number by XSD 1.1: a whole decimal has no point.
func (v Value) exactText() string {
	var text string
	switch {
	case v.big != nil:
		text = v.big.Text('f')
	case v.scale == 0:
		text = strconv.FormatInt(v.n, 10)
	default:
		digits := strconv.FormatUint(magnitude(v.n), 10)
		if missing := int(v.scale) + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		at := len(digits) - int(v.scale)
		text = digits[:at] + "." + strings.TrimRight(digits[at:], "0")
		if v.n < 0 {
			text = "-" + text
		}
	}
	return strings.TrimSuffix(text, ".")
}

// floatText returns the canonical form of a float or double: 1.0E0.
func floatText(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "INF"
	case math.IsInf(f, -1):
		return "-INF"
	}
	b := strconv.AppendFloat(make([]byte, 0, 32), f, 'E', -1, bits)
	text := string(b)
	mantissa, exponent, _ := strings.Cut(text, "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	negative := strings.HasPrefix(exponent, "-")
	exponent = strings.TrimLeft(exponent[1:], "0")
	if exponent == "" {
		exponent = "0"
	} else if negative {
		exponent = "-" + exponent
	}
	return mantissa + "E" + exponent
}
