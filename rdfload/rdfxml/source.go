// The characters of a document, with places for messages.

package rdfxml

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

var errTooLarge = errors.New("document too large")

// place is a position in a document.
type place struct {
	offset int64 // in bytes of the document, in its own encoding
	line   int   // from 1; a line ends at LF, CR LF or a bare CR
	column int   // code points before it in the line
}

// source sends a document as UTF-8 to the XML decoder, byte by byte, and counts. It is therefore at
// most a byte ahead of the current token.
type source struct {
	r      *bufio.Reader
	decode decoder // of the document's encoding; nil for UTF-8
	max    int64   // largest offset
	at     place   // after the last character
	before place   // before the last character
	last   rune
	err    error // of the reader, unless it is io.EOF; errTooLarge; or badEncoding

	sent    int64  // bytes sent to the XML decoder
	pending []byte // of the last character, not sent yet
	head    []byte // the first bytes sent

	tokenStart int64
	tokenLimit int64
}

func newSource(r io.Reader, limit int64) *source {
	s := &source{r: bufio.NewReaderSize(r, 64<<10), max: limit, at: place{line: 1}, tokenLimit: maxToken}
	head, _ := s.r.Peek(4) // an error comes again
	if s.decode, s.err = detect(head); s.err != nil {
		return s
	}
	return s
}

// ReadByte implements io.ByteReader. It is necessary because the decoder then does not read ahead.
func (s *source) ReadByte() (byte, error) {
	if s.err != nil {
		return 0, s.err
	}
	var c byte
	if len(s.pending) > 0 {
		c, s.pending = s.pending[0], s.pending[1:]
	} else {
		char, size, err := s.character()
		if err != nil {
			return 0, err
		}
		c = byte(char)
		if s.decode != nil {
			b := utf8.AppendRune(s.pending[:0], char)
			c, s.pending = b[0], b[1:]
		}
		s.advance(char, size)
	}
	s.sent++
	return s.asVersion10(c), nil
}

// character reads a character: a byte of UTF-8, or a whole one of another encoding. It checks the
// limits of the document and of the token. An error stays for all later reads.
func (s *source) character() (c rune, size int, err error) {
	if s.decode != nil {
		c, size, err = s.decode(s.r)
	} else {
		var b byte
		b, err = s.r.ReadByte()
		c, size = rune(b), 1
	}
	switch {
	case err == io.EOF:
		return 0, 0, err
	case err != nil:
		s.err = err
	case s.at.offset+int64(size) > s.max:
		s.err = fmt.Errorf("%w: more than %d bytes", errTooLarge, s.max)
	case s.at.offset-s.tokenStart >= s.tokenLimit:
		s.err = fmt.Errorf("%w: tag or text of more than %d bytes", errTooLarge, s.tokenLimit)
	}
	return c, size, s.err
}

// advance moves the place behind a character. CR LF must count as one line end.
func (s *source) advance(c rune, size int) {
	s.before = s.at
	s.at.offset += int64(size)
	switch {
	case c == '\n' && s.last == '\r':
		s.at.column = 0
	case c == '\n' || c == '\r':
		s.at.line++
		s.at.column = 0
	case s.decode != nil || utf8.RuneStart(byte(c)):
		s.at.column++
	}
	s.last = c
}

// asVersion10 returns c, but 0 for the last digit of version="1.1" in the XML declaration: a document of
// another 1.x version must be processed as one of 1.0 (Extensible Markup Language 1.0, fifth
// edition, section 2.8), and encoding/xml rejects it.
func (s *source) asVersion10(c byte) byte {
	const longest = 64 // of what is before the digit
	if s.sent > longest {
		return c
	}
	s.head = append(s.head, c)
	if c < '1' || c > '9' {
		return c
	}
	start, ok := strings.CutSuffix(strings.TrimPrefix(string(s.head[:len(s.head)-1]), "\uFEFF"), "1.")
	fields := strings.Fields(strings.NewReplacer("=", " = ", `"`, " Q ", "'", " Q ").Replace(start))
	if ok && strings.Join(fields, " ") == "<?xml version = Q" {
		return '0'
	}
	return c
}

// Read implements io.Reader. The decoder uses ReadByte instead.
func (s *source) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c, err := s.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = c
	return 1, nil
}

// placeOf returns the place of an offset of the XML decoder. It must be after the last byte sent, or
// just before it.
func (s *source) placeOf(sent int64) place {
	if sent < s.sent {
		return s.before
	}
	return s.at
}
