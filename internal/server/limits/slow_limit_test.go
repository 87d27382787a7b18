// The arithmetic of deadlines.

package limits

import (
	"testing"
	"time"
)

// TestSlowLimit: the arithmetic of deadlines.
func TestSlowLimit(t *testing.T) {
	p := SlowLimit{Stall: 10 * time.Second, Rate: 1000}
	want := func(d time.Duration) {
		t.Helper()
		if got := p.Next(); got != d {
			t.Errorf("the next piece may take %s, want %s", got, d)
		}
	}
	want(10 * time.Second)
	p.Done(1, 4*time.Second) // a trickle
	p.Done(1, 4*time.Second)
	want(2002 * time.Millisecond)
	p.Done(0, 3*time.Second)
	want(0)
	p.Done(100_000, 10*time.Second) // catches up, and gets no credit for more
	want(10 * time.Second)
	for range 1000 { // keeps the pace
		p.Done(1000, time.Second)
	}
	want(10 * time.Second)
	for range 9 { // twice as slow
		p.Done(1000, 2*time.Second)
	}
	want(time.Second)
}
