// A sequencer's report: which of its batches are committed, and what its holders answered.

package writes

import (
	"cmp"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// maxOpen bounds the batches in flight in one report.
const maxOpen = 1024

// commitReport is a sequencer's report: its batches up to upTo.Batch are committed, except the open
// ones. The open ones ascend.
type commitReport struct {
	upTo    replica.Origin
	open    []uint64
	acks    map[trie.MachineID]uint64 // the last batch that each holder had answered by then
	changes uint64                    // number of batches committed by then
}

// commitReport returns the report of this moment. If it is for a witness, it has the last answers
// of all holders. If more than maxOpen batches are in flight, it ends before the first one too
// many.
func (fl *inFlight) commitReport(witness bool) commitReport {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.batches.commitReport(fl.self, witness)
}

// commitReport returns the report of a sequencer, see inFlight.settlement.
func (bs *batches) commitReport(self member.Process, witness bool) commitReport {
	s := commitReport{upTo: replica.Origin{Sequencer: self.Machine, Incarnation: self.Incarnation, Batch: bs.last}, changes: bs.changes}
	if witness {
		s.acks = maps.Clone(bs.acks)
	}
	open := bs.numbers
	if len(open) > maxOpen {
		s.upTo.Batch = open[maxOpen] - 1
		open = open[:maxOpen]
	}
	s.open = slices.Clone(open)
	return s
}

// reportAndOpen is commitReport, with those of some batches that are in flight.
func (fl *inFlight) reportAndOpen(batches []uint64, witness bool) (commitReport, []uint64) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.batches.commitReport(fl.self, witness), fl.openOf(batches)
}

// witnesses is the number of machines, besides the sequencer, which remember the last answer of
// each holder: they follow clockwise. If the sequencer is lost, they know what the disk of a
// returning holder must have. MaxCopies - 1 is enough, because no cluster survives more losses.
// If all members were witnesses, the messages would grow with their square.
const witnesses = recovery.MaxCopies - 1

// isWitness reports whether member m of v is a witness of a sequencer. A sequencer is its own.
func isWitness(v *view.View, sequencer, m trie.MachineID) bool {
	n := len(v.Members)
	at, _ := slices.BinarySearchFunc(v.Members, sequencer, func(m view.Member, id trie.MachineID) int { return cmp.Compare(m.ID, id) })
	for i := range min(witnesses+1, n) {
		if v.Members[(at+i)%n].ID == m {
			return true
		}
	}
	return false
}

// Acked returns the last batch of this incarnation each holder has answered. If a holder comes
// back, its disk must have the batch.
func (fl *inFlight) Acked() map[trie.MachineID]uint64 {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return maps.Clone(fl.acks)
}
