// The parser and its options.

package jsonld

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// DefaultMaxBytes is the largest document in bytes if the options have no limit.
const DefaultMaxBytes = 64 << 20

// Options are the options for parsing a document. The zero value has no base and no contexts.
type Options struct {
	Source      string // the document's name in errors
	Base        string // absolute base IRI; "" for none
	BlankPrefix string // see package blank
	MaxBytes    int64  // largest document; 0 means DefaultMaxBytes
	// Contexts returns the context with a URL; if it is nil, there are none. Its error should wrap
	// [ErrRemoteContext] and say how the context can be given.
	Contexts Loader
	// Warn, if not nil, is called with a message if a valid document probably is not what was meant.
	Warn func(message string)
	// Prefix, if not nil, is called for each prefix in the contexts of the document's outermost objects.
	Prefix func(name, iri string)
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

// Parse reads a whole document from r and yields its triples. The caller may keep the terms. The
// sequence may be ranged over only once, and does not close r.
//
// An error ends the sequence and comes without a triple. It is a [*triple.SyntaxError] if the
// document is bad: at its place if the JSON is malformed, else at the document's start. It may also
// be the reader's own error, or that of [Options.Validate]. If a document has an error, it yields
// no triple at all.
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
	// 1. Read the whole document. One byte beyond the limit shows that it is too large.
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
	// 2. Decode and expand it.
	document, err := decode(data.Bytes())
	if err == nil && !isContainer(document) {
		err = errors.New("a JSON-LD document is an object or an array")
	}
	if err == nil && isRDFJSON(document) {
		err = errors.New("this is RDF/JSON, which is not read; convert it to JSON-LD or N-Triples")
	}
	if name := undefinedName(document); err == nil && name != "" && opts.Warn != nil {
		opts.Warn(fmt.Sprintf("%s: JSON-LD without @context: %q is no IRI, so its values are left out", opts.Source, clip(name)))
	}
	var expanded []any
	if err == nil {
		var p *processor
		if p, err = newProcessor(opts); err == nil {
			expanded, err = p.expandDocument(document)
		}
	}
	if err != nil {
		return nil, fail(opts.Source, err)
	}
	if opts.Prefix != nil {
		prefixesOf(document, opts.Prefix)
	}
	// 3. Make the triples. None is returned if one is bad.
	b := builder{blanks: blank.Nodes{Prefix: opts.BlankPrefix}, source: opts.Source, warn: opts.Warn}
	if err := b.nodes(expanded); err != nil {
		return nil, fail(opts.Source, err)
	}
	return b.triples, nil
}

// fail returns err as a syntax error of the document. If err has no place, the place is the
// document's start.
func fail(source string, err error) error {
	// Only an error of the document itself has its place in it. Others may be those of a context.
	if syntax, ok := err.(*triple.SyntaxError); ok {
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

// isContainer reports whether a JSON value is an object or an array.
func isContainer(value any) bool {
	switch value.(type) {
	case object, []any:
		return true
	}
	return false
}
