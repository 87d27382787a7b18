package cli

// This file holds the flags of serve that are about links.

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/cluster"
	"github.com/trefoildb/trefoil/node/links"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/links/growing"
	"github.com/trefoildb/trefoil/node/links/ranges"
	"github.com/trefoildb/trefoil/triple"
)

// graphFlags say which triples are links.
type graphFlags struct {
	LinkPredicate string `default:"${linkpredicate}" placeholder:"IRI" help:"The predicate of links, ${default} by default. Its triples are kept in memory too, as a graph (trefoil links)."`
	NoLinks       bool   `help:"Keep no graph of links."`
	LinkCopies    int    `default:"-1" placeholder:"N" help:"In a cluster, how many other machines keep copies of the lists of links that a machine reads, on their disks, 0 to 4: so many machines may be lost at once, and each list is still answered. By default one less than the copies of a triple (--copies)."`
}

// feed returns the predicates whose changes the store is to tell.
func (f *graphFlags) feed() []string {
	if f.NoLinks {
		return nil
	}
	return []string{f.LinkPredicate}
}

// journal returns the predicates whose operations the store is to remember, and up to how
// many bytes of them. A machine without a graph counts them only, for the epochs of others.
func (f *graphFlags) journal() (predicates []string, most int64) {
	if f.NoLinks {
		most = -1
	}
	return ranges.Journal(f.LinkPredicate), most
}

// graph returns the graph of the links in a store, which may be one machine's of a
// cluster; nil where there is to be none. Cells are read or built beside.
func (f *graphFlags) graph(store *node.Store, member *cluster.Node, logger *slog.Logger) (_ *growingGraph, err error) {
	predicate := triple.NewIRI(f.LinkPredicate)
	if err := predicate.Check(); err != nil {
		return nil, usagef("--link-predicate: %v", err)
	}
	if f.NoLinks || member == nil {
		return nil, nil
	}
	if f.LinkCopies < ranges.CopiesOfView || f.LinkCopies > copies.MaxCopies {
		return nil, usagef("--link-copies: %d is not 0 to %d", f.LinkCopies, copies.MaxCopies)
	}
	together, err := ranges.Open(ranges.StoreOf[cluster.Snapshot](member), ranges.Options{
		Predicate: f.LinkPredicate, Copies: f.LinkCopies, Dir: filepath.Join(store.Dir(), "link-copies"), Logger: logger,
	})
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	isMember := func() bool { return member.View() != nil }
	var alone growing.Alone
	if _, is := store.Identity(); !is {
		if alone, err = links.Open(store, links.Options{Predicate: f.LinkPredicate, Logger: logger}); err != nil {
			return nil, errors.Join(fmt.Errorf("serve: %w", err), together.Close())
		}
	}
	return &growingGraph{growing.New(alone, together, isMember), together}, nil
}

// growingGraph is both graphs of a node.
type growingGraph struct {
	*growing.Graph
	together *ranges.Graph
}

// Copied is that of the graph of a cluster, which the doors show as a metric.
func (g *growingGraph) Copied() uint64 { return g.together.Copied() }

// Close ends both.
func (g *growingGraph) Close() error { return errors.Join(g.Graph.Close(), g.together.Close()) }
