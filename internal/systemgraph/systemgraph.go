// The name of the system graph, and who may change it.

// Package systemgraph names the graph in which a store keeps what it must remember for its operators:
// update functions, subscriptions, prefixes, and the UIDs and hosts of links. They are triples and annotations like any others, so
// they are durable, replicated, in backups and in the change feed.
//
// Effects of update functions must not change this graph. Requests of clients must not, either: they
// have endpoints of their own for functions, subscriptions and prefixes. Only a request with the operators'
// token may write its triples, as when it loads a dump.
package systemgraph

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

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
	Links        = Prefix + "system:links" // of [PrefixRow]: the store has UIDs of pages
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
	case Registration, Definition, State, Reads, Prefixes, Links:
		return true
	}
	return false
}

// Contains reports whether a triple belongs to the graph.
func Contains(t triple.Triple) bool { return t.Graph == Graph }

// ErrProtected means that a client may not change the triples of the graph.
var ErrProtected = errors.New("the triples of <" + IRI + "> are update functions, subscriptions, prefixes and UIDs of pages: change them by /functions, /subscriptions, /prefixes and /links, or send the operators' token (a node without tokens takes no other changes of them)")

type operatorKey struct{}

// WithOperator returns a context for a change by the operators' token.
func WithOperator(ctx context.Context) context.Context {
	return context.WithValue(ctx, operatorKey{}, true)
}

// linkPrefix begins each term of the triples of UIDs and hosts (package links). So these are one range
// of keys in each order.
const linkPrefix = IRI + ":"

// IsLink reports whether a triple is one of a UID or a host. No read of a client has it.
func IsLink(t triple.Triple) bool {
	return t.Graph == Graph && t.Subject.Kind() == triple.IRI && strings.HasPrefix(t.Subject.Value(), linkPrefix)
}

// LinkRanges are the ranges of keys, by order, that have the triples of UIDs and hosts. Rows of other graphs may
// be among them, except in GSPO; see [IsLinkKey].
var LinkRanges = func() (ranges [triple.GSPO + 1]triple.Range) {
	graph, _ := triple.AppendTerm(nil, Graph)
	first, _ := triple.AppendTerm(nil, triple.NewIRI(linkPrefix))
	for _, o := range triple.Orders {
		lo := []byte{byte(o)}
		if o == triple.GSPO {
			lo = triple.TermsRange(o, triple.KeyTerms{triple.Graph: graph}).Lo
		}
		lo = append(slices.Clip(lo), first...)
		hi := slices.Clone(lo)
		hi[len(hi)-1]++
		ranges[o] = triple.Range{Lo: lo, Hi: hi}
	}
	return ranges
}()

// IsLinkKey reports whether a key is of a triple of a UID or a host.
func IsLinkKey(key []byte) bool {
	if len(key) == 0 || int(key[0]) >= len(LinkRanges) || !LinkRanges[key[0]].Contains(key) {
		return false
	}
	_, t, err := triple.SplitKey(key)
	return err == nil && bytes.Equal(t[triple.Graph], graphTerm) && bytes.HasPrefix(t[triple.Subject], linkTerm)
}

var (
	graphTerm, _ = triple.AppendTerm(nil, Graph)
	linkTerm, _  = triple.AppendTerm(nil, triple.NewIRI(linkPrefix))
)

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
