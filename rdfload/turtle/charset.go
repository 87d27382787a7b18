package turtle

import "unicode/utf8"

// Classes of ASCII bytes, as bits of ascii. Names are those of the grammar.
const (
	cLetter   = 1 << iota // PN_CHARS_BASE
	cName                 // PN_CHARS: letters, digits, '_', '-'
	cDigit                // 0-9
	cIRI                  // may stand in an IRIREF
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
		} else if c > ' ' {
			table[i] |= cIRI
		}
	}
	for _, c := range []byte("<>\"{}|^`\\") {
		table[c] &^= cIRI
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

// isNameStart tells whether a rune above ASCII is in PN_CHARS_BASE.
func isNameStart(r rune) bool {
	switch {
	case r < 0x370:
		return r >= 0xC0 && r <= 0x2FF && r != 0xD7 && r != 0xF7
	case r <= 0x1FFF:
		return r != 0x37E
	case r <= 0x218F:
		return r == 0x200C || r == 0x200D || r >= 0x2070
	case r <= 0x2FEF:
		return r >= 0x2C00
	case r <= 0xD7FF:
		return r >= 0x3001
	case r <= 0xFFFD:
		return r >= 0xF900 && r <= 0xFDCF || r >= 0xFDF0
	}
	return r >= 0x10000 && r <= 0xEFFFF
}

// isName tells whether a rune above ASCII is in PN_CHARS.
func isName(r rune) bool {
	return isNameStart(r) || r == 0xB7 || r >= 0x300 && r <= 0x36F || r == 0x203F || r == 0x2040
}
