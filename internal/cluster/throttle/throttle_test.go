// Tests of pauses and shifts.

package throttle

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/bubble"
)

// handClock is moved by hand.
type handClock struct{ now atomic.Int64 }

func (c *handClock) Now() time.Duration   { return time.Duration(c.now.Load()) }
func (c *handClock) pass(d time.Duration) { c.now.Add(int64(d)) }

// handThrottle is a throttle of a machine with two cores, on which so many requests have run
// for a while.
func handThrottle(share float64, requests int) (*Throttle, *handClock) {
	clock := &handClock{}
	clock.pass(time.Hour)
	p := New(clock.Now, share)
	p.cores = 2
	for range requests {
		p.Begin()
	}
	clock.pass(10 * time.Second)
	return p, clock
}

func TestPause(t *testing.T) {
	for _, test := range []struct {
		name        string
		share       float64
		requests    int
		work        time.Duration
		from, until time.Duration // of the pause
	}{
		{"nobody asks", 0.1, 0, time.Millisecond, 0, 0},
		{"it does not give way", 1, 4, time.Millisecond, 0, 0},
		{"a tenth", 0.1, 4, 10 * time.Millisecond, 90 * time.Millisecond, 90 * time.Millisecond},
		{"a half", 0.5, 4, 10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond},
		{"one request is enough for two cores", 0.1, 1, 10 * time.Millisecond, 89 * time.Millisecond, 90 * time.Millisecond},
		{"a pause has an end", 0.01, 100, time.Hour, MaxPause, MaxPause},
		{"no work", 0.1, 4, -time.Millisecond, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, _ := handThrottle(test.share, test.requests)
			if pause := p.After(test.work); pause < test.from || pause > test.until {
				t.Errorf("a pause of %v after %v, not %v to %v", pause, test.work, test.from, test.until)
			}
		})
	}
}

// Few short requests on a machine of many cores cost a rebuild little.
func TestThrottleOfFewRequests(t *testing.T) {
	p, clock := handThrottle(0.1, 0)
	p.cores = 64
	for range 100 {
		p.Begin()
		clock.pass(10 * time.Millisecond)
		p.End()
		clock.pass(10 * time.Millisecond)
	}
	work := 10 * time.Millisecond
	if pause := p.After(work); pause <= 0 || pause > work/2 {
		t.Errorf("a pause of %v after %v", pause, work)
	}
}

// However many goroutines work on copies, a busy node gives all of them together
// their share of the time, and not less.
func TestThrottleSharesOneLine(t *testing.T) {
	const workers, work = 5, 4 * time.Millisecond
	p, clock := handThrottle(0.1, 8)
	free := [workers]time.Duration{}
	worked := time.Duration(0)
	begun := clock.Now()
	for clock.Now()-begun < time.Minute {
		for i := range free {
			if free[i] <= clock.Now() {
				clock.pass(work)
				worked += work
				free[i] = clock.Now() + p.After(work)
			}
		}
		clock.pass(time.Millisecond)
	}
	if share := float64(worked) / float64(clock.Now()-begun); share < 0.08 || share > 0.12 {
		t.Errorf("%d workers had %.3f of the time together", workers, share)
	}
	if p.Total() < 50*time.Second {
		t.Errorf("%v of pauses are counted", p.Total())
	}
}

// When the last request is answered, work goes on at full speed soon, and pauses of
// before do not last.
func TestThrottleAfterRequests(t *testing.T) {
	p, clock := handThrottle(0.1, 4)
	for range 100 {
		p.After(10 * time.Millisecond)
	}
	for range 4 {
		p.End()
	}
	clock.pass(2 * time.Second)
	if pause := p.After(10 * time.Millisecond); pause != 0 {
		t.Errorf("a pause of %v when nobody asks", pause)
	}
	p.Begin() // the first request after that does not find the line as it was
	clock.pass(loadMemory)
	if pause := p.After(time.Millisecond); pause > 10*time.Millisecond {
		t.Errorf("a pause of %v after 1ms", pause)
	}
}

// A shift pauses after its work, and does not count for what it waited for others.
func TestShift(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, clock := handThrottle(0.1, 4)
		s := p.Shift()
		begun := time.Now()
		clock.pass(shiftChunk - 1)
		s.Exclude(func() { clock.pass(time.Minute) })
		for range shiftRows {
			s.Row(t.Context())
		}
		if passed := time.Since(begun); passed != 0 {
			t.Errorf("it paused for %v before its chunk was done", passed)
		}
		clock.pass(1)
		for range shiftRows {
			s.Row(t.Context())
		}
		if passed := time.Since(begun); passed != 9*shiftChunk {
			t.Errorf("it paused for %v after %v of work", passed, shiftChunk)
		}
	})
}
