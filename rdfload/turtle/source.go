// The parser's window on the document.

package turtle

import (
	"fmt"
	"io"
)

const (
	firstBuffer = 128 << 10
	// keepBuffer is the largest buffer that may stay after a long token.
	keepBuffer = 1 << 20
	// maxRejectText bounds the raw text of a rejected statement.
	maxRejectText = 64 << 10
)

// source is the parser's window on the document.
//
// Invariant: if no error is being reported, 0 <= told <= pos <= len(buf), and here is the place of
// buf[told].
type source struct {
	r   io.Reader
	buf []byte
	pos int // buf[pos:] is not parsed yet

	limit   int   // most bytes that buf may hold
	eof     bool  // r has no more bytes
	err     error // the reason, unless it is the document's end
	tooLong bool  // fill has failed because of the limit

	placed int
	here   place

	// The raw text of the current statement, if keep is set: text and buf[start:pos].
	keep  bool
	start int
	text  []byte
}

// fill reads more bytes to the end of buf. It keeps buf[pos:], and moves pos to 0. It returns false
// if there are none: at the end, after a read error, or if buf has reached the limit.
func (s *source) fill() bool {
	// 1. Make room: drop the parsed bytes, and grow if the buffer is still full.
	if s.eof {
		return false
	}
	s.discard()
	if len(s.buf) == cap(s.buf) {
		if len(s.buf) >= s.limit {
			s.tooLong = true
			return false
		}
		grown := make([]byte, len(s.buf), min(max(2*cap(s.buf), firstBuffer), s.limit))
		copy(grown, s.buf)
		s.buf = grown
	}
	// 2. Read. A reader may return no bytes without an error, but not forever.
	for range 100 {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		if n < 0 || n > cap(s.buf)-len(s.buf) {
			n, err = 0, fmt.Errorf("the reader returned an impossible count %d", n)
		}
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			s.eof = true
			if err != io.EOF {
				s.err = err
			}
		}
		if n > 0 {
			return true
		}
		if s.eof {
			return false
		}
	}
	s.eof, s.err = true, io.ErrNoProgress
	return false
}

// discard drops buf[:pos]. Text and place must be taken from these bytes first.
func (s *source) discard() {
	if s.pos == 0 {
		return
	}
	s.placeOf(s.pos)
	if s.keep {
		s.keepText(s.pos)
		s.start = 0
	}
	rest := s.buf[s.pos:]
	if cap(s.buf) > keepBuffer && len(rest) < firstBuffer/2 {
		s.buf = make([]byte, 0, firstBuffer)
	}
	s.buf = s.buf[:copy(s.buf[:len(rest)], rest)]
	s.pos, s.placed = 0, 0
}

// need fills buf until buf[pos:] has at least n bytes. It returns false if the input ends first.
func (s *source) need(n int) bool {
	for len(s.buf)-s.pos < n {
		if !s.fill() {
			return false
		}
	}
	return true
}

// peek returns the byte at n bytes after pos, or -1 if the input ends before it.
func (s *source) peek(n int) int {
	if s.pos+n < len(s.buf) || s.need(n+1) {
		return int(s.buf[s.pos+n])
	}
	return -1
}

// placeOf returns the place of buf[at]; told <= at <= len(buf) must hold.
func (s *source) placeOf(at int) place {
	if at > s.placed {
		s.here.advance(s.buf[s.placed:at])
		s.placed = at
	}
	return s.here
}

// keepText appends buf[start:end] to text, up to the limit of text.
func (s *source) keepText(end int) {
	if room := maxRejectText - len(s.text); s.start < end && room > 0 {
		s.text = append(s.text, s.buf[s.start:min(end, s.start+room)]...)
	}
}

// beginText starts the kept text at pos.
func (s *source) beginText() {
	s.start, s.text = s.pos, s.text[:0]
}

// takeText returns the text from beginText to pos, at most its first 64 KiB.
func (s *source) takeText() string {
	s.keepText(s.pos)
	text := string(s.text)
	s.beginText()
	return text
}
