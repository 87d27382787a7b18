// Lexical units of names: IRIs, prefixed names, blank nodes, variables.

package parser

import (
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// iriOrLess reads an IRIREF, or "<<(", "<<", "<" or "<=" if none begins.
func (lx *lexer) iriOrLess(t *token) *triple.SyntaxError {
	// Find the end of an IRI. A backslash must begin an escape, because an IRI has none itself.
	i, escaped := lx.at+1, false
	for i < len(lx.text) && (ascii[lx.text[i]]&cIRI != 0 || lx.text[i] == '\\') {
		escaped = escaped || lx.text[i] == '\\'
		i++
	}
	switch {
	case i < len(lx.text) && lx.text[i] == '>':
		start := lx.at + 1
		lx.take(t, tokIRI, 1, i-start, 1)
		if escaped {
			return lx.decode(t, start, false)
		}
	case lx.byteAt(1) == '<' && lx.byteAt(2) == '(':
		lx.mark(t, 3)
	case lx.byteAt(1) == '=' || lx.byteAt(1) == '<':
		lx.mark(t, 2)
	default:
		lx.mark(t, 1)
	}
	return nil
}

// name reads a prefixed name or a word.
func (lx *lexer) name(t *token) *triple.SyntaxError {
	rest := lx.text[lx.at:]
	n, word := 0, 0
	// 1. A prefix, or a keyword if no colon follows.
	if rest[0] != ':' {
		if lx.at < lx.noColon {
			word = wordLen(rest)
		}
		if word == 0 {
			if n, word = prefixLen(rest); n == 0 {
				r, _ := utf8.DecodeRuneInString(rest)
				return lx.errorf(t.pos, "found the character %q, which begins nothing in SPARQL", r)
			}
		}
		// Keep the end of the search without a colon, because a long run of words would be
		// searched again for each.
		if word > 0 && (n == 0 || n == len(rest) || rest[n] != ':') {
			lx.noColon = max(lx.noColon, lx.at+n)
			lx.take(t, tokWord, 0, word, 0)
			t.word = keyword(t.value)
			return nil
		}
		if n == len(rest) || rest[n] != ':' {
			return lx.errorf(t.pos, "found %q, expected ':' after a prefix", clip(rest[:n]))
		}
	}
	// 2. The local name.
	size, escaped, bad := localLen(rest[n+1:])
	if bad >= 0 {
		lx.at += n + 1 + bad
		return lx.errorf(lx.posAt(lx.at), `bad escape in a prefixed name: expected %%HH (two hexadecimal digits), or a backslash and one of _~.-!$&'()*+,;=/?#@%%`)
	}
	t.colon, t.escaped = n, escaped
	lx.take(t, tokName, 0, n+1+size, 0)
	return nil
}

// wordLen returns the length of the run of ASCII letters, digits and '_' at the
// start of s.
func wordLen(s string) int {
	n := 0
	for n < len(s) && s[n] != '-' && ascii[s[n]]&cName != 0 {
		n++
	}
	return n
}

// localLen returns the length of the PN_LOCAL at the start of s, 0 if there
// is none, and whether a backslash escapes some character; bad is the offset of
// a malformed escape, -1 if there is none.
func localLen(s string) (size int, escaped bool, bad int) {
	end := 0
	for i := 0; i < len(s); {
		c := s[i]
		// A dot may stand in the middle of a name, but a last one ends the triple: end follows
		// all else.
		switch {
		case ascii[c]&cName != 0 && (i > 0 || c != '-') || c == ':':
			i++
			end = i
		case c == '.' && i > 0:
			i++
		case c == '%':
			if i+2 >= len(s) || ascii[s[i+1]]&cHex == 0 || ascii[s[i+2]]&cHex == 0 {
				return 0, false, i
			}
			i += 3
			end = i
		case c == '\\':
			if i+1 >= len(s) || ascii[s[i+1]]&cLocalEsc == 0 {
				return 0, false, i
			}
			escaped = true
			i += 2
			end = i
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if !triple.IsNamePart(r) || i == 0 && !triple.IsNameStart(r) {
				return end, escaped, -1
			}
			i += n
			end = i
		default:
			return end, escaped, -1
		}
	}
	return end, escaped, -1
}

// blank reads a BLANK_NODE_LABEL.
func (lx *lexer) blank(t *token) *triple.SyntaxError {
	rest := lx.text[lx.at+2:]
	r, _ := utf8.DecodeRuneInString(rest)
	ok := rest != "" && (r < utf8.RuneSelf && r != '-' && ascii[r]&cName != 0 || r >= utf8.RuneSelf && triple.IsNameStart(r))
	if !ok {
		return lx.errorf(t.pos, "expected a letter, a digit or '_' after '_:'")
	}
	lx.take(t, tokBlank, 2, nameLen(rest), 0)
	return nil
}

// lang reads a LANG_DIR: a language tag, with a base direction behind "--" or without.
func (lx *lexer) lang(t *token) *triple.SyntaxError {
	rest := lx.text[lx.at+1:]
	// 1. The language, and its subtags.
	n := 0
	for n < len(rest) && ascii[rest[n]]&cLetter != 0 {
		n++
	}
	if n == 0 {
		return lx.errorf(t.pos, "expected a language tag after '@'")
	}
	for n < len(rest) && rest[n] == '-' {
		end := n + 1
		for end < len(rest) && ascii[rest[end]]&(cLetter|cDigit) != 0 {
			end++
		}
		if end == n+1 {
			break
		}
		n = end
	}
	// 2. The direction. Whether it is ltr or rtl is checked with the term.
	if strings.HasPrefix(rest[n:], "--") {
		end := n + 2
		for end < len(rest) && ascii[rest[end]]&cLetter != 0 {
			end++
		}
		if end == n+2 {
			return lx.errorf(t.pos, "expected a base direction, ltr or rtl, after '@%s--'", clip(rest[:n]))
		}
		n = end
	}
	lx.take(t, tokLang, 1, n, 0)
	return nil
}
