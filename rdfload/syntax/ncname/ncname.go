// Package ncname recognizes the NCNames of XML (Namespaces in XML 1.0, section 3).
package ncname

import (
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// Is reports whether s is an NCName. "" and invalid UTF-8 are not.
func Is(s string) bool {
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_':
		case i > 0 && (r >= '0' && r <= '9' || r == '-' || r == '.'):
		case r == utf8.RuneError && s[i] != 0xEF: // invalid UTF-8, not U+FFFD itself
			return false
		case triple.IsNameStart(r) || i > 0 && triple.IsNamePart(r):
		default:
			return false
		}
	}
	return s != ""
}
