package workload

// This file holds the vocabulary of the applications: statements, operations,
// searches, all plain data.

import "iter"

// A Statement is a triple and the name of its graph, each in N-Triples syntax;
// an empty G is the default graph.
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

// A Kind says what an operation does.
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

// An Op is one operation of an application. Name says what it is to the
// application's user, such as "upload". Add and Delete have Statements, in one
// batch; some of them may be there already, or not be there. Find has a Search.
type Op struct {
	Kind       Kind
	Name       string
	Statements []Statement
	Search     Search
}

// A Search is a pattern, if Order is empty, or else a range of an order. All
// terms are in N-Triples syntax.
//
// A pattern's answer is a set. Empty positions of Pattern match anything; G may
// be DefaultGraph. Each of the properties in Follow is then followed backwards:
// the answer so far is replaced by the statements (?, property, x) for all its
// different subjects x, as in "books whose author has the affiliation".
//
// A range's answer is a sequence in the store's order: the statements that begin
// with the terms of Prefix and whose next term is within the bounds. GE, GT, LE
// and LT bound it by value within the bound's class of literals, or by code
// points if it is an IRI. Starts is the beginning of an IRI, such as
// "<http://ex/", of a plain string, such as `"Mü`, or of a language string, such
// as `"Mü"@de`. Reverse turns the sequence around; a Limit other than 0 then
// cuts it.
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

// DefaultGraph, as the G of a pattern, asks for the default graph only.
const DefaultGraph = "default"

// An Application is an initial data set and what is done with it.
type Application interface {
	Generator

	// Statements returns the initial data set, in the order of Generate.
	Statements() iter.Seq[Statement]

	// Ops returns the endless stream of operations of one of several clients,
	// 0 <= client < clients; it panics otherwise. It begins anew each time it
	// is ranged over. Clients change disjoint sets of statements, so that they
	// can run at once and the final data are the same; but what a search is
	// answered meanwhile can be told in advance only of a single client.
	Ops(client, clients int) iter.Seq[Op]
}

// An application is what Photos and Library have in common: units that are made
// of Statements.
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

// shareOf returns how many of the units [0, units) belong to a client: those
// that leave client when divided by clients.
func shareOf(units int64, client, clients int) int {
	if client < 0 || client >= clients {
		panic("workload: Ops is to be called with 0 <= client < clients")
	}
	return int((units + int64(clients) - 1 - int64(client)) / int64(clients))
}

// single is the operation on one statement.
func single(kind Kind, name string, s Statement) Op {
	return Op{Kind: kind, Name: name, Statements: []Statement{s}}
}

// find is a search as an operation.
func find(name string, s Search) Op {
	return Op{Kind: Find, Name: name, Search: s}
}
