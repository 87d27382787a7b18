package turtle

import (
	"unicode/utf8"
)

// numericEscape decodes the UCHAR, \uXXXX or \UXXXXXXXX, at the start of b. It
// returns why where there is none.
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
	var v uint32
	for _, c := range b[2:size] {
		if ascii[c]&cHex == 0 {
			return 0, 0, "expected 4 hexadecimal digits after \\u, 8 after \\U"
		}
		d := c - '0'
		if c > '9' {
			d = (c | 0x20) - 'a' + 10
		}
		v = v<<4 | uint32(d)
	}
	switch {
	case v >= 0xD800 && v <= 0xDFFF:
		return 0, 0, "escape of a surrogate, which is no character"
	case v > utf8.MaxRune:
		return 0, 0, "escape beyond U+10FFFF"
	}
	return rune(v), size, ""
}

// stringEscape decodes the ECHAR or UCHAR at the start of b.
func stringEscape(b []byte) (r rune, size int, why string) {
	if len(b) > 1 {
		switch b[1] {
		case 't':
			return '\t', 2, ""
		case 'b':
			return '\b', 2, ""
		case 'n':
			return '\n', 2, ""
		case 'r':
			return '\r', 2, ""
		case 'f':
			return '\f', 2, ""
		case '"', '\'', '\\':
			return rune(b[1]), 2, ""
		case 'u', 'U':
			return numericEscape(b)
		}
	}
	return 0, 0, "a string has no such escape; expected one of tbnrf\"'\\uU after the backslash"
}

// invalidUTF8 returns the index of the first byte of b that is not valid UTF-8,
// len(b) where all is.
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
