// Lexical units of numbers and strings.

package parser

import (
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// number reads INTEGER, DECIMAL or DOUBLE behind a sign of sign bytes.
//
//	INTEGER  [0-9]+
//	DECIMAL  [0-9]* '.' [0-9]+
//	DOUBLE   ([0-9]+ '.' [0-9]* | '.' [0-9]+ | [0-9]+) [eE] [+-]? [0-9]+
func (lx *lexer) number(t *token, sign int) {
	n := lx.digits(sign)
	k := tokInteger
	end := n
	if lx.byteAt(n) == '.' {
		if fraction := lx.digits(n + 1); fraction > n+1 {
			n, end, k = fraction, fraction, tokDecimal
		} else if n > sign {
			n++ // 1.e5; the dot of "1." is none of the number
		}
	}
	if c := lx.byteAt(n); c == 'e' || c == 'E' {
		exponent := n + 1
		if s := lx.byteAt(exponent); s == '+' || s == '-' {
			exponent++
		}
		if digits := lx.digits(exponent); digits > exponent {
			end, k = digits, tokDouble
		}
	}
	lx.take(t, k, 0, end, 0)
}

// digits returns the end of the run of digits at n.
func (lx *lexer) digits(n int) int {
	for lx.digitAt(n) {
		n++
	}
	return n
}

// str reads a string of any of the four kinds.
func (lx *lexer) str(t *token, quote byte) *triple.SyntaxError {
	if lx.byteAt(1) == quote && lx.byteAt(2) == quote {
		return lx.longString(t, strings.Repeat(string(quote), 3))
	}
	rest := lx.text[lx.at+1:]
	stops := "\"\\\r\n"
	if quote == '\'' {
		stops = "'\\\r\n"
	}
	escaped := false
	for i := 0; ; {
		n := strings.IndexAny(rest[i:], stops)
		if n < 0 || rest[i+n] == '\n' || rest[i+n] == '\r' {
			return lx.errorf(t.pos, "this string has no closing %c on its line (a string of several lines has three quotes)", quote)
		}
		i += n
		if rest[i] == quote {
			return lx.decodeString(t, 1, i, escaped)
		}
		escaped = true
		i += min(2, len(rest)-i)
	}
}

func (lx *lexer) longString(t *token, quotes string) *triple.SyntaxError {
	rest := lx.text[lx.at+3:]
	escaped := false
	for i := 0; i < len(rest); {
		switch {
		case rest[i] == '\\':
			escaped = true
			i += 2
		case strings.HasPrefix(rest[i:], quotes):
			return lx.decodeString(t, 3, i, escaped)
		default:
			i++
		}
	}
	return lx.errorf(t.pos, "this string has no closing %s", quotes)
}

// decodeString takes a string of n bytes between quotes of quotes bytes each, and undoes its
// escapes.
func (lx *lexer) decodeString(t *token, quotes, n int, escaped bool) *triple.SyntaxError {
	start := lx.at + quotes
	lx.take(t, tokString, quotes, n, quotes)
	t.long = quotes > 1
	if !escaped {
		return nil
	}
	return lx.decode(t, start, true)
}

// decode undoes the escapes in the value of a token, which begins at start (section 19.2): those of
// code points, and of characters in a string. The result is not decoded again.
func (lx *lexer) decode(t *token, start int, characters bool) *triple.SyntaxError {
	raw := t.value
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; ; {
		n := strings.IndexByte(raw[i:], '\\')
		if n < 0 {
			b.WriteString(raw[i:])
			t.value = b.String()
			return nil
		}
		b.WriteString(raw[i : i+n])
		i += n
		// 1. A code point. Surrogates are none.
		if strings.HasPrefix(raw[i:], `\u`) || strings.HasPrefix(raw[i:], `\U`) {
			r, size := triple.UnicodeEscape(raw[i:])
			if size == 0 {
				return lx.errorf(lx.posAt(start+i), `bad escape: expected \uXXXX or \UXXXXXXXX that names a Unicode character (surrogates are none, not even in pairs)`)
			}
			b.WriteRune(r)
			i += size
			continue
		}
		// 2. A character, of a string only.
		var c byte
		if characters && i+1 < len(raw) {
			c = triple.StringEscape(raw[i+1])
		}
		switch {
		case !characters:
			return lx.errorf(lx.posAt(start+i), `bad escape in an IRI: expected \uXXXX or \UXXXXXXXX`)
		case c == 0:
			return lx.errorf(lx.posAt(start+i), `bad escape in a string: expected \t \b \n \r \f \" \' \\, \uXXXX or \UXXXXXXXX`)
		}
		b.WriteByte(c)
		i += 2
	}
}
