// Escapes in names, IRIs and strings.

package turtle

import (
	"strconv"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// numericEscape decodes the UCHAR, \uXXXX or \UXXXXXXXX, at the start of b. If it is malformed, why
// is the reason; otherwise why is "".
func numericEscape(b []byte) (r rune, size int, why string) {
	switch {
	case len(b) > 1 && b[1] == 'u':
		size = 6
	case len(b) > 1 && b[1] == 'U':
		size = 10
	default:
		return 0, 0, "no such escape; expected \\u and 4 or \\U and 8 hexadecimal digits"
	}
	if len(b) < size {
		return 0, 0, "escape is cut short; expected 4 hexadecimal digits after \\u, 8 after \\U"
	}
	if r, n := triple.UnicodeEscape(b); n > 0 {
		return r, n, ""
	}
	// It is malformed: find the reason for the message.
	for _, c := range b[2:size] {
		if ascii[c]&cHex == 0 {
			return 0, 0, "expected 4 hexadecimal digits after \\u, 8 after \\U"
		}
	}
	if v, _ := strconv.ParseUint(string(b[2:size]), 16, 32); v <= utf8.MaxRune {
		return 0, 0, "escape of a surrogate, which is no character"
	}
	return 0, 0, "escape beyond U+10FFFF"
}

// stringEscape decodes the ECHAR or UCHAR at the start of b. If it is malformed, why is the reason;
// otherwise why is "".
func stringEscape(b []byte) (r rune, size int, why string) {
	if len(b) > 1 {
		if c := triple.StringEscape(b[1]); c != 0 {
			return rune(c), 2, ""
		}
		if b[1] == 'u' || b[1] == 'U' {
			return numericEscape(b)
		}
	}
	return 0, 0, "a string has no such escape; expected one of tbnrf\"'\\uU after the backslash"
}

// invalidUTF8 returns the index of the first byte of b that is not valid UTF-8, or len(b) if all is
// valid.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}
