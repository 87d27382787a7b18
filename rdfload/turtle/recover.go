package turtle

import (
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// enclosure says in what a byte of a document stands.
type enclosure uint8

const (
	outside enclosure = iota
	inIRI
	inSingle // '...'
	inDouble // "..."
	inLongSingle
	inLongDouble
	// brokenString is behind a line break in a short string: outside, and yet
	// in prose as a rule.
	brokenString

	long = inLongSingle - inSingle
)

// reject yields err, which has ended the statement at hand, and moves pos behind
// the statement where parsing can go on. It returns false where it cannot.
func (p *parser) reject(err error, inBlock bool) bool {
	p.drop()
	p.depth = 0
	if errors.Is(err, errStopped) {
		return false
	}
	var syntax *triple.SyntaxError
	if !p.opts.KeepGoing || !errors.As(err, &syntax) {
		p.yield(triple.Triple{}, err)
		return false
	}
	p.skipStatement(inBlock)
	return p.yield(triple.Triple{}, &Reject{SyntaxError: syntax, Text: p.takeText()})
}

// skipStatement moves pos behind the statement that could not be parsed, by the
// rule in the package's text. It always moves, except before the '}' of the
// block that the statement stands in and at the end.
func (p *parser) skipStatement(inBlock bool) {
	s := skipper{parser: p, in: p.inside, inBlock: inBlock}
	p.inside, p.tooLong, p.closed = outside, false, false
	if s.in == brokenString {
		s.in, s.dotEndsLine = outside, true
	}
	for !s.done && p.peek(0) >= 0 {
		// Letters, digits, '_', '-' and what is above ASCII mean nothing here.
		for p.pos < len(p.buf) && ascii[p.buf[p.pos]]&(cName|cHigh) != 0 {
			p.pos++
			s.last = 'x'
		}
		if p.pos == len(p.buf) {
			continue
		}
		if s.in == outside {
			s.skipOutside()
		} else {
			s.skipEnclosed()
		}
	}
}

// skipper is the state of one skipStatement.
type skipper struct {
	*parser
	in          enclosure
	inBlock     bool
	dotEndsLine bool // only a '.' at a line's end ends the statement
	braces      int  // open ones
	last        int  // the last byte of the line that is not blank
	done        bool
}

// skipOutside consumes the byte at pos, or the comment.
func (s *skipper) skipOutside() {
	c := s.peek(0)
	switch {
	case c == '#':
		s.skipComment()
		return
	case c == '<':
		s.in = inIRI
	case c == '"' || c == '\'':
		s.in = inDouble
		if c == '\'' {
			s.in = inSingle
		}
		if s.peek(1) == c && s.peek(2) == c {
			s.in += long
			s.pos += 2
		}
	case c == '.':
		s.done = s.braces == 0 && s.endsStatement()
	case s.opts.TriG && c == '{':
		s.braces++
		s.closed = s.inBlock
	case s.opts.TriG && c == '}':
		if s.braces == 0 && s.inBlock {
			s.done = true
			return
		}
		s.braces--
		s.done = s.braces <= 0
	}
	s.pos++
	s.note(c)
}

// endsStatement reports whether the '.' at pos ends a statement.
func (s *skipper) endsStatement() bool {
	n := 1
	if s.dotEndsLine {
		for c := s.peek(n); c == ' ' || c == '\t'; c = s.peek(n) {
			n++
		}
		c := s.peek(n)
		return c < 0 || c == '\n' || c == '\r'
	}
	c := s.peek(n)
	return c < 0 || c == '#' || c == '}' && s.inBlock || ascii[c]&cSpace != 0
}

// skipEnclosed consumes a byte of an IRI or a string, or what ends it.
func (s *skipper) skipEnclosed() {
	c := s.peek(0)
	switch {
	case c == '\\' && s.in != inIRI:
		if next := s.peek(1); next >= 0 && next != '\n' && next != '\r' {
			s.pos++
		}
	case c == '>' && s.in == inIRI,
		c == '\'' && s.in == inSingle,
		c == '"' && s.in == inDouble:
		s.in = outside
	case c == '\'' && s.in == inLongSingle, c == '"' && s.in == inLongDouble:
		if s.peek(1) == c && s.peek(2) == c {
			s.in = outside
			s.pos += 2
		}
	case (c == '\n' || c == '\r') && s.in < inLongSingle:
		s.in = outside
		s.done = s.last == '.' && s.braces == 0
	}
	s.pos++
	s.note(c)
}

// note keeps the last byte of the line.
func (s *skipper) note(c int) {
	if c == '\n' || c == '\r' {
		s.last = 0
	} else if c != ' ' && c != '\t' {
		s.last = c
	}
}
