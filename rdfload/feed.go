package rdfload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// unit is a piece of an input that goes into a run as a whole. Where an input is
// cut into units depends on the input and the options only, so that a resumed
// load finds the same ones.
type unit struct {
	source int
	number int64 // from 0, in the input
	prefix string

	block   *triple.Block // N-Triples, N-Quads
	triples []triple.Triple
	rejects []Reject
	bytes   int64 // of text, where it is known

	offset int64 // N-Triples, N-Quads: where the next unit begins
	line   int
}

// unitTriples is how many triples make a unit where the syntax has no blocks.
const unitTriples = 4096

// feeder reads one input and hands out its units.
type feeder struct {
	source  int
	input   Source
	from    manifestInput // what is read already
	prefix  string        // of the input's blank nodes
	options *Options
	block   int // bytes of a block
}

// feed sends the input's units that are not read yet.
func (f *feeder) feed(ctx context.Context, watch func(*input.Reader), send func(unit) error) (err error) {
	r, err := f.input.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	watch(r)
	s := f.input.Syntax
	if f.options.Syntax != 0 {
		s = f.options.Syntax
	}
	if s == 0 {
		if s, err = r.Syntax(f.input.Name); err != nil {
			return err
		}
	}
	if s == syntax.NTriples || s == syntax.NQuads {
		return f.feedBlocks(ctx, r, s == syntax.NQuads, send)
	}
	return f.feedTriples(ctx, r, s, send)
}

func (f *feeder) feedBlocks(ctx context.Context, r io.Reader, quads bool, send func(unit) error) error {
	if f.from.Offset > 0 {
		if n, err := io.CopyN(io.Discard, &contextReader{ctx, r}, f.from.Offset); err != nil {
			return fmt.Errorf("%w: %s ends after %d bytes: %w", ErrChanged, f.input.Name, n, err)
		}
	}
	blocks := triple.NewBlockReader(&contextReader{ctx, r}, triple.ScanOptions{Source: f.input.Name, Quads: quads,
		MaxLine: f.options.MaxLine, BlockBytes: f.block, Offset: f.from.Offset, Line: f.from.Line})
	for number := f.from.Units; ; number++ {
		b, err := blocks.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.input.Name, err)
		}
		u := unit{source: f.source, number: number, prefix: f.prefix, block: b, bytes: int64(len(b.Data))}
		u.offset, u.line = blocks.Position()
		if err := send(u); err != nil {
			return err
		}
	}
}

func (f *feeder) feedTriples(ctx context.Context, r io.Reader, s syntax.Syntax, send func(unit) error) error {
	all := syntax.Parse(ctx, r, s, syntax.Options{Source: f.input.Name, Base: f.options.Base,
		BlankPrefix: f.prefix, KeepGoing: f.options.KeepGoing, MaxLine: f.options.MaxLine})
	for u, err := range f.units(all) {
		if err != nil {
			return err
		}
		if u.number < f.from.Units {
			continue
		}
		if err := send(u); err != nil {
			return err
		}
	}
	return nil
}

// units gathers parsed triples into units.
func (f *feeder) units(all iter.Seq2[triple.Triple, error]) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		u := unit{source: f.source, prefix: f.prefix}
		for t, err := range all {
			var reject *Reject
			switch {
			case errors.As(err, &reject) && f.options.KeepGoing:
				u.rejects = append(u.rejects, *reject)
			case err != nil:
				yield(u, err)
				return
			default:
				u.triples = append(u.triples, t)
			}
			if len(u.triples)+len(u.rejects) == unitTriples {
				if !yield(u, nil) {
					return
				}
				u = unit{source: f.source, prefix: f.prefix, number: u.number + 1}
			}
		}
		if len(u.triples)+len(u.rejects) > 0 {
			yield(u, nil)
		}
	}
}

// contextReader fails once its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
