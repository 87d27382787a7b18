// The graph of links of a node.

package node

import (
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/store"
)

// openLinks returns the graph of the links of a node. Its cells are read, built or copied in the
// background.
func (s *service) openLinks(db *store.Store, member *cluster.Node) (*linkgraph.Graph, error) {
	graph, err := linkgraph.OpenNode(member, linkgraph.Options{
		Predicate: s.linkPredicate(), Copies: s.Cluster.linkCopies(), Dir: filepath.Join(db.Dir(), "links"), MemoryBytes: s.LinkMemory, Logger: s.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return graph, nil
}
