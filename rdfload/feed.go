// The feeder: it reads one input and cuts it into units.

package rdfload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync/atomic"

	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// unit is a piece of an input, and goes into a run as a whole. The cuts must depend only on the
// input and the options, because a resumed load must find the same units.
type unit struct {
	source int
	number int64 // from 0, in the input
	last   bool  // the input ends with this unit
	prefix string

	block       *triple.Block // N-Triples, N-Quads
	triples     []triple.Triple
	annotations []unitAnnotations // of triples
	rejects     []Reject
	bytes       int64 // of text, decompressed

	offset int64 // N-Triples, N-Quads, link files: the beginning of the next unit
	line   int

	links    *linkUnit // of a link file
	skip     int64     // link files: the part of the entry at offset that is done
	labelled int64     // link files: links with weight or text
	skipped  int64     // link files: statements and the like that are no links
}

// unitAnnotations are the annotations of one triple of a unit.
type unitAnnotations struct {
	triple int // its index
	all    []triple.ApplicationData
}

// A unit of a syntax without blocks ends when it has unitTriples statements, or when its terms and
// annotations have unitBytes bytes together.
const (
	unitTriples = 4096
	unitBytes   = 1 << 20
)

// feeder reads one input and sends its units.
type feeder struct {
	source  int
	input   input.Source
	from    manifestInput // the part that was read by earlier sessions
	prefix  string        // of the input's blank nodes
	options *Options
	block   int // bytes of a block
}

// feed sends the units that no earlier session has read. It calls watch with the reader, because
// the reader counts the bytes of the stored input.
func (f *feeder) feed(ctx context.Context, watch func(byteCounter), send func(unit) error) (err error) {
	if f.options.Links != nil {
		return f.feedLinks(ctx, watch, send)
	}
	// 1. Open the input and find its syntax: only syntaxes of lines can be cut into blocks.
	r, err := f.input.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	watch(r)
	s, err := f.options.syntaxOf(f.input, r)
	if err != nil {
		return err
	}
	if s != syntax.NTriples && s != syntax.NQuads || f.options.RDFStar {
		return f.feedTriples(ctx, r, s, send)
	}
	// 2. Skip the part that was read before. A plain file can seek; if the input is compressed or
	// not a file, it must be read up to there.
	var rest io.Reader = r
	switch {
	case f.from.Offset > 0 && r.Compression() == input.Plain && f.input.Path != "":
		tail, err := openTail(f.input.Path, f.from.Offset)
		if err != nil {
			return err
		}
		defer tail.file.Close()
		watch(tail)
		rest = tail
	case f.from.Offset > 0:
		if err := discard(ctx, r, f.input.Name, f.from.Offset); err != nil {
			return err
		}
	}
	return f.feedBlocks(ctx, rest, s == syntax.NQuads, send)
}

func (f *feeder) feedBlocks(ctx context.Context, r io.Reader, quads bool, send func(unit) error) error {
	blocks := triple.NewBlockReader(&contextReader{ctx, r}, triple.ScanOptions{Source: f.input.Name, Quads: quads,
		MaxLine: f.options.MaxLine, BlockBytes: f.block, Stored: f.options.Stored, Offset: f.from.Offset, Line: f.from.Line, Annotated: f.from.Annotated})
	at := f.from.Offset
	for number := f.from.Units; ; number++ {
		b, err := blocks.Next()
		if err != nil && err != io.EOF {
			return err
		}
		u := unit{source: f.source, number: number, prefix: f.prefix, block: b, last: err == io.EOF}
		if b == nil || !b.Oversized() || f.options.KeepGoing { // otherwise the load ends here
			u.offset, u.line = blocks.Position()
			u.bytes, at = u.offset-at, u.offset
		}
		if err := send(u); err != nil || u.last {
			return err
		}
	}
}

func (f *feeder) feedTriples(ctx context.Context, r *input.Reader, s syntax.Syntax, send func(unit) error) error {
	// The parser reports annotations before their triple.
	options := f.options.parsing(f.input.Name, f.prefix)
	var annotations []triple.ApplicationData
	options.Annotated = func(all []triple.ApplicationData) { annotations = all }
	all := syntax.Parse(ctx, r, s, options)
	at := int64(0)
	for u, err := range f.units(all, &annotations) {
		if err != nil {
			return err
		}
		u.bytes, at = r.BytesOut()-at, r.BytesOut()
		if u.number < f.from.Units {
			continue
		}
		if err := send(u); err != nil {
			return err
		}
	}
	return nil
}

// units gathers parsed triples into units. annotations are those of the current triple. There is at
// least one unit, because the last one may be empty.
func (f *feeder) units(all iter.Seq2[triple.Triple, error], annotations *[]triple.ApplicationData) iter.Seq2[unit, error] {
	most := f.options.limits.unitTriples
	return func(yield func(unit, error) bool) {
		u := unit{source: f.source, prefix: f.prefix}
		size := 0
		// A reject counts like a statement if KeepGoing is set; any other error ends the sequence.
		for t, err := range all {
			var reject *Reject
			switch {
			case errors.As(err, &reject) && f.options.KeepGoing:
				u.rejects = append(u.rejects, *reject)
				size += len(reject.Text)
			case err != nil:
				yield(u, err)
				return
			default:
				u.triples = append(u.triples, t)
				size += sizeOf(&t)
				if *annotations != nil {
					u.annotations = append(u.annotations, unitAnnotations{len(u.triples) - 1, *annotations})
					for i := range *annotations {
						size += len((*annotations)[i].Data)
					}
					*annotations = nil
				}
			}
			if len(u.triples)+len(u.rejects) == most || size >= unitBytes {
				if !yield(u, nil) {
					return
				}
				u = unit{source: f.source, prefix: f.prefix, number: u.number + 1}
				size = 0
			}
		}
		// The last unit must be sent even if it is empty, because it marks the input as done.
		u.last = true
		yield(u, nil)
	}
}

// sizeOf returns the bytes of the terms of t.
func sizeOf(t *triple.Triple) int {
	n := 0
	for _, term := range [...]*triple.Term{&t.Subject, &t.Predicate, &t.Object, &t.Graph} {
		n += len(term.Value()) + len(term.LangDir()) + len(term.Datatype())
	}
	return n
}

// tail is a file read from an offset on. BytesIn may be called by any goroutine.
type tail struct {
	file *os.File
	at   atomic.Int64
}

func openTail(path string, offset int64) (*tail, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.Size() < offset {
		if err == nil {
			err = fmt.Errorf("%w: %s ends after %d bytes", ErrChanged, path, info.Size())
		}
		return nil, errors.Join(err, file.Close())
	}
	t := &tail{file: file}
	t.at.Store(offset)
	_, err = file.Seek(offset, io.SeekStart)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return t, nil
}

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.file.Read(p)
	t.at.Add(int64(n))
	return n, err
}

// BytesIn returns the position in the file: it includes the bytes before the offset.
func (t *tail) BytesIn() int64 { return t.at.Load() }

// contextReader returns the context's error when its context is done.
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
