// The canonical form of RDF 1.2 N-Triples and N-Quads.

package triple

import "fmt"

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
