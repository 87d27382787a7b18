package cluster

import (
	"testing"

	"github.com/trefoildb/trefoil/node/view"
)

// A report that was overtaken by a later one, as where the leader's process stood still,
// is not what the disk shows now.
func TestReportsThatOvertakeEachOther(t *testing.T) {
	var g grants
	g.lead(1, 0)
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}, {ID: 2, Incarnation: 1}}}
	say := func(r report) {
		r.Incarnation, r.Epoch = 1, 3
		if !g.report(v, r, 0) {
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
