package parser

import (
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// escape is where a codepoint escape of the text stands in the decoded text.
type escape struct {
	at    int // of the character in the decoded text
	width int // bytes of the escape in the text
}

// unescape decodes the codepoint escapes of a text, \uXXXX and \UXXXXXXXX, which
// may stand anywhere (section 19.2) and are gone before the grammar begins: an
// escaped quote ends a string. A backslash that another backslash escapes begins
// none: "\\u0041" is a backslash and u0041. What an escape gives is not decoded
// again. bad is the offset of the first malformed escape, -1 where there is none.
func unescape(text string) (decoded string, escapes []escape, bad int) {
	at := strings.IndexByte(text, '\\')
	if at < 0 {
		return text, nil, -1
	}
	var b strings.Builder
	done := 0
	for at < len(text) {
		next := byte(0)
		if at+1 < len(text) {
			next = text[at+1]
		}
		switch next {
		case 'u', 'U':
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
	b.WriteString(text[done:])
	return b.String(), escapes, -1
}
