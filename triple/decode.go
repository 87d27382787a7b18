package triple

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// Errors of decoding; test with [errors.Is].
var (
	// ErrCorrupt: bytes that no encoder of this package made.
	ErrCorrupt = errors.New("corrupt encoding")
	// ErrLongTerm: a long term's form in a key does not hold the term.
	ErrLongTerm = errors.New("long term: only its prefix and hash are here")
)

// IsLongTerm tells whether a term's form in a key is that of a long term.
func IsLongTerm(b []byte) bool {
	return len(b) > longPrefix && bytes.Contains(b, []byte{0, markHash})
}

// DecodeTerm decodes a term from the bytes of [AppendTerm] or
// [AppendWholeTerm]. The term shares no memory with b. A long term's form in a
// key is [ErrLongTerm]; all else that no encoder made is [ErrCorrupt].
func DecodeTerm(b []byte) (Term, error) {
	if IsLongTerm(b) {
		return Term{}, ErrLongTerm
	}
	return decodeView(b, strings.Clone)
}

// decodeView decodes a term whose strings may alias b; own makes of such a
// string one to keep.
func decodeView(b []byte, own func(string) string) (Term, error) {
	if len(b) == 0 {
		return Term{}, fmt.Errorf("%w: empty term", ErrCorrupt)
	}
	switch tag, body := b[0], b[1:]; tag {
	case tagBlank, tagIRI, tagString:
		value, rest, err := unescapeField(body)
		if err == nil && rest != nil {
			err = errFields
		}
		if err != nil {
			return Term{}, err
		}
		switch tag {
		case tagBlank:
			return NewBlank(own(value)), nil
		case tagIRI:
			return NewIRI(own(value)), nil
		}
		return NewString(own(value)), nil
	case tagLangString:
		return decodeLangString(body, own)
	case tagOther:
		datatype, rest, err := unescapeField(body)
		if err != nil {
			return Term{}, err
		}
		value, end, err := unescapeField(rest)
		if err == nil && (rest == nil || end != nil) {
			err = errFields
		}
		return Term{kind: Literal, value: own(value), datatype: own(datatype)}, err
	case tagNumber, tagBoolean, tagDateTime, tagDate, tagTime:
		return decodeByValue(tag, body, own)
	}
	return Term{}, fmt.Errorf("%w: unknown tag 0x%02X", ErrCorrupt, b[0])
}

var errFields = fmt.Errorf("%w: wrong number of fields in a term", ErrCorrupt)

func decodeLangString(body []byte, own func(string) string) (Term, error) {
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
	if rest != nil || tag == "" || strings.ToLower(tag) != folded {
		return Term{}, fmt.Errorf("%w: language tag %q of %q", ErrCorrupt, clip(tag), clip(folded))
	}
	return NewLang(own(value), own(tag)), nil
}

func decodeByValue(tag byte, body []byte, own func(string) string) (Term, error) {
	// Value bytes of common numbers are full of 00, so that most bodies need
	// their escapes undone; the buffer keeps that off the heap.
	var buffer [128]byte
	plain := buffer[:0]
	for {
		i := bytes.IndexByte(body, 0)
		if i < 0 {
			plain = append(plain, body...)
			break
		}
		if i+1 == len(body) || body[i+1] != markZero {
			return Term{}, fmt.Errorf("%w: bad escape in a value", ErrCorrupt)
		}
		plain = append(plain, body[:i+1]...)
		body = body[i+2:]
	}
	n, datatype := 0, ""
	switch tag {
	case tagNumber:
		n = numberLen(plain)
		if n == 0 || n == len(plain) || plain[n] == 0 || int(plain[n]) > len(numericTypes) {
			return Term{}, fmt.Errorf("%w: bad number", ErrCorrupt)
		}
		datatype = numericTypes[plain[n]-1]
		n++
	case tagBoolean:
		n, datatype = 1, XSDBoolean
	case tagDateTime:
		n, datatype = instantLen(plain), XSDDateTime
	case tagDate:
		n, datatype = instantLen(plain), XSDDate
	case tagTime:
		n, datatype = instantLen(plain), XSDTime
	}
	if n == 0 || n >= len(plain) {
		return Term{}, fmt.Errorf("%w: bad value", ErrCorrupt)
	}
	return Term{kind: Literal, value: string(plain[n:]), datatype: datatype}, nil
}

// unescapeField returns the first field of a written body, its escapes undone,
// and what follows the field's end; rest is nil where the body ends with it.
// The field aliases body where it has no escapes.
func unescapeField(body []byte) (field string, rest []byte, err error) {
	i := bytes.IndexByte(body, 0)
	if i < 0 {
		return view(body), nil, nil
	}
	var plain []byte
	for {
		if i+1 == len(body) {
			return "", nil, fmt.Errorf("%w: escape at the end of a term", ErrCorrupt)
		}
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

// view returns b as a string without a copy: valid while b is not written to.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// NumericValue returns the value of a numeric literal as the nearest double not
// above it; ok is false where t is not a well-typed number.
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
