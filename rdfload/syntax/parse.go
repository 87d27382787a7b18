// The parser of any syntax, and rejected statements.

package syntax

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/rdfload/jsonld"
	"github.com/trefoildb/trefoil/rdfload/rdfxml"
	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/rdfload/turtle"
	"github.com/trefoildb/trefoil/triple"
)

// maxRejectText bounds the text of a rejected N-Triples or N-Quads statement.
const maxRejectText = 64 << 10

// Reject is the error for one malformed statement if parsing continues.
type Reject = turtle.Reject

// Options are the options for parsing a document of any syntax. The zero value is strict, with no
// base and the default limits.
type Options struct {
	Source string // the document's name in errors
	Base   string // absolute base IRI; "" for none. N-Triples and N-Quads ignore it
	// BlankPrefix keeps the blank nodes of documents distinct, see package blank. If it is "",
	// N-Triples and N-Quads labels stay as they are.
	BlankPrefix string
	// KeepGoing yields a *Reject for a malformed statement and continues. RDF/XML and JSON-LD
	// documents are accepted or rejected as a whole, by a *Reject without a text.
	KeepGoing bool
	// TempDir is the directory for the triples of an RDF/XML document with KeepGoing, beyond 16
	// MiB. They are held there until the document has ended without an error. "" means the system's
	// directory.
	TempDir string
	// MaxLine is the largest statement (N-Triples, N-Quads, NDJSON) or token (Turtle, TriG) in
	// bytes; 0 means 64 MiB.
	MaxLine int
	// MaxDocument is the largest RDF/XML or JSON-LD document in bytes; 0 means the defaults of
	// their packages.
	MaxDocument int64
	// Contexts returns the JSON-LD contexts that documents name by URL; if it is nil, there are none.
	Contexts Contexts
	// RDFStar reads quoted triples << s p o >> of the drafts of RDF-star in N-Triples, N-Quads, Turtle and
	// TriG as blank nodes that reify them. It is the same blank node for equal triples of the document.
	RDFStar bool
	// Annotated, if not nil, is called with the annotations of a triple right before the triple is
	// yielded, if it has any and the syntax holds them. It may keep them.
	Annotated func([]triple.ApplicationData)
	// Warn, if not nil, is called with a message if a valid document probably is not what was meant.
	Warn func(message string)
	// Prefix, if not nil, is called for each prefix, without ':', that the document declares, with its
	// IRI: by @prefix, xmlns or a JSON-LD context. It may be called when the document has an error later.
	Prefix func(name, iri string)
}

// Contexts returns the JSON-LD context with an absolute URL, see [jsonld.Loader]. It must be safe for
// concurrent use if documents are parsed concurrently.
type Contexts func(ctx context.Context, url string) (*jsonld.Context, error)

// loader returns the loader of one document; nil if there are no contexts.
func (c Contexts) loader(ctx context.Context) jsonld.Loader {
	if c == nil {
		return nil
	}
	return func(url string) (*jsonld.Context, error) { return c(ctx, url) }
}

// Parse reads a document from r and yields its triples in order. The caller may keep the terms. The
// sequence may be ranged over only once, and does not close r. When ctx is done, the sequence ends
// with its error.
//
// An error ends the sequence and comes without a triple. It is a [*triple.SyntaxError] if the
// document is bad. It may also be the reader's own error, or an error of bad options. With
// KeepGoing a malformed statement is a [*Reject] instead, and the sequence continues.
func Parse(ctx context.Context, r io.Reader, s Syntax, opts Options) iter.Seq2[triple.Triple, error] {
	r = &contextReader{ctx: ctx, r: r}
	// Lines and Turtle are parsed statement by statement, so their parsers can keep going by
	// themselves. RDF/XML yields triples before a later error, so they must be held back with
	// KeepGoing. JSON-LD yields none before an error.
	switch s {
	case NTriples, NQuads, Turtle, TriG:
		lines := s == NTriples || s == NQuads
		if lines && !opts.RDFStar {
			return parseLines(r, s == NQuads, opts)
		}
		return turtle.Parse(r, turtle.Options{
			Source: opts.Source, Base: opts.Base, BlankPrefix: opts.BlankPrefix, TriG: s.HasGraphs(), RDFStar: opts.RDFStar, Lines: lines,
			KeepGoing: opts.KeepGoing, MaxToken: opts.MaxLine, Annotated: opts.Annotated, Prefix: opts.Prefix,
		})
	case NDJSON:
		return parseNDJSON(r, opts)
	case RDFXML:
		seq := rdfxml.Parse(r, rdfxml.Options{
			Source: opts.Source, Base: opts.Base, BlankPrefix: opts.BlankPrefix, MaxBytes: opts.MaxDocument, Warn: opts.Warn, Prefix: opts.Prefix,
		})
		if opts.KeepGoing {
			seq = wholeOrReject(seq, opts.TempDir)
		}
		return seq
	case JSONLD:
		seq := jsonld.Parse(r, jsonld.Options{
			Source: opts.Source, Base: opts.Base, BlankPrefix: opts.BlankPrefix, MaxBytes: opts.MaxDocument, Contexts: opts.Contexts.loader(ctx), Warn: opts.Warn, Prefix: opts.Prefix,
		})
		seq = endWith(ctx, seq)
		if opts.KeepGoing {
			seq = wholeOrReject(seq, opts.TempDir)
		}
		return seq
	}
	return func(yield func(triple.Triple, error) bool) {
		yield(triple.Triple{}, fmt.Errorf("parse: %v is no RDF syntax", s))
	}
}

// endWith replaces an error of seq by that of ctx if the end of ctx caused it while a context was
// fetched. The document is not to blame then.
func endWith(ctx context.Context, seq iter.Seq2[triple.Triple, error]) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		for t, err := range seq {
			if cause := ctx.Err(); cause != nil && errors.Is(err, cause) {
				err = cause
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// parseLines is Parse for N-Triples and N-Quads.
func parseLines(r io.Reader, quads bool, opts Options) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		if err := blank.CheckPrefix(opts.BlankPrefix); err != nil {
			yield(triple.Triple{}, err)
			return
		}
		sc := triple.NewScanner(r, triple.ScanOptions{Source: opts.Source, Quads: quads, MaxLine: opts.MaxLine})
		// 1. Yield statements up to the next error. Each must be cloned, because the scanner reuses
		// its buffer.
		for {
			for sc.Scan() {
				t := sc.Triple().Clone()
				if opts.BlankPrefix != "" {
					if err := prefixBlanks(&t, opts.BlankPrefix); err != nil {
						yield(triple.Triple{}, err)
						return
					}
				}
				if all := sc.Annotations(); all != nil && opts.Annotated != nil {
					opts.Annotated(all)
				}
				if !yield(t, nil) {
					return
				}
			}
			// 2. Yield the rejected statement, and continue after it if the scanner can recover.
			err := sc.Err()
			if err == nil {
				return
			}
			var syntax *triple.SyntaxError
			if !opts.KeepGoing || !errors.As(err, &syntax) {
				yield(triple.Triple{}, err)
				return
			}
			text, ok := sc.Recover()
			if !yield(triple.Triple{}, &Reject{SyntaxError: syntax, Text: string(text[:min(len(text), maxRejectText)])}) || !ok {
				return
			}
		}
	}
}

// prefixBlanks renames the blank nodes of t.
func prefixBlanks(t *triple.Triple, prefix string) (err error) {
	nodes := blank.Nodes{Prefix: prefix}
	for _, term := range []*triple.Term{&t.Subject, &t.Object, &t.Graph} {
		if *term, err = nodes.ReplaceLabels(*term); err != nil {
			return err
		}
	}
	return nil
}

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
