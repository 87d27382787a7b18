// Triples.

package triple

import "fmt"

// Triple is an RDF triple with an optional graph name: a quad of an RDF dataset. The zero Graph is
// the default graph.
type Triple struct {
	Subject, Predicate, Object Term
	Graph                      Term
}

// Check returns nil if t is a triple of RDF 1.2. The subject must be an IRI or a blank node, the
// predicate an IRI, the object any term, and the graph absent, an IRI or a blank node. Every term
// must be well-formed (see [Term.Check]).
func (t Triple) Check() error {
	switch {
	case t.Subject.kind != IRI && t.Subject.kind != Blank:
		return fmt.Errorf("%w: the subject is a %s, not an IRI or a blank node", ErrBadTerm, t.Subject.kind)
	case t.Predicate.kind != IRI:
		return fmt.Errorf("%w: the predicate is a %s, not an IRI", ErrBadTerm, t.Predicate.kind)
	case t.Graph.kind == Literal || t.Graph.kind == TripleTerm:
		return fmt.Errorf("%w: the graph name is a %s, not an IRI or a blank node", ErrBadTerm, t.Graph.kind)
	}
	if err := t.Subject.Check(); err != nil {
		return fmt.Errorf("subject: %w", err)
	}
	if err := t.Predicate.Check(); err != nil {
		return fmt.Errorf("predicate: %w", err)
	}
	if err := t.Object.Check(); err != nil {
		return fmt.Errorf("object: %w", err)
	}
	if !t.Graph.IsZero() {
		if err := t.Graph.Check(); err != nil {
			return fmt.Errorf("graph: %w", err)
		}
	}
	return nil
}

// Clone returns t with its own strings (see [Term.Clone]).
func (t Triple) Clone() Triple {
	return Triple{t.Subject.Clone(), t.Predicate.Clone(), t.Object.Clone(), t.Graph.Clone()}
}

// String returns the triple as one canonical N-Quads statement without the line end.
func (t Triple) String() string {
	line := AppendNQuad(nil, t)
	return string(line[:len(line)-1])
}
