// Isolation: this member's lease, whether it reaches a leader, and whether it may answer.

package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
)

// A member is isolated if it has no lease any more and knows no leader. Then no view can come, so
// waits for one must end. Elections must end before leases do, because an election must not
// isolate anybody.

// isolation is whether this member may answer: its lease, and its way to the leader or, of two
// members, to none. Its methods are safe for concurrent use.
type isolation struct {
	*membership
	closing    context.Context
	later      *laterGeneration
	lease      lease
	noMajority noMajority

	mu       sync.Mutex
	isolated bool
	onset    chan struct{} // closed while it is isolated
	began    time.Duration // when this member began to look for a leader
}

// setIsolated changes the state, and reports whether it was different before.
func (i *isolation) setIsolated(isolated bool) (changed bool) {
	onset := i.begun()
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case isolated == i.isolated:
		return false
	case isolated:
		close(onset)
	default:
		i.onset = make(chan struct{})
	}
	i.isolated = isolated
	return true
}

func (i *isolation) isIsolated() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.isolated
}

// begun returns a channel. It is closed while the member is isolated.
func (i *isolation) begun() chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.onset == nil {
		i.onset = make(chan struct{})
	}
	return i.onset
}

// isolationTick is the interval at which a member looks for a leader.
const isolationTick = 100 * time.Millisecond

// watch checks in each tick if this member is isolated, until ctx ends.
func (i *isolation) watch(ctx context.Context) {
	ticker := time.NewTicker(isolationTick)
	defer ticker.Stop()
	i.mu.Lock()
	i.began = i.leaseTime()
	i.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		i.check()
	}
}

// check updates and returns whether this member is isolated. It is when it has had neither lease
// nor leader for half a lease.
func (i *isolation) check() (isolated bool) {
	i.mu.Lock()
	began := i.began
	i.mu.Unlock()
	_, _, led := i.agreement().Leader()
	end := max(i.lease.end(), began+i.cfg.Lease)
	isolated = !led && i.leaseTime() >= end+i.cfg.Lease/2
	i.setNoMajority(isolated) // first, because setIsolated ends the waits for a leader
	if i.setIsolated(isolated) {
		i.log.Warn("the way to a leader of the cluster has changed", "cut off", isolated)
	}
	return isolated
}

// Newer waits until another view than this one is adopted. It returns
// [store.ErrUnavailable] at once while this member is isolated, and if it waits for its first view
// while it joins: that may take any time.
func (i *isolation) Newer(ctx context.Context, than *view.View) error {
	return i.awaitView(ctx, than, i.View, i.begun)
}

// awaitView waits until current returns another view than this one. If the channel of
// isolated closes first, it looks for a leader, and returns [store.ErrUnavailable] if there
// is none.
func (i *isolation) awaitView(ctx context.Context, than *view.View, current func() *view.View, isolated func() chan struct{}) error {
	for {
		// The channels must come before the view, because a change between them would be missed.
		changed, off := i.Changed(), isolated()
		if current() != than {
			return nil
		}
		if err := i.admission.notJoined(); err != nil && than == nil {
			return err
		}
		select {
		case <-changed:
		case <-off:
			switch off := i.check(); {
			case current() != than:
				return nil
			case off:
				return i.unreached()
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-i.closing.Done():
			return store.ErrClosed
		}
	}
}

// CutOff returns why this machine answers nothing, as [isolation.unreached] does, or nil if it may answer.
func (i *isolation) CutOff() error {
	if i.isIsolated() && !i.NoMajority() {
		return i.unreached()
	}
	return nil
}

// unreached returns the error of requests to this member while it is cut off.
func (i *isolation) unreached() error {
	if err := i.admission.notJoined(); err != nil {
		return err
	}
	err := fmt.Errorf("%w: machine %s reaches no leader of the cluster: it is cut off, or most of the machines that vote are down", store.ErrUnavailable, i.self)
	why := error(nil)
	if v := i.View(); v == nil {
		if voters, _ := i.agreement().Configuration(); len(voters) == 2 {
			why = i.startedAgain()
		}
	} else if len(v.Members) == 2 {
		_, _, why = i.answersAlone(v)
	}
	if why != nil {
		err = fmt.Errorf("%w; it does not answer reads by itself: %w", err, why)
	}
	return err
}

// startedAgain returns why a member must not answer if it has had no lease since its start: an
// operator may have made the other one go on alone meanwhile.
func (i *isolation) startedAgain() error {
	return fmt.Errorf("machine %s was started again and has reached no leader since: the other one may have gone on without it; "+
		"start that one, or if it is gone for good see \"Most voters are gone for good\" in docs/operations/cluster.md", i.self)
}

// yields reports whether this machine must not stand for election. It must not if a later
// generation answers and no leader of its own generation has granted this process a lease.
// Because of this, machines do not serve each other if they were given up and started again. A
// majority with leases goes on.
func (i *isolation) yields() bool {
	return i.lease.end() == 0 && i.later.answeredSince(i.leaseTime()-2*i.cfg.FailureTimeout)
}

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
	if i.lease.remaining(v.Epoch, i.leaseTime()) <= 0 {
		return peer.Refuse(peer.CodeLease, v.Epoch, "machine %s holds no lease", i.self)
	}
	return nil
}
