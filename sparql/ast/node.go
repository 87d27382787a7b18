// The interfaces of all nodes.

package ast

import "github.com/trefoildb/trefoil/triple"

// Node is one position of a triple pattern: a variable or a term. Exactly one of Var and Term
// must be set; the zero Node is nothing at all.
//
// A blank node in a pattern acts as a variable of its own, in a template it makes a new blank
// node for each solution. Labels are those of the text. If the text gives none, as in [ ] and (
// ), the label is one unused by the text.
type Node struct {
	Pos
	Var  string // the variable's name; "" if the node is a term
	Term triple.Term
}

// IsVar reports whether n is a variable.
func (n Node) IsVar() bool { return n.Var != "" }

// IsZero reports whether n is neither a variable nor a term.
func (n Node) IsZero() bool { return n.Var == "" && n.Term.IsZero() }

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
