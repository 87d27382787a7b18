// The types of the applications: statements, operations and searches, all plain data.

package dataset

import "iter"

// Statement is a triple and the name of its graph, each in N-Triples syntax. If G is empty, it is
// the default graph.
type Statement struct{ S, P, O, G string }

// String returns the statement as a line of N-Quads without its newline.
func (s Statement) String() string { return string(s.appendLine(nil)) }

func (s Statement) appendLine(dst []byte) []byte {
	dst = append(dst, s.S...)
	dst = append(dst, ' ')
	dst = append(dst, s.P...)
	dst = append(dst, ' ')
	dst = append(dst, s.O...)
	if s.G != "" {
		dst = append(dst, ' ')
		dst = append(dst, s.G...)
	}
	return append(dst, " ."...)
}

// Kind is the kind of an operation.
type Kind uint8

// The kinds of operations.
const (
	Add Kind = iota + 1
	Delete
	Find
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Add:
		return "add"
	case Delete:
		return "delete"
	case Find:
		return "find"
	}
	return "unknown"
}

// Op is one operation of an application. Name is its name for the application's user, such as
// "upload". Add and Delete have Statements, in one batch. An added statement may be in the store
// already, and a deleted one may be missing. Find has a Search.
type Op struct {
	Kind       Kind
	Name       string
	Statements []Statement
	Search     Search
}

// Search is a pattern if Order is empty, and otherwise a range of an order. All terms must be in
// N-Triples syntax.
//
// A pattern's answer is a set. Empty positions of Pattern match anything; G may be DefaultGraph.
// Each property in Follow is then followed backwards. For all distinct subjects x of the answer so
// far, the statements (?, property, x) become the new answer, as in "books whose author has the
// affiliation".
//
// A range's answer is a sequence in the store's order. It has the statements that begin with the
// terms of Prefix, if their next term is within the bounds. GE, GT, LE and LT bound the term by
// value within the bound's class of literals, or by code points if it is an IRI. Starts is the
// beginning of an IRI, such as "<http://ex/", of a plain string, such as `"Mü`, or of a language
// string, such as `"Mü"@de`. If Reverse is set, the sequence is reversed. If Limit is not 0, the
// sequence is then cut to it.
type Search struct {
	Pattern Statement
	Follow  []string

	Order          string // "spo", "pos", "osp" or "gspo"
	Prefix         []string
	GE, GT, LE, LT string
	Starts         string
	Reverse        bool
	Limit          int
}

// DefaultGraph, as the G of a pattern, selects only the default graph.
const DefaultGraph = "default"

// Application is an initial data set and the operations on it.
type Application interface {
	Generator

	// Statements returns the initial data set, in the order of Generate.
	Statements() iter.Seq[Statement]

	// Ops returns the endless stream of operations of one of several clients. It panics unless 0 <=
	// client < clients. The stream starts again each time it is ranged over. Clients change
	// disjoint sets of statements. They may therefore run concurrently, and the final data are the
	// same. Answers of searches are predictable only if there is a single client.
	Ops(client, clients int) iter.Seq[Op]
}

// application is the common part of Photos and Library: units made of Statements.
//
// Invariant: a unit has exactly size(unit) statements.
type application interface {
	size(unit int64) int64
	statements(unit int64) []Statement
}

// applicationSource makes an application a source.
type applicationSource struct{ application }

// emit implements source.
func (a applicationSource) emit(e *emitter, unit int64) {
	for _, s := range a.statements(unit) {
		e.buf = s.appendLine(e.buf)
		e.buf = append(e.buf, '\n')
		e.endLine()
	}
}

// initial returns the first count statements of an application.
func initial(a application, count int64) iter.Seq[Statement] {
	return func(yield func(Statement) bool) {
		left := count
		for unit := int64(0); left > 0; unit++ {
			for _, s := range a.statements(unit) {
				if left == 0 || !yield(s) {
					return
				}
				left--
			}
		}
	}
}

// wholeUnits returns the number of units at the start of an application that fit into a number of statements.
func wholeUnits(a application, statements int64) int64 {
	unit := int64(0)
	for ; ; unit++ {
		statements -= a.size(unit)
		if statements < 0 {
			return unit
		}
	}
}

// shareOf returns the number of a client's units among [0, units). A unit is the client's if unit
// modulo clients is client. It panics if client is out of range.
func shareOf(units int64, client, clients int) int {
	if client < 0 || client >= clients {
		panic("dataset: Ops is to be called with 0 <= client < clients")
	}
	return int((units + int64(clients) - 1 - int64(client)) / int64(clients))
}

// single returns an operation on one statement.
func single(kind Kind, name string, s Statement) Op {
	return Op{Kind: kind, Name: name, Statements: []Statement{s}}
}

// find returns a search as an operation.
func find(name string, s Search) Op {
	return Op{Kind: Find, Name: name, Search: s}
}
