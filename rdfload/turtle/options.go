// Options of the parser.

package turtle

import (
	"fmt"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// Defaults of [Options].
const (
	DefaultMaxToken = 64 << 20
	DefaultMaxDepth = 1000
)

// Options are the options for parsing a document. The zero value parses Turtle strictly, with no
// base.
type Options struct {
	Source      string // the document's name in errors
	Base        string // absolute base IRI; "" for none
	BlankPrefix string // see package blank
	TriG        bool   // parse TriG instead of Turtle
	// RDFStar reads a document of the drafts of RDF-star. A quoted triple << s p o >> and an annotation
	// {| |} without a reifier get a blank node that is the same for equal triples of the document.
	RDFStar bool
	// Lines parses N-Triples, or with TriG N-Quads, that may have quoted triples; it is for RDFStar.
	// Statements may extend over lines, and anonymous nodes are labelled as in Turtle.
	Lines     bool
	KeepGoing bool // yield a *Reject for a malformed statement and continue
	MaxToken  int  // largest token in bytes; 0 means DefaultMaxToken
	MaxDepth  int  // greatest depth of [ ], ( ), << >> and {| |}; 0 means DefaultMaxDepth
	// Annotated, if not nil, is called with the annotations of a triple right before the triple is
	// yielded. It may keep them.
	Annotated func([]triple.ApplicationData)
	// Prefix, if not nil, is called for each declared prefix, without ':', with its absolute IRI.
	Prefix func(name, iri string)
}

// Validate returns an error if an option is invalid.
func (o Options) Validate() error {
	if o.Base != "" {
		if _, err := iri.NewBase(o.Base); err != nil {
			return err
		}
	}
	if err := blank.CheckPrefix(o.BlankPrefix); err != nil {
		return err
	}
	if o.MaxToken < 0 || o.MaxDepth < 0 {
		return fmt.Errorf("MaxToken %d and MaxDepth %d must not be negative", o.MaxToken, o.MaxDepth)
	}
	return nil
}

// Reject is the error for one malformed statement if parsing continues.
type Reject struct {
	*triple.SyntaxError
	// Text is the rejected statement as in the document, at most its first 64 KiB.
	Text string
}

// Unwrap returns the syntax error.
func (r *Reject) Unwrap() error { return r.SyntaxError }

// Parse reads a document from r and yields its triples in order. The caller may keep the terms. The
// sequence may be ranged over only once, and does not close r.
//
// An error ends the sequence and comes without a triple. It is a [*triple.SyntaxError] if the
// document is bad. It may also be the reader's own error, or that of [Options.Validate]. With
// KeepGoing a malformed statement is a [*Reject] instead, and the sequence continues.
func Parse(r io.Reader, opts Options) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		if err := opts.Validate(); err != nil {
			yield(triple.Triple{}, err)
			return
		}
		p := newParser(r, opts, yield)
		p.run()
		if p.joiner != nil {
			p.joiner.flush()
		}
	}
}
