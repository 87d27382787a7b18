// Tokens of JSON from a stream, by package jsontext.

package results

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/trefoildb/trefoil/triple"
)

// jsonLexer reads the tokens of JSON (RFC 8259), strictly, and bounds their length and nesting.
type jsonLexer struct {
	in   io.Reader
	dec  *jsontext.Decoder
	read int64 // bytes from in
}

// maxJSONToken is the maximum length of a token. A character takes up to six bytes, as \u0041 does.
const maxJSONToken = 6*triple.MaxTermBytes + 1<<10

func newJSONLexer(in io.Reader) *jsonLexer {
	l := &jsonLexer{in: in}
	l.dec = jsontext.NewDecoder(l, jsontext.AllowDuplicateNames(true))
	return l
}

// Read implements [io.Reader] for the decoder, which holds a token as a whole. It fails if a token
// is too long.
func (l *jsonLexer) Read(b []byte) (int, error) {
	if l.read-l.dec.InputOffset() > maxJSONToken {
		return 0, fmt.Errorf("%w: a string of more than %d bytes", ErrLimit, triple.MaxTermBytes)
	}
	n, err := l.in.Read(b)
	l.read += int64(n)
	return n, err
}

// token reads the next token.
func (l *jsonLexer) token() (jsontext.Token, error) {
	t, err := l.dec.ReadToken()
	if err == nil {
		return t, nil
	}
	var syntax *jsontext.SyntacticError
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		err = unexpectedEnd(io.EOF)
	case errors.As(err, &syntax):
		err = syntaxf("%w", err)
	}
	return t, err
}

// peek returns the kind of the next token: its first byte, or '0' for every number.
func (l *jsonLexer) peek() (byte, error) {
	if k := l.dec.PeekKind(); k != 0 {
		return byte(k), nil
	}
	_, err := l.token()
	return 0, err
}

// expect reads the token of kind c.
func (l *jsonLexer) expect(c byte) error {
	t, err := l.token()
	if err == nil && byte(t.Kind()) != c {
		return syntaxf("expected %q, found %q", c, byte(t.Kind()))
	}
	return err
}

// str reads a string.
func (l *jsonLexer) str() (string, error) {
	t, err := l.token()
	switch {
	case err != nil:
		return "", err
	case t.Kind() != '"':
		return "", syntaxf("expected a string, found %q", byte(t.Kind()))
	}
	s := t.String()
	if len(s) > triple.MaxTermBytes {
		return "", fmt.Errorf("%w: a string of more than %d bytes", ErrLimit, triple.MaxTermBytes)
	}
	return s, nil
}

// word reads a literal or a number.
func (l *jsonLexer) word() (string, error) {
	t, err := l.token()
	if err == nil && t.Kind() == '"' {
		err = syntaxf("%q where another value is expected", t)
	}
	return t.String(), err
}

// object reads an object and calls member with each name; member reads the value.
func (l *jsonLexer) object(member func(name string) error) error {
	return l.list('{', '}', func() error {
		name, err := l.str()
		if err != nil {
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
	for {
		if done, err := l.listEnd(end); err != nil || done {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// listEnd reads the end of a list if it is next.
func (l *jsonLexer) listEnd(end byte) (bool, error) {
	if byte(l.dec.PeekKind()) != end {
		return false, nil
	}
	_, err := l.token()
	return true, err
}

// skip reads a value of any kind.
func (l *jsonLexer) skip() error {
	for outer := l.dec.StackDepth(); ; {
		if _, err := l.token(); err != nil {
			return err
		}
		switch depth := l.dec.StackDepth() - outer; {
		case depth == 0:
			return nil
		case depth > maxNesting:
			return fmt.Errorf("%w: nested deeper than %d", ErrLimit, maxNesting)
		}
	}
}
