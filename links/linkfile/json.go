// A JSON reader that builds nothing.

package linkfile

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

var errJSON = errors.New("this is no well-formed JSON")

// maxJSONDepth limits the nesting of objects and arrays, because reading is recursive.
const maxJSONDepth = 512

// jsonText is a JSON text (RFC 8259) and a position in it. When a method fails, i is at the
// error.
type jsonText struct {
	b     []byte
	i     int
	depth int
}

// jsonString is the bytes between a string's quotes, still escaped. nil means no string.
type jsonString []byte

// peek returns the next byte after white space, without reading it. It returns 0 at the end.
func (j *jsonText) peek() byte {
	for ; j.i < len(j.b); j.i++ {
		switch c := j.b[j.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// string reads a string.
func (j *jsonText) string() (jsonString, error) {
	if j.peek() != '"' {
		return nil, errJSON
	}
	start := j.i + 1
	for i := start; ; {
		for i < len(j.b) && !jsonSpecial[j.b[i]] {
			i++
		}
		j.i = i
		if i == len(j.b) || j.b[i] < ' ' {
			return nil, errJSON
		}
		if j.b[i] == '"' {
			j.i++
			return jsonString(j.b[start:i:i]), nil
		}
		n := escapeLen(j.b[i:])
		if n == 0 {
			return nil, errJSON
		}
		i += n
	}
}

// jsonSpecial holds true for a byte if it ends a string, begins an escape or must not be in a
// string.
var jsonSpecial = func() (special [256]bool) {
	for c := range ' ' {
		special[c] = true
	}
	special['"'], special['\\'] = true, true
	return special
}()

// escapeLen returns the length of the escape at the front of b, or 0 if there is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) >= 0 {
		return 2
	}
	if b[1] != 'u' || len(b) < 6 {
		return 0
	}
	for _, c := range b[2:6] {
		if hexDigit(c) < 0 {
			return 0
		}
	}
	return 6
}

func hexDigit(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// members reads an object. It calls visit with each key, and visit must read the value.
func (j *jsonText) members(visit func(key jsonString) error) error {
	return j.items('{', '}', func() error {
		key, err := j.string()
		if err != nil {
			return err
		}
		if j.peek() != ':' {
			return errJSON
		}
		j.i++
		return visit(key)
	})
}

// items reads an object or an array. item must read one element between commas.
func (j *jsonText) items(open, shut byte, item func() error) error {
	if j.peek() != open || j.depth == maxJSONDepth {
		return errJSON
	}
	j.i++
	j.depth++
	if j.peek() == shut {
		j.i++
		j.depth--
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch j.peek() {
		case ',':
			j.i++
		case shut:
			j.i++
			j.depth--
			return nil
		default:
			return errJSON
		}
	}
}

// skip reads any value.
func (j *jsonText) skip() error {
	switch c := j.peek(); c {
	case '{':
		return j.members(func(jsonString) error { return j.skip() })
	case '[':
		return j.items('[', ']', j.skip)
	case '"':
		_, err := j.string()
		return err
	case 't':
		return j.word("true")
	case 'f':
		return j.word("false")
	case 'n':
		return j.word("null")
	default:
		return j.number()
	}
}

func (j *jsonText) word(word string) error {
	if !bytes.HasPrefix(j.b[j.i:], []byte(word)) {
		return errJSON
	}
	j.i += len(word)
	return nil
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (j *jsonText) number() error {
	if j.nextIs('-') {
		j.i++
	}
	if j.nextIs('0') {
		j.i++
	} else if !j.digits() {
		return errJSON
	}
	if j.nextIs('.') {
		j.i++
		if !j.digits() {
			return errJSON
		}
	}
	if j.nextIs('e') || j.nextIs('E') {
		j.i++
		if j.nextIs('+') || j.nextIs('-') {
			j.i++
		}
		if !j.digits() {
			return errJSON
		}
	}
	return nil
}

func (j *jsonText) nextIs(c byte) bool { return j.i < len(j.b) && j.b[j.i] == c }

func (j *jsonText) digits() bool {
	start := j.i
	for j.i < len(j.b) && j.b[j.i] >= '0' && j.b[j.i] <= '9' {
		j.i++
	}
	return j.i > start
}

// stringOrSkip reads a value. It returns nil if the value is no string.
func (j *jsonText) stringOrSkip() (jsonString, error) {
	if j.peek() == '"' {
		return j.string()
	}
	return nil, j.skip()
}

// append appends the unescaped characters of s. A surrogate becomes U+FFFD if its other half is
// missing. Invalid UTF-8 stays.
func (s jsonString) append(dst []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		if s[1] != 'u' {
			dst = append(dst, unescaped(s[1]))
			s = s[2:]
			continue
		}
		r := s.codeUnit()
		s = s[6:]
		if utf16.IsSurrogate(r) {
			if whole := utf16.DecodeRune(r, s.codeUnit()); whole != utf8.RuneError {
				r, s = whole, s[6:]
			} else {
				r = utf8.RuneError
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// codeUnit returns the UTF-16 code unit of the \uXXXX at the front of s. It returns -1 if there
// is none.
func (s jsonString) codeUnit() rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	r := rune(0)
	for _, c := range s[2:6] {
		r = r<<4 | hexDigit(c)
	}
	return r
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// is reports whether s, unescaped, equals text.
func (s jsonString) is(text string) bool {
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s) == text
	}
	return len(s) <= 6*len(text) && string(s.append(nil)) == text
}
