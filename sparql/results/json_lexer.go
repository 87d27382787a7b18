// Lexical units of JSON, from a stream.

package results

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// jsonLexer reads the tokens of JSON (RFC 8259), strictly.
type jsonLexer struct {
	in  *bufio.Reader
	buf []byte
}

// peek returns the next byte other than white space, without reading it.
func (l *jsonLexer) peek() (byte, error) {
	for {
		c, err := l.in.ReadByte()
		if err != nil {
			return 0, unexpectedEnd(err)
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, l.in.UnreadByte()
		}
	}
}

// expect reads the byte c.
func (l *jsonLexer) expect(c byte) error {
	got, err := l.peek()
	if err != nil {
		return err
	}
	if got != c {
		return syntaxf("expected %q, found %q", c, got)
	}
	_, err = l.in.ReadByte()
	return err
}

// accept reads the byte c if it is the next one.
func (l *jsonLexer) accept(c byte) (bool, error) {
	got, err := l.peek()
	if err != nil || got != c {
		return false, err
	}
	_, err = l.in.ReadByte()
	return true, err
}

// str reads a string.
func (l *jsonLexer) str() (string, error) {
	if err := l.expect('"'); err != nil {
		return "", err
	}
	l.buf = l.buf[:0]
	for {
		c, err := l.in.ReadByte()
		// Bytes are checked at the end of the string, because an escape may not be a part of a
		// character.
		switch {
		case err != nil:
			return "", unexpectedEnd(err)
		case c == '"':
			if !utf8.Valid(l.buf) {
				return "", syntaxf("a string that is not UTF-8")
			}
			return string(l.buf), nil
		case c == '\\':
			if err := l.escape(); err != nil {
				return "", err
			}
		case c < 0x20:
			return "", syntaxf("a control character in a string")
		default:
			l.buf = append(l.buf, c)
		}
		if len(l.buf) > triple.MaxTermBytes {
			return "", fmt.Errorf("%w: a string longer than %d bytes", ErrLimit, triple.MaxTermBytes)
		}
	}
}

func (l *jsonLexer) escape() error {
	c, err := l.in.ReadByte()
	if err != nil {
		return unexpectedEnd(err)
	}
	switch c {
	// 1. One letter. Only these escapes are valid (RFC 8259, section 7).
	case '"', '\\', '/':
		l.buf = append(l.buf, c)
	case 'b':
		l.buf = append(l.buf, '\b')
	case 'f':
		l.buf = append(l.buf, '\f')
	case 'n':
		l.buf = append(l.buf, '\n')
	case 'r':
		l.buf = append(l.buf, '\r')
	case 't':
		l.buf = append(l.buf, '\t')
	case 'u':
		r, err := l.hex4()
		if err != nil {
			return err
		}
		// 2. If a character is beyond U+FFFF, it must come as two escapes.
		if utf16.IsSurrogate(r) {
			var pair [2]byte
			if _, err := io.ReadFull(l.in, pair[:]); err != nil || pair != [2]byte{'\\', 'u'} {
				return syntaxf("half a surrogate pair")
			}
			low, err := l.hex4()
			if err != nil {
				return err
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return syntaxf("half a surrogate pair")
			}
		}
		l.buf = utf8.AppendRune(l.buf, r)
	default:
		return syntaxf(`\%c is no escape`, c)
	}
	return nil
}

func (l *jsonLexer) hex4() (rune, error) {
	var digits [4]byte
	if _, err := io.ReadFull(l.in, digits[:]); err != nil {
		return 0, syntaxf(`\u without four digits`)
	}
	r := rune(0)
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, syntaxf(`\u without four digits`)
		}
		r = r<<4 | rune(c)
	}
	return r, nil
}

// word reads true, false, null or a number, and returns it.
func (l *jsonLexer) word() (string, error) {
	if _, err := l.peek(); err != nil {
		return "", err
	}
	var b []byte
	// 1. Take all bytes of a word or number. There must be a limit; no sensible one is longer.
	for len(b) < 400 {
		c, err := l.in.ReadByte()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'E') {
			if err := l.in.UnreadByte(); err != nil {
				return "", err
			}
			break
		}
		b = append(b, c)
	}
	// 2. It must be a word or number of JSON.
	switch word := string(b); {
	case word == "true" || word == "false" || word == "null" || isJSONNumber(word):
		return word, nil
	default:
		return "", syntaxf("%q where a value is expected", word)
	}
}

func isJSONNumber(s string) bool {
	if len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	if n := digitsAt(s); n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	last := s[len(s)-1]
	return numberType(s) != "" && last != '.' && !hasPointBeforeE(s)
}

// hasPointBeforeE reports whether no digit follows the point.
func hasPointBeforeE(s string) bool {
	for i := range len(s) - 1 {
		if s[i] == '.' && (s[i+1] == 'e' || s[i+1] == 'E') {
			return true
		}
	}
	return false
}

// object reads an object and calls member with each name; member reads the value.
func (l *jsonLexer) object(member func(name string) error) error {
	return l.list('{', '}', func() error {
		name, err := l.str()
		if err != nil {
			return err
		}
		if err := l.expect(':'); err != nil {
			return err
		}
		return member(name)
	})
}

func (l *jsonLexer) array(element func() error) error { return l.list('[', ']', element) }

func (l *jsonLexer) list(open, end byte, element func() error) error {
	if err := l.expect(open); err != nil {
		return err
	}
	for first := true; ; first = false {
		if done, err := l.listEnd(end, first); err != nil || done {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// listEnd reads the end of a list, or the comma before the next element.
func (l *jsonLexer) listEnd(end byte, first bool) (bool, error) {
	if done, err := l.accept(end); err != nil || done {
		return done, err
	}
	if first {
		return false, nil
	}
	return false, l.expect(',')
}

// skip reads a value of any kind.
func (l *jsonLexer) skip(depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("%w: nested deeper than %d", ErrLimit, maxNesting)
	}
	c, err := l.peek()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return l.object(func(string) error { return l.skip(depth + 1) })
	case '[':
		return l.array(func() error { return l.skip(depth + 1) })
	case '"':
		_, err = l.str()
	default:
		_, err = l.word()
	}
	return err
}
