// The model of one lease under clocks: requests and grants in flight, leaders that change, and
// a holder whose clock is slow or that is suspended. It proves the claim that the model of the
// cluster, which has no time, relies on: an excluded machine has no lease.

package model

import "errors"

// Times of the lease model, in ticks.
const (
	leaseTicks = 3
	driftTicks = 1 // by how much a clock may lose within a lease
	endOfTime  = 11
)

// leaseRules are the knobs; the zero value is the protocol.
type leaseRules struct {
	// FromReceipt: the lease runs from when the grant comes, not from when the
	// request was sent.
	FromReceipt bool
	// NewLeaderAtOnce: a new leader excludes without waiting for leases that the
	// old one granted.
	NewLeaderAtOnce bool
	// Unverified: a leader grants without asking whether it still is one.
	Unverified bool
	// NoDrift: the leader waits for a lease, and not for slow clocks.
	NoDrift bool
	// Monotonic: the holder's clock stands still in suspend.
	Monotonic bool
}

type leaseState struct {
	now, local uint8 // true time, and the holder's clock
	until      uint8 // of the holder's lease, by its clock; 0: none
	lost       uint8 // ticks that the holder's clock has lost
	suspended  bool
	excluded   bool

	requesting, granting bool  // a request, a grant is on its way
	requestedAt, sentAt  uint8 // by the holder's clock; of the request, of the grant's
	leaders              uint8
	since                uint8 // when this leader began
	granted              uint8 // when it last granted, plus one; 0: never
}

// leaseModel is the system.
type leaseModel struct {
	rules leaseRules
	s     leaseState
}

type leaseAction uint8

const (
	tick leaseAction = iota
	slowTick
	request
	grant
	grantByOld
	take
	newLeader
	excludeHolder
	suspend
	resume
)

var leaseActionNames = [...]string{
	"a tick", "a tick that the holder's clock loses", "the holder asks for a lease", "the leader grants it",
	"a leader that is none any more grants it", "the grant arrives", "another leader is elected",
	"the leader excludes the holder", "the holder is suspended", "the holder goes on",
}

// State implements System.
func (m leaseModel) State() leaseState { return m.s }

// Say implements System.
func (m leaseModel) Say(a leaseAction) string { return leaseActionNames[a] }

// Actions implements System.
func (m leaseModel) Actions() (actions []leaseAction) {
	s := &m.s
	may := func(a leaseAction, possible bool) {
		if possible {
			actions = append(actions, a)
		}
	}
	may(tick, s.now < endOfTime)
	may(slowTick, s.now < endOfTime && s.lost < driftTicks && !s.suspended)
	may(request, !s.suspended && !s.requesting && !s.excluded)
	may(grant, s.requesting && !s.granting && !s.excluded)
	may(grantByOld, s.requesting && !s.granting && s.leaders > 0 && m.rules.Unverified)
	may(take, s.granting && !s.suspended)
	may(newLeader, s.leaders < 2)
	may(excludeHolder, !s.excluded && s.now >= m.safe())
	may(suspend, !s.suspended && s.now < endOfTime)
	may(resume, s.suspended)
	return actions
}

// safe returns the time after which the leader may exclude the holder.
func (m leaseModel) safe() uint8 {
	wait := uint8(leaseTicks + driftTicks)
	if m.rules.NoDrift {
		wait = leaseTicks
	}
	from := uint8(0)
	if m.s.granted > 0 {
		from = m.s.granted - 1 + wait
	}
	if m.s.leaders > 0 && !m.rules.NewLeaderAtOnce {
		from = max(from, m.s.since+wait)
	}
	return from
}

// Do implements System.
func (m leaseModel) Do(a leaseAction) (System[leaseState, leaseAction], error) {
	// Each action changes the state; the check below holds for all of them.
	s := &m.s
	switch a {
	// Time: the holder's clock loses a tick if it is slow, or suspended and monotonic.
	case tick:
		s.now++
		if !(s.suspended && m.rules.Monotonic) {
			s.local++
		}
	case slowTick:
		s.now++
		s.lost++
	// A lease runs from its request, because the leader counts from a later moment.
	case request:
		s.requesting, s.requestedAt = true, s.local
	case grant:
		s.requesting, s.granting, s.sentAt, s.granted = false, true, s.requestedAt, s.now+1
	// The new leader does not see this grant, so granted must not change.
	case grantByOld:
		s.requesting, s.granting, s.sentAt = false, true, s.requestedAt
	case take:
		from := s.sentAt
		if m.rules.FromReceipt {
			from = s.local
		}
		s.until, s.granting = max(s.until, from+leaseTicks), false
	// A new leader has no record of grants. It counts from its election.
	case newLeader:
		s.leaders++
		s.since, s.granted = s.now, 0
	case excludeHolder:
		s.excluded = true
	case suspend:
		s.suspended = true
	case resume:
		s.suspended = false
	}
	// A suspended holder answers nothing, so its lease does no harm until it resumes.
	if s.excluded && !s.suspended && s.local < s.until {
		return nil, errors.New("invariant 7: the holder is excluded and has a lease")
	}
	return m, nil
}
