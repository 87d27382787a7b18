// Tests of reports and leases at the leader.

package leader

import (
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
)

// If a later report has overtaken one, as when the leader's process stood still, it must not
// count as the present state of the disk.
func TestReportsThatOvertakeEachOther(t *testing.T) {
	var g grants
	g.lead(1, 0)
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1, Waits: true}, {ID: 2, Incarnation: 1}}}
	say := func(r Report) {
		r.Incarnation, r.Epoch = 1, 3
		if ok, _ := g.report(v, r, 0, time.Second, time.Second); !ok {
			t.Fatal("it does not lead")
		}
	}
	show := func(number, last uint64) {
		say(Report{ID: 1, Number: number, Heard: []LastBatch{{Sequencer: 2, Incarnation: 1, Last: last}}})
	}
	show(1, 4)
	say(Report{ID: 2, Number: 1, About: []trie.MachineID{1}, Answered: []Answered{{Holder: 1, Sequencer: 2, Incarnation: 1, Batch: 9}}})
	show(3, 9)
	show(2, 5) // made before the answer to batch 9
	h := g.reports[1]
	if !h.diskShows(&v.Members[0]) || h.report.Number != 3 || h.due == nil {
		t.Errorf("report %d counts, and shows %v", h.report.Number, h.report.Heard)
	}
}

// A leader that has stood still gives all members the time to be heard again.
func TestLeaderThatStoodStill(t *testing.T) {
	var g grants
	g.lead(1, 0)
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}, {ID: 2, Incarnation: 1}}}
	say := func(number uint64, id trie.MachineID, now time.Duration) {
		if ok, _ := g.report(v, Report{ID: id, Incarnation: 1, Epoch: 3, Number: number}, now, time.Second, time.Second); !ok {
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

// If a disk knows later starts of a sequencer, it may have forgotten the first ones. If it does
// not, it has lost them.
func TestForgottenIncarnations(t *testing.T) {
	h := memberReport{due: map[stream]uint64{{7, 1}: 5}}
	for later := range uint64(replica.KeptIncarnations + 1) {
		shows := h.diskShows(&view.Member{})
		if want := later >= replica.KeptIncarnations; shows != want {
			t.Errorf("%d later ones: %v", later, shows)
		}
		h.report.Heard = append(h.report.Heard, LastBatch{Sequencer: 7, Incarnation: 2 + later, Last: 1})
	}
	h.report.Heard = append(h.report.Heard, LastBatch{Sequencer: 7, Incarnation: 1, Last: 4})
	if h.diskShows(&view.Member{}) {
		t.Error("what it knows of is not all that it had")
	}
}

// If a proposal surely failed, the members it would have excluded get leases again. They must not
// if another proposal with unknown result excludes them as well.
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
		return g.grant(v, &Report{ID: id, Incarnation: 1, Epoch: 7}, 1, time.Second, 0)
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

// The proof a returning machine owes is known when the others have reported on it after the
// request. For its place all live ones must have, for its first lease all.
func TestAskedAboutReturn(t *testing.T) {
	var g grants
	g.lead(1, 0)
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}, {ID: 2, Incarnation: 1}, {ID: 3, Incarnation: 1}}}
	now, number := time.Minute, uint64(0)
	say := func(r Report) {
		t.Helper()
		number++
		r.Number = number
		if ok, _ := g.report(v, r, now, time.Hour, 2*time.Second); !ok {
			t.Fatal("it does not lead")
		}
	}
	about := []trie.MachineID{2}
	for id := range trie.MachineID(3) {
		say(Report{ID: id + 1, Incarnation: 1, Epoch: 3})
	}
	if asked, _ := g.wanted(v, 1); asked != nil {
		t.Errorf("all are asked about %v", asked)
	}
	back := Report{ID: 2, Incarnation: 2, Shows: true, Heard: []LastBatch{{Sequencer: 1, Incarnation: 1, Last: 4}}}
	said := func(live, all, shows bool) {
		t.Helper()
		say(back)
		say(back) // what it shows is held against what was known before
		if h := g.reports[2]; h.dueLive != live || h.dueAll != all || h.diskShows(&v.Members[1]) != shows {
			t.Errorf("known of those that live %t, of all %t, shows %t; want %t, %t, %t", h.dueLive, h.dueAll, h.diskShows(&v.Members[1]), live, all, shows)
		}
	}
	said(false, false, true)
	if asked, _ := g.wanted(v, 1); !slices.Equal(asked, about) {
		t.Errorf("all are asked about %v", asked)
	}
	say(Report{ID: 1, Incarnation: 1, Epoch: 3, About: about, Answered: []Answered{{2, 1, 1, 5}, {3, 1, 1, 9}}})
	said(false, false, false)
	now += 3 * time.Second // 3 is not heard any more
	say(Report{ID: 1, Incarnation: 1, Epoch: 3, About: about, Answered: []Answered{{2, 1, 1, 4}}})
	said(true, false, true)
	say(Report{ID: 3, Incarnation: 1, Epoch: 3, About: about, Answered: []Answered{{2, 3, 1, 1}}})
	said(true, true, false)
}

// A member has backfilled only when the leader has its marks, also a new leader.
func TestMarksAreSentOnce(t *testing.T) {
	var g grants
	g.lead(1, 0)
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}, {ID: 2, Incarnation: 1}}}
	walked := func(number uint64, marked bool) (bool, uint64) {
		r := Report{ID: 2, Incarnation: 1, Epoch: 3, Number: number, Walked: true, Marked: marked}
		if marked {
			r.Marks = map[trie.MachineID]uint64{1: 7}
		}
		g.report(v, r, 0, time.Second, time.Second)
		_, has := g.wanted(v, 2)
		return g.reports[2].report.Walked, has
	}
	for _, term := range []uint64{1, 2} {
		g.lead(term, 0)
		if ok, has := walked(1, false); ok || has != 0 {
			t.Errorf("term %d: walked without marks", term)
		}
		if ok, has := walked(2, true); !ok || has != 3 {
			t.Errorf("term %d: not walked with marks", term)
		}
		if ok, has := walked(3, false); !ok || has != 3 || g.marks[1] != 7 {
			t.Errorf("term %d: marks forgotten: %v", term, g.marks)
		}
	}
}
