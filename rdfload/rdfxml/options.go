package rdfxml

import (
	"fmt"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// Limits of a document.
const (
	DefaultMaxBytes = 16 << 30
	MaxDepth        = 1000 // of elements within each other
	maxToken        = 64 << 20
)

// Options say how a document is parsed. The zero value has no base.
type Options struct {
	Source      string // the document's name in errors
	Base        string // absolute base IRI; "" for none
	BlankPrefix string // see package blank
	MaxBytes    int64  // greatest document; 0 means DefaultMaxBytes
}

// Validate returns nil where the options can be used.
func (o Options) Validate() error {
	if o.Base != "" {
		if _, err := iri.NewBase(o.Base); err != nil {
			return err
		}
	}
	if o.MaxBytes < 0 {
		return fmt.Errorf("MaxBytes %d must not be negative", o.MaxBytes)
	}
	return blank.CheckPrefix(o.BlankPrefix)
}

// Parse reads a document from r and yields its triples in order, as they are
// parsed. The terms are the receiver's to keep. The sequence can be ranged over
// once, and does not close r.
//
// An error ends the sequence and comes with no triple: a [*triple.SyntaxError]
// for the document, the reader's own error, or that of [Options.Validate]. The
// triples before it have been seen.
func Parse(r io.Reader, opts Options) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		if err := opts.Validate(); err != nil {
			yield(triple.Triple{}, err)
			return
		}
		if opts.MaxBytes == 0 {
			opts.MaxBytes = DefaultMaxBytes
		}
		p := newParser(r, opts, yield)
		if err := p.document(); err != nil && !p.stopped {
			yield(triple.Triple{}, err)
		}
	}
}
