// Documents of the drafts of RDF-star, whose quoted triples become reifiers.

package turtle

import (
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

var errAnnotatedLines = errors.New("the document has annotations of trefoil, so it is no RDF-star: read it without --rdf-star")

// newReifier returns the reifier of a triple term that has none, and adds the reifying triple. In
// RDF-star equal quoted triples are one node.
func (p *parser) newReifier(term triple.Term) (reifier triple.Term, err error) {
	if p.opts.RDFStar {
		reifier = p.blanks.Quoted(term)
	} else {
		reifier = p.blanks.Anonymous()
	}
	return reifier, p.add(reifier, termReifies, term)
}

// isRepeated reports whether t is the last reifying triple again. Lines about a quoted triple often
// follow each other, so this spares most repetitions of RDF-star.
func (p *parser) isRepeated(t *triple.Triple) bool {
	if !p.opts.RDFStar || t.Predicate != termReifies {
		return false
	}
	if *t == p.reified {
		return true
	}
	p.reified = *t
	return false
}

// lineStatement parses a statement of N-Triples or N-Quads that begins with the byte c, or VERSION.
func (p *parser) lineStatement(c int) error {
	if c == 'V' {
		return p.statement(c)
	}
	subject, err := p.lineTerm(expectLineSubject)
	if err != nil {
		return err
	}
	if p.next() != '<' {
		return p.expected("a predicate (an IRI)")
	}
	verb, err := p.verb()
	if err != nil {
		return err
	}
	object, err := p.lineTerm(expectLineObject)
	if err != nil {
		return err
	}
	// The graph comes last, but the reifying triples of quoted ones are in it, too.
	if c := p.next(); p.opts.TriG && (c == '<' || c == '_') {
		graph, err := p.graphName(c)
		if err != nil {
			return err
		}
		for i := range p.held {
			p.held[i].Graph = graph
		}
		p.graph = graph
	}
	defer func() { p.graph = triple.Term{} }()
	if err := p.add(subject, verb, object); err != nil {
		return err
	}
	return p.dot("'.'")
}

const (
	expectLineSubject = "a subject (an IRI, a blank node or << triple >>)"
	expectLineObject  = "an object (an IRI, a blank node, a literal, << triple >> or <<( triple )>>)"
)

// lineTerm parses a subject or an object of N-Triples.
func (p *parser) lineTerm(expected string) (triple.Term, error) {
	c := p.next()
	switch {
	case c == '<' || c == '_':
	case c == '"' && expected == expectLineObject:
	default:
		return triple.Term{}, p.expected(expected)
	}
	if expected == expectLineObject {
		return p.object()
	}
	term, _, err := p.subject(c)
	return term, err
}
