package cluster

import (
	"testing"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// A report that was overtaken by a later one, as where the leader's process stood still,
// is not what the disk shows now.
func TestReportsThatOvertakeEachOther(t *testing.T) {
	var g grants
	g.lead(1, 0)
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}, {ID: 2, Incarnation: 1}}}
	say := func(r report) {
		r.Incarnation, r.Epoch = 1, 3
		if !g.report(v, r, 0, time.Second) {
			t.Fatal("it does not lead")
		}
	}
	show := func(number, last uint64) {
		say(report{ID: 1, Number: number, Heard: []heardOf{{Sequencer: 2, Incarnation: 1, Last: last}}})
	}
	show(1, 4)
	say(report{ID: 2, Number: 1, Answered: []answered{{Holder: 1, Sequencer: 2, Incarnation: 1, Batch: 9}}})
	show(3, 9)
	show(2, 5) // made before the answer to batch 9
	h := g.heard[1]
	if !h.diskShows(&v.Members[0]) || h.report.Number != 3 {
		t.Errorf("report %d counts, and shows %v", h.report.Number, h.report.Heard)
	}
}

// A leader that has stood still gives all members the time to be heard again.
func TestLeaderThatStoodStill(t *testing.T) {
	var g grants
	g.lead(1, 0)
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}, {ID: 2, Incarnation: 1}}}
	say := func(number uint64, id trie.MachineID, now time.Duration) {
		if !g.report(v, report{ID: id, Incarnation: 1, Epoch: 3, Number: number}, now, time.Second) {
			t.Fatal("it does not lead")
		}
	}
	silent := func(id trie.MachineID, now time.Duration) time.Duration { return now - g.lastSign(id, now) }
	say(1, 1, time.Second)
	say(1, 2, time.Second)
	say(2, 1, time.Hour) // 2 would have been the next
	if s := silent(2, time.Hour); s != 0 {
		t.Errorf("silent for %s", s)
	}
	say(3, 1, time.Hour+time.Second)
	say(4, 1, time.Hour+2*time.Second)
	if s := silent(2, time.Hour+2*time.Second); s != 2*time.Second {
		t.Errorf("silent for %s", s)
	}
}

// A disk that knows of later starts of a sequencer has forgotten the first ones for a
// reason; one that does not has lost them.
func TestForgottenIncarnations(t *testing.T) {
	h := heard{due: map[stream]uint64{{7, 1}: 5}}
	for later := range uint64(node.KeptIncarnations + 1) {
		shows := h.diskShows(&view.Member{})
		if want := later >= node.KeptIncarnations; shows != want {
			t.Errorf("%d later ones: %v", later, shows)
		}
		h.report.Heard = append(h.report.Heard, heardOf{Sequencer: 7, Incarnation: 2 + later, Last: 1})
	}
	h.report.Heard = append(h.report.Heard, heardOf{Sequencer: 7, Incarnation: 1, Last: 4})
	if h.diskShows(&view.Member{}) {
		t.Error("what it knows of is not all that it had")
	}
}

// Who was to be excluded by a proposal that surely failed gets leases again; not where
// another one, whose outcome is not known, excludes it as well.
func TestUnbarred(t *testing.T) {
	v := &view.View{Epoch: 7, Members: []view.Member{{ID: 1, Incarnation: 1}, {ID: 2, Incarnation: 1}, {ID: 3, Incarnation: 1}}}
	without := func(id trie.MachineID) *view.View {
		next := &view.View{Epoch: 8}
		for _, m := range v.Members {
			if m.ID != id && m.ID != 3 {
				next.Members = append(next.Members, m)
			}
		}
		return next
	}
	var g grants
	g.lead(1, 0)
	may := func(id trie.MachineID) bool {
		return g.grant(v, &report{ID: id, Incarnation: 1, Epoch: 7}, 1, time.Second, 0)
	}
	g.bar(v, without(1)) // nobody knows what becomes of it
	g.bar(v, without(2))
	if may(1) || may(2) || may(3) {
		t.Error("a lease for one that is being excluded")
	}
	g.unbar()
	if may(1) || !may(2) || may(3) {
		t.Error("only what the second proposal barred alone is taken back")
	}
}

// A report tells of the answers of members, whoever has sent them what they answered.
func TestAnswersOfMembers(t *testing.T) {
	v := &view.View{Members: []view.Member{{ID: 1}, {ID: 3}}}
	all := []answered{{Holder: 1, Sequencer: 3, Batch: 1}, {Holder: 2, Sequencer: 3, Batch: 2}, {Holder: 3, Sequencer: 2, Batch: 3}}
	got := ofMembers(all, v)
	if len(got) != 2 || got[0].Batch != 1 || got[1].Batch != 3 {
		t.Errorf("%+v", got)
	}
}
