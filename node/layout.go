package node

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/trie"
)

// layout is where the keys are: their segments, and the machines of those. It is
// immutable; the store replaces it as a whole.
type layout struct {
	trie      *trie.Trie
	placement *trie.Placement
	nextID    uint64 // greater than the id of every segment
}

// firstSegment is the id of the segment that a new store begins with.
const firstSegment = 1

// readLayout reads the layout from local state, or makes the first one. A
// placement of another machine, as a copy has that was given a new UUID, is made
// anew.
func (s *Store) readLayout() error {
	var l layout
	b, err := s.get(rowTrie)
	if err != nil {
		return err
	}
	if b == nil {
		l.trie = trie.New(firstSegment, trie.HashPartition(firstSegment, trie.DefaultPartitions))
	} else if l.trie, err = trie.Parse(b); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if b, err = s.get(rowPlacement); err != nil {
		return err
	}
	if b != nil {
		if l.placement, err = trie.ParsePlacement(b); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	own := s.MachineID()
	_, isMember := s.Identity()
	if l.placement == nil || !isMember && (len(l.placement.Machines()) != 1 || l.placement.Machines()[0] != own) {
		if l.placement, err = trie.NewPlacement([]trie.MachineID{own}, trie.PlacementOptions{}); err != nil {
			return err
		}
	}
	if err := l.placement.CheckTrie(l.trie); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	for segment := range l.trie.All() {
		l.nextID = max(l.nextID, segment.ID+1)
	}
	s.layout.Store(&l)
	return nil
}

// writeLayout makes a layout durable, then the one that is in use; done is false
// where the cluster's layout has taken over meanwhile.
func (s *Store) writeLayout(l *layout) (done bool, err error) {
	s.layoutMu.Lock()
	defer s.layoutMu.Unlock()
	if s.managed.Load() {
		return false, nil
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := l.write(batch); err != nil {
		return false, err
	}
	if err := s.apply(batch); err != nil {
		return false, err
	}
	s.layout.Store(l)
	return true, nil
}

// write adds the rows of a layout to a batch.
func (l *layout) write(batch *pebble.Batch) error {
	segments, err := l.trie.AppendBinary(nil)
	if err != nil {
		return err
	}
	placement, err := l.placement.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := batch.Set(rowTrie, segments, nil); err != nil {
		return err
	}
	return batch.Set(rowPlacement, placement, nil)
}

// Trie returns the segments of the key space as they are now.
func (s *Store) Trie() *trie.Trie { return s.layout.Load().trie }

// Placement returns the machines of the segments: this one owns them all, unless
// it is a member of a cluster.
func (s *Store) Placement() *trie.Placement { return s.layout.Load().placement }
