// The decoder of terms in keys.

package triple

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Errors of decoding; test with [errors.Is].
var (
	// ErrCorrupt means that no encoder of this package made the bytes.
	ErrCorrupt = errors.New("corrupt encoding")
	// ErrLongTerm means that a key has only a part of the term, because it is long.
	ErrLongTerm = errors.New("long term: only its prefix and hash are here")
)

// IsLongTerm reports whether a term's form in a key is the form of a long term.
func IsLongTerm(b []byte) bool {
	return len(b) > longPrefix && bytes.Contains(b, []byte{0, markHash})
}

// DecodeTerm decodes a term from the bytes of [AppendTerm] or [AppendWholeTerm]. The term shares no
// memory with b. The error is [ErrLongTerm] if b is a long term's form in a key. It wraps
// [ErrCorrupt] if b has not the structure of a term. It does not test whether a number's or a
// date's value bytes match its lexical form, because [CheckKey] does.
func DecodeTerm(b []byte) (Term, error) {
	if IsLongTerm(b) {
		return Term{}, ErrLongTerm
	}
	t, err := decodeView(b)
	if err != nil {
		return Term{}, err
	}
	return t.Clone(), nil
}

// decodeView decodes a term; its strings may alias b.
func decodeView(b []byte) (Term, error) {
	if len(b) == 0 {
		return Term{}, fmt.Errorf("%w: empty term", ErrCorrupt)
	}
	// The tag determines the fields. A body with fewer or more must be rejected.
	tag, body := b[0], b[1:]
	switch tag {
	case tagBlank, tagIRI, tagString:
		value, rest, err := unescapeField(body)
		if err == nil && rest != nil {
			err = errFields
		}
		if err != nil {
			return Term{}, err
		}
		// Each of the three has one field.
		switch tag {
		case tagBlank:
			return NewBlank(value), nil
		case tagIRI:
			return NewIRI(value), nil
		}
		return NewString(value), nil
	case tagLangString:
		return decodeLangString(body)
	case tagOther:
		// A datatype and a lexical form: both fields must be there.
		datatype, rest, err := unescapeField(body)
		if err != nil {
			return Term{}, err
		}
		value, end, err := unescapeField(rest)
		if err == nil && (rest == nil || end != nil) {
			err = errFields
		}
		if err != nil {
			return Term{}, err
		}
		return Term{kind: Literal, value: value, datatype: datatype}, nil
	case tagNumber, tagBoolean, tagDateTime, tagDate, tagTime:
		return decodeByValue(tag, body)
	case tagTriple:
		return decodeTripleTerm(body)
	}
	return Term{}, fmt.Errorf("%w: unknown tag 0x%02X", ErrCorrupt, tag)
}

var (
	errFields = fmt.Errorf("%w: wrong number of fields in a term", ErrCorrupt)
	errValue  = fmt.Errorf("%w: malformed value bytes in a literal", ErrCorrupt)
)

func decodeLangString(body []byte) (Term, error) {
	value, rest, err := unescapeField(body)
	if err != nil {
		return Term{}, err
	}
	folded, rest, err := unescapeField(rest)
	if err != nil {
		return Term{}, err
	}
	if rest == nil {
		return Term{}, errFields
	}
	tag, rest, err := unescapeField(rest)
	if err != nil {
		return Term{}, err
	}
	if rest != nil || tag == "" || !isLower(tag, folded) {
		return Term{}, fmt.Errorf("%w: language tag %q of %q", ErrCorrupt, clip(tag), clip(folded))
	}
	return writtenLang(value, tag), nil
}

// isLower reports whether lower is tag in lower case. It does not allocate if the tag is ASCII.
func isLower(tag, lower string) bool {
	if len(tag) != len(lower) {
		return strings.ToLower(tag) == lower
	}
	for i := range len(tag) {
		c := tag[i]
		if c >= utf8.RuneSelf {
			return strings.ToLower(tag) == lower
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// decodeByValue decodes the body of a literal of a class that sorts by value: value bytes, a
// number's datatype code, lexical form.
func decodeByValue(tag byte, body []byte) (Term, error) {
	// Find the end of the value bytes by the class, because only the lexical form is decoded.
	n, datatype := 0, ""
	switch tag {
	case tagNumber:
		n = writtenNumberLen(body)
		if n == 0 || n == len(body) || body[n] == 0 || int(body[n]) > len(numericTypes) {
			return Term{}, errValue
		}
		datatype = numericTypes[body[n]-1]
		n++
	case tagBoolean:
		if len(body) > 0 && (body[0] == 1 || body[0] == 2) {
			n = 1
		}
		datatype = XSDBoolean
	case tagDateTime:
		n, datatype = writtenInstantLen(body), XSDDateTime
	case tagDate:
		n, datatype = writtenInstantLen(body), XSDDate
	case tagTime:
		n, datatype = writtenInstantLen(body), XSDTime
	}
	// No lexical form of these types has a byte 00, so it needs no escapes.
	if n == 0 || n == len(body) || bytes.IndexByte(body[n:], 0) >= 0 {
		return Term{}, errValue
	}
	return Term{kind: Literal, value: view(body[n:]), datatype: datatype}, nil
}

// skipUnits returns the index after the next n units of a written body from i on. It returns -1 if
// there are fewer or one is a mark.
func skipUnits(body []byte, i, n int) int {
	for ; n > 0; n-- {
		if i >= len(body) {
			return -1
		}
		if body[i] == 0 {
			if i++; i >= len(body) || body[i] != markZero {
				return -1
			}
		}
		i++
	}
	return i
}

// unescapeField returns the first field of a written body without its escapes, and the bytes after
// the field's end. rest is nil if the body ends with the field. The field aliases body if it has no
// escapes.
func unescapeField(body []byte) (field string, rest []byte, err error) {
	// 1. Most fields have no byte 00 and need no copy.
	i := bytes.IndexByte(body, 0)
	if i < 0 {
		return view(body), nil, nil
	}
	var plain []byte
	for {
		if i+1 == len(body) {
			return "", nil, fmt.Errorf("%w: escape at the end of a term", ErrCorrupt)
		}
		// 2. The byte after 00 must be the end of the field or an escaped 00.
		switch body[i+1] {
		case markFieldEnd:
			rest = body[i+2:]
			if rest == nil {
				rest = []byte{}
			}
			if plain == nil {
				return view(body[:i]), rest, nil
			}
			return view(append(plain, body[:i]...)), rest, nil
		case markZero:
			plain = append(plain, body[:i+1]...)
			body = body[i+2:]
		default:
			return "", nil, fmt.Errorf("%w: bytes 00 %02X in a term", ErrCorrupt, body[i+1])
		}
		if i = bytes.IndexByte(body, 0); i < 0 {
			return view(append(plain, body...)), nil, nil
		}
	}
}

// view returns b as a string without a copy. It is valid only while b is not changed.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// NumericValue returns the value of a numeric literal as the largest double not above it. ok is
// false if t is not a well-typed number.
func NumericValue(t Term) (v float64, ok bool) {
	code := numericCode(t.datatype)
	if t.kind != Literal || code == 0 {
		return 0, false
	}
	b, ok := appendNumber(make([]byte, 0, 16), code, t.value)
	if !ok {
		return 0, false
	}
	return orderedDouble([8]byte(b[:8])), true
}

func orderedDouble(b [8]byte) float64 {
	if b == nanBytes {
		return math.NaN()
	}
	var bits uint64
	for _, c := range b {
		bits = bits<<8 | uint64(c)
	}
	if bits>>63 != 0 {
		bits &^= 1 << 63
	} else {
		bits = ^bits
	}
	return math.Float64frombits(bits)
}
