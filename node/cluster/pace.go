package cluster

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/processors"
)

// pace makes the work on copies, of walks and of what they send, give way to
// requests. While the node answers requests, that work gets a share of the time and
// pauses for the rest; while it answers none, it goes on at full speed. Work that
// the processor makes wait takes longer, and so do the pauses after it: where
// several nodes share processors, they all step back.
//
// All work of a node waits in one line, so that the share is the node's, however
// many others send. It never stops: a pause has an end.
type pace struct {
	clock Clock
	share float64 // of the time, while the node is busy; 1 is all of it
	cores float64

	mu      sync.Mutex
	running int           // requests
	load    float64       // their mean number lately
	at      time.Duration // that load is of
	busy    time.Duration // when requests last were a load
	free    time.Duration // when the pauses of all work so far are over
	paused  time.Duration // all of them
}

const (
	// paceMemory is how long it takes until most of load is of what came since.
	paceMemory = 250 * time.Millisecond
	// paceQuiet is the load below which nobody is disturbed.
	paceQuiet = 0.02
	// paceBusy is the load, for each core, from which on pauses are whole. One
	// request uses several goroutines, on this machine and on others.
	paceBusy = 0.5
	// paceLongest bounds a pause.
	paceLongest = 2 * time.Second
	// paceChunk is how long a walk works until it asks for a pause: shorter than
	// what a reader notices.
	paceChunk = 4 * time.Millisecond
	// paceRows is after how many rows a walk looks at the clock.
	paceRows = 64
)

func newPace(clock Clock, share float64) *pace {
	return &pace{clock: clock, share: share, cores: float64(processors.Count()), at: clock.Now(), busy: clock.Now()}
}

// begin and end are around each request.
func (p *pace) begin() { p.count(1) }
func (p *pace) end()   { p.count(-1) }

func (p *pace) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle(p.clock.Now())
	if p.load >= paceQuiet {
		p.busy = p.at
	}
	p.running += n
}

// quiet reports whether requests have been no load for so long.
func (p *pace) quiet(since time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.settle(now)
	if p.load >= paceQuiet {
		p.busy = now
	}
	return now-p.busy >= since
}

// settle brings load up to now: it comes ever nearer to the number of requests
// that run. The lock is held.
func (p *pace) settle(now time.Duration) {
	passed := now - p.at
	if passed <= 0 {
		return
	}
	p.at = now
	old := math.Exp(-float64(passed) / float64(paceMemory))
	p.load = p.load*old + float64(p.running)*(1-old)
}

// after returns for how long to pause after so much work.
func (p *pace) after(work time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.settle(now)
	if p.share >= 1 || work <= 0 || p.load < paceQuiet {
		p.free = now
		return 0
	}
	whole := float64(work) * (1/p.share - 1)
	from := max(p.free, now)
	p.free = from + time.Duration(whole*min(p.load/(p.cores*paceBusy), 1))
	p.free = min(p.free, now+paceLongest)
	p.paused += p.free - from
	return p.free - now
}

// total returns how long work has paused.
func (p *pace) total() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}

// shift is the work of one goroutine, from pause to pause.
type shift struct {
	pace  *pace
	begun time.Duration
	rows  int
}

func (p *pace) shift() *shift { return &shift{pace: p, begun: p.clock.Now()} }

// row is called after each row. It pauses where it is time to.
func (s *shift) row(ctx context.Context) {
	if s.rows++; s.rows%paceRows != 0 {
		return
	}
	if work := s.pace.clock.Now() - s.begun; work >= paceChunk {
		wait(ctx, s.pace.after(work))
		s.begun = s.pace.clock.Now()
	}
}

// idle leaves out of the work what f takes, which waits for others.
func (s *shift) idle(f func()) {
	from := s.pace.clock.Now()
	f()
	s.begun += s.pace.clock.Now() - from
}
