// A sequencer's report: which of its batches are committed, and what its holders answered.

package writes

import (
	"cmp"
	"maps"
	"slices"

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
	ticks   replica.CommitTicks       // of the batches that were committed since the report before
	commits uint64                    // number of commits by then
}

// commitReport returns the report of this moment, with the ticks of all commits but the first ones. If it is for a
// witness, it has the last answers of all holders. If more than maxOpen batches are in flight, it ends before the
// first one too many.
func (fl *inFlight) commitReport(witness bool, reported uint64) commitReport {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	r := commitReport{upTo: replica.Origin{Sequencer: fl.self.Machine, Incarnation: fl.self.Incarnation, Batch: fl.last}, commits: fl.commits.count()}
	if r.ticks = fl.commits.ticksSince(reported); witness {
		r.acks = maps.Clone(fl.acks)
	}
	open := fl.numbers
	if len(open) > maxOpen {
		r.upTo.Batch = open[maxOpen] - 1
		open = open[:maxOpen]
	}
	r.open = slices.Clone(open)
	return r
}

// statesOf returns which of some batches are in flight, and the ticks of the others.
func (fl *inFlight) statesOf(batches []uint64) (open []uint64, ticks replica.CommitTicks) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.openOf(batches), fl.commits.ticksOf(batches)
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
