// The writer of any syntax.

package syntax

import (
	"bufio"
	"fmt"
	"io"
	"maps"

	"github.com/trefoildb/trefoil/rdfload/jsonld"
	"github.com/trefoildb/trefoil/rdfload/rdfxml"
	"github.com/trefoildb/trefoil/rdfload/turtle"
	"github.com/trefoildb/trefoil/triple"
)

// ErrNamedGraph means that a triple is in a named graph, but the syntax has none.
var ErrNamedGraph = turtle.ErrNamedGraph

// Writer writes triples as one document. Close ends and flushes it, but does not close the
// underlying io.Writer.
type Writer interface {
	Write(triple.Triple) error
	Close() error
}

// ErrInexpressible means that RDF/XML cannot express a triple.
var ErrInexpressible = rdfxml.ErrInexpressible

// ErrTripleTerm means that JSON-LD has no triple terms.
var ErrTripleTerm = jsonld.ErrTripleTerm

// NewWriter returns a writer of any syntax to w. The prefixes, without ':', and their IRIs are for
// Turtle, TriG and RDF/XML. Terms must pass
// their Check. If a syntax has no named graphs, its writer rejects a triple of one with
// [ErrNamedGraph]. RDF/XML rejects a triple that it cannot express with [ErrInexpressible],
// and JSON-LD a triple term with [ErrTripleTerm].
func NewWriter(w io.Writer, s Syntax, prefixes map[string]string) (Writer, error) {
	switch s {
	case NTriples, NQuads:
		return &lineWriter{w: bufio.NewWriterSize(w, 64<<10), quads: s == NQuads, append: triple.AppendNQuad}, nil
	case NDJSON:
		return &lineWriter{w: bufio.NewWriterSize(w, 64<<10), quads: true, append: func(line []byte, t triple.Triple) []byte {
			return triple.AppendNDJSON(line, t, nil)
		}}, nil
	case Turtle, TriG:
		return turtle.NewWriter(w, turtle.WriterOptions{TriG: s == TriG, Prefixes: prefixes})
	case RDFXML:
		x, err := rdfxml.NewWriter(w, prefixes)
		return triplesOnly{x}, err
	case JSONLD:
		return jsonld.NewWriter(w), nil
	}
	return nil, fmt.Errorf("%v cannot be written", s)
}

// triplesOnly rejects triples of named graphs.
type triplesOnly struct{ Writer }

func (o triplesOnly) Write(t triple.Triple) error {
	if !t.Graph.IsZero() {
		return ErrNamedGraph
	}
	return o.Writer.Write(t)
}

// lineWriter writes N-Triples, N-Quads and NDJSON.
type lineWriter struct {
	w      *bufio.Writer
	quads  bool
	append func(line []byte, t triple.Triple) []byte
	line   []byte
}

func (l *lineWriter) Write(t triple.Triple) error {
	if !l.quads && !t.Graph.IsZero() {
		return ErrNamedGraph
	}
	l.line = l.append(l.line[:0], t)
	_, err := l.w.Write(l.line)
	return err
}

func (l *lineWriter) Close() error { return l.w.Flush() }

// AnnotatedWriter writes triples with their annotations as one document.
type AnnotatedWriter interface {
	WriteAnnotated(t triple.Triple, annotations []triple.ApplicationData) error
	Close() error
}

// NewTriGWriter returns a writer of TriG with annotations to w, see package turtle. Its prefix ann is
// that of the vocabulary of annotations.
func NewTriGWriter(w io.Writer, prefixes map[string]string) (AnnotatedWriter, error) {
	all := map[string]string{}
	maps.Copy(all, prefixes)
	all["ann"] = triple.AnnotationsGraph + "#"
	return turtle.NewWriter(w, turtle.WriterOptions{TriG: true, Annotations: true, Prefixes: all})
}
