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

// Reject is the error for one malformed statement where parsing goes on.
type Reject = turtle.Reject

// Options say how a document of any syntax is parsed. The zero value is strict,
// with no base and the default limits.
type Options struct {
	Source string // the document's name in errors
	Base   string // absolute base IRI; "" for none. N-Triples and N-Quads have no use for it
	// BlankPrefix keeps the blank nodes of documents apart, see package blank.
	// Without it N-Triples and N-Quads labels stay as they are.
	BlankPrefix string
	// KeepGoing yields a *Reject for a malformed statement and goes on. RDF/XML
	// and JSON-LD documents are accepted or rejected whole, by a *Reject without a
	// text.
	KeepGoing bool
	// TempDir is where an RDF/XML document's triples are held until it is known to
	// be right, with KeepGoing, beyond 16 MiB; "" means the system's directory.
	TempDir string
	// MaxLine is the greatest statement (N-Triples, N-Quads) or token (Turtle,
	// TriG) in bytes; 0 means 64 MiB.
	MaxLine int
	// MaxDocument is the greatest RDF/XML or JSON-LD document in bytes; 0 means
	// their packages' defaults.
	MaxDocument int64
	// Contexts are the JSON-LD contexts that a document may refer to, by IRI.
	// None is ever fetched.
	Contexts map[string][]byte
	// Annotated, if not nil, is called with the annotations of a triple right before it
	// is yielded, if it has any: see triple.AnnotationsHeader. It may keep them.
	Annotated func([]triple.ApplicationData)
}

// Parse reads a document from r and yields its triples in order. The terms are
// the receiver's to keep. The sequence can be ranged over once, and does not
// close r. It ends with ctx's error once ctx is done.
//
// An error ends the sequence and comes with no triple: a [*triple.SyntaxError]
// for the document, the reader's own error, or that of bad options. With
// KeepGoing a malformed statement is a [*Reject] instead and does not end it.
func Parse(ctx context.Context, r io.Reader, s Syntax, opts Options) iter.Seq2[triple.Triple, error] {
	r = &contextReader{ctx: ctx, r: r}
	switch s {
	case NTriples, NQuads:
		return parseLines(r, s == NQuads, opts)
	case Turtle, TriG:
		return turtle.Parse(r, turtle.Options{
			Source: opts.Source, Base: opts.Base, BlankPrefix: opts.BlankPrefix, TriG: s == TriG,
			KeepGoing: opts.KeepGoing, MaxToken: opts.MaxLine,
		})
	case RDFXML:
		seq := rdfxml.Parse(r, rdfxml.Options{
			Source: opts.Source, Base: opts.Base, BlankPrefix: opts.BlankPrefix, MaxBytes: opts.MaxDocument,
		})
		if opts.KeepGoing {
			seq = wholeOrReject(seq, opts.TempDir)
		}
		return seq
	case JSONLD:
		seq := jsonld.Parse(r, jsonld.Options{
			Source: opts.Source, Base: opts.Base, BlankPrefix: opts.BlankPrefix, MaxBytes: opts.MaxDocument, Contexts: opts.Contexts,
		})
		if opts.KeepGoing {
			seq = rejectDocument(seq)
		}
		return seq
	}
	return func(yield func(triple.Triple, error) bool) {
		yield(triple.Triple{}, fmt.Errorf("parse: %v is no RDF syntax", s))
	}
}

// rejectDocument makes the syntax error of a document a *Reject. The document has
// given no triple before it.
func rejectDocument(seq iter.Seq2[triple.Triple, error]) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		for t, err := range seq {
			var syntax *triple.SyntaxError
			if errors.As(err, &syntax) {
				err = &Reject{SyntaxError: syntax}
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
		for {
			for sc.Scan() {
				t := sc.Triple().Clone()
				if opts.BlankPrefix != "" {
					prefixBlanks(&t, opts.BlankPrefix)
				}
				if all := sc.Annotations(); all != nil && opts.Annotated != nil {
					opts.Annotated(all)
				}
				if !yield(t, nil) {
					return
				}
			}
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
func prefixBlanks(t *triple.Triple, prefix string) {
	nodes := blank.Nodes{Prefix: prefix}
	for _, term := range []*triple.Term{&t.Subject, &t.Object, &t.Graph} {
		if term.Kind() == triple.Blank {
			*term = nodes.Labelled([]byte(term.Value()))
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
