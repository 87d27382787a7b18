// Codepoint escapes, decoded before the grammar begins.

package parser

import (
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// escape is the place of a codepoint escape in the decoded text.
type escape struct {
	at    int // of the character in the decoded text
	width int // bytes of the escape in the text
}

// unescape decodes the codepoint escapes of a text, \uXXXX and \UXXXXXXXX. They may stand
// anywhere (section 19.2) and must be decoded before the grammar: an escaped quote ends a
// string. A backslash begins none if another backslash escapes it: "\\u0041" is a backslash and
// u0041. A decoded character is not decoded again. bad is the offset of the first malformed
// escape, -1 if there is none.
func unescape(text string) (decoded string, escapes []escape, bad int) {
	at := strings.IndexByte(text, '\\')
	if at < 0 {
		return text, nil, -1
	}
	// 1. Most texts have no escapes. In the others, the text between escapes is copied as a
	// whole.
	var b strings.Builder
	done := 0
	for at < len(text) {
		next := byte(0)
		if at+1 < len(text) {
			next = text[at+1]
		}
		switch next {
		case 'u', 'U':
			// Keep its place, because positions of errors must be those of the original text.
			r, size := triple.UnicodeEscape(text[at:])
			if size == 0 {
				return "", nil, at
			}
			b.WriteString(text[done:at])
			escapes = append(escapes, escape{b.Len(), size})
			b.WriteRune(r)
			at += size
			done = at
		case '\\':
			at += 2
		default:
			at++
		}
		n := strings.IndexByte(text[min(at, len(text)):], '\\')
		if n < 0 {
			break
		}
		at += n
	}
	if escapes == nil {
		return text, nil, -1
	}
	// 2. The rest after the last escape.
	b.WriteString(text[done:])
	return b.String(), escapes, -1
}
