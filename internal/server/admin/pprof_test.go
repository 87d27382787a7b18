// Tests of profiles over time.

package admin

import "testing"

// TestTimedBound: a profile keeps up to its bound, and then ends.
func TestTimedBound(t *testing.T) {
	p := &timed{full: make(chan struct{})}
	piece := make([]byte, 1<<20)
	for range 2*maxTimedBytes/len(piece) + 1 {
		if n, err := p.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	<-p.full
	if !p.over || p.Len() != maxTimedBytes {
		t.Errorf("over is %v, with %d bytes", p.over, p.Len())
	}
}
