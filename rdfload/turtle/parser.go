// The parser: its main loop, its errors, and how it yields triples.

package turtle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// Limits of a statement's held triples. If one is reached, they are yielded.
const (
	maxHeldTriples = 1 << 16
	maxHeldBytes   = 8 << 20
)

// maxAnnotationBytes bounds the terms of a statement in the graph of annotations, which are yielded
// together: four terms of the triple, and an annotation in base64.
const maxAnnotationBytes = 4*triple.MaxTermBytes + maxHeldBytes

// maxPrefixBytes bounds the names and IRIs of a document's prefixes.
const maxPrefixBytes = 64 << 20

// Verbs and datatypes are interned because they repeat: at most maxKnownIRIs of at most
// maxKnownIRIBytes each.
const (
	maxKnownIRIs     = 4096
	maxKnownIRIBytes = 256
)

// errStopped ends parsing because the receiver has stopped.
var errStopped = errors.New("stopped by the receiver")

// parser is a recursive descent over the grammar's productions. Tokens are scanned in place from
// source. A scanner must move pos past its token only if the token is right.
type parser struct {
	source
	opts  Options
	yield func(triple.Triple, error) bool

	base        iri.Base
	baseLost    bool // an @base was rejected: relative IRIs are errors
	prefixes    map[string]string
	prefixBytes int
	blanks      blank.Nodes
	known       map[string]string

	graph     triple.Term // of the current block
	held      []triple.Triple
	heldBytes int
	depth     int
	scratch   []byte

	// inside is the enclosure of pos after an error.
	inside enclosure
	// closed is true if a recovery in a graph block has found the block's end.
	closed bool

	reified triple.Triple // the last reifying triple of RDFStar

	joiner *joiner // nil if the document has no annotations
	begin  place   // of the current statement in the graph of annotations
}

func newParser(r io.Reader, opts Options, yield func(triple.Triple, error) bool) *parser {
	if opts.MaxToken == 0 {
		opts.MaxToken = DefaultMaxToken
	}
	if opts.MaxDepth == 0 {
		opts.MaxDepth = DefaultMaxDepth
	}
	p := &parser{
		source:   source{r: r, limit: max(opts.MaxToken, 16), here: place{line: 1}, keep: opts.KeepGoing},
		opts:     opts,
		yield:    yield,
		prefixes: make(map[string]string),
		blanks:   blank.Nodes{Prefix: opts.BlankPrefix},
		known:    make(map[string]string),
	}
	if opts.Base != "" {
		p.base, _ = iri.NewBase(opts.Base) // cannot fail, because Validate has checked it
	}
	return p
}

// run parses the document.
func (p *parser) run() {
	if p.need(3) && bytes.HasPrefix(p.buf[p.pos:], []byte("\xEF\xBB\xBF")) {
		p.pos += 3
	}
	// The header of annotations is the first line.
	if p.opts.TriG || p.opts.Lines {
		p.need(triple.HeaderWindow)
		switch {
		case !triple.BeginsAnnotated(p.buf[p.pos:]):
		case p.opts.Lines:
			p.yield(triple.Triple{}, errAnnotatedLines)
			return
		default:
			p.joiner = &joiner{annotated: p.opts.Annotated, yield: p.yield}
			p.yield = p.joiner.add
		}
	}
	for {
		c := p.next()
		p.beginText()
		if c < 0 {
			if p.err != nil {
				p.yield(triple.Triple{}, p.readError())
			}
			return
		}
		var err error
		if p.opts.Lines {
			err = p.lineStatement(c)
		} else {
			err = p.statement(c)
		}
		if err == nil {
			err = p.release()
		}
		if err != nil && !p.reject(err, false) {
			return
		}
	}
}

// next skips white space and comments. It returns the next byte without consuming it, or -1 at the
// end.
func (p *parser) next() int {
	for {
		for p.pos < len(p.buf) {
			c := p.buf[p.pos]
			switch {
			case c == '#':
				p.skipComment()
			case ascii[c]&cSpace != 0:
				p.pos++
			default:
				return int(c)
			}
		}
		if !p.fill() {
			return -1
		}
	}
}

// skipComment moves pos to the end of the comment's line.
func (p *parser) skipComment() {
	for {
		if i := bytes.IndexAny(p.buf[p.pos:], "\r\n"); i >= 0 {
			p.pos += i
			return
		}
		p.pos = len(p.buf)
		// pos must not be within a code point, because columns count code points.
		for back := 1; back < utf8.UTFMax && back <= len(p.buf); back++ {
			if utf8.RuneStart(p.buf[len(p.buf)-back]) {
				if !utf8.FullRune(p.buf[len(p.buf)-back:]) {
					p.pos -= back
				}
				break
			}
		}
		if !p.fill() {
			p.pos = len(p.buf)
			return
		}
	}
}

// add holds a triple of the current statement. If too many are held, it yields them.
func (p *parser) add(s, pred, o triple.Term) error {
	p.held = append(p.held, triple.Triple{Subject: s, Predicate: pred, Object: o, Graph: p.graph})
	p.heldBytes += len(o.Value())
	most, annotation := maxHeldBytes, p.inAnnotations()
	if annotation {
		most = maxAnnotationBytes
	}
	switch full := len(p.held) >= maxHeldTriples || p.heldBytes >= most; {
	case full && annotation:
		return p.fail(0, "the annotation has more than %d bytes or %d properties", maxAnnotationBytes, maxHeldTriples)
	case full:
		return p.release()
	}
	return nil
}

// release yields the held triples.
func (p *parser) release() error {
	if p.inAnnotations() {
		return p.releaseAnnotation()
	}
	for i := range p.held {
		if p.isRepeated(&p.held[i]) {
			continue
		}
		if !p.yield(p.held[i], nil) {
			return errStopped
		}
	}
	p.drop()
	return nil
}

// drop drops the held triples.
func (p *parser) drop() {
	p.held, p.heldBytes = p.held[:0], 0
	if cap(p.held) > maxHeldTriples/16 {
		p.held = nil
	}
}

// fail returns a syntax error at off bytes after pos, and moves pos there. If reading has failed,
// it returns the reader's error instead.
func (p *parser) fail(off int, format string, args ...any) error {
	p.pos = min(p.pos+off, len(p.buf))
	if p.err != nil {
		return p.readError()
	}
	at := p.placeOf(p.pos)
	msg := fmt.Sprintf(format, args...)
	if p.tooLong {
		p.tooLong = false
		msg = fmt.Sprintf("token of more than %d bytes", p.limit)
	}
	return &triple.SyntaxError{Source: p.opts.Source, Line: at.line, Column: at.column + 1, Offset: at.offset, Msg: msg}
}

// failIn is fail for an error within a string or an IRI. The rest of the enclosure is skipped
// before the search for the statement's end.
func (p *parser) failIn(in enclosure, off int, format string, args ...any) error {
	err := p.fail(off, format, args...)
	p.inside = in
	return err
}

// failAcross is fail for the token at pos; pos moves size bytes after its start, because the token
// is scanned so far.
func (p *parser) failAcross(in enclosure, size int, format string, args ...any) error {
	end := p.pos + size
	err := p.failIn(in, 0, format, args...)
	p.pos = end
	return err
}

// expected returns a syntax error: what was expected, and the actual text at pos.
func (p *parser) expected(what string) error {
	c := p.next()
	switch {
	case c < 0:
		return p.fail(0, "the document ends here; expected %s", what)
	case c < utf8.RuneSelf:
		return p.fail(0, "expected %s, found %q", what, rune(c))
	}
	p.need(utf8.UTFMax)
	r, size := utf8.DecodeRune(p.buf[p.pos:])
	if r == utf8.RuneError && size <= 1 {
		return p.fail(0, "invalid UTF-8 (byte 0x%02X)", c)
	}
	return p.fail(0, "expected %s, found %q", what, r)
}

func (p *parser) readError() error {
	if p.opts.Source == "" {
		return fmt.Errorf("read: %w", p.err)
	}
	return fmt.Errorf("read %s: %w", p.opts.Source, p.err)
}
