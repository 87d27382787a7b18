// Transactions: one tick for the batches of several sequencers.

package ticks

import (
	"context"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// MethodTransaction is the method between members. A request is the epoch as a uvarint, a byte: what is requested, and
// a part. A part is its coordinator in 8 bytes, and the number of its transaction, the number before which all are
// finished, its index and the number of parts as uvarints. The answer is a tick's number as a uvarint, or 0.
const MethodTransaction = "ticks/transaction"

// What a message about a transaction requests.
const (
	join    byte = iota // the tick, when all parts have joined
	outcome             // the tick of the part, or 0 if none is issued
	abandon             // the tick, which is issued to the parts that have joined
	requests
)

// Part is one of the parts of a transaction: the operations of a change that have one sequencer. The batches of all
// parts are committed at one tick.
type Part struct {
	// Coordinator is the member that submits the parts. Number is that of the transaction. A coordinator gives no number
	// twice in an epoch.
	Coordinator trie.MachineID
	Number      uint64
	// Finished is a number. The coordinator needs nothing more of its transactions with lower ones.
	Finished uint64
	// Index is the number of this part, from 0. Parts is their count.
	Index, Parts uint64
}

func (p *Part) fields(c *peer.Coder) {
	peer.Uint64(c, &p.Coordinator)
	c.Uvarint(&p.Number, &p.Finished, &p.Index, &p.Parts)
}

// Code reads or writes a part in a message.
func (p *Part) Code(c *peer.Coder) { p.fields(c) }

// transactions is what an oracle knows of the transactions of its epoch. issued.mu guards it.
//
// The oracle issues one tick for a transaction when all its parts have joined. A part joins when all holders have
// its batch. So what the package says of a batch and its tick holds for the whole transaction:
//
//	coordinator          sequencers A, B        holders           oracle
//	  parts of T ------->  deliver ------------->  write, sync
//	                       all have answered
//	                       A joins T --------------------------->   waits for B
//	                       B joins T --------------------------->   n+1
//	                       committed at n+1  <-------------------
//	  all are committed <-
//
// A reader that meets a batch of T asks its sequencer, and that one the oracle. If no tick is issued, each later one is
// greater than the reader's. So nobody waits for a part that does not come.
//
// A new view has no transactions: their parts are committed one by one. If a part is refused for good, the coordinator
// abandons the transaction, and the other parts are committed without it.
type transactions map[trie.MachineID]map[uint64]*transaction

// maxJoins bounds the parts that wait for a tick in messages to the oracle. The others have joined, too, and come
// again.
const maxJoins = 64

// joinWait is how long a part waits in one message.
const joinWait = 5 * time.Second

// transaction is the parts that have joined, with their ticks. issued is closed when tick is set, which is that of the
// parts that have joined by then.
type transaction struct {
	parts  map[uint64]uint64
	tick   uint64
	issued chan struct{}
}

// find returns a transaction, which is made if it is not there. It drops those that are finished.
func (ts transactions) find(p Part) *transaction {
	of := ts[p.Coordinator]
	if of == nil {
		of = map[uint64]*transaction{}
		ts[p.Coordinator] = of
	}
	for n := range of {
		if n < p.Finished {
			delete(of, n)
		}
	}
	tx := of[p.Number]
	if tx == nil {
		tx = &transaction{parts: map[uint64]uint64{}, issued: make(chan struct{})}
		of[p.Number] = tx
	}
	return tx
}

// outcome returns the tick of a part; 0 if none is issued.
func (ts transactions) outcome(p Part) uint64 {
	if tx := ts[p.Coordinator][p.Number]; tx != nil {
		return tx.parts[p.Index]
	}
	return 0
}

// issue gives the parts that have joined a tick.
func (tx *transaction) issue(tick uint64) {
	tx.tick = tick
	for i := range tx.parts {
		tx.parts[i] = tick
	}
	close(tx.issued)
}

// Join waits until all parts of a transaction have joined, and returns the tick of their batches. All holders of the
// batches of p must have them. If it returns an error, it must be called again, as long as the view is adopted.
func (t *Ticks) Join(ctx context.Context, v *view.View, p Part) (tick uint64, err error) {
	return t.request(ctx, v, join, p)
}

// Outcome returns the tick of a part. If it returns 0, the tick is greater than each one that was issued before the
// call.
func (t *Ticks) Outcome(ctx context.Context, v *view.View, p Part) (tick uint64, err error) {
	return t.request(ctx, v, outcome, p)
}

// Abandon issues the tick of a transaction, because a part does not join. If that one comes later, it gets a tick of its
// own.
func (t *Ticks) Abandon(ctx context.Context, v *view.View, p Part) error {
	_, err := t.request(ctx, v, abandon, p)
	return err
}

func (t *Ticks) request(ctx context.Context, v *view.View, what byte, p Part) (n uint64, err error) {
	epoch := v.Epoch
	if v.Oracle() == t.self {
		return t.transact(ctx, epoch, what, p)
	}
	answer, err := t.member.Call(ctx, v.Oracle(), MethodTransaction, peer.Encode(64, codeTransaction(&epoch, &what, &p)))
	if err != nil {
		return 0, err
	}
	err = peer.Decode(answer, func(c *peer.Coder) { c.Uvarint(&n) })
	return n, err
}

func codeTransaction(epoch *uint64, what *byte, p *Part) func(*peer.Coder) {
	return func(c *peer.Coder) {
		c.Uvarint(epoch)
		if peer.Byte(c, what); *what >= requests {
			c.Fail("request %d", *what)
		}
		p.fields(c)
	}
}

// HandleTransaction answers MethodTransaction.
func (t *Ticks) HandleTransaction(ctx context.Context, body []byte) ([]byte, error) {
	var epoch uint64
	var what byte
	var p Part
	if err := peer.Decode(body, codeTransaction(&epoch, &what, &p)); err != nil {
		return nil, peer.Refuse(peer.CodeStranger, 0, "%v", err)
	}
	n, err := t.transact(ctx, epoch, what, p)
	if err != nil {
		return nil, err
	}
	return peer.Encode(10, func(c *peer.Coder) { c.Uvarint(&n) }), nil
}

// transact is request on the oracle of an epoch.
func (t *Ticks) transact(ctx context.Context, epoch uint64, what byte, p Part) (n uint64, err error) {
	// 1. Within the gate, because a tick is of the adopted view.
	leave, err := t.enterAsOracle(epoch)
	if err != nil {
		return 0, err
	}
	tx, n := t.issued.transact(epoch, what, p)
	leave()
	if tx == nil {
		return n, nil
	}
	// 2. Wait for the other parts. The number of waits is bounded, because other messages must find a handler.
	select {
	case t.joins <- struct{}{}:
		defer func() { <-t.joins }()
	default:
		return 0, peer.Refuse(peer.CodeBusy, 0, "%d parts of transactions wait already", maxJoins)
	}
	limit := time.NewTimer(joinWait)
	defer limit.Stop()
	select {
	case <-tx.issued:
		return tx.tick, nil
	case <-limit.C:
		return 0, peer.Refuse(peer.CodeUnavailable, epoch, "not all parts have joined within %s", joinWait)
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-t.ctx.Done():
		return 0, store.ErrClosed
	}
}

// transact does what is requested. It returns the transaction if its tick must be waited for.
func (i *issued) transact(epoch uint64, what byte, p Part) (wait *transaction, n uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.begin(epoch)
	if what == outcome {
		return nil, i.transactions.outcome(p)
	}
	tx := i.transactions.find(p)
	if what == abandon {
		if tx.tick == 0 {
			i.last++
			tx.issue(i.last)
		}
		return nil, tx.tick
	}
	// 1. A part joins. If the transaction was abandoned without it, readers may have had its tick while a holder lacked
	// the part.
	if _, joined := tx.parts[p.Index]; !joined {
		if tx.parts[p.Index] = 0; tx.tick != 0 {
			i.last++
			tx.parts[p.Index] = i.last
		}
	}
	// 2. The last one to join gets the tick for all.
	if tx.tick == 0 && uint64(len(tx.parts)) >= p.Parts {
		i.last++
		tx.issue(i.last)
	}
	if tx.tick == 0 {
		return tx, 0
	}
	return nil, tx.parts[p.Index]
}
