// The writer of TSV.

package results

import (
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// tsvEncoder writes the SPARQL 1.2 Query Results TSV Format: terms as SPARQL
// writes them.
type tsvEncoder struct{}

func (tsvEncoder) head(dst []byte, vars []string) []byte {
	for i, name := range vars {
		if i > 0 {
			dst = append(dst, '\t')
		}
		dst = append(append(dst, '?'), name...)
	}
	return append(dst, '\n')
}

func (tsvEncoder) row(dst []byte, row []triple.Term, _ bool) []byte {
	for i, t := range row {
		if i > 0 {
			dst = append(dst, '\t')
		}
		dst = appendTSVTerm(dst, t)
	}
	return append(dst, '\n')
}

func (tsvEncoder) tail(dst []byte) []byte { return dst }

// appendTSVTerm appends a term; the zero Term appends nothing.
func appendTSVTerm(dst []byte, t triple.Term) []byte {
	// 1. All but literals.
	switch t.Kind() {
	case triple.Literal:
	case triple.TripleTerm:
		object, depth := eachLevel(t, func(s, p triple.Term) {
			dst = append(triple.AppendNT(append(dst, "<<( "...), s), ' ')
			dst = append(triple.AppendNT(dst, p), ' ')
		})
		dst = appendTSVTerm(dst, object)
		for range depth {
			dst = append(dst, " )>>"...)
		}
		return dst
	default:
		return triple.AppendNT(dst, t)
	}
	// 2. Literals, without quotes if they are numbers.
	if numberType(t.Value()) == t.Datatype() {
		return append(dst, t.Value()...)
	}
	dst = append(appendTSVText(append(dst, '"'), t.Value()), '"')
	if t.LangDir() != "" {
		return append(append(dst, '@'), t.LangDir()...)
	}
	if t.Datatype() != triple.XSDString {
		dst = append(append(append(dst, "^^<"...), t.Datatype()...), '>')
	}
	return dst
}

func appendTSVText(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		c, size, escaped := s[i], 1, ""
		switch c {
		case '\t':
			escaped = `\t`
		case '\n':
			escaped = `\n`
		case '\r':
			escaped = `\r`
		case '"':
			escaped = `\"`
		case '\\':
			escaped = `\\`
		default:
			// 1. Tabs and ends of lines must be escaped, because they separate fields and rows.
			// Invalid UTF-8 must not reach a reader.
			if c >= utf8.RuneSelf {
				var r rune
				if r, size = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
					escaped = "\uFFFD"
				}
			}
		}
		// 2. Text without escapes is copied as a whole.
		if escaped != "" {
			dst = append(append(dst, s[start:i]...), escaped...)
			start = i + size
		}
		i += size
	}
	return append(dst, s[start:]...)
}

// numberType returns the datatype of s as a number of SPARQL's grammar, with a
// sign or without: xsd:integer, xsd:decimal or xsd:double; "" if it is none.
func numberType(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	// 1. Digits, and a point with digits.
	whole := digitsAt(s)
	rest := s[whole:]
	fraction, point := 0, false
	if strings.HasPrefix(rest, ".") {
		point = true
		fraction = digitsAt(rest[1:])
		rest = rest[1+fraction:]
	}
	// 2. Without an exponent it is an integer or a decimal. "1." is neither, because Turtle takes
	// the point for the end.
	switch {
	case whole == 0 && fraction == 0:
		return ""
	case rest == "" && !point:
		return triple.XSDInteger
	case rest == "" && fraction > 0:
		return triple.XSDDecimal
	case rest == "" || rest[0] != 'e' && rest[0] != 'E':
		return ""
	}
	// 3. An exponent must have digits.
	if rest = rest[1:]; rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	if rest == "" || digitsAt(rest) != len(rest) {
		return ""
	}
	return triple.XSDDouble
}

// digitsAt returns how many digits s begins with.
func digitsAt(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
