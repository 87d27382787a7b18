// The writer of N-Triples and N-Quads, and their canonical form in RDF 1.2.

package triple

import (
	"bytes"
	"fmt"
	"strings"
)

// AppendNT appends the term in canonical N-Triples syntax (RDF 1.1 N-Triples, section 4): UTF-8,
// only '"', '\', LF and CR escaped. The zero Term appends nothing.
func AppendNT(dst []byte, t Term) []byte { return appendForm(dst, t, false) }

// appendForm appends the term as [AppendNT] does, or as [AppendCanonical] does if canonical is set.
func appendForm(dst []byte, t Term, canonical bool) []byte {
	switch t.kind {
	case Blank:
		return append(append(dst, "_:"...), t.value...)
	case IRI:
		dst = append(dst, '<')
		dst = append(dst, t.value...)
		return append(dst, '>')
	// The canonical form differs in literals only.
	case Literal:
		if canonical {
			return appendCanonicalLiteral(dst, t)
		}
		dst = append(dst, '"')
		dst = appendQuoted(dst, t.value)
		dst = append(dst, '"')
		if t.lang != "" {
			return append(append(dst, '@'), t.lang...)
		}
		if t.datatype != XSDString {
			dst = append(dst, "^^<"...)
			dst = append(dst, t.datatype...)
			dst = append(dst, '>')
		}
	case TripleTerm:
		return appendTripleNT(dst, t, canonical)
	}
	return dst
}

// appendTripleNT appends a triple term: <<( s p o )>>.
func appendTripleNT(dst []byte, t Term, canonical bool) []byte {
	for depth := 1; ; depth++ {
		inner, ok := t.Triple()
		if !ok {
			return dst
		}
		dst = AppendNT(append(dst, "<<( "...), inner.Subject)
		dst = AppendNT(append(dst, ' '), inner.Predicate)
		dst = append(dst, ' ')
		if inner.Object.kind != TripleTerm {
			dst = appendForm(dst, inner.Object, canonical)
			for range depth {
				dst = append(dst, " )>>"...)
			}
			return dst
		}
		t = inner.Object
	}
}

// appendQuoted appends the inside of a quoted literal.
func appendQuoted(dst []byte, s string) []byte {
	if strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\\') < 0 &&
		strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\r') < 0 {
		return append(dst, s...)
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// AppendNTriple appends t as one canonical N-Triples statement with its line end. The graph is left
// out.
func AppendNTriple(dst []byte, t Triple) []byte {
	t.Graph = Term{}
	return AppendNQuad(dst, t)
}

// AppendNQuad appends t as one canonical N-Quads statement with its line end.
func AppendNQuad(dst []byte, t Triple) []byte {
	dst = AppendNT(dst, t.Subject)
	dst = AppendNT(append(dst, ' '), t.Predicate)
	dst = AppendNT(append(dst, ' '), t.Object)
	if !t.Graph.IsZero() {
		dst = AppendNT(append(dst, ' '), t.Graph)
	}
	return append(dst, " .\n"...)
}

// AppendTermNT appends the encoded term b (the bytes of [AppendTerm] or [AppendWholeTerm]) in
// canonical N-Triples syntax, without making a [Term]. If b is a long term's form in a key, the
// error is [ErrLongTerm].
func AppendTermNT(dst, b []byte) ([]byte, error) {
	if len(b) > 0 && bytes.IndexByte(b, 0) < 0 {
		switch b[0] {
		case tagIRI:
			dst = append(dst, '<')
			dst = append(dst, b[1:]...)
			return append(dst, '>'), nil
		case tagBlank:
			return append(append(dst, "_:"...), b[1:]...), nil
		case tagString:
			dst = append(dst, '"')
			return append(appendQuoted(dst, view(b[1:])), '"'), nil
		}
	}
	if IsLongTerm(b) {
		return dst, ErrLongTerm
	}
	t, err := decodeView(b)
	if err != nil {
		return dst, err
	}
	return AppendNT(dst, t), nil
}

// AppendKeyNQuad appends the triple of a key and its value as one canonical N-Quads statement. It
// is [DecodeKey] and [AppendNQuad] together, but does not allocate.
func AppendKeyNQuad(dst, key, value []byte) ([]byte, error) {
	_, terms, err := SplitKey(key)
	if err != nil {
		return dst, err
	}
	if terms, err = WholeTerms(terms, value); err != nil {
		return dst, err
	}
	for position, b := range terms {
		if position == Graph && len(b) == 0 {
			continue
		}
		if position > 0 {
			dst = append(dst, ' ')
		}
		if dst, err = AppendTermNT(dst, b); err != nil {
			return dst, err
		}
	}
	return append(dst, " .\n"...), nil
}

// AppendCanonical appends t as one statement of canonical N-Quads with its line end (RDF 1.2 N-Quads,
// section "A Canonical form of N-Quads"). Without a graph it is also canonical N-Triples. The form
// differs from that of [AppendNQuad], which is RDF 1.1's: control characters, U+FFFE and U+FFFF are
// escaped.
func AppendCanonical(dst []byte, t Triple) []byte {
	dst = appendForm(dst, t.Subject, true)
	dst = appendForm(append(dst, ' '), t.Predicate, true)
	dst = appendForm(append(dst, ' '), t.Object, true)
	if !t.Graph.IsZero() {
		dst = appendForm(append(dst, ' '), t.Graph, true)
	}
	return append(dst, " .\n"...)
}

func appendCanonicalLiteral(dst []byte, t Term) []byte {
	dst = append(dst, '"')
	rest := t.value
	for i, r := range t.value {
		escape := canonicalEscape(r)
		if escape == "" {
			continue
		}
		// rest begins after the last escaped character.
		plain := len(rest) - (len(t.value) - i)
		dst = append(append(dst, rest[:plain]...), escape...)
		rest = rest[plain+len(string(r)):]
	}
	dst = append(append(dst, rest...), '"')
	switch {
	case t.lang != "":
		return append(append(dst, '@'), t.lang...)
	case t.datatype != XSDString:
		return append(append(append(dst, "^^<"...), t.datatype...), '>')
	}
	return dst
}

// canonicalEscape returns the escape of a character in a string, or "" if it is written as it is.
func canonicalEscape(r rune) string {
	switch r {
	case '\b':
		return `\b`
	case '\t':
		return `\t`
	case '\n':
		return `\n`
	case '\f':
		return `\f`
	case '\r':
		return `\r`
	case '"':
		return `\"`
	case '\\':
		return `\\`
	}
	if r < ' ' || r == 0x7F || r == 0xFFFE || r == 0xFFFF {
		return fmt.Sprintf(`\u%04X`, r)
	}
	return ""
}
