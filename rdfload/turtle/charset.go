// Classes of bytes in the grammar.

package turtle

import (
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// Classes of ASCII bytes, as bits of ascii. Their names are those of the grammar.
const (
	cLetter   = 1 << iota // PN_CHARS_BASE
	cName                 // PN_CHARS: letters, digits, '_', '-'
	cDigit                // 0-9
	cIRI                  // allowed in an IRIREF
	cHex                  // 0-9 a-f A-F
	cSpace                // WS
	cLocalEsc             // may be escaped in a local name
	cHigh                 // above ASCII
	cEscape               // the backslash
)

var ascii = func() (table [256]uint16) {
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
		if c >= utf8.RuneSelf {
			table[i] |= cHigh
		} else if triple.IsIRIByte(c) {
			table[i] |= cIRI
		}
	}
	table['\\'] |= cEscape
	for _, c := range []byte(" \t\r\n") {
		table[c] |= cSpace
	}
	for _, c := range []byte("_~.-!$&'()*+,;=/?#@%") {
		table[c] |= cLocalEsc
	}
	return table
}()
