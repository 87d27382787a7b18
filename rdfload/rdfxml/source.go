// The bytes of a document, with places for messages.

package rdfxml

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

var errTooLarge = errors.New("document too large")

// place is a position in a document.
type place struct {
	offset int64
	line   int // from 1; a line ends at LF, CR LF or a bare CR
	column int // code points before it in the line
}

// source sends bytes to the XML decoder one by one and counts them. It is therefore at most a byte
// ahead of the current token.
type source struct {
	r      *bufio.Reader
	max    int64 // largest offset
	at     place // after the last byte
	before place // before the last byte
	last   byte
	err    error // of the reader, unless it is io.EOF; or errTooLarge

	tokenStart int64
	tokenLimit int64
}

func newSource(r io.Reader, limit int64) *source {
	return &source{r: bufio.NewReaderSize(r, 64<<10), max: limit, at: place{line: 1}, tokenLimit: maxToken}
}

// ReadByte implements io.ByteReader. It is necessary because the decoder then does not read ahead.
func (s *source) ReadByte() (byte, error) {
	if s.err != nil {
		return 0, s.err
	}
	// 1. Check the limits of the document and of the token. An error stays for all later reads.
	c, err := s.r.ReadByte()
	switch {
	case err == io.EOF:
		return 0, err
	case err != nil:
		s.err = err
		return 0, err
	case s.at.offset >= s.max:
		s.err = fmt.Errorf("%w: more than %d bytes", errTooLarge, s.max)
		return 0, s.err
	case s.at.offset-s.tokenStart >= s.tokenLimit:
		s.err = fmt.Errorf("%w: tag or text of more than %d bytes", errTooLarge, s.tokenLimit)
		return 0, s.err
	}
	// 2. Advance the place. CR LF must count as one line end.
	s.before = s.at
	s.at.offset++
	switch {
	case c == '\n' && s.last == '\r':
		s.at.column = 0
	case c == '\n' || c == '\r':
		s.at.line++
		s.at.column = 0
	case utf8.RuneStart(c):
		s.at.column++
	}
	s.last = c
	return c, nil
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

// placeOf returns the place of an offset of the decoder. It must be after the last byte read, or
// just before it.
func (s *source) placeOf(offset int64) place {
	if offset < s.at.offset {
		return s.before
	}
	return s.at
}
