// The recorder of transactions.

package history

import (
	"slices"
	"sync"
)

// Recorder records the transactions of concurrent processes. It is safe for concurrent use. The zero
// value is an empty history.
//
// Its clock counts events. So of two events that are ordered in real time the earlier one has the lower
// tick, also if a machine's clock is coarse or stands still.
type Recorder struct {
	mu    sync.Mutex
	clock int
	txns  []Txn
}

// Begin records that a process begins a transaction, and returns its number. It must be called before
// anything is sent. The recorder keeps ops.
func (r *Recorder) Begin(process int, ops []Op) (number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	r.txns = append(r.txns, Txn{Process: process, Ops: ops, Begin: r.clock})
	return len(r.txns) - 1
}

// End records the outcome of a transaction. It must be called after the answer. If the transaction is
// committed, ops are its operations with their results, and the recorder keeps them.
func (r *Recorder) End(number int, outcome Outcome, ops []Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	t := &r.txns[number]
	t.Outcome, t.End = outcome, r.clock
	if outcome == Committed {
		t.Ops = ops
	}
}

// History returns the transactions in the order of their begins. If one has not ended, its outcome is Unknown.
func (r *Recorder) History() []Txn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.txns)
}
