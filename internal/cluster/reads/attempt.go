// Tries of a read, each under one view.

package reads

import (
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// attempt is one try of a read, under one view.
type attempt struct {
	*Snapshot
	view *view.View
}

// under returns a try of a read under a view.
func (sn *Snapshot) under(v *view.View) attempt { return attempt{sn, v} }

// plannable returns the present view, and an error if the range cannot be read under it.
func (sn *Snapshot) plannable(r triple.Range) (*view.View, error) {
	if sn.closed.Load() {
		return nil, fmt.Errorf("read a snapshot: %w", store.ErrClosed)
	}
	v := sn.reads.member.View()
	return v, sn.under(v).readable(r)
}

// readable returns an error if a range cannot be read under a view.
func (at attempt) readable(r triple.Range) error {
	if at.view.Phase == recovery.Ingest {
		return peer.Refuse(peer.CodeUnavailable, at.view.Epoch, "a bulk load is being taken in")
	}
	if at.lostToo {
		return nil
	}
	if l, ok := lost(at.view, r); ok {
		return fmt.Errorf("%w: since epoch %d rows may be gone of what is asked for", store.ErrLost, l.Epoch)
	}
	return nil
}

// split groups ranges by owner. parts has the sequence for reading them.
func (at attempt) split(ranges []triple.Range) (parts []part, groups []*group, err error) {
	byOwner := map[trie.MachineID]*group{}
	for i, r := range ranges {
		if r.Empty() {
			continue
		}
		if err := at.readable(r); err != nil {
			return nil, nil, err
		}
		for _, p := range pieces(at.view.Joint(), r) {
			if !p.live {
				p.owner = 0 // one group for all owners that are down
			}
			g := byOwner[p.owner]
			if g == nil {
				g = &group{piece: p}
				byOwner[p.owner] = g
				groups = append(groups, g)
			}
			parts = append(parts, part{g, len(g.ranges), i})
			g.ranges = append(g.ranges, p.Range)
		}
	}
	return parts, groups, nil
}
