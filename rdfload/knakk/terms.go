// Conversions of terms, triples and quads.

package knakk

import (
	"fmt"
	"io"
	"strings"

	"github.com/knakk/rdf"

	"github.com/trefoildb/trefoil/triple"
)

// defaultGraph is the label of the blank node that knakk/rdf writes for the default graph.
const defaultGraph = "defaultGraph"

// Term converts a term of knakk/rdf. The datatype of a literal decides, as it does when knakk/rdf
// writes it: a language tag counts only with rdf:langString, because the decoder of RDF/XML
// leaves the tag of the element on literals of other datatypes.
func Term(t rdf.Term) (triple.Term, error) {
	var out triple.Term
	switch t := t.(type) {
	case rdf.IRI:
		out = triple.NewIRI(t.String())
	case rdf.Blank:
		// String panics for the zero Blank.
		out = triple.NewBlank(strings.TrimPrefix(t.Serialize(rdf.NTriples), "_:"))
	case rdf.Literal:
		datatype := t.DataType.String()
		switch {
		case datatype == "":
			return out, fmt.Errorf("%w: the literal %.80q has no datatype", triple.ErrBadTerm, t.String())
		case datatype == triple.RDFLangString:
			out = triple.NewLang(t.String(), t.Lang())
		default:
			out = triple.NewTyped(t.String(), datatype)
		}
	default:
		return out, fmt.Errorf("%w: a %T is no IRI, Blank or Literal of knakk/rdf", triple.ErrBadTerm, t)
	}
	if err := out.Check(); err != nil {
		return triple.Term{}, err
	}
	return out, nil
}

// Triple converts a triple of knakk/rdf. Its graph is the default graph.
func Triple(t rdf.Triple) (out triple.Triple, err error) {
	for _, part := range []struct {
		name string
		from rdf.Term
		to   *triple.Term
	}{{"subject", t.Subj, &out.Subject}, {"predicate", t.Pred, &out.Predicate}, {"object", t.Obj, &out.Object}} {
		if *part.to, err = Term(part.from); err != nil {
			return triple.Triple{}, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return out, out.Check()
}

// Quad converts a quad of knakk/rdf. It is in the default graph if its context is nil or the blank
// node defaultGraph, by which a QuadDecoder marks the default graph.
func Quad(q rdf.Quad) (triple.Triple, error) {
	if blank, ok := q.Ctx.(rdf.Blank); ok && blank.Serialize(rdf.NQuads) == "_:"+defaultGraph {
		q.Ctx = nil
	}
	return quad(q)
}

// quad is Quad, but only the context nil is the default graph.
func quad(q rdf.Quad) (triple.Triple, error) {
	out, err := Triple(q.Triple)
	if err != nil || q.Ctx == nil {
		return out, err
	}
	if out.Graph, err = Term(q.Ctx); err != nil {
		return triple.Triple{}, fmt.Errorf("graph: %w", err)
	}
	return out, nil
}

// FromTerm converts a term to one of knakk/rdf: an rdf.IRI, rdf.Blank or rdf.Literal.
func FromTerm(t triple.Term) (rdf.Term, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	switch t.Kind() {
	case triple.IRI:
		return rdf.NewIRI(t.Value())
	case triple.Blank:
		return rdf.NewBlank(t.Value())
	case triple.TripleTerm:
		return nil, fmt.Errorf("%w: knakk/rdf is RDF 1.1 and has no triple terms: %.80s", triple.ErrBadTerm, t)
	}
	if t.Direction() != "" {
		return nil, fmt.Errorf("%w: knakk/rdf is RDF 1.1 and has no strings with a base direction: %.80q@%s", triple.ErrBadTerm, t.Value(), t.LangDir())
	}
	if t.Lang() != "" {
		return langLiteral(t)
	}
	datatype, err := rdf.NewIRI(t.Datatype())
	if err != nil {
		return nil, err
	}
	return rdf.NewTypedLiteral(t.Value(), datatype), nil
}

// langLiteral converts a literal with a language tag.
func langLiteral(t triple.Term) (rdf.Term, error) {
	if strings.Count(t.Lang(), "-") < 2 {
		return rdf.NewLangLiteral(t.Value(), t.Lang())
	}
	// NewLangLiteral rejects tags of three parts, such as zh-Hant-TW. The decoder takes them.
	line := triple.Triple{Subject: triple.NewIRI("a:s"), Predicate: triple.NewIRI("a:p"), Object: t}.String()
	decoded, err := rdf.NewTripleDecoder(strings.NewReader(line+"\n"), rdf.NTriples).Decode()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%w: knakk/rdf cannot hold %.80q@%s: %w", triple.ErrBadTerm, t.Value(), t.Lang(), err)
	}
	return decoded.Obj, nil
}

// FromTriple converts a triple to one of knakk/rdf. It must be in the default graph, because an
// rdf.Triple has no graph; see [FromQuad].
func FromTriple(t triple.Triple) (rdf.Triple, error) {
	if !t.Graph.IsZero() {
		return rdf.Triple{}, fmt.Errorf("%w: the triple is in the graph %s, and a triple of knakk/rdf has none; use FromQuad", triple.ErrBadTerm, t.Graph)
	}
	q, err := FromQuad(t)
	return q.Triple, err
}

// FromQuad converts a triple to a quad of knakk/rdf. The context of the default graph is the blank
// node defaultGraph, as a QuadDecoder marks it. So a named graph of this label is an error.
func FromQuad(t triple.Triple) (q rdf.Quad, err error) {
	// 1. Check the positions. So the conversions below return terms of the right types.
	if err := t.Check(); err != nil {
		return q, err
	}
	graph := t.Graph
	switch {
	case graph.IsZero():
		graph = triple.NewBlank(defaultGraph)
	case graph == triple.NewBlank(defaultGraph):
		return q, fmt.Errorf("%w: the graph %s means the default graph in knakk/rdf", triple.ErrBadTerm, graph)
	}
	// 2. Convert the terms.
	var terms [4]rdf.Term
	for i, from := range []triple.Term{t.Subject, t.Predicate, t.Object, graph} {
		if terms[i], err = FromTerm(from); err != nil {
			return q, err
		}
	}
	q.Subj, q.Pred = terms[0].(rdf.Subject), terms[1].(rdf.Predicate)
	q.Obj, q.Ctx = terms[2].(rdf.Object), terms[3].(rdf.Context)
	return q, nil
}
