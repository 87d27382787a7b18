// Keys of numbers.

package triple

import (
	"cmp"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// Numbers of all XSD numeric types are in one common order. A number's bytes are
//
//	+-----------------------+------+----------------------------------------+
//	| ordered double        | 0    |                                        | the value is that double
//	| 8 bytes, big-endian   +------+----------------------------------------+
//	|                       | 1    | exponent 4 | digit pairs | end 1       | it lies above that double
//	+-----------------------+------+----------------------------------------+
//
// The double is the largest one that is not above the value, with its bits changed to sort as bytes
// (sign bit flipped; all bits flipped below zero). -0 is 0; NaN is eight bytes FF, above INF. The
// exact decimal is 0.d1d2d3... x 10^exponent with d1 > 0: the exponent + 2^31 in 4 big-endian
// bytes, then each pair of digits as one byte pair+1, then 0. Below zero every byte of the decimal
// is complemented. Bytes compare like values, because all values above the same double have one
// sign.

var nanBytes = [8]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}

// appendNumber appends the number's bytes to dst. If lexical is not in the lexical space of the
// datatype with the given code, ok is false and dst is unchanged.
func appendNumber(dst []byte, code byte, lexical string) (_ []byte, ok bool) {
	switch code {
	case codeDouble, codeFloat:
		v, ok := parseFloat(code, lexical)
		if !ok {
			return dst, false
		}
		return append(appendDouble(dst, v), 0), true
	case codeDecimal:
		return appendDecimal(dst, lexical)
	}
	return appendInteger(dst, code, lexical)
}

// appendDouble appends the ordered bytes of v.
func appendDouble(dst []byte, v float64) []byte {
	if math.IsNaN(v) {
		return append(dst, nanBytes[:]...)
	}
	bits := math.Float64bits(v)
	if v == 0 {
		bits = 0
	}
	if bits>>63 != 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, bits)
}

// parseFloat parses an xsd:double or xsd:float (XSD 1.1 part 2, 3.3.4 and 3.3.5). If a value is too
// large for the type, it is INF by the rounding of that section.
func parseFloat(code byte, s string) (float64, bool) {
	// 1. The special values.
	switch s {
	case "INF", "+INF":
		return math.Inf(1), true
	case "-INF":
		return math.Inf(-1), true
	case "NaN":
		return math.NaN(), true
	}
	// 2. Check the lexical space, because ParseFloat accepts more.
	rest := skipDecimal(s)
	if rest < 0 {
		return 0, false
	}
	if rest < len(s) {
		if s[rest] != 'e' && s[rest] != 'E' {
			return 0, false
		}
		i := rest + 1
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if i == len(s) || skipDigits(s, i) != len(s) {
			return 0, false
		}
	}
	// 3. A float must be rounded once, directly to its own size.
	size := 64
	if code == codeFloat {
		size = 32
	}
	v, _ := strconv.ParseFloat(s, size) // out of range is +-Inf, as XSD requires
	return v, true
}

func skipDigits(s string, i int) int {
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i
}

// skipDecimal returns the length of the decimal numeral at the start of s, or -1 if there is none.
func skipDecimal(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	whole := skipDigits(s, i)
	digits := whole - i
	if whole < len(s) && s[whole] == '.' {
		end := skipDigits(s, whole+1)
		digits += end - whole - 1
		whole = end
	}
	if digits == 0 {
		return -1
	}
	return whole
}

// pow10 holds the powers of ten that are exact doubles.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

func appendDecimal(dst []byte, s string) ([]byte, bool) {
	if skipDecimal(s) != len(s) {
		return dst, false
	}
	negative := s[0] == '-'
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	whole = strings.TrimLeft(whole, "0")
	fraction = strings.TrimRight(fraction, "0")
	return appendExact(dst, negative, whole, fraction), true
}

func appendInteger(dst []byte, code byte, s string) ([]byte, bool) {
	i := 0
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		i = 1
	}
	if i == len(s) || skipDigits(s, i) != len(s) {
		return dst, false
	}
	negative := s[0] == '-'
	digits := strings.TrimLeft(s[i:], "0")
	if code != codeInteger && !inIntegerRange(code, negative, digits) {
		return dst, false
	}
	return appendExact(dst, negative, digits, ""), true
}

// integerRanges holds the largest magnitudes below and above zero of the derived integer types by
// code; "" means zero, "*" no bound.
var integerRanges = [...]struct{ below, above string }{
	1:  {"128", "127"},
	5:  {"2147483648", "2147483647"},
	7:  {"9223372036854775808", "9223372036854775807"},
	8:  {"*", ""}, // negativeInteger: zero is excluded below
	9:  {"", "*"},
	10: {"*", ""},
	11: {"", "*"}, // positiveInteger: zero is excluded below
	12: {"32768", "32767"},
	13: {"", "255"},
	14: {"", "4294967295"},
	15: {"", "18446744073709551615"},
	16: {"", "65535"},
}

// inIntegerRange reports whether an integer is in the value space of a derived integer type. digits
// are its significant digits; "" is zero.
func inIntegerRange(code byte, negative bool, digits string) bool {
	if digits == "" {
		return code != 8 && code != 11
	}
	limit := integerRanges[code].above
	if negative {
		limit = integerRanges[code].below
	}
	if limit == "*" {
		return true
	}
	if len(digits) != len(limit) {
		return len(digits) < len(limit)
	}
	return digits <= limit
}

// appendExact appends the number whole.fraction. whole must not have leading zeros, and fraction no
// trailing zeros.
func appendExact(dst []byte, negative bool, whole, fraction string) []byte {
	if whole == "" && fraction == "" {
		return append(appendDouble(dst, 0), 0)
	}
	floor, exact := floorDouble(negative, whole, fraction)
	dst = appendDouble(dst, floor)
	if exact {
		return append(dst, 0)
	}
	return appendDigits(append(dst, 1), negative, whole, fraction)
}

// floorDouble returns the largest double that is not above the number; exact is true if they are
// equal.
func floorDouble(negative bool, whole, fraction string) (floor float64, exact bool) {
	if len(whole)+len(fraction) <= 15 && len(fraction) < len(pow10) {
		// Both the digits as an integer and the power of ten are exact doubles. The quotient is
		// therefore correctly rounded, and the fused remainder has the sign of the difference.
		var mantissa uint64
		for i := range len(whole) {
			mantissa = mantissa*10 + uint64(whole[i]-'0')
		}
		for i := range len(fraction) {
			mantissa = mantissa*10 + uint64(fraction[i]-'0')
		}
		m, p := float64(mantissa), pow10[len(fraction)]
		if negative {
			m = -m
		}
		v := m / p
		switch diff := math.FMA(v, p, -m); {
		case diff == 0:
			return v, true
		case diff > 0:
			return math.Nextafter(v, math.Inf(-1)), false
		}
		return v, false
	}
	// Longer numbers: the nearest double may be above the number, and is then one too large.
	v, order := nearestDouble(whole, fraction)
	if negative {
		v, order = -v, -order
	}
	if order > 0 {
		v = math.Nextafter(v, math.Inf(-1))
	}
	return v, order == 0
}

// nearestDouble returns the double nearest to whole.fraction, +Inf if it is out of range. order
// compares the double with the number.
func nearestDouble(whole, fraction string) (v float64, order int) {
	if fraction == "" {
		if n, err := strconv.ParseUint(whole, 10, 64); err == nil {
			return nearestOf(n)
		}
	}
	text := whole + "." + fraction
	if whole == "" {
		text = "0" + text
	}
	v, _ = strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(v, 1):
		return v, 1
	case v == 0:
		return v, -1
	}
	return v, compareExact(v, whole, fraction)
}

// nearestOf is nearestDouble for an integer.
func nearestOf(n uint64) (v float64, order int) {
	if v = float64(n); v >= 1<<64 {
		return v, 1
	}
	return v, cmp.Compare(uint64(v), n)
}

// compareExact compares the positive finite double v with whole.fraction exactly.
func compareExact(v float64, whole, fraction string) int {
	// 766 fractional digits after the first are enough for any double.
	text := strconv.FormatFloat(v, 'e', 766, 64)
	mantissa, exp, _ := strings.Cut(text, "e")
	exponent, _ := strconv.Atoi(exp)
	digits := mantissa[:1] + mantissa[2:]
	number, numberExponent := normalDigits(whole, fraction)
	if exponent+1 != numberExponent {
		if exponent+1 < numberExponent {
			return -1
		}
		return 1
	}
	return strings.Compare(strings.TrimRight(digits, "0"), number)
}

// normalDigits returns the digits d1d2d3... and the exponent of 0.d1d2d3... x 10^exponent =
// whole.fraction with d1 > 0 and the last digit > 0.
func normalDigits(whole, fraction string) (digits string, exponent int) {
	if whole != "" {
		if fraction == "" {
			return strings.TrimRight(whole, "0"), len(whole)
		}
		return whole + fraction, len(whole)
	}
	trimmed := strings.TrimLeft(fraction, "0")
	return trimmed, len(trimmed) - len(fraction)
}

// appendDigits appends the exact decimal: exponent, digit pairs, end.
func appendDigits(dst []byte, negative bool, whole, fraction string) []byte {
	start := len(dst)
	digits, exponent := normalDigits(whole, fraction)
	dst = binary.BigEndian.AppendUint32(dst, uint32(int64(exponent)+1<<31))
	dst = appendPairs(dst, digits)
	if negative {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// appendPairs appends each pair of digits as one byte pair+1 and the end 0. A last single digit
// counts as a pair with 0.
func appendPairs(dst []byte, digits string) []byte {
	for i := 0; i < len(digits); i += 2 {
		pair := (digits[i] - '0') * 10
		if i+1 < len(digits) {
			pair += digits[i+1] - '0'
		}
		dst = append(dst, pair+1)
	}
	return append(dst, 0)
}

// writtenNumberLen returns the length of a number's written bytes (with their escapes) at the start
// of body, or 0 if there are none.
func writtenNumberLen(body []byte) int {
	i := skipUnits(body, 0, 8)
	if i < 0 || i >= len(body) {
		return 0
	}
	switch body[i] {
	case 0:
		return max(0, skipUnits(body, i, 1))
	case 1:
		end := byte(0)
		if body[0] < 0x80 { // below zero
			end = 0xFF
		}
		for i = skipUnits(body, i, 1+4); i >= 0 && i < len(body); {
			c := body[i]
			if i = skipUnits(body, i, 1); c == end {
				return max(0, i)
			}
		}
	}
	return 0
}
