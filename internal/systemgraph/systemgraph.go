// The name of the system graph, and who may change it.

// Package systemgraph names the graph in which a store keeps what it must remember for its operators:
// update functions, subscriptions and prefixes. They are triples and annotations like any others, so
// they are durable, replicated, in backups and in the change feed.
//
// Effects of update functions must not change this graph. Requests of clients must not, either: they
// have endpoints of their own for functions, subscriptions and prefixes. Only a request with the operators'
// token may write its triples, as when it loads a dump.
package systemgraph

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// IRI is the name of the graph. The names of its resources and predicates begin with Prefix.
const (
	IRI    = "urn:trefoil:system"
	Prefix = "urn:trefoil:"
)

// Graph is the graph as a term.
var Graph = triple.NewIRI(IRI)

// The application IDs of annotations in the graph.
const (
	Registration = Prefix + "registration" // of an update function: its module and what runs it
	Definition   = Prefix + "definition"   // of a subscription
	State        = Prefix + "state"        // of both: how far they are
	Reads        = Prefix + "reads"        // of a subscription: its latest batch of read counts
	Prefixes     = Prefix + "prefixes"     // of [PrefixRow]: the prefixes of the store
)

// PrefixRow is the triple whose annotation [Prefixes] has the prefixes of the store. Loads write it
// without being asked, so it is in no answer or count of triples: see package prefixes.
var PrefixRow = triple.Triple{
	Subject: Graph, Predicate: triple.NewIRI(Prefix + "keeps"), Object: triple.NewIRI(Prefixes), Graph: Graph,
}

// Operators is the owner of subscriptions that operators stored while applications have tokens.
const Operators = Prefix + "operators"

// Reserved reports whether only operators may read and write annotations with an application ID,
// because programs run by them.
func Reserved(applicationID string) bool {
	switch applicationID {
	case Registration, Definition, State, Reads, Prefixes:
		return true
	}
	return false
}

// Contains reports whether a triple belongs to the graph.
func Contains(t triple.Triple) bool { return t.Graph == Graph }

// ErrProtected means that a client may not change the triples of the graph.
var ErrProtected = errors.New("the triples of <" + IRI + "> are update functions, subscriptions and prefixes: change them by /functions, /subscriptions and /prefixes, or send the operators' token (a node without tokens takes no other changes of them)")

type operatorKey struct{}

// WithOperator returns a context for a change by the operators' token.
func WithOperator(ctx context.Context) context.Context {
	return context.WithValue(ctx, operatorKey{}, true)
}

// Check returns [ErrProtected] if graph is the system graph, unless ctx is of [WithOperator].
func Check(ctx context.Context, graph triple.Term) error {
	if graph != Graph {
		return nil
	}
	if operator, _ := ctx.Value(operatorKey{}).(bool); operator {
		return nil
	}
	return ErrProtected
}
