// Nodes of update requests.

package ast

import "github.com/trefoildb/trefoil/triple"

// Update is an update request: operations carried out in order.
type Update struct {
	Prefixes   []Prefix // all declared ones, each name once; for printing
	Operations []Operation
}

// Operation is one operation of an update request (SPARQL 1.1 Update, section
// 3): one of *[InsertData], *[DeleteData], *[Modify], *[Load], *[Clear],
// *[Drop], *[Create] and *[Transfer].
type Operation interface {
	Position() Pos
	operation()
}

// InsertData is INSERT DATA. Blank nodes are new ones, the same for one label throughout the
// operation; no other operation of the request uses the label. The triples are those of the
// grammar. A caller must use [triple.Triple.Check], because the grammar allows a literal as
// subject.
type InsertData struct {
	Pos
	Triples []triple.Triple
}

// DeleteData is DELETE DATA. There are no blank nodes.
type DeleteData struct {
	Pos
	Triples []triple.Triple
}

// Modify is DELETE, INSERT or both with WHERE. DELETE WHERE { pattern } is one too. Its Delete
// has the triples of its pattern.
type Modify struct {
	Pos
	Base   string          // the base IRI in force, "" for none; for printing
	With   string          // the IRI of WITH; "" for none
	Delete []QuadPattern   // no blank nodes
	Insert []QuadPattern   // a blank node is a new one for each solution
	Using  []DatasetClause // USING and USING NAMED
	Where  *Group
}

// Load is LOAD source INTO GRAPH graph.
type Load struct {
	Pos
	Silent bool
	Source string
	Into   string // the graph's IRI; "" for the default graph
}

// Clear is CLEAR.
type Clear struct {
	Pos
	Silent bool
	Target GraphRef
}

// Drop is DROP.
type Drop struct {
	Pos
	Silent bool
	Target GraphRef
}

// Create is CREATE GRAPH.
type Create struct {
	Pos
	Silent bool
	Graph  string
}

// Transfer is ADD, MOVE or COPY, whose graphs are NamedGraph or DefaultGraph.
type Transfer struct {
	Pos
	Verb     TransferVerb
	Silent   bool
	From, To GraphRef
}

// TransferVerb is the verb of a Transfer.
type TransferVerb uint8

// The verbs (SPARQL 1.1 Update, sections 3.2.3 to 3.2.5).
const (
	Add TransferVerb = iota
	Move
	Copy
)

// String returns the verb's keyword.
func (v TransferVerb) String() string { return [...]string{"ADD", "MOVE", "COPY"}[v] }

// GraphRef names one graph or several.
type GraphRef struct {
	Kind GraphKind
	IRI  string // of a NamedGraph
}

// GraphKind is the kind of graphs of a GraphRef.
type GraphKind uint8

// The kinds.
const (
	NamedGraph   GraphKind = iota // the graph with the IRI
	DefaultGraph                  // DEFAULT
	NamedGraphs                   // NAMED: all named graphs
	AllGraphs                     // ALL
)

func (*InsertData) operation() {}
func (*DeleteData) operation() {}
func (*Modify) operation()     {}
func (*Load) operation()       {}
func (*Clear) operation()      {}
func (*Drop) operation()       {}
func (*Create) operation()     {}
func (*Transfer) operation()   {}
