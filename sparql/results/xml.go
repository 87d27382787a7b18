// The writer of XML.

package results

import (
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

const (
	xmlNamespace = "http://www.w3.org/2005/sparql-results#"
	xmlStart     = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<sparql xmlns="` + xmlNamespace + `">` + "\n"
)

// xmlEncoder writes the SPARQL Query Results XML Format.
type xmlEncoder struct {
	bindings [][]byte // `<binding name="name">` of each variable
}

func (e *xmlEncoder) head(dst []byte, vars []string) []byte {
	dst = append(append(dst, xmlStart...), "  <head>\n"...)
	for _, name := range vars {
		name := appendXML(nil, name)
		dst = append(append(append(dst, `    <variable name="`...), name...), "\"/>\n"...)
		e.bindings = append(e.bindings, append(append([]byte(`<binding name="`), name...), `">`...))
	}
	return append(dst, "  </head>\n  <results>\n"...)
}

func (e *xmlEncoder) row(dst []byte, row []triple.Term, _ bool) []byte {
	dst = append(dst, "    <result>"...)
	for i, t := range row {
		if !t.IsZero() {
			dst = append(dst, e.bindings[i]...)
			dst = append(appendXMLTerm(dst, t), "</binding>"...)
		}
	}
	return append(dst, "</result>\n"...)
}

func (e *xmlEncoder) tail(dst []byte) []byte { return append(dst, "  </results>\n</sparql>\n"...) }

// itsNamespace is that of the attribute for base directions (Internationalization Tag Set 2.0).
const itsNamespace = "http://www.w3.org/2005/11/its"

func appendXMLTerm(dst []byte, t triple.Term) []byte {
	// The element of a term has its text inside, or the elements of its parts.
	end := "</literal>"
	switch t.Kind() {
	case triple.TripleTerm:
		object, depth := eachLevel(t, func(s, p triple.Term) {
			dst = append(appendXMLTerm(append(dst, "<triple><subject>"...), s), "</subject><predicate>"...)
			dst = append(appendXMLTerm(dst, p), "</predicate><object>"...)
		})
		dst = appendXMLTerm(dst, object)
		for range depth {
			dst = append(dst, "</object></triple>"...)
		}
		return dst
	case triple.IRI:
		dst, end = append(dst, "<uri>"...), "</uri>"
	case triple.Blank:
		dst, end = append(dst, "<bnode>"...), "</bnode>"
	default:
		dst = append(dst, "<literal"...)
		if lang := t.Lang(); lang != "" {
			dst = append(appendXML(append(dst, ` xml:lang="`...), lang), '"')
			if direction := t.Direction(); direction != "" {
				dst = append(dst, ` xmlns:its="`+itsNamespace+`" its:version="2.0" its:dir="`...)
				dst = append(append(dst, direction...), '"')
			}
		} else if t.Datatype() != triple.XSDString {
			dst = append(appendXML(append(dst, ` datatype="`...), t.Datatype()), '"')
		}
		dst = append(dst, '>')
	}
	return append(appendXML(dst, t.Value()), end...)
}

// appendXML appends text for an element or an attribute. White space other than the space is
// escaped, because an XML reader may normalise it. A character becomes U+FFFD if XML lacks it.
func appendXML(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		escaped := ""
		// White space is escaped, because an XML reader may change it. A character is replaced
		// if XML does not allow it.
		switch {
		case r == '&':
			escaped = "&amp;"
		case r == '<':
			escaped = "&lt;"
		case r == '>':
			escaped = "&gt;"
		case r == '"':
			escaped = "&quot;"
		case r == '\t':
			escaped = "&#x9;"
		case r == '\n':
			escaped = "&#xA;"
		case r == '\r':
			escaped = "&#xD;"
		case r < 0x20 || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError && size == 1:
			escaped = "\uFFFD"
		}
		// Text without escapes is copied as a whole.
		if escaped != "" {
			dst = append(append(dst, s[start:i]...), escaped...)
			start = i + size
		}
		i += size
	}
	return append(dst, s[start:]...)
}
