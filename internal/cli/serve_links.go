package cli

// This file holds the flags of serve that are about links.

import (
	"fmt"
	"log/slog"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links"
	"github.com/trefoildb/trefoil/triple"
)

// graphFlags say which triples are links.
type graphFlags struct {
	LinkPredicate string `default:"${linkpredicate}" placeholder:"IRI" help:"The predicate of links, ${default} by default. Its triples are kept in memory too, as a graph (trefoil links)."`
	NoLinks       bool   `help:"Keep no graph of links."`
}

// feed returns the predicates whose changes the store is to tell.
func (f *graphFlags) feed() []string {
	if f.NoLinks {
		return nil
	}
	return []string{f.LinkPredicate}
}

// graph returns the graph of the links in a store; nil where there is to be none. It
// is read or built beside.
func (f *graphFlags) graph(store *node.Store, readOnly bool, logger *slog.Logger) (*links.Graph, error) {
	predicate := triple.NewIRI(f.LinkPredicate)
	if err := predicate.Check(); err != nil {
		return nil, usagef("--link-predicate: %v", err)
	}
	if _, member := store.Identity(); f.NoLinks || readOnly || member {
		return nil, nil
	}
	graph, err := links.Open(store, links.Options{Predicate: f.LinkPredicate, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return graph, nil
}
