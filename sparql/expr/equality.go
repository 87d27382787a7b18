// Keys of values for hash joins: values that are equal have equal keys.

package expr

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// Keyed is how the keys of [Value.AppendEqualityKey] find the values that are equal to one.
type Keyed uint8

// The ways.
const (
	NoneEqual Keyed = iota // no value is equal, not even itself: unbound, an error or NaN
	KeyEqual               // values that are equal have the same key, or are of AnyEqual
	AnyEqual               // any value may be equal
)

// AppendEqualityKey appends a key of at most 17 bytes. If v = w is true (section 17.3) and both are
// [KeyEqual], their keys are equal. Other values may have the same key, too, so the operator must
// still be evaluated.
//
// An xsd:float is [AnyEqual]. It is compared with a decimal as a float, and a decimal with a double
// as a double, so = is not transitive, and no key fits all three.
func (v Value) AppendEqualityKey(dst []byte) ([]byte, Keyed) {
	v = v.Parsed()
	switch {
	case v.kind <= Error:
		return dst, NoneEqual
	case v.kind == Float:
		return dst, AnyEqual
	case v.isNumeric():
		f := v.double()
		if f != f {
			return dst, NoneEqual
		}
		return appendFloatKey(append(dst, byte(Integer)), f), KeyEqual
	case v.isDuration():
		months, seconds := v.parts()
		dst = binary.BigEndian.AppendUint64(append(dst, byte(Duration)), uint64(months))
		return appendFloatKey(dst, seconds.double()), KeyEqual
	}
	dst = append(dst, byte(v.kind))
	switch v.kind {
	case TripleTerm:
		return appendTripleKey(dst, v.term)
	case Boolean:
		return append(dst, byte(v.n)), KeyEqual
	case DateTime, Date, Time:
		// An instant with a zone never equals one without: they differ, or it is unknown.
		if v.zone != noZone {
			dst = append(dst, 'Z')
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.n))
		return binary.BigEndian.AppendUint32(dst, v.nanos), KeyEqual
	case LangString:
		dst = appendHash(dst, v.term.LangDir())
	case Other, IllTyped:
		dst = appendHash(dst, v.term.Datatype())
	}
	return appendHash(dst, v.term.Value()), KeyEqual
}

func appendHash(dst []byte, s string) []byte { return appendSum(dst, xxhash.Sum64String(s)) }

func appendSum(dst []byte, sum uint64) []byte { return binary.BigEndian.AppendUint64(dst, sum) }

// appendFloatKey appends the bits of f. Both zeros have the bits of 0.
func appendFloatKey(dst []byte, f float64) []byte {
	if f == 0 {
		f = 0
	}
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
}
