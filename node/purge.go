package node

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is how tombstones end. The cluster sets floors: for each sequencer the
// stamp below which all is settled on all machines, and nothing waits to be driven
// again. Below its floor a tombstone has nothing left to hold back, but for messages
// that were sent twice and come late; these are known by the floor.

// Floors are stamps by the sequencer that the triples have now.
type Floors map[trie.MachineID]triple.Stamp

// below reports whether a stamp is below the floor of a sequencer.
func (f Floors) below(sequencer trie.MachineID, stamp triple.Stamp) bool {
	floor, ok := f[sequencer]
	return ok && stamp.Less(floor)
}

// SetFloors sets the floors of the view that is adopted: operations below them that
// are delivered are repetitions, of which nothing is written any more. They hold for
// one view: whoever adopts the next one sets nil. No delivery may be applied
// meanwhile.
func (s *Store) SetFloors(f Floors) {
	f = maps.Clone(f)
	s.floors.Store(&f)
}

func (s *Store) currentFloors() Floors {
	if p := s.floors.Load(); p != nil {
		return *p
	}
	return nil
}

// SyncSettled makes durable what is known to be settled: what [Store.Unsettled] and
// [Store.UnsettledBatches] did not list when it was called does not come back when
// the process is started again.
func (s *Store) SyncSettled(ctx context.Context) error {
	if err := s.Forget(ctx, nil); err != nil {
		return err
	}
	return wrap("sync", s.Beat(ctx)) // an empty commit is not synced
}

// Purging is how a purge is done.
type Purging struct {
	Joint  *recovery.Joint // of the view, which is idle
	Floors Floors
	// Enter is called before rows are deleted and leave after; its error ends the
	// purge.
	Enter func() (leave func(), err error)
	// Pace is called with the bytes of rows that were read; it may wait, and its error
	// ends the purge.
	Pace func(ctx context.Context, bytes int) error
}

// Purge deletes the tombstones below the floors, of versions and of annotations, in
// all orders and in the replica table, and returns how many. Where there are few it goes by their keys, else
// through all rows in order. A tombstone that is replaced meanwhile stays.
func (s *Store) Purge(ctx context.Context, p Purging) (purged int64, err error) {
	if s.options.ReadOnly {
		return 0, wrap("purge", ErrReadOnly)
	}
	if err := s.uses.begin(); err != nil {
		return 0, wrap("purge", err)
	}
	defer s.uses.end()
	w := &purger{store: s, ctx: ctx, how: p, resolver: p.Joint.Resolver()}
	keys, whole := s.tombstones.take()
	if whole {
		err = w.known(keys)
	} else {
		err = w.all()
	}
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		s.tombstones.lose()
		return w.purged, wrap("purge", err)
	}
	s.tombstones.add(w.left)
	return w.purged, nil
}

// purger is one run of Purge.
type purger struct {
	store    *Store
	ctx      context.Context
	how      Purging
	resolver *recovery.Resolver
	step     [][]byte // the keys whose tombstones go next
	left     [][]byte // those that stay
	purged   int64
	read     int // bytes since the last pause
}

const (
	purgeRows  = 1024    // deleted at a time
	purgeBytes = 1 << 20 // read between two pauses, and by one iterator
)

// known goes through tombstones whose keys are known.
func (w *purger) known(keys [][]byte) error {
	slices.SortFunc(keys, bytes.Compare)
	for _, key := range slices.CompactFunc(keys, bytes.Equal) {
		value, err := w.store.get(key)
		if err != nil {
			return err
		}
		if value == nil || !triple.IsTombstone(value) {
			continue
		}
		if err := w.tombstone(key, value); err != nil {
			return err
		}
	}
	return nil
}

// all goes through all rows. An iterator is not kept long: it holds up what wants
// to delete files.
func (w *purger) all() error {
	for next := []byte{tableStorage}; next != nil; {
		var err error
		if next, err = w.some(next); err != nil {
			return err
		}
		if err := w.how.Pace(w.ctx, w.read); err != nil {
			return err
		}
		w.read = 0
	}
	return nil
}

// some goes through some rows and returns where to go on, nil at the end.
func (w *purger) some(from []byte) (next []byte, err error) {
	it, err := w.store.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: []byte{tableLocal}})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for valid := it.First(); valid; valid = it.Next() {
		if w.read >= purgeBytes {
			return bytes.Clone(it.Key()), nil
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		w.read += len(it.Key()) + len(value)
		if !triple.IsTombstone(value) {
			continue
		}
		if err := w.tombstone(bytes.Clone(it.Key()), value); err != nil {
			return nil, err
		}
	}
	return nil, it.Error()
}

// versionOf returns the Pebble key of the version that a row is, or is beside.
func versionOf(key, value []byte) []byte {
	if triple.IsAnnotation(value) {
		key, _, _ = triple.CutAnnotation(key)
	}
	return key
}

// tombstone takes one tombstone, whose key it keeps.
func (w *purger) tombstone(key, value []byte) error {
	if err := w.resolver.Resolve(versionOf(key, value)[1:]); err != nil {
		return err
	}
	stamp, err := w.store.stampOf(value)
	if err != nil {
		return err
	}
	sequencer, ok := w.resolver.Sequencer()
	if !ok || !w.how.Floors.below(sequencer, stamp) {
		if len(w.left) <= maxTombstones {
			w.left = append(w.left, key)
		}
		return nil
	}
	if w.step = append(w.step, key); len(w.step) < purgeRows {
		return nil
	}
	return w.commit()
}

// commit has the committer delete the tombstones that wait.
func (w *purger) commit() error {
	if len(w.step) == 0 {
		return context.Cause(w.ctx)
	}
	leave, err := w.how.Enter()
	if err != nil {
		return err
	}
	defer leave()
	r := &request{kind: kindPurge, done: make(chan struct{}),
		purging: &purging{ctx: w.ctx, keys: w.step, resolver: w.resolver, floors: w.how.Floors}}
	for _, key := range w.step {
		r.size += int64(len(key)) + itemBytes
	}
	w.step = nil
	if err := w.store.queue.do(w.ctx, r, &w.store.health, w.store.options.WriteTimeout); err != nil {
		return err
	}
	w.purged += r.purging.purged
	return context.Cause(w.ctx)
}

// purging is what a request of kindPurge asks for.
type purging struct {
	ctx      context.Context // ends it, up to the moment at which it is committed
	keys     [][]byte
	resolver *recovery.Resolver
	floors   Floors
	purged   int64
}

// commitPurge deletes those of the rows that are still tombstones below their floor.
// It need not be durable: what comes back is purged again.
func (s *Store) commitPurge(r *request) error {
	p := r.purging
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	purged := int64(0)
	for _, key := range p.keys {
		value, err := s.get(key)
		if err != nil {
			return err
		}
		if value == nil || !triple.IsTombstone(value) {
			continue
		}
		if err := p.resolver.Resolve(versionOf(key, value)[1:]); err != nil {
			return err
		}
		stamp, err := s.stampOf(value)
		if err != nil {
			return err
		}
		if sequencer, ok := p.resolver.Sequencer(); !ok || !p.floors.below(sequencer, stamp) {
			continue
		}
		if err := batch.Delete(key, nil); err != nil {
			return err
		}
		purged++
	}
	if err := s.applyStamped(batch, false); err != nil {
		return err
	}
	p.purged = purged
	s.metrics.purged.Add(purged)
	return nil
}
