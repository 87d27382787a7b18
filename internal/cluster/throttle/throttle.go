// Package throttle makes background work give way to requests. While a node answers
// requests, its work on copies gets a share of the time and pauses for the rest. While it
// answers none, that work runs at full speed.
//
//	a request      Begin ... End          they make up the load
//	background     After(work) -> pause   a share of the time if there is a load
//	a long scan    Shift, then Row for each row: pauses by itself
//	quiet times    Quiet(d)               work that waits until nobody needs the node
//
// The load is the mean number of running requests, as an average whose weights fall off
// exponentially. If processors are scarce, work takes longer, and so do the pauses after it:
// nodes that share processors all step back.
package throttle

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/internal/retry"
)

// Throttle is the one line for all background work of a node, because the share is the node's,
// not each sender's. It never blocks for good: a pause is at most [MaxPause]. Its methods are
// safe for concurrent use.
type Throttle struct {
	now   func() time.Duration
	share float64 // of the time, while the node is busy; 1 is all of it
	cores float64

	mu         sync.Mutex
	running    int           // requests
	load       float64       // the mean number of requests, at loadTime
	loadTime   time.Duration // when load was computed
	lastBusy   time.Duration // when load was at least quietLoad
	pausesEnd  time.Duration // when the pauses of all work so far are over
	totalPause time.Duration // sum of all pauses
}

const (
	// loadMemory is the time until most of load stems from newer requests.
	loadMemory = 250 * time.Millisecond
	// quietLoad is a load; below it background work makes no pauses.
	quietLoad = 0.02
	// busyLoad is a load of each core; from it on pauses are whole. One request uses several
	// goroutines, on this machine and on others.
	busyLoad = 0.5
	// shiftChunk is how long a shift works between pauses: shorter than a reader notices.
	shiftChunk = 4 * time.Millisecond
	// shiftRows is the number of rows between two readings of the clock.
	shiftRows = 64
)

// MaxPause bounds a pause.
const MaxPause = 2 * time.Second

// New returns a throttle. Background work gets a share of the time, above 0 and up to 1, while
// requests run. now must be monotonic.
func New(now func() time.Duration, share float64) *Throttle {
	return &Throttle{now: now, share: share, cores: float64(processors.Count()), loadTime: now(), lastBusy: now()}
}

// Begin counts a request. It must call End when it is answered.
func (t *Throttle) Begin() { t.count(1) }

// End is the counterpart of Begin.
func (t *Throttle) End() { t.count(-1) }

func (t *Throttle) count(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateLoad(t.now())
	if t.load >= quietLoad {
		t.lastBusy = t.loadTime
	}
	t.running += n
}

// Quiet reports whether requests have been no load for the given time.
func (t *Throttle) Quiet(atLeast time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.updateLoad(now)
	if t.load >= quietLoad {
		t.lastBusy = now
	}
	return now-t.lastBusy >= atLeast
}

// updateLoad brings load up to now. It approaches the number of running requests. The lock
// must be held.
func (t *Throttle) updateLoad(now time.Duration) {
	passed := now - t.loadTime
	if passed <= 0 {
		return
	}
	t.loadTime = now
	old := math.Exp(-float64(passed) / float64(loadMemory))
	t.load = t.load*old + float64(t.running)*(1-old)
}

// After returns how long to pause after some work: zero if there is no load.
func (t *Throttle) After(work time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.updateLoad(now)
	if t.share >= 1 || work <= 0 || t.load < quietLoad {
		t.pausesEnd = now
		return 0
	}
	whole := float64(work) * (1/t.share - 1)
	from := max(t.pausesEnd, now)
	t.pausesEnd = from + time.Duration(whole*min(t.load/(t.cores*busyLoad), 1))
	t.pausesEnd = min(t.pausesEnd, now+MaxPause)
	t.totalPause += t.pausesEnd - from
	return t.pausesEnd - now
}

// Total returns the sum of all pauses so far.
func (t *Throttle) Total() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.totalPause
}

// Shift is the work of one goroutine, from pause to pause. No other goroutine may use it.
type Shift struct {
	throttle *Throttle
	begun    time.Duration
	rows     int
}

// Shift begins a shift now.
func (t *Throttle) Shift() *Shift { return &Shift{throttle: t, begun: t.now()} }

// Row must be called after each row. It pauses if a chunk of work is done.
func (s *Shift) Row(ctx context.Context) {
	if s.rows++; s.rows%shiftRows != 0 {
		return
	}
	if work := s.throttle.now() - s.begun; work >= shiftChunk {
		retry.Sleep(ctx, s.throttle.After(work))
		s.begun = s.throttle.now()
	}
}

// Exclude calls f and does not count its time as work, because f waits for others.
func (s *Shift) Exclude(f func()) {
	from := s.throttle.now()
	f()
	s.begun += s.throttle.now() - from
}
