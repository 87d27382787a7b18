// Classes of characters.

package parser

import (
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// Classes of ASCII bytes, as bits of ascii. Names are those of the grammar.
const (
	cLetter   = 1 << iota // PN_CHARS_BASE
	cName                 // PN_CHARS: letters, digits, '_', '-'
	cDigit                // 0-9
	cIRI                  // may stand in an IRIREF
	cHex                  // 0-9 a-f A-F
	cSpace                // WS
	cLocalEsc             // may be escaped in a local name
)

var ascii = func() (table [256]uint8) {
	for i := range table {
		c := byte(i)
		digit := c >= '0' && c <= '9'
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if letter {
			table[i] |= cLetter
		}
		if letter || digit || c == '_' || c == '-' {
			table[i] |= cName
		}
		if digit {
			table[i] |= cDigit
		}
		if digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			table[i] |= cHex
		}
		if triple.IsIRIByte(c) {
			table[i] |= cIRI // with all bytes above ASCII: the text is UTF-8
		}
	}
	for _, c := range []byte(" \t\r\n") {
		table[c] |= cSpace
	}
	for _, c := range []byte("_~.-!$&'()*+,;=/?#@%") {
		table[c] |= cLocalEsc
	}
	return table
}()

// nameLen returns the length of the run of PN_CHARS and '.' at the start of s,
// without the dots at its end.
func nameLen(s string) int {
	end := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case ascii[c]&cName != 0:
			i++
			end = i
		case c == '.':
			i++
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if !triple.IsNamePart(r) {
				return end
			}
			i += size
			end = i
		default:
			return end
		}
	}
	return end
}

// prefixLen returns the length of the PN_PREFIX at the start of s, 0 if there is none, and the
// length of its first run of letters, digits and '_', a word.
func prefixLen(s string) (n, word int) {
	if s == "" {
		return 0, 0
	}
	if s[0] >= utf8.RuneSelf {
		if r, _ := utf8.DecodeRuneInString(s); !triple.IsNameStart(r) {
			return 0, 0
		}
	} else if ascii[s[0]]&cLetter == 0 {
		return 0, 0
	}
	for word < len(s) && s[word] != '-' && ascii[s[word]]&cName != 0 {
		word++
	}
	return nameLen(s), word
}

// varLen returns the length of the VARNAME at the start of s.
func varLen(s string) int {
	i := 0
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			if c == '-' || ascii[c]&cName == 0 {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !triple.IsNameStart(r) && (i == 0 || !triple.IsNamePart(r)) {
			break
		}
		i += size
	}
	return i
}
