// Tests of the leader's decisions.

package leader

import (
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// stopped returns a clock that stands at a time.
func stopped(at time.Duration) func() time.Duration { return func() time.Duration { return at } }

// A new leader does not say who could vote before it has heard of all, or they had
// the time for it; and it could itself, whether or not it has reported to itself.
// Otherwise leaders took turns without end.
func TestCandidates(t *testing.T) {
	v := &view.View{Epoch: 7, Members: []view.Member{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4, State: view.Leaving}}}
	up := func(now time.Duration, reported ...int) (up []bool, known bool) {
		l := &Leader{options: Options{Self: 2, Now: stopped(now), FailureTimeout: 3 * time.Second, Lease: 2 * time.Second}}
		l.grants.lead(5, 10*time.Second)
		for _, i := range reported {
			id := v.Members[i].ID
			l.grants.report(v, Report{ID: id, Epoch: v.Epoch}, now, time.Hour, time.Hour)
		}
		all, known := l.candidates(v, func(trie.MachineID) bool { return false })
		for _, c := range all {
			up = append(up, c.Up)
		}
		return up, known
	}
	if _, known := up(11*time.Second, 0, 2); known {
		t.Error("known, and one was not heard of and has time left")
	}
	got, known := up(11*time.Second, 0, 2, 3)
	if !known || !got[0] || !got[1] || !got[2] || got[3] {
		t.Errorf("all were heard of, one is leaving: %v, known: %v", got, known)
	}
	got, known = up(13*time.Second, 0)
	if !known || !got[0] || !got[1] || got[2] || got[3] {
		t.Errorf("one was heard of, and the others had the time for it: %v, known: %v", got, known)
	}
}

// A voter must keep its vote although it has not reported the newest view yet. Otherwise, if two
// of five fail and the view without the one is just agreed on, a healthy machine loses its vote
// to the other one, and the majority is lost.
func TestVoterInBetween(t *testing.T) {
	v := &view.View{Epoch: 7, Members: []view.Member{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4}, {ID: 5}, {ID: 6}}}
	const now = 20 * time.Second
	l := &Leader{options: Options{Self: 1, Now: stopped(now), FailureTimeout: 3 * time.Second, Lease: 2 * time.Second}}
	l.grants.lead(5, 10*time.Second)
	l.grants.report(v, Report{ID: 2, Epoch: 6}, now-100*time.Millisecond, time.Hour, time.Hour)  // a voter
	l.grants.report(v, Report{ID: 3, Epoch: 6}, now-100*time.Millisecond, time.Hour, time.Hour)  // none
	l.grants.report(v, Report{ID: 4, Epoch: 7}, now-1500*time.Millisecond, time.Hour, time.Hour) // a voter
	l.grants.report(v, Report{ID: 5, Epoch: 7}, now-1500*time.Millisecond, time.Hour, time.Hour) // none: it counts as down first
	l.grants.report(v, Report{ID: 6, Epoch: 7}, now-2500*time.Millisecond, time.Hour, time.Hour) // a voter
	all, known := l.candidates(v, func(id trie.MachineID) bool { return id != 3 && id != 5 })
	want := []bool{true, true, false, true, false, false}
	for i, c := range all {
		if c.Up != want[i] {
			t.Errorf("machine %s: up %v", c.ID, c.Up)
		}
	}
	if !known {
		t.Error("not known")
	}
}

// One that is too slow gets no lease as long as it is, and no other one is excluded
// for a while; its address comes back only then.
func TestSlowMember(t *testing.T) {
	const rest = 10 * time.Minute
	v := &view.View{Epoch: 7, Members: []view.Member{{ID: 1, Incarnation: 1, Address: "a:1"}, {ID: 2, Incarnation: 1, Address: "b:1"}}}
	next := &view.View{Epoch: 8, Members: v.Members[:1]}
	g := &grants{}
	g.lead(3, 0)
	r := &Report{ID: 2, Incarnation: 1, Epoch: 7}
	g.slowest = 2
	if g.grant(v, r, 3, time.Second, time.Second) || !g.grant(v, &Report{ID: 1, Incarnation: 1, Epoch: 7}, 3, time.Second, time.Second) {
		t.Error("a lease of the wrong one")
	}
	g.slowest = 0
	if !g.grant(v, r, 3, time.Second, time.Second) {
		t.Error("no lease when it is waited for no more")
	}
	if g.tolerant(0, rest) {
		t.Error("tolerant before anybody was slow")
	}
	g.slowest = 2
	g.recordSlow(v, next, 0, time.Minute)
	join := []view.Member{{ID: 5, Address: "b:1"}, {ID: 6, Address: "c:1"}}
	in, resting := g.afterRest(join, 2*time.Minute, rest)
	if len(in) != 1 || in[0].ID != 6 || !strings.Contains(resting, "may join in 9m0s") || !g.tolerant(2*time.Minute, rest) {
		t.Errorf("%+v, %q", in, resting)
	}
	if why := g.mustRest(join[0], 2*time.Minute, rest); !strings.Contains(why, "at b:1") || !strings.Contains(why, "10m0s after") || why != g.mustRest(join[0], 3*time.Minute, rest) {
		t.Errorf("the joining machine reads %q", why)
	}
	if why := g.mustRest(join[1], 2*time.Minute, rest) + g.mustRest(join[0], 11*time.Minute, rest); why != "" {
		t.Errorf("a machine that may join reads %q", why)
	}
	in, resting = g.afterRest(join, 11*time.Minute, rest)
	if len(in) != 2 || resting != "" || g.tolerant(11*time.Minute, rest) {
		t.Errorf("%+v, %q", in, resting)
	}
}

// A member that reports counts as stuck if it has adopted no newer view for too long, for any
// number of views. It must not if the leader itself stood still.
func TestStuckMember(t *testing.T) {
	v := &view.View{Epoch: 9, Members: []view.Member{{ID: 1}, {ID: 2}}}
	g := &grants{}
	g.lead(3, 0)
	at := func(epoch, newest uint64, now time.Duration) bool { return g.stuck(2, epoch, newest, now, time.Minute) }
	if at(5, 6, 0) || at(5, 7, time.Minute) || !at(5, 8, time.Minute+time.Second) {
		t.Error("not as long as it is behind")
	}
	if at(6, 8, time.Minute+2*time.Second) || at(6, 9, 2*time.Minute) || !at(6, 9, 3*time.Minute) {
		t.Error("it has got further, and has as much time again")
	}
	if at(9, 9, 3*time.Minute) || at(9, 10, 4*time.Minute) {
		t.Error("it was not behind")
	}
	g.report(v, Report{ID: 2, Epoch: 9, Number: 1}, time.Hour, time.Second, time.Second)
	if at(9, 10, time.Hour) {
		t.Error("the leader stood still")
	}
}

// A later process ends the lease of the earlier one at the same address only if one process at a
// time can bind the address.
func TestBindsOnce(t *testing.T) {
	for address, want := range map[string]bool{
		"10.0.0.1:7333": true, "[::1]:7333": true, "a.example.org:7333": false, "localhost:7333": false, "": false,
	} {
		if got := bindsOnce(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// TestOptional checks which changes wait for members: a view that overrules another one does not, though
// it has the same members, because exclusions come after it.
func TestOptional(t *testing.T) {
	v := &view.View{Epoch: 7, Phase: recovery.Idle, Members: []view.Member{{ID: 1}, {ID: 2}}, Parent: &view.Parent{Epoch: 3}}
	next := *v
	next.Epoch = 8
	if !optional(v, &next) {
		t.Error("a change of what members do is not optional")
	}
	overruling := next
	overruling.Parent = &view.Parent{Epoch: 3, Newest: 5}
	excluding := next
	excluding.Members = v.Members[:1]
	filling := *v
	filling.Phase = recovery.Fill
	if optional(v, &overruling) || optional(v, &excluding) || optional(&filling, &next) {
		t.Error("a necessary change is optional")
	}
}
