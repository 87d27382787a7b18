package cluster

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/bubble"
)

// handClock is moved by hand.
type handClock struct{ now atomic.Int64 }

func (c *handClock) Now() time.Duration   { return time.Duration(c.now.Load()) }
func (c *handClock) pass(d time.Duration) { c.now.Add(int64(d)) }

// handPace is a pace of a machine with two cores, on which so many requests have run
// for a while.
func handPace(share float64, requests int) (*pace, *handClock) {
	clock := &handClock{}
	clock.pass(time.Hour)
	p := newPace(clock, share)
	p.cores = 2
	for range requests {
		p.begin()
	}
	clock.pass(10 * time.Second)
	return p, clock
}

func TestPace(t *testing.T) {
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
		{"a pause has an end", 0.01, 100, time.Hour, paceLongest, paceLongest},
		{"no work", 0.1, 4, -time.Millisecond, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, _ := handPace(test.share, test.requests)
			if pause := p.after(test.work); pause < test.from || pause > test.until {
				t.Errorf("a pause of %v after %v, not %v to %v", pause, test.work, test.from, test.until)
			}
		})
	}
}

// Few short requests on a machine of many cores cost a rebuild little.
func TestPaceOfFewRequests(t *testing.T) {
	p, clock := handPace(0.1, 0)
	p.cores = 64
	for range 100 {
		p.begin()
		clock.pass(10 * time.Millisecond)
		p.end()
		clock.pass(10 * time.Millisecond)
	}
	work := 10 * time.Millisecond
	if pause := p.after(work); pause <= 0 || pause > work/2 {
		t.Errorf("a pause of %v after %v", pause, work)
	}
}

// However many goroutines work on copies, a busy node gives all of them together
// their share of the time, and not less.
func TestPaceSharesOneLine(t *testing.T) {
	const workers, work = 5, 4 * time.Millisecond
	p, clock := handPace(0.1, 8)
	free := [workers]time.Duration{}
	worked := time.Duration(0)
	begun := clock.Now()
	for clock.Now()-begun < time.Minute {
		for i := range free {
			if free[i] <= clock.Now() {
				clock.pass(work)
				worked += work
				free[i] = clock.Now() + p.after(work)
			}
		}
		clock.pass(time.Millisecond)
	}
	if share := float64(worked) / float64(clock.Now()-begun); share < 0.08 || share > 0.12 {
		t.Errorf("%d workers had %.3f of the time together", workers, share)
	}
	if p.total() < 50*time.Second {
		t.Errorf("%v of pauses are counted", p.total())
	}
}

// When the last request is answered, work goes on at full speed soon, and pauses of
// before do not last.
func TestPaceAfterRequests(t *testing.T) {
	p, clock := handPace(0.1, 4)
	for range 100 {
		p.after(10 * time.Millisecond)
	}
	for range 4 {
		p.end()
	}
	clock.pass(2 * time.Second)
	if pause := p.after(10 * time.Millisecond); pause != 0 {
		t.Errorf("a pause of %v when nobody asks", pause)
	}
	p.begin() // the first request after that does not find the line as it was
	clock.pass(paceMemory)
	if pause := p.after(time.Millisecond); pause > 10*time.Millisecond {
		t.Errorf("a pause of %v after 1ms", pause)
	}
}

// A shift pauses after its work, and does not count for what it waited for others.
func TestShift(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, clock := handPace(0.1, 4)
		s := p.shift()
		begun := time.Now()
		clock.pass(paceChunk - 1)
		s.idle(func() { clock.pass(time.Minute) })
		for range paceRows {
			s.row(t.Context())
		}
		if passed := time.Since(begun); passed != 0 {
			t.Errorf("it paused for %v before its chunk was done", passed)
		}
		clock.pass(1)
		for range paceRows {
			s.row(t.Context())
		}
		if passed := time.Since(begun); passed != 9*paceChunk {
			t.Errorf("it paused for %v after %v of work", passed, paceChunk)
		}
	})
}

func TestParsePause(t *testing.T) {
	if pause, err := parsePause([]byte{0x90, 0x4e}); err != nil || pause != 10*time.Millisecond {
		t.Errorf("%v, %v", pause, err)
	}
	long := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}
	if pause, err := parsePause(long); err != nil || pause != paceLongest {
		t.Errorf("%v, %v", pause, err)
	}
	for _, wrong := range [][]byte{nil, {0x80}, {1, 1}} {
		if _, err := parsePause(wrong); err == nil {
			t.Errorf("% X is taken", wrong)
		}
	}
}
