package results

import (
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// jsonEncoder writes SPARQL 1.1 Query Results JSON, a solution on each line.
type jsonEncoder struct {
	keys [][]byte // `"name":{"type":"` of each variable
}

func (e *jsonEncoder) head(dst []byte, vars []string) []byte {
	dst = append(dst, `{"head":{"vars":[`...)
	for i, name := range vars {
		if i > 0 {
			dst = append(dst, ',')
		}
		quoted := appendJSONString(nil, name)
		dst = append(dst, quoted...)
		e.keys = append(e.keys, append(quoted, `:{"type":"`...))
	}
	return append(dst, `]},"results":{"bindings":[`...)
}

func (e *jsonEncoder) row(dst []byte, row []triple.Term, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	dst = append(dst, "\n{"...)
	some := false
	for i, t := range row {
		if t.IsZero() {
			continue
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		dst = append(dst, e.keys[i]...)
		dst = appendJSONTerm(dst, t)
	}
	return append(dst, '}')
}

func (e *jsonEncoder) tail(dst []byte) []byte { return append(dst, "\n]}}\n"...) }

// appendJSONTerm appends a term from its type on.
func appendJSONTerm(dst []byte, t triple.Term) []byte {
	switch t.Kind() {
	case triple.IRI:
		dst = append(dst, `uri","value":`...)
	case triple.Blank:
		dst = append(dst, `bnode","value":`...)
	default:
		dst = append(dst, `literal",`...)
		if lang := t.Lang(); lang != "" {
			dst = append(appendJSONString(append(dst, `"xml:lang":`...), lang), ',')
		} else if t.Datatype() != triple.XSDString {
			dst = append(appendJSONString(append(dst, `"datatype":`...), t.Datatype()), ',')
		}
		dst = append(dst, `"value":`...)
	}
	return append(appendJSONString(dst, t.Value()), '}')
}

const hexDigits = "0123456789ABCDEF"

// appendJSONString appends s in quotes.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
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
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
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
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
