// The sweep: deleting rows that the layout places on other machines.

package replica

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// sweeping is a job that deletes rows. It implements [store.Job].
type sweeping struct {
	store   *Store
	size    int64
	until   context.Context // ends it until it is committed
	spans   []span
	deletes [][]byte
	counted keyspace.Counters // how many of the deleted rows are counted
	synced  bool
}

// span is a range of Pebble keys: lower <= key < upper.
type span struct{ lower, upper []byte }

// Sweep deletes the rows that have no place on this machine under l. It deletes other machines'
// segments of the storage table by ranges, and rows of the replica table one by one. The deletion
// is durable when it returns.
//
// Nothing is committed after ctx ends, except for a commit that runs at that moment. That commit
// comes before every write that begins later. So the caller must end ctx when it adopts another
// layout, because fills for the new layout must stay.
func (s *Store) Sweep(ctx context.Context, l recovery.Layout) error {
	if s.db.ReadOnly {
		return fault.Wrap("sweep", store.ErrReadOnly)
	}
	if err := s.db.Begin(); err != nil {
		return fault.Wrap("sweep", err)
	}
	defer s.db.End()
	w := &sweeper{store: s, ctx: ctx, layout: l}
	if err := w.storage(); err != nil {
		return fault.Wrap("sweep", err)
	}
	if err := w.replicas(); err != nil {
		return fault.Wrap("sweep", err)
	}
	return fault.Wrap("sweep", w.end())
}

// sweeper is one run of Sweep.
type sweeper struct {
	store  *Store
	ctx    context.Context
	layout recovery.Layout
	step   sweeping // the deletions in waiting
	done   bool     // some deletions were committed
	moves  int
}

// sweepSpans and sweepRows are the numbers of ranges and rows in one commit.
const (
	sweepSpans = 64
	sweepRows  = 4096
)

// storage deletes the segments of other machines if they have rows.
func (w *sweeper) storage() error {
	it, err := w.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyspace.Storage}, UpperBound: []byte{keyspace.Replica}})
	if err != nil {
		return err
	}
	defer it.Close()
	// 1. Seek to each foreign range. If no row is in it, nothing must be deleted.
	for segment := range w.foreign() {
		lower, upper := keyspace.StorageBounds(segment)
		if !it.SeekGE(lower) {
			break
		}
		if bytes.Compare(it.Key(), upper) >= 0 {
			continue
		}
		// 2. Count before the deletion, because a range delete does not report its rows.
		if err := w.count(it, lower, upper); err != nil {
			return err
		}
		w.step.spans = append(w.step.spans, span{lower, upper})
		if len(w.step.spans) == sweepSpans {
			if err := w.commit(false); err != nil {
				return err
			}
		}
	}
	return it.Error()
}

// foreign returns the ranges of other machines' segments. It joins neighbours.
func (w *sweeper) foreign() func(yield func(triple.Range) bool) {
	return func(yield func(triple.Range) bool) {
		var run triple.Range
		open := false
		for segment := range w.layout.Trie.All() {
			if w.layout.Placement.Owner(segment) != w.store.MachineID() {
				if !open {
					run, open = triple.Range{Lo: segment.Lo}, true
				}
				run.Hi = segment.Hi
				continue
			}
			if open && !yield(run) {
				return
			}
			open = false
		}
		if open {
			yield(run)
		}
	}
}

// count counts the rows of SPO between lower and upper.
func (w *sweeper) count(it *pebble.Iterator, lower, upper []byte) error {
	first, last := keyspace.StorageBounds(triple.OrderRange(triple.SPO))
	lower, upper = slices.MaxFunc([][]byte{lower, first}, bytes.Compare), slices.MinFunc([][]byte{upper, last}, bytes.Compare)
	if bytes.Compare(lower, upper) >= 0 {
		return nil
	}
	for valid := it.SeekGE(lower); valid && bytes.Compare(it.Key(), upper) < 0; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		switch {
		case triple.IsTombstone(value):
		case triple.IsAnnotation(value):
			w.step.counted.Annotations++
		default:
			w.step.counted.Count(it.Key()[1:], 1)
		}
		if err := w.goOn(); err != nil {
			return err
		}
	}
	return it.Error()
}

// replicas deletes rows of the replica table if this machine has no extra place for their triples.
func (w *sweeper) replicas() error {
	it, err := w.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyspace.Replica}, UpperBound: []byte{keyspace.Local}})
	if err != nil {
		return err
	}
	defer it.Close()
	// 1. Resolve each triple under the new layout alone.
	resolver := (&recovery.Joint{Base: w.layout, Target: w.layout}).Resolver()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		version := it.Key()[1:]
		if triple.IsAnnotation(value) {
			version, _, _ = triple.CutAnnotation(version)
		}
		if err := resolver.Resolve(version); err != nil { // the cluster regenerates the row elsewhere
			w.store.db.CountDamage()
			w.store.db.Logger.Error("a sweep leaves a damaged row where it is", "key", fmt.Sprintf("%X", it.Key()), "error", err)
			continue
		}
		// 2. Delete the row if this machine has no extra place. Commit in steps, because waiting
		// deletes are held in memory.
		if !keepsExtra(resolver.Base(), w.store.MachineID()) {
			w.step.deletes = append(w.step.deletes, slices.Clone(it.Key()))
		}
		if len(w.step.deletes) == sweepRows {
			if err := w.commit(false); err != nil {
				return err
			}
		}
		if err := w.goOn(); err != nil {
			return err
		}
	}
	return it.Error()
}

func keepsExtra(places []recovery.Place, machine trie.MachineID) bool {
	return slices.ContainsFunc(places, func(s recovery.Place) bool { return s.Extra && s.Machine == machine })
}

// goOn must be called for every row, because it notices the end of ctx and of the store.
func (w *sweeper) goOn() error {
	if w.moves++; w.moves%database.CheckMoves != 0 {
		return nil
	}
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if w.store.db.Closing() {
		return store.ErrClosed
	}
	return nil
}

// commit runs the waiting deletions in the committer.
func (w *sweeper) commit(durable bool) error {
	step := w.step
	step.store, step.until, step.synced = w.store, w.ctx, durable
	w.step = sweeping{}
	w.done = w.done || len(step.spans) > 0 || len(step.deletes) > 0
	for _, key := range step.deletes {
		step.size += int64(len(key)) + rowBytes
	}
	step.size += int64(len(step.spans)) * rowBytes
	return w.store.Committer().Do(w.ctx, &step)
}

// end makes the sweep durable and refreshes the estimates and the disk's usage.
func (w *sweeper) end() error {
	if !w.done && len(w.step.spans) == 0 && len(w.step.deletes) == 0 {
		return context.Cause(w.ctx)
	}
	if err := w.commit(true); err != nil {
		return err
	}
	w.store.Committer().Cleared(store.FlushCleared)
	return nil
}

// Bytes implements [store.Job].
func (r *sweeping) Bytes() int64 { return r.size }

// Reserved implements [store.Job].
func (r *sweeping) Reserved() bool { return true }

// Alone implements [store.Job].
func (r *sweeping) Alone() bool { return true }

// Commit implements [store.Job].
func (r *sweeping) Commit(to *store.Commit, _ []store.Job) error {
	s := r.store
	// 1. If ctx has ended, another layout may hold, so nothing may be deleted.
	if r.until.Err() != nil {
		return context.Cause(r.until)
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	for _, span := range r.spans {
		if err := batch.DeleteRange(span.lower, span.upper, nil); err != nil {
			return err
		}
	}
	for _, key := range r.deletes {
		if err := batch.Delete(key, nil); err != nil {
			return err
		}
	}
	// 2. Correct the counters. If annotations were counted, the mark must stay.
	counted := to.Counters()
	if r.counted != (keyspace.Counters{}) {
		if counted.Annotations > 0 && !s.annotated { // the annotations in other orders stay
			s.annotated = true
			if err := batch.Set(rowAnnotated, []byte{}, nil); err != nil {
				return err
			}
		}
		counted.Triples -= r.counted.Triples
		counted.Annotations -= r.counted.Annotations
		counted.Links -= r.counted.Links
	}
	// 3. Sync only the last step, because it makes all earlier ones durable, too.
	if err := to.Write(batch, counted, r.synced); err != nil {
		return err
	}
	s.Committer().Removed(int64(len(r.deletes) + database.ReclaimRows*len(r.spans)))
	return nil
}
