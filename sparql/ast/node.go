// The interfaces of all nodes.

package ast

import "github.com/trefoildb/trefoil/triple"

// Node is one position of a triple pattern: a variable, a term or a triple term with variables.
// Exactly one of Var, Term and Triple must be set; the zero Node is nothing at all.
//
// A blank node in a pattern acts as a variable of its own, in a template it makes a new blank
// node for each solution. Labels are those of the text. If the text gives none, as in [ ] and (
// ), the label is one unused by the text.
type Node struct {
	Pos
	Var  string // the variable's name; "" if the node is a term
	Term triple.Term
	// Triple is a triple term that has a variable or a blank node inside, or is no term of RDF
	// because its subject is a literal or a triple term. All others are terms.
	Triple *TripleNode
}

// TripleNode is a triple term pattern: <<( subject predicate object )>>.
type TripleNode struct{ Subject, Predicate, Object Node }

// NewTripleNode returns the node of a triple term: a term if it has neither variables nor blank
// nodes and is one of RDF.
func NewTripleNode(pos Pos, s, p, o Node) Node {
	if isGround(s) && isGround(p) && isGround(o) && s.Term.Kind() == triple.IRI {
		return Node{Pos: pos, Term: triple.NewTripleTerm(s.Term, p.Term, o.Term)}
	}
	return Node{Pos: pos, Triple: &TripleNode{s, p, o}}
}

// isGround reports whether n is a term without blank nodes.
func isGround(n Node) bool { return !n.Term.IsZero() && !n.Term.HasBlanks() }

// IsVar reports whether n is a variable.
func (n Node) IsVar() bool { return n.Var != "" }

// IsZero reports whether n is nothing at all.
func (n Node) IsZero() bool { return n.Var == "" && n.Term.IsZero() && n.Triple == nil }

// EachVar calls visit with the name of each variable of n, also inside of triple terms, in the order
// of the text.
func (n Node) EachVar(visit func(name string)) {
	switch {
	case n.Triple != nil:
		n.Triple.Subject.EachVar(visit)
		n.Triple.Predicate.EachVar(visit)
		n.Triple.Object.EachVar(visit)
	case n.IsVar():
		visit(n.Var)
	}
}

// TriplePattern is a triple pattern, or a property path pattern: Path is set in
// place of Predicate if the predicate is more than an IRI or a variable.
type TriplePattern struct {
	Subject   Node
	Predicate Node // zero if Path is set
	Path      Path // nil if Predicate is set
	Object    Node
}

// Position returns the place of the subject.
func (t TriplePattern) Position() Pos { return t.Subject.Pos }

// QuadPattern is a triple of an update's template. Its Path is nil.
type QuadPattern struct {
	Graph Node // zero for the default graph, or the one of WITH
	TriplePattern
}
