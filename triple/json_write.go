// Terms in JSON.

package triple

import "unicode/utf8"

// AppendJSON appends the term as an RDF term of SPARQL 1.2 Query Results JSON (section 3.2.2):
// {"type":"literal","value":"...","xml:lang":"ar","its:dir":"rtl"}. Plain strings have no datatype.
// The value of a triple term has the members subject, predicate and object.
func AppendJSON(dst []byte, t Term) []byte {
	switch t.kind {
	case TripleTerm:
		return appendTripleTermJSON(dst, t)
	case IRI:
		dst = append(dst, `{"type":"uri","value":`...)
	case Blank:
		dst = append(dst, `{"type":"bnode","value":`...)
	default:
		dst = append(dst, `{"type":"literal","value":`...)
	}
	dst = AppendJSONString(dst, t.value)
	switch {
	case t.lang != "":
		dst = AppendJSONString(append(dst, `,"xml:lang":`...), t.Lang())
		if direction := t.Direction(); direction != "" {
			dst = AppendJSONString(append(dst, `,"its:dir":`...), direction)
		}
	case t.datatype != "" && t.datatype != XSDString:
		dst = AppendJSONString(append(dst, `,"datatype":`...), t.datatype)
	}
	return append(dst, '}')
}

func appendTripleTermJSON(dst []byte, t Term) []byte {
	for depth := 1; ; depth++ {
		inner, ok := t.Triple()
		if !ok {
			return dst
		}
		dst = AppendJSON(append(dst, `{"type":"triple","value":{"subject":`...), inner.Subject)
		dst = AppendJSON(append(dst, `,"predicate":`...), inner.Predicate)
		dst = append(dst, `,"object":`...)
		if inner.Object.kind != TripleTerm {
			dst = AppendJSON(dst, inner.Object)
			for range depth {
				dst = append(dst, "}}"...)
			}
			return dst
		}
		t = inner.Object
	}
}

// AppendTripleJSON appends the triple as one JSON object with the members s, p, o and, in a named
// graph, g, each in the form of [AppendJSON]. A triple term of more than 1,000 levels is a JSON string
// of N-Triples; [ParseTermJSON] takes both.
func AppendTripleJSON(dst []byte, t Triple) []byte {
	dst = AppendJSON(append(dst, `{"s":`...), t.Subject)
	dst = AppendJSON(append(dst, `,"p":`...), t.Predicate)
	dst = append(dst, `,"o":`...)
	if t.Object.Levels(maxJSONNesting) > maxJSONNesting {
		dst = AppendJSONString(dst, t.Object.String())
	} else {
		dst = AppendJSON(dst, t.Object)
	}
	if !t.Graph.IsZero() {
		dst = AppendJSON(append(dst, `,"g":`...), t.Graph)
	}
	return append(dst, '}')
}

// maxJSONNesting is the greatest number of levels of a triple term that is an object of JSON, because
// readers recurse for each level. A level is two objects, and encoding/json reads 10,000.
const maxJSONNesting = 1000

const hexDigits = "0123456789ABCDEF"

// AppendJSONString appends s as a JSON string, in quotes. Bytes of invalid UTF-8 become U+FFFD.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	// start is the first byte that is not yet in dst: plain bytes are appended in runs, because
	// that is faster.
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		i++
		// Only quotes, backslashes and control characters must be escaped.
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i-1]...)
		start = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
