// The layout: segments and their machines.

package segments

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
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

// Open reads the layout from the local state of an opened database, or makes the first one. If the
// placement names another machine, as in a copy with a new UUID, it is made anew.
func (s *Segments) Open(db *database.Database, machine trie.MachineID, isMember bool) error {
	s.db, s.machine = db, machine
	if isMember {
		s.Manage()
	}
	var l layout
	// 1. Read the segments, or begin with one.
	b, err := s.db.Value(rowTrie)
	if err != nil {
		return err
	}
	if b == nil {
		l.trie = trie.New(firstSegment, trie.HashPartition(firstSegment, trie.DefaultPartitions))
	} else if l.trie, err = trie.Parse(b); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrCorrupt, err)
	}
	// 2. Read the placement. A lone store must own all segments itself.
	if b, err = s.db.Value(rowPlacement); err != nil {
		return err
	}
	if b != nil {
		if l.placement, err = trie.ParsePlacement(b); err != nil {
			return fmt.Errorf("%w: %w", fault.ErrCorrupt, err)
		}
	}
	if l.placement == nil || !isMember && (len(l.placement.Machines()) != 1 || l.placement.Machines()[0] != machine) {
		if l.placement, err = trie.NewPlacement([]trie.MachineID{machine}, trie.PlacementOptions{}); err != nil {
			return err
		}
	}
	// 3. Both must fit together, because they were written together.
	if err := l.placement.CheckTrie(l.trie); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrCorrupt, err)
	}
	for segment := range l.trie.All() {
		l.nextID = max(l.nextID, segment.ID+1)
	}
	s.current.Store(&l)
	return nil
}

// writeLayout makes a layout durable, then current. done is false if the cluster's layout has
// taken over meanwhile.
func (s *Segments) writeLayout(l *layout) (done bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
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
	s.current.Store(l)
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

// Layout returns the current segments and their machines.
func (s *Segments) Layout() recovery.Layout {
	l := s.current.Load()
	return recovery.Layout{Trie: l.trie, Placement: l.placement}
}

// Trie returns the current segments of the key space.
func (s *Segments) Trie() *trie.Trie { return s.current.Load().trie }

// Placement returns the machines of the segments. If the store is no member of a cluster, this
// machine owns them all.
func (s *Segments) Placement() *trie.Placement { return s.current.Load().placement }

// SetLayout makes the cluster's layout the store's. From then on the store splits no segments by
// itself. The layout is written, but need not be durable, because the next start gets it from the
// cluster.
func (s *Segments) SetLayout(l recovery.Layout) error {
	next := &layout{trie: l.Trie, placement: l.Placement}
	for segment := range l.Trie.All() {
		next.nextID = max(next.nextID, segment.ID+1)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.managed.Store(true)
	s.current.Store(next)
	if s.db.ReadOnly {
		return nil
	}
	if err := s.db.Begin(); err != nil {
		return fault.Wrap("set layout", err)
	}
	defer s.db.End()
	if err := s.db.Err(); err != nil {
		return fault.Wrap("set layout", err)
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := next.write(batch); err != nil {
		return fault.Wrap("set layout", err)
	}
	return fault.Wrap("set layout", s.db.Commit(batch, false))
}
