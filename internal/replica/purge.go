// The purge of tombstones below the floors.

package replica

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The cluster sets floors: for each sequencer a stamp. Every operation below it is committed on
// all machines, and none must be driven again. A tombstone below its floor only holds back
// repeated messages that come late. The floor rejects these, too, so the tombstone may go.

// Floors are stamps by the current sequencer of the triples.
type Floors map[trie.MachineID]triple.Stamp

// isBelow reports whether a stamp is below the floor of a sequencer.
func (f Floors) isBelow(sequencer trie.MachineID, stamp triple.Stamp) bool {
	floor, ok := f[sequencer]
	return ok && stamp.Less(floor)
}

// SetFloors sets the floors of the adopted view. Deliveries below them are repetitions, so nothing
// of them is written. The floors hold for one view: when the next one is adopted, the caller must
// set nil. No delivery may be applied during the call.
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

// SyncCommitted makes the list of committed batches durable. If [Store.InFlight] and
// [Store.InFlightBatches] did not list a batch at the call, it does not come back when the
// process restarts.
func (s *Store) SyncCommitted(ctx context.Context) error {
	if err := s.Forget(ctx, nil); err != nil {
		return err
	}
	return fault.Wrap("sync", s.beats.Beat(ctx)) // an empty commit is not synced
}

// Purging configures a purge.
type Purging struct {
	Joint  *recovery.Joint // of the view, which must be idle
	Floors Floors
	// Enter is called before rows are deleted, and leave after. If Enter fails, the purge ends.
	Enter func() (leave func(), err error)
	// Pace is called with the number of bytes read. It may wait. If it fails, the purge ends.
	Pace func(ctx context.Context, bytes int) error
}

// Purge deletes the tombstones below the floors, of triples and of annotations, in all orders and
// in the replica table. It returns how many. If few tombstones are known, it looks up their keys;
// otherwise it reads all rows in order. If a tombstone is replaced meanwhile, it stays.
func (s *Store) Purge(ctx context.Context, p Purging) (purged int64, err error) {
	if s.db.ReadOnly {
		return 0, fault.Wrap("purge", store.ErrReadOnly)
	}
	if err := s.db.Begin(); err != nil {
		return 0, fault.Wrap("purge", err)
	}
	defer s.db.End()
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
		return w.purged, fault.Wrap("purge", err)
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
	step     [][]byte // the keys of the next tombstones to delete
	left     [][]byte // the keys of tombstones that stay
	purged   int64
	read     int // bytes since the last pause
}

const (
	purgeRows  = 1024    // deleted at a time
	purgeBytes = 1 << 20 // read between two pauses, and by one iterator
)

// known purges tombstones of known keys.
func (w *purger) known(keys [][]byte) error {
	slices.SortFunc(keys, bytes.Compare)
	for _, key := range slices.CompactFunc(keys, bytes.Equal) {
		value, err := w.store.db.Value(key)
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

// all reads all rows. It renews the iterator often, because an open one delays the deletion of
// files.
func (w *purger) all() error {
	for next := []byte{keyspace.Storage}; next != nil; {
		var err error
		if next, err = w.readSome(next); err != nil {
			return err
		}
		if err := w.how.Pace(w.ctx, w.read); err != nil {
			return err
		}
		w.read = 0
	}
	return nil
}

// readSome reads some rows and returns the next key, or nil at the end.
func (w *purger) readSome(from []byte) (next []byte, err error) {
	it, err := w.store.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: []byte{keyspace.Local}})
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

// versionOf returns the Pebble key of the row that a row is, or is beside if it is an annotation.
func versionOf(key, value []byte) []byte {
	if triple.IsAnnotation(value) {
		key, _, _ = triple.CutAnnotation(key)
	}
	return key
}

// tombstone takes one tombstone. It keeps key.
func (w *purger) tombstone(key, value []byte) error {
	if err := w.resolver.Resolve(versionOf(key, value)[1:]); err != nil {
		return err
	}
	stamp, err := w.store.loadEpochs.stampOf(value)
	if err != nil {
		return err
	}
	sequencer, ok := w.resolver.Sequencer()
	if !ok || !w.how.Floors.isBelow(sequencer, stamp) {
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

// commit deletes the waiting tombstones through the committer.
func (w *purger) commit() error {
	if len(w.step) == 0 {
		return context.Cause(w.ctx)
	}
	leave, err := w.how.Enter()
	if err != nil {
		return err
	}
	defer leave()
	r := &purging{store: w.store, ctx: w.ctx, keys: w.step, resolver: w.resolver, floors: w.how.Floors}
	for _, key := range w.step {
		r.size += int64(len(key)) + rowBytes
	}
	w.step = nil
	if err := w.store.Committer().Do(w.ctx, r); err != nil {
		return err
	}
	w.purged += r.purged
	return context.Cause(w.ctx)
}

// purging is a job that deletes tombstones. It implements [store.Job].
type purging struct {
	store    *Store
	size     int64
	ctx      context.Context // ends it until it is committed
	keys     [][]byte
	resolver *recovery.Resolver
	floors   Floors
	purged   int64
}

// Bytes implements [store.Job].
func (p *purging) Bytes() int64 { return p.size }

// Reserved implements [store.Job].
func (p *purging) Reserved() bool { return true }

// Alone implements [store.Job].
func (p *purging) Alone() bool { return true }

// Commit implements [store.Job]. It deletes each row if it is still a tombstone below its floor.
// It need not be durable, because rows that come back are purged again.
func (p *purging) Commit(to *store.Commit, _ []store.Job) error {
	s := p.store
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	// 1. Look at each row again, because it may have changed since it was listed.
	batch := s.db.NewBatch()
	defer batch.Close()
	purged := int64(0)
	for _, key := range p.keys {
		// If a newer row has replaced the tombstone, the row must stay.
		value, err := s.db.Value(key)
		if err != nil {
			return err
		}
		if value == nil || !triple.IsTombstone(value) {
			continue
		}
		if err := p.resolver.Resolve(versionOf(key, value)[1:]); err != nil {
			return err
		}
		stamp, err := s.loadEpochs.stampOf(value)
		if err != nil {
			return err
		}
		if sequencer, ok := p.resolver.Sequencer(); !ok || !p.floors.isBelow(sequencer, stamp) {
			continue
		}
		if err := batch.Delete(key, nil); err != nil {
			return err
		}
		purged++
	}
	// 2. A reader of an earlier tick may need the tombstones: see past. That of a batch may be committed although
	// this machine has not heard so.
	s.inFlight.forgetOverwritten()
	// 3. Write without a sync, because the next purge repeats lost deletes.
	if err := to.Write(batch, to.Counters(), false); err != nil {
		return err
	}
	p.purged = purged
	s.Committer().Removed(purged)
	return nil
}
