// A member's work under the adopted view.

package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/loads"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// work is a member's work under the adopted view: backfill in phase fill, sweep and segment sizes
// in phase idle. The work of one view must end before the work of the next begins.
type work struct {
	*membership
	backfill *backfill.Filler
	loads    *loads.Loads
	throttle *throttle.Throttle
	start    func(task func()) // starts a goroutine of the node
	report   func()            // makes the next report due at once

	// Only the adopting goroutine may use these two.
	cancel context.CancelFunc // ends the work of the newest view
	ended  chan struct{}      // closed when that has ended

	// Only the running work may use these two.
	sizesNext time.Time  // when segments may be measured again
	clean     *view.View // the newest view under which this machine swept

	mu     sync.Mutex
	result workResult // guarded by mu
}

// workResult is the result of the work under one view.
type workResult struct {
	epoch         uint64
	filled, swept bool
	marks         map[trie.MachineID]uint64 // of the machines that were sent rows
	splits        []view.SplitAt            // segments that are too large
	small         []uint64                  // segments that have shrunk
}

// workRetry is how long a failed backfill or sweep waits before it starts again.
const workRetry = 200 * time.Millisecond

// begin ends the work of the view before and begins the work of v. Only the adopting goroutine
// may call it.
func (w *work) begin(ctx context.Context, v *view.View) {
	before := w.ended
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	w.cancel, w.ended = cancel, ended
	w.mu.Lock()
	w.result = workResult{epoch: v.Epoch}
	w.mu.Unlock()
	w.start(func() {
		defer close(ended)
		defer cancel()
		if before != nil {
			<-before
		}
		member := v.Has(w.self, w.incarnation)
		w.backfill.Adopt(v, member)
		if member {
			w.run(ctx, v)
		}
	})
}

// stop ends the work of the adopted view. A write under way is completed or refused before any
// write of the next epoch.
func (w *work) stop() {
	if w.cancel != nil {
		w.cancel()
	}
}

// run repeats the work of v until it succeeds or another view is adopted.
func (w *work) run(ctx context.Context, v *view.View) {
	for ctx.Err() == nil {
		var err error
		switch v.Phase {
		case recovery.Fill:
			err = w.fill(ctx, v)
		case recovery.Idle:
			if err = w.sweep(ctx, v); err == nil {
				err = w.loads.Clean(ctx, v)
			}
		default:
			return
		}
		if err == nil {
			w.report() // so that the leader gets a report at once
			break
		}
		if ctx.Err() == nil {
			w.log.Warn("the work of a view failed and starts again", "epoch", v.Epoch, "phase", v.Phase, "error", err)
		}
		retry.Sleep(ctx, workRetry)
	}
	if v.Phase == recovery.Idle {
		w.watchSizes(ctx)
	}
}

// update changes the result of an epoch, unless a newer view has been adopted.
func (w *work) update(epoch uint64, change func(r *workResult)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.result.epoch == epoch {
		change(&w.result)
	}
}

// done returns the result under the view of an epoch; nil if another view is adopted. Its slices
// and maps must not be changed.
func (w *work) done(epoch uint64) *workResult {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.result.epoch != epoch {
		return nil
	}
	r := w.result
	return &r
}

// fill runs the backfill of v.
func (w *work) fill(ctx context.Context, v *view.View) error {
	marks, err := w.backfill.Run(ctx, v)
	if err != nil {
		return err
	}
	w.update(v.Epoch, func(r *workResult) { r.filled, r.marks = true, marks })
	return nil
}

// sweep deletes the rows v does not place on this machine.
func (w *work) sweep(ctx context.Context, v *view.View) error {
	// From one idle view to the next segments are split and nothing moves, so there is
	// nothing to delete.
	if w.clean == nil || w.clean.Epoch+1 != v.Epoch || !w.clean.Base.Placement.Equal(v.Base.Placement) {
		if err := w.store.Sweep(ctx, v.Base); err != nil {
			return err
		}
	}
	w.update(v.Epoch, func(r *workResult) { r.swept, w.clean = true, v })
	return nil
}

const (
	// sizesEvery is the interval in which a member looks for too large segments.
	sizesEvery = 5 * time.Second
	// sizesShare is the inverse of the share of time for this. It is bounded because small
	// segments are measured by their rows, which takes a second for some 100 MB of them.
	sizesShare = 50
	// smallShare divides the greatest size of a segment. If a segment is at most of the
	// quotient's size, it has shrunk, and two such are merged.
	smallShare = 8
	// maxSmall bounds the shrunk segments of a report.
	maxSmall = 256
)

// watchSizes reports segments until ctx ends: too large ones and, in quiet times, shrunk ones.
func (w *work) watchSizes(ctx context.Context) {
	// The interval holds across views too, because each split makes one.
	retry.Sleep(ctx, time.Until(w.sizesNext))
	for ctx.Err() == nil {
		begun := time.Now()
		limit := w.segmentLimit()
		oversized := w.store.Segments().Oversized(limit)
		var small []uint64
		if len(oversized) == 0 && w.throttle.Quiet(quietBefore) {
			small = w.store.Segments().Undersized(limit/smallShare, maxSmall)
		}
		rest := sizesShare * time.Since(begun)
		w.sizesNext = time.Now().Add(rest)
		var splits []view.SplitAt
		for _, s := range oversized {
			splits = append(splits, view.SplitAt{Segment: s.Segment, At: s.At})
		}
		w.mu.Lock()
		if ctx.Err() == nil {
			w.result.splits, w.result.small = splits, small
		}
		w.mu.Unlock()
		if len(splits)+len(small) > 0 {
			w.report()
		}
		retry.Sleep(ctx, max(sizesEvery, rest))
	}
}

// Swept reports whether the view is idle and this machine has only rows of its places.
func (w *work) Swept() bool {
	v := w.View()
	if v == nil {
		return false
	}
	done := w.done(v.Epoch)
	return done != nil && done.swept
}

// segmentsEach is the least number of segments of a machine's data, because few would not spread
// evenly.
const segmentsEach = 16

// segmentLimit returns the greatest size of a segment: an even share of this machine's data,
// within the bounds of the configuration.
func (w *work) segmentLimit() int64 {
	share := w.store.Status().Bytes / segmentsEach
	return min(max(share, w.cfg.MinSegmentBytes), w.cfg.MaxSegmentBytes)
}
