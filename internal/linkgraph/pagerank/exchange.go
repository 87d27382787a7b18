// The messages of the rounds of a PageRank.

package pagerank

import (
	"context"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// wire implements rank.Exchange for one term of a job. A message that is not taken is sent again
// until the term ends: only the coordinator decides that a machine is lost.
type wire struct {
	machine  *machine.Machine
	job      uint64
	term     uint64
	machines []trie.MachineID // that compute partitions, ascending
	self     int
	owners   [machine.NumPartitions]int // machines by partition

	mu      sync.Mutex
	partial map[wireKey][]byte // messages of which pieces are missing
	inbox   map[wireKey][]byte
	taken   []int // by machine: the number of messages that were received
	arrived notify.Broadcast
}

// wireKey is a message: the machine that sends it, and the step.
type wireKey struct{ from, step int }

// roundPiece is the most bytes of a message that are sent at once. A machine takes only some
// messages at a time, so a piece is much smaller than the limit of one.
const roundPiece = 32 << 20

// newWire returns the wire of a term, as the given machine has it.
func newWire(m *machine.Machine, record *jobRecord) *wire {
	w := &wire{machine: m, job: jobNumber(record.Begun), term: record.Term, partial: map[wireKey][]byte{}, inbox: map[wireKey][]byte{}}
	w.machines = slices.Compact(slices.Sorted(slices.Values(record.Machines)))
	w.self = slices.Index(w.machines, m.Node.MachineID())
	for i, owner := range record.Machines {
		w.owners[i] = slices.Index(w.machines, owner)
	}
	w.taken = make([]int, len(w.machines))
	return w
}

// Machines implements rank.Exchange.
func (w *wire) Machines() (n, self int) { return len(w.machines), w.self }

// Owner implements rank.Exchange.
func (w *wire) Owner(u uid.UID) int { return w.owners[machine.PartitionOf(u)] }

// roundMessage is a piece of a message.
type roundMessage struct {
	job, term, step uint64
	total, offset   uint64 // bytes of the message, and of it before the piece
	data            []byte
}

func (p *roundMessage) fields(c *peer.Coder) {
	c.Uvarint(&p.job, &p.term, &p.step, &p.total, &p.offset)
	c.Bytes(&p.data)
	if c.Reading() && (p.offset > p.total || uint64(len(p.data)) > p.total-p.offset || p.step > 1<<31) {
		c.Fail("%d bytes at %d of %d", len(p.data), p.offset, p.total)
	}
}

// Send implements rank.Exchange.
func (w *wire) Send(ctx context.Context, step, to int, message []byte) error {
	p := &roundMessage{job: w.job, term: w.term, step: uint64(step), total: uint64(len(message))}
	for tries := 0; ; {
		p.data = message[p.offset:min(int(p.offset)+roundPiece, len(message))]
		_, err := w.machine.Node.Call(ctx, w.machines[to], methodRound, peer.Encode(64+len(p.data), p.fields))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil: // it may be behind with the term, or away
			w.machine.WaitFor(nil, derived.Backoff(tries), ctx.Done())
			tries++
			continue
		}
		tries = 0
		if p.offset += uint64(len(p.data)); p.offset == p.total {
			return nil
		}
	}
}

// Receive implements rank.Exchange.
func (w *wire) Receive(ctx context.Context, step, from int) (message []byte, err error) {
	key := wireKey{from, step}
	err = w.machine.AwaitBroadcast(ctx, &w.arrived, func() (ok bool, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if message, ok = w.inbox[key]; ok {
			delete(w.inbox, key)
			w.taken[from] = step + 1
		}
		return ok, nil
	})
	return message, err
}

// takePiece takes a piece of a message from another machine.
func (rk *Ranker) takePiece(from trie.MachineID, p *roundMessage) error {
	rk.Ranks.mu.Lock()
	t := rk.Ranks.term
	rk.Ranks.mu.Unlock()
	if t == nil || t.wire.job != p.job || t.wire.term != p.term {
		return peer.Refuse(peer.CodeUnavailable, 0, "this machine is not in term %d of this PageRank", p.term)
	}
	return t.wire.put(from, p)
}

// put keeps a piece. Pieces that come again are dropped: their sender did not get the answer.
func (w *wire) put(from trie.MachineID, p *roundMessage) error {
	key := wireKey{slices.Index(w.machines, from), int(p.step)}
	if key.from < 0 {
		return peer.ErrMessage
	}
	// 1. Pieces of a message come one after the other.
	w.mu.Lock()
	defer w.mu.Unlock()
	_, complete := w.inbox[key]
	before := w.partial[key]
	switch {
	case complete || key.step < w.taken[key.from] || p.offset < uint64(len(before)):
		return nil
	case p.offset > uint64(len(before)):
		return peer.ErrMessage
	case before == nil:
		before = p.data
	default:
		before = append(before, p.data...)
	}
	// 2. The last one completes it.
	if uint64(len(before)) < p.total {
		w.partial[key] = before
		return nil
	}
	delete(w.partial, key)
	w.inbox[key] = before
	w.arrived.Send()
	return nil
}
