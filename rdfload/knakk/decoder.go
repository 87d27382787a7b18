// Decoders of knakk/rdf as sources of triples.

package knakk

import (
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/knakk/rdf"

	"github.com/trefoildb/trefoil/triple"
)

// Input is the input of a decoder. It keeps the error of its reader, because decoders of knakk/rdf
// take it for the end of the document. It must not be copied.
type Input struct {
	r   io.Reader
	mu  sync.Mutex // the decoder reads in its own goroutine
	err error
}

// NewInput returns the input that reads r. Give it to the decoder, and then to a function of this
// package.
func NewInput(r io.Reader) *Input { return &Input{r: r} }

// Read reads from the reader.
func (in *Input) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	if err != nil && err != io.EOF {
		in.mu.Lock()
		in.err = err
		in.mu.Unlock()
	}
	return n, err
}

// failed returns the error of the reader. in may be nil.
func (in *Input) failed() error {
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.err
}

// Triples yields the triples of a decoder. An error ends them; if there is none, they are complete.
// in is the decoder's input. It may be nil if reading cannot fail, such as from memory.
func Triples(d rdf.TripleDecoder, in *Input) iter.Seq2[triple.Triple, error] {
	return sequence(nextTriple(d, in))
}

// Quads is [Triples] for quads. It sets the DefaultGraph of d to nil, unless that was changed. So a
// graph that the document calls _:defaultGraph is a named graph.
func Quads(d *rdf.QuadDecoder, in *Input) iter.Seq2[triple.Triple, error] {
	return sequence(nextQuad(d, in))
}

// TripleReader returns the triples of a decoder as an N-Quads document for a load. A read fails if
// decoding fails, so that the load fails as a whole. in is as for [Triples].
func TripleReader(d rdf.TripleDecoder, in *Input) io.Reader {
	return &document{next: nextTriple(d, in)}
}

// QuadReader is [TripleReader] for quads. For DefaultGraph see [Quads].
func QuadReader(d *rdf.QuadDecoder, in *Input) io.Reader {
	return &document{next: nextQuad(d, in)}
}

// next returns the next triple, or io.EOF behind the last one.
type next func() (triple.Triple, error)

func nextTriple(d rdf.TripleDecoder, in *Input) next {
	return converted(in, d.Decode, Triple)
}

func nextQuad(d *rdf.QuadDecoder, in *Input) next {
	if blank, ok := d.DefaultGraph.(rdf.Blank); ok && blank.Serialize(rdf.NQuads) == "_:"+defaultGraph {
		d.DefaultGraph = nil
	}
	return converted(in, d.Decode, quad)
}

// converted returns a function that decodes and converts the next statement. Its errors have the
// number of the statement, because errors of knakk/rdf may have no line.
func converted[T any](in *Input, decode func() (T, error), convert func(T) (triple.Triple, error)) next {
	n := 0
	return func() (triple.Triple, error) {
		n++
		statement, err := recovered(decode)
		// The cause is the reader's error, if there is one.
		if failed := in.failed(); err != nil && failed != nil {
			return triple.Triple{}, fmt.Errorf("statement %d: read: %w", n, failed)
		}
		if err == io.EOF {
			return triple.Triple{}, err
		}
		var t triple.Triple
		if err == nil {
			t, err = convert(statement)
		}
		if err != nil {
			return triple.Triple{}, fmt.Errorf("statement %d: %w", n, err)
		}
		return t, nil
	}
}

// recovered calls decode and returns a panic as an error, because a malformed document may cause
// one.
func recovered[T any](decode func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("knakk/rdf cannot decode it: %v", p)
		}
	}()
	return decode()
}

func sequence(next next) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		for {
			t, err := next()
			if err == io.EOF || !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// document is the text of triples.
type document struct {
	next next
	line []byte // the rest of the current line
	buf  []byte // its memory
	err  error  // of all further reads
}

// Read reads N-Quads.
func (d *document) Read(p []byte) (n int, err error) {
	for n < len(p) && d.err == nil {
		if len(d.line) == 0 {
			var t triple.Triple
			if t, d.err = d.next(); d.err != nil {
				break
			}
			d.buf = triple.AppendNQuad(d.buf[:0], t)
			d.line = d.buf
		}
		copied := copy(p[n:], d.line)
		d.line = d.line[copied:]
		n += copied
	}
	if n > 0 {
		return n, nil
	}
	return 0, d.err
}
