package writes

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/trie"
)

type counters struct {
	operations, unchanged, refused, settled    atomic.Int64
	batches, settledBatches, settleTime        atomic.Int64
	redriven, handedOver, retries, coordinated atomic.Int64
}

// Stats are counts since the process began, and what there is now.
type Stats struct {
	Operations  int64 // stamped here
	Unchanged   int64 // that needed no stamp
	Refused     int64 // that the sequencer refused
	Settled     int64 // operations settled here, those that were handed over too
	Batches     int64 // of operations stamped here
	Redriven    int64 // operations sent anew because the view changed
	HandedOver  int64 // operations of other sequencers, driven here
	Retries     int64 // messages to holders that failed
	Coordinated int64 // operations that clients wrote through this machine and that are done

	// SettledBatches took SettleTime in total, each from its stamps until all
	// holders had it.
	SettledBatches int64
	SettleTime     time.Duration

	InFlightBytes int64 // of operations that are not settled
	InFlight      int   // batches that are not
	// Unanswered is how long the message that is on its way to a holder has been
	// so; for those that owe an answer.
	Unanswered map[trie.MachineID]time.Duration
}

// Slow returns the holders, this machine may be among them, that have owed an answer
// for so long. Those that have no room answer.
func (w *Writes) Slow(after time.Duration) (slow []trie.MachineID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.era == nil {
		return nil
	}
	for m, stream := range w.era.streams {
		if !stream.since.IsZero() && !stream.full && time.Since(stream.since) >= after {
			slow = append(slow, m)
		}
	}
	slices.Sort(slow)
	return slow
}

// Stats returns what w has done and does.
func (w *Writes) Stats() Stats {
	c := &w.stats
	s := Stats{
		Operations: c.operations.Load(), Unchanged: c.unchanged.Load(), Refused: c.refused.Load(), Settled: c.settled.Load(),
		Batches: c.batches.Load(), Redriven: c.redriven.Load(), HandedOver: c.handedOver.Load(),
		Retries: c.retries.Load(), Coordinated: c.coordinated.Load(),
		SettledBatches: c.settledBatches.Load(), SettleTime: time.Duration(c.settleTime.Load()),
		InFlightBytes: w.room.inUse(), Unanswered: map[trie.MachineID]time.Duration{},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, b := range w.open {
		if n == b.number {
			s.InFlight++
		}
	}
	if w.era == nil {
		return s
	}
	for m, stream := range w.era.streams {
		if !stream.since.IsZero() {
			s.Unanswered[m] = time.Since(stream.since)
		}
	}
	return s
}
