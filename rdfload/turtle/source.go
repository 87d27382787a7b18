package turtle

import (
	"fmt"
	"io"
)

const (
	firstBuffer = 128 << 10
	// keepBuffer is the buffer size that a long token may leave behind.
	keepBuffer = 1 << 20
	// maxRejectText bounds the raw text of a rejected statement.
	maxRejectText = 64 << 10
)

// source is the window on the document that the parser reads through.
//
// Invariant: 0 <= told <= pos <= len(buf) where no error is being reported, and
// here is the place of buf[told].
type source struct {
	r   io.Reader
	buf []byte
	pos int // buf[pos:] is not parsed yet

	limit   int   // most bytes that buf may hold
	eof     bool  // r has nothing more to give
	err     error // why, where it was not the document's end
	tooLong bool  // fill failed for the limit

	told int
	here place

	// The raw text of the statement at hand, kept where keep is set: text and
	// buf[start:pos].
	keep  bool
	start int
	text  []byte
}

// fill reads more bytes behind buf, keeping buf[pos:], and moves pos to 0. It
// returns false where there are none: at the end, after a read error, or where
// the limit is met.
func (s *source) fill() bool {
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

// discard drops buf[:pos].
func (s *source) discard() {
	if s.pos == 0 {
		return
	}
	s.tell(s.pos)
	if s.keep {
		s.keepText(s.pos)
		s.start = 0
	}
	rest := s.buf[s.pos:]
	if cap(s.buf) > keepBuffer && len(rest) < firstBuffer/2 {
		s.buf = make([]byte, 0, firstBuffer)
	}
	s.buf = s.buf[:copy(s.buf[:len(rest)], rest)]
	s.pos, s.told = 0, 0
}

// need makes buf[pos:] at least n bytes long; false where the input ends first.
func (s *source) need(n int) bool {
	for len(s.buf)-s.pos < n {
		if !s.fill() {
			return false
		}
	}
	return true
}

// peek returns the byte n behind pos, -1 where the input ends before it.
func (s *source) peek(n int) int {
	if s.pos+n < len(s.buf) || s.need(n+1) {
		return int(s.buf[s.pos+n])
	}
	return -1
}

// tell returns the place of buf[at], where told <= at <= len(buf).
func (s *source) tell(at int) place {
	if at > s.told {
		s.here.advance(s.buf[s.told:at])
		s.told = at
	}
	return s.here
}

// keepText takes buf[start:end] into text, as far as text has room.
func (s *source) keepText(end int) {
	if room := maxRejectText - len(s.text); s.start < end && room > 0 {
		s.text = append(s.text, s.buf[s.start:min(end, s.start+room)]...)
	}
}

// beginText lets the kept text begin at pos.
func (s *source) beginText() {
	s.start, s.text = s.pos, s.text[:0]
}

// takeText returns the text from beginText to pos, its first 64 KiB.
func (s *source) takeText() string {
	s.keepText(s.pos)
	text := string(s.text)
	s.beginText()
	return text
}
