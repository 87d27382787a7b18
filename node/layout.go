package node

import (
	"fmt"

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
	if l.placement == nil || len(l.placement.Machines()) != 1 || l.placement.Machines()[0] != own {
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

// writeLayout makes a layout durable, then the one that is in use.
func (s *Store) writeLayout(l *layout) error {
	segments, err := l.trie.AppendBinary(nil)
	if err != nil {
		return err
	}
	placement, err := l.placement.AppendBinary(nil)
	if err != nil {
		return err
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := batch.Set(rowTrie, segments, nil); err != nil {
		return err
	}
	if err := batch.Set(rowPlacement, placement, nil); err != nil {
		return err
	}
	if err := s.apply(batch); err != nil {
		return err
	}
	s.layout.Store(l)
	return nil
}

// Trie returns the segments of the key space as they are now.
func (s *Store) Trie() *trie.Trie { return s.layout.Load().trie }

// Placement returns the machines of the segments: this one owns them all.
func (s *Store) Placement() *trie.Placement { return s.layout.Load().placement }
