// Nodes of graph patterns.

package ast

import "github.com/trefoildb/trefoil/triple"

// Pattern is an element of a group graph pattern (sections 5 to 10): one of
// *[Triples], *[Group], *[Union], *[Optional], *[Lateral], *[Minus], *[Graph], *[Service],
// *[Filter], *[Bind], *[Values], *[SubSelect], *[LinkCall] and *[TextCall].
type Pattern interface {
	Position() Pos
	pattern()
}

// Group is { ... }: elements in the order written. As an
// element of another group it is a group nested without a keyword. A subquery in
// braces is a Group with one element, a *SubSelect.
type Group struct {
	Pos      // of the brace
	Elements []Pattern
}

// Triples are adjacent triple patterns, at least one. Two *Triples must not be neighbours in a
// group. If only a *Filter stands between them, they are still one basic graph pattern (section
// 5.1.1); package algebra merges them.
type Triples struct {
	Pos
	Patterns []TriplePattern
}

// Union is two groups or more between UNION.
type Union struct {
	Pos
	Groups []*Group
}

// Optional is OPTIONAL { ... }.
type Optional struct {
	Pos
	Group *Group
}

// Lateral is LATERAL { ... } of SEP-0006.
type Lateral struct {
	Pos
	Group *Group
}

// Minus is MINUS { ... }.
type Minus struct {
	Pos
	Group *Group
}

// Graph is GRAPH name { ... }. The name is an IRI or a variable.
type Graph struct {
	Pos
	Name  Node
	Group *Group
}

// Service is SERVICE name { ... }. The name is an IRI or a variable.
type Service struct {
	Pos
	Silent bool
	Name   Node
	Group  *Group
}

// Filter is FILTER expr. It applies to its whole group.
type Filter struct {
	Pos
	Expr Expr
}

// Bind is BIND(expr AS ?var).
type Bind struct {
	Pos
	Expr Expr
	Var  Node // a variable
}

// Values is a block of solutions, written out. In a row a zero Term is UNDEF;
// no row has a blank node. Invariant: every row is as long as Vars.
type Values struct {
	Pos
	Vars []Node // variables
	Rows [][]triple.Term
}

// SubSelect is a subquery: a SELECT without prologue and dataset.
type SubSelect struct {
	Pos
	Query *Query
}

func (*Group) pattern()     {}
func (*Triples) pattern()   {}
func (*Union) pattern()     {}
func (*Optional) pattern()  {}
func (*Lateral) pattern()   {}
func (*Minus) pattern()     {}
func (*Graph) pattern()     {}
func (*Service) pattern()   {}
func (*Filter) pattern()    {}
func (*Bind) pattern()      {}
func (*Values) pattern()    {}
func (*SubSelect) pattern() {}
