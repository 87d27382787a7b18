package cluster

import (
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node/peer"
)

// lease is this member's: until when it may answer in an epoch. It runs from the
// moment at which it was asked for, so that the leader, who grants later, never
// takes it for shorter than it is.
type lease struct {
	mu    sync.Mutex
	epoch uint64
	until time.Duration
	last  time.Duration // the greatest until there was
	// length is how long leases are by the last word of a leader, or before it by the
	// newest view on the disk; 0 is not known.
	length time.Duration
}

// said notes how long leases are.
func (l *lease) said(length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.length = length
}

// pace returns the length that leases are renewed by: what was said, and no more than
// this node's own.
func (l *lease) pace(own time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.length == 0 {
		return own
	}
	return min(own, l.length)
}

func (l *lease) take(epoch uint64, until time.Duration) {
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

// left returns how long the lease for an epoch still runs; not at all where it is
// zero or less.
func (l *lease) left(epoch uint64, now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != epoch {
		return 0
	}
	return l.until - now
}

// Lease returns nil while this member holds a lease for the view that it has
// adopted, and a refusal otherwise.
func (n *Node) Lease() error {
	v := n.current.Load()
	if v == nil {
		return refuse(peer.CodeLease, 0, "machine %s is not a member yet", n.self)
	}
	if n.lease.left(v.Epoch, n.cfg.Clock.Now()) <= 0 {
		return refuse(peer.CodeLease, v.Epoch, "machine %s holds no lease", n.self)
	}
	return nil
}
