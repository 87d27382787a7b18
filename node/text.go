// The text index of a node.

package node

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textsearch"
)

// textShare is the part of the memory that the text index may use by default.
const textShare = 8

// openText returns the text index of a node. It is read or built in the background.
func (s *service) openText(db *store.Store, member *cluster.Node) (*textsearch.Index, error) {
	index, err := textsearch.OpenNode(member, textsearch.Options{
		Dir: filepath.Join(db.Dir(), "text"), Memory: cmp.Or(s.TextMemory, s.shares.Total/textShare), BuildMemory: max(s.shares.Load, 64<<20), Logger: s.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return index, nil
}
