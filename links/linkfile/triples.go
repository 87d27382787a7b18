// N-Triples and N-Quads.

package linkfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/triple"
)

// tripleParser reads the statements of a predicate. Consecutive statements of a block form one
// page if they have the same subject.
type tripleParser struct {
	blocks    *triple.BlockReader
	predicate []byte // the predicate as a token; nil: any
	iri       string // of the predicate
	counts    *Counts
	source    string

	block   *triple.Block
	st      triple.RawStatement
	waiting bool                // st is unused
	pending *triple.SyntaxError // found while a page was collected
	done    int64               // statements of the block, used or rejected
	skip    int64               // statements of the next block that are already done

	subject []byte // the page's source as a token
	page    []byte // its IRI
	text    []byte // the page's links are slices of it
	scratch []byte
}

func newTripleParser(r io.Reader, opts Options, counts *Counts) *tripleParser {
	p := &tripleParser{counts: counts, skip: opts.From.Skip, iri: opts.Predicate, source: opts.Source}
	if opts.Predicate != AnyPredicate {
		p.predicate = []byte("<" + opts.Predicate + ">")
	}
	p.blocks = triple.NewBlockReader(r, triple.ScanOptions{Source: opts.Source, Quads: opts.Format == NQuads,
		MaxLine: opts.MaxLine, BlockBytes: opts.blockBytes, Offset: opts.From.Offset, Line: opts.From.Line})
	return p
}

func (p *tripleParser) position() Position {
	if p.block != nil {
		return Position{Offset: p.block.Offset, Line: p.block.Line, Skip: p.done}
	}
	offset, line := p.blocks.Position()
	return Position{Offset: offset, Line: line, Skip: p.skip}
}

func (p *tripleParser) rejected() []byte { return p.block.Rejected() }

func (p *tripleParser) next(page *Page) error {
	p.text = reuse(p.text)
	for len(page.Links) < partLinks && len(p.text) < partBytes {
		// A page ends when an error is pending or the subject changes. The next block must wait
		// until the page has been returned.
		err := p.peek()
		if err != nil || len(page.Links) > 0 && !bytes.Equal(p.st.Tokens[triple.Subject], p.subject) {
			if len(page.Links) > 0 {
				return nil // a syntax error is pending, and another block not taken yet
			}
			if err == errBlockEnd {
				if err = p.nextBlock(); err == nil {
					continue
				}
			}
			return p.take(err)
		}
		if err := p.link(page); err != nil {
			p.pending = err
		}
	}
	return nil
}

var errBlockEnd = errors.New("the block's end")

// peek decodes the next statement into st. It returns errBlockEnd, or the pending error.
func (p *tripleParser) peek() error {
	switch {
	case p.pending != nil:
		return p.pending
	case p.waiting:
		return nil
	case p.block == nil:
		return errBlockEnd
	}
	more, err := p.block.Next(&p.st)
	if err != nil {
		p.pending = err
		return err
	}
	if !more {
		return errBlockEnd
	}
	p.waiting = true
	return nil
}

// take returns err to the caller. If an error is pending, it is done by this.
func (p *tripleParser) take(err error) error {
	if p.pending != nil {
		p.pending, p.waiting = nil, false
		p.done++
	}
	return err
}

// nextBlock goes to the next block and skips the statements already done.
func (p *tripleParser) nextBlock() error {
	b, err := p.blocks.Next()
	if err != nil {
		return err
	}
	p.block, p.done = b, 0
	for ; p.done < p.skip; p.done++ {
		more, err := b.Next(&p.st)
		if err == nil && more {
			err = p.decodeAll()
		}
		if err == nil && !more {
			return fmt.Errorf("%s:%d: %w: the block has %d statements and not the %d that were read before",
				shown(p.source), b.Line, ErrPosition, p.done, p.skip)
		}
	}
	p.skip = 0
	return nil
}

// decodeAll decodes the same terms as link, because a statement must be rejected here if it was
// rejected there.
func (p *tripleParser) decodeAll() *triple.SyntaxError {
	counts, done, text := *p.counts, p.done, p.text
	err := p.link(new(Page))
	*p.counts, p.done, p.text, p.waiting = counts, done, text, false
	return err
}

// link appends the link of st. If st is no link, it counts st as skipped.
func (p *tripleParser) link(page *Page) *triple.SyntaxError {
	// 1. Statements of another predicate are skipped, not rejected.
	is, err := p.isLink()
	if err != nil {
		return err
	}
	if !is {
		p.counts.Skipped++
		p.use()
		return nil
	}
	// 2. Decode the subject if it differs from the last one. p.subject stays empty if that fails,
	// so the next statement decodes it once more.
	if subject := p.st.Tokens[triple.Subject]; !bytes.Equal(subject, p.subject) {
		p.subject = p.subject[:0]
		var term triple.Term
		if term, p.scratch, err = p.block.Decode(&p.st, triple.Subject, p.scratch[:0]); err != nil {
			return err
		}
		p.page = append(p.page[:0], term.Value()...)
		p.subject = append(p.subject, subject...)
	}
	// 3. Append the target.
	var target triple.Term
	if target, p.scratch, err = p.block.Decode(&p.st, triple.Object, p.scratch[:0]); err != nil {
		return err
	}
	start := len(p.text)
	p.text = append(p.text, target.Value()...)
	page.Source = p.page
	page.Links = append(page.Links, Link{Target: slice(p.text, start)})
	p.use()
	return nil
}

func (p *tripleParser) use() {
	p.waiting = false
	p.done++
}

// isLink reports whether st has the predicate and connects two IRIs. The predicate may be written
// with escapes.
func (p *tripleParser) isLink() (bool, *triple.SyntaxError) {
	if p.st.Tokens[triple.Subject][0] != '<' || p.st.Tokens[triple.Object][0] != '<' {
		return false, nil
	}
	token := p.st.Tokens[triple.Predicate]
	if p.predicate != nil && bytes.IndexByte(token, '\\') < 0 {
		return bytes.Equal(token, p.predicate), nil
	}
	term, scratch, err := p.block.Decode(&p.st, triple.Predicate, p.scratch[:0])
	p.scratch = scratch
	return err == nil && (p.predicate == nil || term.Value() == p.iri), err
}
