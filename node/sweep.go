package node

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// sweeping is what a request of kindSweep asks for: rows to delete.
type sweeping struct {
	until   context.Context // ends it, up to the moment at which it is committed
	spans   []span
	deletes [][]byte
	counted counters // how many of them are counted
	synced  bool
}

// span is Pebble keys: lower <= key < upper.
type span struct{ lower, upper []byte }

// Sweep deletes the rows that are not in this machine's slots under l: of the
// storage table by ranges, all segments of others; of the replica table one by
// one. It is durable when it returns.
//
// Nothing of it is committed after its context has ended, but for what is being
// committed at that moment, which comes before every write that begins later. So
// whoever adopts another layout ends the context first; what was fills the rows of
// later stays.
func (s *Store) Sweep(ctx context.Context, l recovery.Layout) error {
	if s.options.ReadOnly {
		return wrap("sweep", ErrReadOnly)
	}
	if err := s.uses.begin(); err != nil {
		return wrap("sweep", err)
	}
	defer s.uses.end()
	w := &sweeper{store: s, ctx: ctx, layout: l}
	if err := w.storage(); err != nil {
		return wrap("sweep", err)
	}
	if err := w.replicas(); err != nil {
		return wrap("sweep", err)
	}
	return wrap("sweep", w.end())
}

// sweeper is one run of Sweep.
type sweeper struct {
	store  *Store
	ctx    context.Context
	layout recovery.Layout
	step   sweeping // the deletions that wait
	done   bool     // there were some
	moves  int
}

// sweepSpans and sweepRows are how many ranges and rows are deleted at a time.
const (
	sweepSpans = 64
	sweepRows  = 4096
)

// storage deletes the segments of other machines that have rows.
func (w *sweeper) storage() error {
	it, err := w.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableStorage}, UpperBound: []byte{tableReplica}})
	if err != nil {
		return err
	}
	defer it.Close()
	for segment := range w.foreign() {
		lower, upper := storageBounds(segment)
		if !it.SeekGE(lower) {
			break
		}
		if bytes.Compare(it.Key(), upper) >= 0 {
			continue
		}
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

// foreign returns the ranges of the segments of others, those together that follow
// one another.
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

// count counts the rows of SPO among those from lower to upper.
func (w *sweeper) count(it *pebble.Iterator, lower, upper []byte) error {
	first, last := storageBounds(triple.OrderRange(triple.SPO))
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
			w.step.counted.annotations++
		default:
			w.step.counted.triples++
		}
		if err := w.goOn(); err != nil {
			return err
		}
	}
	return it.Error()
}

// replicas deletes the rows of triples of which this machine keeps no extra
// replica.
func (w *sweeper) replicas() error {
	it, err := w.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableReplica}, UpperBound: []byte{tableLocal}})
	if err != nil {
		return err
	}
	defer it.Close()
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
			w.store.NoteDamage()
			w.store.options.Logger.Error("a sweep leaves a damaged row where it is", "key", fmt.Sprintf("%X", it.Key()), "error", err)
			continue
		}
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

func keepsExtra(slots []recovery.Slot, machine trie.MachineID) bool {
	return slices.ContainsFunc(slots, func(s recovery.Slot) bool { return s.Extra && s.Machine == machine })
}

// goOn is called with every row that is looked at.
func (w *sweeper) goOn() error {
	if w.moves++; w.moves%checkMoves != 0 {
		return nil
	}
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if w.store.uses.closing.Load() {
		return ErrClosed
	}
	return nil
}

// commit has the committer do what waits.
func (w *sweeper) commit(durable bool) error {
	step := w.step
	step.until, step.synced = w.ctx, durable
	w.step = sweeping{}
	w.done = w.done || len(step.spans) > 0 || len(step.deletes) > 0
	r := &request{kind: kindSweep, sweeping: &step, done: make(chan struct{})}
	for _, key := range step.deletes {
		r.size += int64(len(key)) + itemBytes
	}
	r.size += int64(len(step.spans)) * itemBytes
	return w.store.queue.do(w.ctx, r, &w.store.health, w.store.options.WriteTimeout)
}

// end makes all of it durable, and estimates and the disk show it.
func (w *sweeper) end() error {
	if !w.done && len(w.step.spans) == 0 && len(w.step.deletes) == 0 {
		return context.Cause(w.ctx)
	}
	if err := w.commit(true); err != nil {
		return err
	}
	w.store.afterClear(flushCleared)
	return nil
}

// commitSweep does a step of a sweep.
func (s *Store) commitSweep(r *request) error {
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
	counted := s.counted
	if r.counted != (counters{}) {
		if counted.annotations > 0 && !s.annotated { // those in other orders stay
			s.annotated = true
			if err := batch.Set(rowAnnotated, []byte{}, nil); err != nil {
				return err
			}
		}
		counted.triples -= r.counted.triples
		counted.annotations -= r.counted.annotations
		if err := batch.Set(rowCounters, counted.append(nil), nil); err != nil {
			return err
		}
	}
	if err := s.applyStamped(batch, r.synced); err != nil {
		return err
	}
	s.counted = counted
	s.metrics.swept.Add(int64(len(r.deletes) + reclaimRows*len(r.spans)))
	return nil
}
