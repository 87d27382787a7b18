// The proof that a returning machine's disk has lost nothing.

package leader

import (
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
)

// answered returns the last answered batch of a holder in each stream, by the reports of others.
// The lock must be held.
func (g *grants) answered(holder trie.MachineID) map[stream]uint64 {
	known := map[stream]uint64{}
	for other, h := range g.reports {
		if other == holder {
			continue
		}
		for _, a := range h.answered[holder] {
			s := stream{a.Sequencer, a.Incarnation}
			known[s] = max(known[s], a.Batch)
		}
	}
	return known
}

// diskShows reports whether a member's disk has all it is known to have had: the counted fills,
// and of each sequencer every answered batch.
func (h *memberReport) diskShows(m *view.Member) bool {
	if h.report.Mark < m.Mark {
		return false
	}
	has := make(map[stream]uint64, len(h.report.Heard))
	for _, o := range h.report.Heard {
		has[stream{o.Sequencer, o.Incarnation}] = o.Last
	}
	for s, batch := range h.due {
		if has[s] < batch && !h.forgot(s) {
			return false
		}
	}
	return true
}

// forgot reports whether the machine need not know of a stream any more: it knows of so
// many later ones of the sequencer.
func (h *memberReport) forgot(s stream) bool {
	later := 0
	for _, o := range h.report.Heard {
		if o.Sequencer != s.sequencer {
			continue
		}
		if o.Incarnation == s.incarnation {
			return false
		}
		if o.Incarnation > s.incarnation {
			later++
		}
	}
	return later >= replica.KeptIncarnations
}
