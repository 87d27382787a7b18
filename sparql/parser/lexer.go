// The lexer: from text to lexical units.

package parser

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// lexer cuts a text into tokens. Tokens are the longest possible ones: "<" is an
// operator only if no IRI begins, -1 is one token.
type lexer struct {
	text string
	at   int // of the next byte

	// The place of text[placed]: offset, line and column before it.
	placed  int
	place   ast.Pos
	afterCR bool

	// noColon is an offset. Up to it the run of name characters at the position at is known not
	// to end in a colon, so a-a-a-... is scanned once.
	noColon int

	tokens, maxTokens int
}

// newLexer returns a lexer of text, or an error if it is no Unicode text.
func newLexer(text string, opts Options) (*lexer, *triple.SyntaxError) {
	lx := &lexer{text: text, place: ast.Pos{Line: 1, Column: 1}, maxTokens: opts.MaxTokens}
	if len(text) > opts.MaxBytes {
		return nil, lx.errorf(lx.place, "the text has %d bytes, the limit is %d", len(text), opts.MaxBytes)
	}
	if !utf8.ValidString(text) {
		i := 0
		for {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			i += size
		}
		return nil, lx.errorf(lx.posAt(i), "invalid UTF-8 (byte 0x%02X)", text[i])
	}
	return lx, nil
}

func (lx *lexer) errorf(pos ast.Pos, format string, args ...any) *triple.SyntaxError {
	return &triple.SyntaxError{
		Line: int(pos.Line), Column: int(pos.Column), Offset: int64(pos.Offset),
		Msg: fmt.Sprintf(format, args...),
	}
}

// posAt returns the place of the byte i of the text. i must not be before the one of
// the last call. A line ends at LF, CR LF or a bare CR.
func (lx *lexer) posAt(i int) ast.Pos {
	for lx.placed < i {
		c := lx.text[lx.placed]
		lx.placed++
		lx.place.Offset++
		switch {
		case c == '\n' && lx.afterCR:
		case c == '\n' || c == '\r':
			lx.place.Line++
			lx.place.Column = 1
		case utf8.RuneStart(c):
			lx.place.Column++
		}
		lx.afterCR = c == '\r'
	}
	return lx.place
}

// next reads the next token. After an error nothing more can be read.
func (lx *lexer) next(t *token) *triple.SyntaxError {
	// 1. Skip white space and comments. The number of tokens has a limit, because each may become
	// a node.
	lx.skipSpace()
	*t = token{pos: lx.posAt(lx.at)}
	if lx.at == len(lx.text) {
		return nil
	}
	if lx.tokens++; lx.tokens > lx.maxTokens {
		return lx.errorf(t.pos, "the text has more than %d tokens", lx.maxTokens)
	}
	// 2. The first byte decides, and sometimes the next ones.
	switch c := lx.text[lx.at]; {
	case c == '?' || c == '$':
		n := varLen(lx.text[lx.at+1:])
		if n == 0 && c == '?' { // a path's
			lx.mark(t, 1)
			return nil
		}
		if n == 0 {
			return lx.errorf(t.pos, "expected a variable's name after '$'")
		}
		lx.take(t, tokVar, 1, n, 0)
	case c == '<':
		return lx.iriOrLess(t)
	case c == '"' || c == '\'':
		return lx.str(t, c)
	case ascii[c]&cDigit != 0:
		lx.number(t, 0)
	case c == '.' && lx.digitAt(1):
		lx.number(t, 0)
	case (c == '+' || c == '-') && (lx.digitAt(1) || lx.byteAt(1) == '.' && lx.digitAt(2)):
		lx.number(t, 1)
	case c == '_' && lx.byteAt(1) == ':':
		return lx.blank(t)
	case c == '@':
		return lx.lang(t)
	case c == ':' || c >= utf8.RuneSelf || ascii[c]&cLetter != 0:
		return lx.name(t)
	default:
		return lx.punctuation(t)
	}
	return nil
}

func (lx *lexer) skipSpace() {
	for lx.at < len(lx.text) {
		c := lx.text[lx.at]
		if c == '#' {
			n := strings.IndexAny(lx.text[lx.at:], "\r\n")
			if n < 0 {
				lx.at = len(lx.text)
				return
			}
			lx.at += n
		} else if ascii[c]&cSpace == 0 {
			return
		}
		lx.at++
	}
}

// byteAt returns the byte n behind at, 0 behind the end.
func (lx *lexer) byteAt(n int) byte {
	if lx.at+n < len(lx.text) {
		return lx.text[lx.at+n]
	}
	return 0
}

func (lx *lexer) digitAt(n int) bool { return ascii[lx.byteAt(n)]&cDigit != 0 }

// take makes t a token with a value of n bytes, between before and after bytes outside of the
// value.
func (lx *lexer) take(t *token, k kind, before, n, after int) {
	t.kind = k
	t.value = lx.text[lx.at+before : lx.at+before+n]
	lx.at += before + n + after
}

func (lx *lexer) mark(t *token, n int) { lx.take(t, tokPunct, 0, n, 0) }

// punctuation reads a mark; longer ones go before their beginnings.
func (lx *lexer) punctuation(t *token) *triple.SyntaxError {
	c, d := lx.byteAt(0), lx.byteAt(1)
	// A case is of the marks that begin with a byte.
	switch c {
	case '|', '&', '^':
		if d == c || c == '|' && d == '}' {
			lx.mark(t, 2)
			return nil
		}
		if c == '&' {
			return lx.errorf(t.pos, "found '&', expected '&&'")
		}
		lx.mark(t, 1)
	case '!', '>':
		if d == '=' || c == '>' && d == '>' {
			lx.mark(t, 2)
			return nil
		}
		lx.mark(t, 1)
	case '{':
		if d == '|' {
			lx.mark(t, 2)
			return nil
		}
		lx.mark(t, 1)
	case ')':
		if d == '>' && lx.byteAt(2) == '>' {
			lx.mark(t, 3)
			return nil
		}
		lx.mark(t, 1)
	case '}', '(', '[', ']', '.', ',', ';', '=', '/', '*', '+', '-', '~':
		lx.mark(t, 1)
	case '\\':
		return lx.errorf(t.pos, `found a backslash: escapes like \uXXXX may only be inside of an <IRI> or a string`)
	default:
		r, _ := utf8.DecodeRuneInString(lx.text[lx.at:])
		return lx.errorf(t.pos, "found the character %q, which begins nothing in SPARQL", r)
	}
	return nil
}
