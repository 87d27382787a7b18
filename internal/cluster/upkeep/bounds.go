// Bounds: the stamps below which the operations of each sequencer are committed everywhere.

package upkeep

import (
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// bounds is a member's answer to [methodBounds].
type bounds struct {
	number uint64         // of the last purge that it has taken the floors of
	next   triple.Stamp   // that it would assign
	lowest replica.Floors // the lowest stamp in flight of each sequencer
}

func (b *bounds) fields(c *peer.Coder) {
	c.Uvarint(&b.number, &b.next.Epoch, &b.next.Sequence)
	codeFloors(c, &b.lowest)
}

func codeFloors(c *peer.Coder, f *replica.Floors) {
	peer.Map(c, (*map[trie.MachineID]triple.Stamp)(f), 10, func(m *trie.MachineID, s *triple.Stamp, c *peer.Coder) {
		peer.Uint64(c, m)
		c.Uvarint(&s.Epoch, &s.Sequence)
	})
}

// combine returns one floor for each member: its lowest stamp in flight anywhere, or its next
// stamp. number is the newest purge's.
func combine(answers map[trie.MachineID]bounds) (floors replica.Floors, number uint64) {
	floors = replica.Floors{}
	for m, b := range answers {
		floors[m] = b.next
		number = max(number, b.number)
	}
	for _, b := range answers {
		for m, stamp := range b.lowest {
			if stamp.Less(floors[m]) {
				floors[m] = stamp
			}
		}
	}
	return floors, number
}

// fetchBounds returns the floors of all members of a view. When it returns, all holders have
// applied every operation below a floor.
func (pu *purger) fetchBounds(ctx context.Context, v *view.View) (floors replica.Floors, number uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	answers, err := pu.callAll(ctx, v, methodBounds, nil)
	if err != nil {
		return nil, 0, err
	}
	all := map[trie.MachineID]bounds{}
	for m, body := range answers {
		var b bounds
		if err := peer.Decode(body, b.fields); err != nil {
			return nil, 0, err
		}
		all[m] = b
	}
	floors, number = combine(all)
	return floors, number, nil
}

func (pu *purger) handleBounds(_ context.Context, epoch uint64, _ []byte) ([]byte, error) {
	if _, err := pu.AtRest(epoch); err != nil {
		return nil, err
	}
	known, err := pu.writes.Bounds()
	if err != nil {
		return nil, err
	}
	if known.Epoch != epoch {
		return nil, peer.Refuse(peer.CodeEpoch, known.Epoch, "the epoch is not %d", epoch)
	}
	b := bounds{number: pu.lastNumber(), next: known.Next, lowest: replica.Floors(known.Lowest)}
	return peer.Encode(0, b.fields), nil
}
