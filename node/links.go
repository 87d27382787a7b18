// The graph of links of a node.

package node

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/linkgraph/nodegraph"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges"
	"github.com/trefoildb/trefoil/internal/store"
)

// openLinks returns the graph of the links in a store, which may become one of a
// cluster. Its cells are read or built in the background.
func (s *service) openLinks(db *store.Store, member *cluster.Node) (*servedLinks, error) {
	shared, err := ranges.Open(member, ranges.Options{
		Predicate: s.linkPredicate(), Copies: s.Cluster.linkCopies(), Dir: filepath.Join(db.Dir(), "link-copies"), Logger: s.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	isMember := func() bool { return member.View() != nil }
	var alone nodegraph.Alone
	if _, is := db.Identity(); !is {
		if alone, err = linkgraph.Open(db, linkgraph.Options{Predicate: s.linkPredicate(), Logger: s.Logger}); err != nil {
			return nil, errors.Join(fmt.Errorf("serve: %w", err), shared.Close())
		}
	}
	return &servedLinks{nodegraph.New(alone, shared, isMember), shared}, nil
}

// servedLinks is the graph of a lone node until it is a member, and then the shared one.
type servedLinks struct {
	*nodegraph.Graph
	shared *ranges.Graph
}

// Close closes both graphs.
func (l *servedLinks) Close() error { return errors.Join(l.Graph.Close(), l.shared.Close()) }
