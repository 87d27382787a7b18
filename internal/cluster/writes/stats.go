// Counters of writes.

package writes

import (
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

// Stats returns the counts and gauges of w.
func (w *Writes) Stats() Stats {
	c := &w.stats
	s := Stats{
		Operations: c.operations.Load(), Unchanged: c.unchanged.Load(), Refused: c.refused.Load(), Settled: c.settled.Load(),
		Batches: c.batches.Load(), Redriven: c.redriven.Load(), HandedOver: c.handedOver.Load(),
		Retries: c.retries.Load(), Coordinated: c.coordinated.Load(),
		SettledBatches: c.settledBatches.Load(), SettleTime: time.Duration(c.settleTime.Load()),
	}
	w.inFlight.addGauges(&s)
	return s
}

// addGauges adds what is in flight at present.
func (fl *inFlight) addGauges(s *Stats) {
	s.InFlightBytes, s.Unanswered = fl.memory.inUse(), map[trie.MachineID]time.Duration{}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for n, b := range fl.open {
		if n == b.number {
			s.InFlight++
		}
	}
	if fl.era == nil {
		return
	}
	for m, stream := range fl.era.streams {
		if !stream.since.IsZero() {
			s.Unanswered[m] = time.Since(stream.since)
		}
	}
}
