// The encoder of terms in keys.

package triple

import (
	"bytes"
	"crypto/sha256"
	"strings"
)

// Tags: a term's first byte in a key determines its kind and, for literals, its class. Terms of
// different tags sort by tag.
const (
	tagBlank      = 0x10
	tagIRI        = 0x20
	tagNumber     = 0x30
	tagBoolean    = 0x31
	tagDateTime   = 0x32
	tagDate       = 0x33
	tagTime       = 0x34
	tagString     = 0x35
	tagLangString = 0x36
	tagOther      = 0x37
	tagTriple     = 0x40
)

// Marks: inside a key a byte 00 is never alone, because the byte after it determines its meaning.
const (
	markTermEnd    = 0x01 // between two terms of a key
	markHash       = 0x02 // a long term: 16 bytes of SHA-256 follow
	markFieldEnd   = 0x03 // between two fields of one term's body
	markAnnotation = 0x04 // after a whole key: an annotation's application ID follows
	markZero       = 0xFF // a byte 00 of the body itself
)

const (
	longBody   = 1024 // a body with more units is long
	longPrefix = 256  // units of a long body in the key
	hashBytes  = 16   // bytes of SHA-256 after them
)

// OtherTag is the first byte of the keys of literals without a tag of their own: durations, unknown datatypes and
// ill-typed values. They sort by datatype, then by lexical form.
const OtherTag byte = tagOther

// NodeSpan returns the range of all blank nodes and IRIs in their key form: from lo up to hi.
func NodeSpan() (lo, hi []byte) { return []byte{tagBlank}, []byte{tagNumber} }

// StringSpan returns the range of all literals of xsd:string in their key form, which has their order
// by code point: from lo up to hi.
func StringSpan() (lo, hi []byte) { return []byte{tagString}, []byte{tagLangString} }

// TripleTermSpan returns the range of all triple terms in their key form: from lo up to hi.
func TripleTermSpan() (lo, hi []byte) { return []byte{tagTriple}, []byte{tagTriple + 1} }

// TextSpan returns the range of all literals but numbers, booleans and dates in their key form: from lo up to hi. They are
// the documents of a text index.
func TextSpan() (lo, hi []byte) { return []byte{tagString}, []byte{tagOther + 1} }

// AppendTerm appends the form of t in a key: tag and body. The body of a long term is cut to its
// first 256 units, 00 02 and its hash. long is true if it was cut; then only [AppendWholeTerm] has
// all of t. The zero Term appends nothing.
func AppendTerm(dst []byte, t Term) (_ []byte, long bool) {
	start := len(dst)
	dst = AppendWholeTerm(dst, t)
	whole := dst[start:]
	if len(whole) <= 1+longBody || !isLong(whole) {
		return dst, false
	}
	sum := sha256.Sum256(whole)
	dst = append(dst[:start+len(prefixOf(whole))], 0, markHash)
	return appendEscapedBytes(dst, sum[:hashBytes]), true
}

// AppendWholeTerm appends tag and body of t, even if t is long.
func AppendWholeTerm(dst []byte, t Term) []byte {
	switch t.kind {
	case Blank:
		return appendEscaped(append(dst, tagBlank), t.value)
	case IRI:
		return appendEscaped(append(dst, tagIRI), t.value)
	case Literal:
		return appendLiteral(dst, t)
	case TripleTerm:
		return append(append(dst, tagTriple), t.value...)
	}
	return dst
}

func appendLiteral(dst []byte, t Term) []byte {
	if t.datatype == XSDString {
		return appendEscaped(append(dst, tagString), t.value)
	}
	if t.lang != "" {
		dst = appendEscaped(append(dst, tagLangString), t.value)
		dst = append(dst, 0, markFieldEnd)
		dst = appendEscaped(dst, strings.ToLower(t.lang))
		dst = append(dst, 0, markFieldEnd)
		return appendEscaped(dst, t.lang)
	}
	if dst, ok := appendByValue(dst, t); ok {
		return dst
	}
	dst = appendEscaped(append(dst, tagOther), t.datatype)
	dst = append(dst, 0, markFieldEnd)
	return appendEscaped(dst, t.value)
}

// tagOf returns the tag of t's class; 0 for the zero Term.
func tagOf(t Term) byte {
	switch {
	case t.kind == Blank:
		return tagBlank
	case t.kind == IRI:
		return tagIRI
	case t.kind == TripleTerm:
		return tagTriple
	case t.kind != Literal:
		return 0
	case t.datatype == XSDString:
		return tagString
	case t.lang != "":
		return tagLangString
	}
	if tag, _, ok := appendValueBytes(nil, t); ok {
		return tag
	}
	return tagOther
}

// appendByValue appends a literal of a class that sorts by value: the value's bytes, a number's
// datatype code, the lexical form. ok is false for other classes.
func appendByValue(dst []byte, t Term) (_ []byte, ok bool) {
	tag, value, ok := appendValueBytes(make([]byte, 0, 64), t)
	if !ok {
		return dst, false
	}
	dst = appendEscapedBytes(append(dst, tag), value)
	if tag == tagNumber {
		dst = append(dst, numericCode(t.datatype))
	}
	return appendEscaped(dst, t.value), true
}

// appendValueBytes appends the sort bytes of a number, boolean, date or time, without escapes. ok
// is false for all other literals and ill-typed ones.
func appendValueBytes(dst []byte, t Term) (tag byte, value []byte, ok bool) {
	// The lexical form must be right, because an ill-typed literal has no value.
	if code := numericCode(t.datatype); code != 0 {
		value, ok = appendNumber(dst, code, t.value)
		return tagNumber, value, ok
	}
	switch t.datatype {
	case XSDBoolean:
		switch t.value {
		case "false", "0":
			return tagBoolean, append(dst, 1), true
		case "true", "1":
			return tagBoolean, append(dst, 2), true
		}
		return 0, dst, false
	case XSDDateTime:
		tag = tagDateTime
	case XSDDate:
		tag = tagDate
	case XSDTime:
		tag = tagTime
	default:
		return 0, dst, false
	}
	value, ok = appendInstant(dst, t.datatype, t.value)
	return tag, value, ok
}

// appendEscaped appends s; every byte 00 becomes 00 FF.
func appendEscaped(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:i]...), 0, markZero)
		s = s[i+1:]
	}
}

func appendEscapedBytes(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(append(dst, b[:i]...), 0, markZero)
		b = b[i+1:]
	}
}

// isLong reports whether a whole written term is long.
func isLong(whole []byte) bool {
	if len(whole)-1 <= longBody {
		return false
	}
	body, units := whole[1:], 0
	for units <= longBody {
		i := bytes.IndexByte(body, 0)
		if i < 0 || i+2 > len(body) {
			return units+len(body) > longBody
		}
		units += i + 1
		body = body[i+2:]
	}
	return true
}

// prefixOf returns the tag and the first 256 units of a written term, or all of it if it has no
// more.
func prefixOf(whole []byte) []byte {
	i := 1
	for n := 0; n < longPrefix && i < len(whole); n++ {
		if whole[i] == 0 {
			i++
		}
		i++
	}
	return whole[:min(i, len(whole))]
}
