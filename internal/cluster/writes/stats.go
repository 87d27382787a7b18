// Counters of writes.

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

// Stats are counts since the start of the process, and gauges.
type Stats struct {
	Operations  int64 // stamped here
	Unchanged   int64 // operations without a stamp, because they change nothing
	Refused     int64 // operations that the sequencer refused
	Settled     int64 // operations committed here, including those handed over
	Batches     int64 // of operations stamped here
	Redriven    int64 // operations sent again because the view changed
	HandedOver  int64 // operations of other sequencers, sent here
	Retries     int64 // messages to holders that failed
	Coordinated int64 // operations done for clients of this machine

	// SettledBatches took SettleTime in total, each from its stamps until the last answer.
	SettledBatches int64
	SettleTime     time.Duration

	InFlightBytes int64 // of operations in flight
	InFlight      int   // batches
	// Unanswered is the age of the unanswered message to each holder.
	Unanswered map[trie.MachineID]time.Duration
}

// Slow returns the holders without an answer to a message for some time. This machine may be
// among them. If a holder has a full disk, it answers, so it is not slow.
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

// Stats returns the counts and gauges of w.
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
