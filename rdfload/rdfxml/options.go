// Options of the parser.

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
	MaxDepth        = 1000 // of nested elements
	maxToken        = 64 << 20
)

// Options are the options for parsing a document. The zero value has no base.
type Options struct {
	Source      string // the document's name in errors
	Base        string // absolute base IRI; "" for none
	BlankPrefix string // see package blank
	MaxBytes    int64  // largest document; 0 means DefaultMaxBytes
	// Prefix, if not nil, is called for each declared prefix of a namespace.
	Prefix func(name, iri string)
	// Warn, if not nil, is called with a message if something of RDF 1.2 is ignored, because the
	// document does not announce RDF 1.2.
	Warn func(message string)
}

// Validate returns an error if an option is invalid.
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

// Parse reads a document from r and yields its triples in order, while it parses. The caller may
// keep the terms. The sequence may be ranged over only once, and does not close r.
//
// An error ends the sequence and comes without a triple. It is a [*triple.SyntaxError] if the
// document is bad. It may also be the reader's own error, or that of [Options.Validate]. The
// triples before the error have been yielded.
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
