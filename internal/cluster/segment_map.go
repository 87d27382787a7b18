// The map of the cluster's segments and partitions, by the adopted view.

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// SegmentMap returns the map of the adopted view. No other machine is asked.
func (n *Node) SegmentMap(ctx context.Context, offset, limit int) (m store.SegmentMap, err error) {
	lone, err := n.onLone(func() (err error) { m, err = n.store.Store.SegmentMap(ctx, offset, limit); return err })
	if lone {
		return m, err
	}
	v := n.View()
	if v == nil {
		return m, fmt.Errorf("%w: this machine has no view of the cluster yet", store.ErrUnavailable)
	}
	m, err = n.triples.maps.Page(ctx, v, v.Joint(), func(s trie.Segment) bool { return overlapsLost(v.Lost, s) }, offset, limit)
	m.Epoch = v.Epoch
	return m, err
}

// overlapsLost reports whether a segment has keys of a lost range.
func overlapsLost(lost []view.Lost, s trie.Segment) bool {
	return slices.ContainsFunc(lost, func(l view.Lost) bool {
		return (l.Hi == nil || bytes.Compare(s.Lo, l.Hi) < 0) && (s.Hi == nil || bytes.Compare(l.Lo, s.Hi) < 0)
	})
}
