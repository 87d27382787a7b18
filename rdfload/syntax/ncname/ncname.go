// Package ncname holds the character classes that XML names, Turtle names and
// blank node labels share: NameStartChar and NameChar of XML 1.0 (fifth edition)
// without ':', which are PN_CHARS_U and PN_CHARS with '.' of Turtle.
package ncname

import "unicode/utf8"

// IsStart tells whether a rune above ASCII may start a name (PN_CHARS_BASE).
func IsStart(r rune) bool {
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

// IsPart tells whether a rune above ASCII may stand in a name (PN_CHARS).
func IsPart(r rune) bool {
	return IsStart(r) || r == 0xB7 || r >= 0x300 && r <= 0x36F || r == 0x203F || r == 0x2040
}

// Is tells whether s is an NCName.
func Is(s string) bool {
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_':
		case i > 0 && (r >= '0' && r <= '9' || r == '-' || r == '.'):
		case r == utf8.RuneError && s[i] != 0xEF: // invalid UTF-8, not U+FFFD itself
			return false
		case IsStart(r) || i > 0 && IsPart(r):
		default:
			return false
		}
	}
	return s != ""
}
