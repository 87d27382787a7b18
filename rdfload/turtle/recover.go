// The search for the end of a malformed statement.

package turtle

import (
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// enclosure is the kind of token around a byte of a document.
type enclosure uint8

const (
	outside enclosure = iota
	inIRI
	inSingle // '...'
	inDouble // "..."
	inLongSingle
	inLongDouble
	// brokenString is the state after a line break in a short string: outside, but usually still in
	// prose.
	brokenString

	long = inLongSingle - inSingle
)

// reject yields err as the error of the current statement, and moves pos after the statement. It
// returns false if parsing cannot continue.
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

// skipStatement moves pos after the statement that could not be parsed, by the rule in the package
// comment. It always moves, except at the '}' of the statement's block and at the end.
func (p *parser) skipStatement(inBlock bool) {
	s := skipper{parser: p, in: p.inside, inBlock: inBlock}
	p.inside, p.tooLong, p.closed = outside, false, false
	if s.in == brokenString {
		s.in, s.dotEndsLine = outside, true
	}
	for !s.done && p.peek(0) >= 0 {
		// Skip letters, digits, '_', '-' and bytes above ASCII, because they have no meaning here.
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
	dotEndsLine bool // only a '.' at the end of a line ends the statement
	braces      int  // open ones
	last        int  // last byte of the line that is not blank
	done        bool
}

// skipOutside consumes the byte at pos, or a whole comment.
func (s *skipper) skipOutside() {
	// 1. Enter an enclosure: three quotes start a long string.
	c := s.peek(0)
	switch {
	case c == '#':
		s.skipComment()
		return
	case c == '<' && s.peek(1) == '<', c == '{' && s.peek(1) == '|', c == '|' && s.peek(1) == '}':
		s.pos++ // a reified triple is no IRI, and an annotation block is no graph
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
	// 2. A '.' or '}' may end the statement, but only outside of nested braces.
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
	s.keepByte(c)
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

// skipEnclosed consumes a byte of an IRI or a string, or its end.
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
	s.keepByte(c)
}

// keepByte keeps the last byte of the line.
func (s *skipper) keepByte(c int) {
	if c == '\n' || c == '\r' {
		s.last = 0
	} else if c != ' ' && c != '\t' {
		s.last = c
	}
}
