// This member's lease.

package cluster

import (
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// lease is until when this member may answer in an epoch. It runs from the moment of the request.
// The leader grants later, so it never assumes an earlier end.
type lease struct {
	mu    sync.Mutex
	epoch uint64
	until time.Duration
	last  time.Duration // the greatest until there was
	// length is the length of leases by the last answer of a leader or, before one, by the
	// newest view on the disk; 0 if it is not known.
	length time.Duration
}

// setLength records the length of leases.
func (l *lease) setLength(length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.length = length
}

// interval returns the length for renewals: the leader's length, and at most this node's own.
func (l *lease) interval(own time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.length == 0 {
		return own
	}
	return min(own, l.length)
}

func (l *lease) extend(epoch uint64, until time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch > l.epoch || epoch == l.epoch && until > l.until {
		l.epoch, l.until = epoch, until
	}
	l.last = max(l.last, until)
}

// end returns when the last lease, of whatever epoch, is over.
func (l *lease) end() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// remaining returns how long the lease for an epoch still runs; it is over if the result is zero or
// less.
func (l *lease) remaining(epoch uint64, now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != epoch {
		return 0
	}
	return l.until - now
}

// Lease returns nil while this member holds a lease for the adopted view, and a refusal
// otherwise.
func (i *isolation) Lease() error {
	v := i.View()
	if v == nil {
		return peer.Refuse(peer.CodeLease, 0, "machine %s is not a member yet", i.self)
	}
	if i.lease.remaining(v.Epoch, i.now()) <= 0 {
		return peer.Refuse(peer.CodeLease, v.Epoch, "machine %s holds no lease", i.self)
	}
	return nil
}
