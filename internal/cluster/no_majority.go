// Reads of one of two members while it does not reach the other one.

package cluster

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
)

// noMajority is set while this member, one of two, has no leader and answers reads by itself. It
// needs no lease because of three facts:
//
//   - Both members vote. So each view needs the vote of this one, and every agreed view is in
//     its log.
//   - Every write under these views needs the answer of this one. So it has all writes the
//     other one has acknowledged.
//   - A leader gives votes only to members of the newest agreed view. While there are two of
//     them both keep their votes, because otherwise the leader could go on alone.
//
// The last holds by [agreement.ChooseVoters]. The log must be read after each snapshot of the
// store (see reads). So answers are linearizable even if both members run and the network between
// them fails. Clocks matter as they do for leases, and only for operations in flight which the
// other member has stamped (see WaitCommitted).
type noMajority struct {
	mu      sync.Mutex // held while current is changed
	current atomic.Pointer[readsAlone]
}

// readsAlone is how reads are answered without a majority.
type readsAlone struct {
	of   *view.View // the adopted view
	view *view.View // of, without the other member: see [view.View.SoleView]
}

// answersAlone returns the view for reads without a lease, and the greatest length of a lease of
// the other member. If this member must not answer, the error is the reason.
func (i *isolation) answersAlone(v *view.View) (*view.View, time.Duration, error) {
	alone, other, ok := v.SoleView(i.self, i.incarnation)
	switch {
	case !v.Has(i.self, i.incarnation):
		return nil, 0, i.startedAgain()
	case !ok:
		return nil, 0, errors.New("that needs a cluster of two members that both have all triples, with no change under way")
	case i.later.answeredSince(i.lease.end() - i.cfg.Lease):
		return nil, 0, errors.New("a later generation of the cluster runs: see \"Two generations\" in docs/operations/cluster.md")
	}
	views, err := i.agreement().WithoutMajority(other)
	if err != nil {
		return nil, 0, err
	}
	lease := v.Lease
	for _, next := range views {
		if !next.NeedsAnswer(i.self, i.incarnation) {
			return nil, 0, fmt.Errorf("the other machine may go on without this one from epoch %d", next.Epoch)
		}
		lease = max(lease, next.Lease)
	}
	return alone, lease, nil
}

// setNoMajority lets this member answer reads without a majority if it is isolated and
// answersAlone allows it. Otherwise it ends them.
func (i *isolation) setNoMajority(off bool) {
	i.noMajority.mu.Lock()
	defer i.noMajority.mu.Unlock()
	was, v := i.noMajority.current.Load(), i.View()
	var now *readsAlone
	if off && v != nil {
		alone, _, err := i.answersAlone(v)
		switch {
		case err != nil:
		case was != nil && was.of == v:
			now = was
		default:
			now = &readsAlone{of: v, view: alone}
		}
	}
	if now == was {
		return
	}
	i.noMajority.current.Store(now)
	i.log.Warn("reads without a majority of the members have begun or ended", "answered", now != nil)
	i.gate.Announce()
}

// readsAlone returns how this member answers reads without a majority; nil if it does not.
func (i *isolation) readsAlone() *readsAlone {
	if now := i.noMajority.current.Load(); now != nil && now.of == i.View() {
		return now
	}
	return nil
}

// NoMajority reports whether this member is one of two, does not reach the other one and
// answers reads all the same.
func (i *isolation) NoMajority() bool { return i.readsAlone() != nil }

// ReadView returns the view for reads: the adopted one or, without a majority, the adopted one
// without the other member.
func (i *isolation) ReadView() *view.View {
	if now := i.readsAlone(); now != nil {
		return now.view
	}
	return i.View()
}
