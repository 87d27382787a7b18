package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// work is what a member does for the view that it has adopted: it walks in fill,
// and sweeps in idle.
type work struct {
	cancel context.CancelFunc // of the work of the view before
	ended  chan struct{}      // closed when that is over

	sizesNext time.Time // before it sizes are not looked at again; of the work that runs

	mu            sync.Mutex
	epoch         uint64 // of what follows
	walked, swept bool
	marks         map[trie.MachineID]uint64
	splits        []view.SplitAt
	small         []uint64
	walk          *walk
	clean         *view.View // the last one of which this machine had swept
	history       history    // of backfills
}

// workRetry is how long a failed walk or sweep waits before it starts again.
const workRetry = 200 * time.Millisecond

// startWork ends the work of the view before and begins that of v. Only the
// goroutine that adopts calls it.
func (n *Node) startWork(v *view.View) {
	w := &n.work
	before := w.ended
	ctx, cancel := context.WithCancel(n.ctx)
	ended := make(chan struct{})
	w.cancel, w.ended = cancel, ended
	w.mu.Lock()
	w.epoch, w.walked, w.swept, w.marks, w.splits, w.small, w.walk = v.Epoch, false, false, nil, nil, nil, nil
	w.mu.Unlock()
	n.run(func() {
		defer close(ended)
		defer cancel()
		if before != nil {
			<-before
		}
		member := v.Has(n.self, n.incarnation)
		w.mu.Lock()
		if w.history = w.history.enter(v); !member {
			w.history = nil
		}
		w.mu.Unlock()
		if member {
			n.doWork(ctx, v)
		}
	})
}

// stop ends the work of the view that is adopted; what of it is being written is
// done or refused before anything of the next epoch is.
func (w *work) stop() {
	if w.cancel != nil {
		w.cancel()
	}
}

// doWork tries until the work of v is done or another view is adopted.
func (n *Node) doWork(ctx context.Context, v *view.View) {
	for ctx.Err() == nil {
		var err error
		switch v.Phase {
		case recovery.Fill:
			err = n.doWalk(ctx, v)
		case recovery.Idle:
			if err = n.doSweep(ctx, v); err == nil {
				err = n.loads.Clean(ctx, v)
			}
		default:
			return
		}
		if err == nil {
			wake(n.wakeLease) // tells the leader
			break
		}
		if ctx.Err() == nil {
			n.log.Warn("the work of a view failed and starts again", "epoch", v.Epoch, "phase", v.Phase, "error", err)
		}
		wait(ctx, workRetry)
	}
	if v.Phase == recovery.Idle {
		n.watchSizes(ctx)
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// doSweep deletes what is outside of this machine's slots.
func (n *Node) doSweep(ctx context.Context, v *view.View) error {
	n.work.mu.Lock()
	clean := n.work.clean
	n.work.mu.Unlock()
	// From one idle view to the next segments are split and nothing moves: there is
	// nothing to look for.
	if clean == nil || clean.Epoch+1 != v.Epoch || !clean.Base.Placement.Equal(v.Base.Placement) {
		if err := n.store.Sweep(ctx, v.Base); err != nil {
			return err
		}
	}
	n.work.mu.Lock()
	defer n.work.mu.Unlock()
	if n.work.epoch == v.Epoch {
		n.work.swept, n.work.clean = true, v
	}
	return nil
}

const (
	// sizesEvery is how often a member looks for segments that have become too large.
	sizesEvery = 5 * time.Second
	// sizesShare: it gives one part in so many of its time to that. Small segments
	// are measured by their rows, which takes a second for some 100 MB of them.
	sizesShare = 50
	// smallShare: a segment has shrunk if it has at most one part in so many of the size
	// beyond which segments are split. Two such are merged.
	smallShare = 8
	// maxSmall bounds the shrunk segments of a report.
	maxSmall = 256
)

// watchSizes reports segments that should be split and, in quiet times, those that have
// shrunk, until ctx ends.
func (n *Node) watchSizes(ctx context.Context) {
	// In a new view too: each split makes one.
	wait(ctx, time.Until(n.work.sizesNext))
	for ctx.Err() == nil {
		begun := time.Now()
		limit := n.segmentLimit()
		splits := n.store.Oversized(limit)
		var small []uint64
		if len(splits) == 0 && n.pace.quiet(quietBefore) {
			small = n.store.Undersized(limit/smallShare, maxSmall)
		}
		rest := sizesShare * time.Since(begun)
		n.work.sizesNext = time.Now().Add(rest)
		var asked []view.SplitAt
		for _, s := range splits {
			asked = append(asked, view.SplitAt{Segment: s.Segment, At: s.At})
		}
		n.work.mu.Lock()
		if ctx.Err() == nil {
			n.work.splits, n.work.small = asked, small
		}
		n.work.mu.Unlock()
		if len(asked)+len(small) > 0 {
			wake(n.wakeLease)
		}
		wait(ctx, max(sizesEvery, rest))
	}
}

// Swept reports whether the view is idle and this machine holds nothing that is not
// of its slots in it.
func (n *Node) Swept() bool {
	v := n.current.Load()
	n.work.mu.Lock()
	defer n.work.mu.Unlock()
	return v != nil && n.work.epoch == v.Epoch && n.work.swept
}

// segmentsEach is into how many segments at least the data of a machine is split,
// so that they spread evenly.
const segmentsEach = 16

// segmentLimit returns the size beyond which a segment is split: an even share of
// what this machine has, within the bounds of the configuration.
func (n *Node) segmentLimit() int64 {
	share := n.store.Status().Bytes / segmentsEach
	return min(max(share, n.cfg.MinSegmentBytes), n.cfg.MaxSegmentBytes)
}

// progress returns how far the walk is, nil where there is none. The lock is held.
func (w *work) progress() *walkProgress {
	if w.walk == nil {
		return nil
	}
	return w.walk.progress()
}

// slow returns the machines that have owed answers to the backfill for so long.
func (w *work) slow(after time.Duration) []trie.MachineID {
	w.mu.Lock()
	walk := w.walk
	w.mu.Unlock()
	if walk == nil {
		return nil
	}
	return walk.slow(after)
}
