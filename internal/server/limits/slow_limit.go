// Deadlines that follow progress. A client may take long if it keeps a minimum rate; if it is
// slower, its connection is closed.

package limits

import (
	"time"
)

// PieceBytes is the size of the pieces of a body; each piece is read or written under one deadline.
const PieceBytes = 64 << 10

// SlowLimit bounds the waits for a client. The next wait may last for Stall minus lost. The
// server's own time does not count.
type SlowLimit struct {
	Stall time.Duration // the longest wait for one piece
	Rate  int64         // bytes a second; lost grows if the client is slower

	lost time.Duration // the client's delay against Rate. Invariant: 0 <= lost
}

// Next returns the time limit of the next piece.
func (p *SlowLimit) Next() time.Duration { return max(p.Stall-p.lost, 0) }

// Done records a piece of n bytes and the time it took.
func (p *SlowLimit) Done(n int, took time.Duration) {
	earned := time.Duration(float64(n) / float64(p.Rate) * float64(time.Second))
	p.lost = max(p.lost+took-earned, 0)
}
