package jsonld

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/piprate/json-gold/ld"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// DefaultMaxBytes is the greatest document where the options name none.
const DefaultMaxBytes = 64 << 20

// ErrRemoteContext says that a document refers to a context that is not at hand.
var ErrRemoteContext = errors.New("remote contexts are not fetched")

// Options say how a document is parsed. The zero value has no base and no
// contexts.
type Options struct {
	Source      string // the document's name in errors
	Base        string // absolute base IRI; "" for none
	BlankPrefix string // see package blank
	MaxBytes    int64  // greatest document; 0 means DefaultMaxBytes
	// Contexts are the documents that contexts may refer to, by absolute IRI.
	Contexts map[string][]byte
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
	for _, name := range slices.Sorted(maps.Keys(o.Contexts)) {
		if _, err := decode(o.Contexts[name]); err != nil {
			return fmt.Errorf("context %s: %w", name, err)
		}
	}
	return blank.CheckPrefix(o.BlankPrefix)
}

// Parse reads a document from r, whole, and yields its triples. The terms are the
// receiver's to keep. The sequence can be ranged over once, and does not close r.
//
// An error ends the sequence and comes with no triple: a [*triple.SyntaxError]
// for the document, at the place of an error in the JSON and at its start for all
// others, the reader's own error, or that of [Options.Validate]. A document with
// an error gives no triple at all.
func Parse(r io.Reader, opts Options) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		triples, err := parse(r, opts)
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		for _, t := range triples {
			if !yield(t, nil) {
				return
			}
		}
	}
}

func parse(r io.Reader, opts Options) ([]triple.Triple, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	limit := opts.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	var data bytes.Buffer
	n, err := data.ReadFrom(io.LimitReader(r, limit+1))
	switch {
	case err != nil && opts.Source == "":
		return nil, fmt.Errorf("read: %w", err)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", opts.Source, err)
	case n > limit:
		return nil, fail(opts.Source, fmt.Errorf("document too large: more than %d bytes; split it, or convert it to N-Quads", limit))
	}
	document, err := decode(data.Bytes())
	if err == nil {
		if err = checkContexts(document); err == nil {
			document, err = expand(document, opts)
		}
	}
	if err != nil {
		return nil, fail(opts.Source, err)
	}
	b := builder{blanks: blank.Nodes{Prefix: opts.BlankPrefix}}
	if err := b.nodes(document); err != nil {
		return nil, fail(opts.Source, err)
	}
	return b.triples, nil
}

// fail makes a syntax error of the document of an error.
func fail(source string, err error) error {
	var syntax *triple.SyntaxError
	if errors.As(err, &syntax) {
		syntax.Source = source
		return syntax
	}
	return &documentError{triple.SyntaxError{Source: source, Line: 1, Column: 1, Msg: err.Error()}, err}
}

// documentError is a syntax error that keeps its cause.
type documentError struct {
	syntax triple.SyntaxError
	cause  error
}

func (e *documentError) Error() string   { return e.syntax.Error() }
func (e *documentError) Unwrap() []error { return []error{&e.syntax, e.cause} }

// expand has the document expanded. Panics of the library are errors of the
// document.
func expand(document any, opts Options) (expanded any, err error) {
	defer func() {
		if what := recover(); what != nil {
			expanded, err = nil, fmt.Errorf("the document cannot be expanded: %v", what)
		}
	}()
	options := ld.NewJsonLdOptions(opts.Base)
	options.DocumentLoader = contexts(opts.Contexts)
	result, err := ld.NewJsonLdProcessor().Expand(document, options)
	if err != nil {
		return nil, explain(err)
	}
	return result, nil
}

// explain makes a sentence of an error of the library.
func explain(err error) error {
	if errors.Is(err, ErrRemoteContext) {
		return err
	}
	var known *ld.JsonLdError
	if errors.As(err, &known) {
		if cause, ok := known.Details.(error); ok {
			if errors.Is(cause, ErrRemoteContext) {
				return cause
			}
			return fmt.Errorf("%v: %w", known.Code, explain(cause))
		}
	}
	return err
}

// contexts is the loader of the documents that are at hand, and no others.
type contexts map[string][]byte

// LoadDocument implements [ld.DocumentLoader].
func (c contexts) LoadDocument(name string) (*ld.RemoteDocument, error) {
	data, ok := c[name]
	if !ok {
		return nil, fmt.Errorf("context <%s>: %w; put it into the document", name, ErrRemoteContext)
	}
	document, err := decode(data)
	if err != nil {
		return nil, err
	}
	return &ld.RemoteDocument{DocumentURL: name, Document: document}, nil
}
