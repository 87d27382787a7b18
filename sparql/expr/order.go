// The total order of ORDER BY, and its sort keys.

package expr

import (
	"bytes"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// The order of ORDER BY (section 15.1), MIN and MAX: a total preorder. Values stand as
//
//	unbound and errors < blank nodes < IRIs < literals < triple terms
//
// triple terms by subject, then predicate, then object, and literals as package triple keys them, but only as far as their value goes:
//
//	numbers by exact value (-INF < all < INF < NaN) < booleans < dateTimes <
//	dates < times by instant (without a zone: as UTC) < strings by code point <
//	strings with a language, by code point, then by language <
//	durations and all others, by datatype, then by value or lexical form
//
// It agrees with the operator < wherever defined: promotion and zones make operands equal or
// incomparable, but never reverse them. Two values compare 0 if they are equal (the integers 1 and
// 01, 1 and 1.0), or the same term.

// UnorderedTag is the first byte of the keys of terms with a different order in the store than in ORDER BY,
// because durations stand among them.
const UnorderedTag = triple.OtherTag

// Compare compares two values in the order of ORDER BY ASC.
func Compare(a, b Value) int {
	a, b = a.Parsed(), b.Parsed()
	if a.isExact() && b.isExact() {
		return compareExact(a, b)
	}
	if a.kind == String && b.kind == String {
		return strings.Compare(a.term.Value(), b.term.Value())
	}
	x, _ := appendSortKey(make([]byte, 0, 64), a, 0)
	y, _ := appendSortKey(make([]byte, 0, 64), b, 0)
	return bytes.Compare(x, y)
}

// sortKeyText is how many bytes of a term go into a sort key.
const sortKeyText = 256

// AppendSortKey appends the bytes of one sort condition. If the keys of two values are exact,
// bytes.Compare of them is [Compare] of the values, or its opposite if descending. Keys of
// several conditions are appended one after the other.
//
// exact is false if the value was cut. Two cut keys may be equal if the values are not. So no
// further condition may be appended, and rows must be compared value by value if their keys are
// equal. Keys never compare against the order of the values.
func AppendSortKey(dst []byte, v Value, descending bool) (_ []byte, exact bool) {
	start := len(dst)
	dst, exact = appendSortKey(dst, v.Parsed(), sortKeyText)
	if descending {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst, exact
}

// First bytes and ends of sort keys. Bytes 00 of a term are escaped as 00 FF, so an end is less
// than any longer text. A cut key must stand after the same bytes as a whole key, and before
// greater ones.
const (
	sortUnbound = 0x01
	sortEnd     = 0x01 // after 00
	sortCut     = 0x02 // after 00
	sortField   = 0x00 // after 00: between a datatype and the value, or a text and its language
)

// appendSortKey appends the key of v, cut to limit bytes, or whole if limit is 0.
func appendSortKey(dst []byte, v Value, limit int) (_ []byte, exact bool) {
	start := len(dst)
	dst = appendOrdered(dst, v)
	if limit > 0 && len(dst)-start > limit {
		end := start + limit
		// A cut must not separate 00 from the byte after it, because an escape or a field's end
		// starts there.
		if splitsEscape(dst[start:end]) {
			end--
		}
		return append(dst[:end], 0, sortCut), false
	}
	return append(dst, 0, sortEnd), true
}

// splitsEscape reports whether b ends with the first byte of an escape.
func splitsEscape(b []byte) bool {
	i := 0
	for i < len(b) {
		if b[i] == 0 {
			i++
		}
		i++
	}
	return i > len(b)
}

// appendOrdered appends the sort bytes of v, with escapes.
func appendOrdered(dst []byte, v Value) []byte {
	if v.kind <= Error {
		return append(dst, sortUnbound)
	}
	t := v.Term()
	switch {
	case v.kind == LangString:
		dst = triple.AppendWholeTerm(dst, triple.NewString(t.Value()))
		dst[len(dst)-len(t.Value())-countZeros(t.Value())-1]++ // one after the tag of strings
		return append(append(dst, 0, sortField), t.LangDir()...)
	case v.isNumeric() || v.isInstant() || v.kind == Boolean:
		// Cut off the rest after the value's bytes, because it does not sort: a number's
		// datatype, the lexical form.
		dst = triple.AppendWholeTerm(dst, t)
		n := len(t.Value())
		if v.isNumeric() {
			n++
		}
		return dst[:len(dst)-n]
	case v.isDuration():
		return appendDuration(dst, v)
	case v.kind == TripleTerm:
		return appendTripleOrder(dst, t)
	}
	return triple.AppendWholeTerm(dst, t)
}

func countZeros(s string) int { return strings.Count(s, "\x00") }

// appendDuration appends a duration: with the others by its datatype, then by
// months of 30 days and seconds, then months.
func appendDuration(dst []byte, v Value) []byte {
	dst = triple.AppendWholeTerm(dst, triple.NewTyped("", v.Datatype()))
	months, seconds := v.parts()
	total := FromInt(months).times(FromInt(30 * secondsOfDay)).add(seconds)
	for _, n := range []Value{total, FromInt(months)} {
		number := triple.AppendWholeTerm(nil, triple.NewTyped(n.exactText(), triple.XSDDecimal))
		dst = append(dst, number[1:len(number)-len(n.exactText())-1]...)
	}
	return dst
}
