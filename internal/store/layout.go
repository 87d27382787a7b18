// The layout: segments and their machines.

package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/trie"
)

// Rows of local state.
var (
	rowPlacement = keyspace.LocalKey("placement")
	rowTrie      = keyspace.LocalKey("trie")
)

// layout is the segments of the key space, and their machines. It is immutable, because readers
// use it without a lock; the store replaces it as a whole.
type layout struct {
	trie      *trie.Trie
	placement *trie.Placement
	nextID    uint64 // greater than the ID of every segment
}

// firstSegment is the ID of the first segment of a new store.
const firstSegment = 1

// readLayout reads the layout from local state, or makes the first one. If the placement names
// another machine, as in a copy with a new UUID, it is made anew.
func (s *Store) readLayout() error {
	var l layout
	// 1. Read the segments, or begin with one.
	b, err := s.db.Value(rowTrie)
	if err != nil {
		return err
	}
	if b == nil {
		l.trie = trie.New(firstSegment, trie.HashPartition(firstSegment, trie.DefaultPartitions))
	} else if l.trie, err = trie.Parse(b); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	// 2. Read the placement. A lone store must own all segments itself.
	if b, err = s.db.Value(rowPlacement); err != nil {
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
	// 3. Both must fit together, because they were written together.
	if err := l.placement.CheckTrie(l.trie); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	for segment := range l.trie.All() {
		l.nextID = max(l.nextID, segment.ID+1)
	}
	s.layout.Store(&l)
	return nil
}

// writeLayout makes a layout durable, then current. done is false if the cluster's layout has
// taken over meanwhile.
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
	if err := s.db.Commit(batch, true); err != nil {
		return false, err
	}
	s.layout.Store(l)
	return true, nil
}

// write appends the rows of a layout to a batch.
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

// Trie returns the current segments of the key space.
func (s *Store) Trie() *trie.Trie { return s.layout.Load().trie }

// Placement returns the machines of the segments. If the store is no member of a cluster, this
// machine owns them all.
func (s *Store) Placement() *trie.Placement { return s.layout.Load().placement }
