// Transactions: one tick for the batches of several sequencers.

package ticks

import (
	"context"
	"maps"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
)

// MethodTransaction is the method between members. A request is the epoch as a uvarint, a byte: what is requested, and
// a part. A part is the machine of its coordinator in 8 bytes, and its incarnation, the number of its transaction, the
// number before which all are finished, its index and the number of parts as uvarints. The answer is a tick's number as
// a uvarint, or 0.
const MethodTransaction = "ticks/transaction"

// What a message about a transaction requests.
const (
	join    byte = iota // the tick, when all parts have joined
	outcome             // the tick, or 0 if none is issued
	requests
)

// Part is one of the parts of a transaction: the operations of a change that have one sequencer. The batches of all
// parts are committed at one tick.
type Part struct {
	// Coordinator is the member that submits the parts. Number is that of the transaction, which it gives once.
	Coordinator member.Process
	Number      uint64
	// Finished is a number. The coordinator needs nothing more of its transactions with lower ones.
	Finished uint64
	// Index is the number of this part, from 0. Parts is their count.
	Index, Parts uint64
}

func (p *Part) fields(c *peer.Coder) {
	peer.Uint64(c, &p.Coordinator.Machine)
	c.Uvarint(&p.Coordinator.Incarnation, &p.Number, &p.Finished, &p.Index, &p.Parts)
}

// Code reads or writes a part in a message.
func (p *Part) Code(c *peer.Coder) { p.fields(c) }

// Check returns an error if p cannot be a part under a view.
func (p *Part) Check(v *view.View) error {
	if !p.Coordinator.IsMember(v) || p.Parts < 2 || p.Parts > uint64(len(v.Members)) || p.Index >= p.Parts || p.Finished > p.Number {
		return peer.Refuse(peer.CodeStranger, v.Epoch, "part %d of %d of a transaction of machine %s: no such part is possible", p.Index, p.Parts, p.Coordinator.Machine)
	}
	return nil
}

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
// A reader that meets a batch of T queries its sequencer, and that one queries the oracle. If no tick is issued, each later one is
// greater than the reader's. So nobody waits for a part that does not come.
//
// A new view has no transactions: their parts are committed one by one.
type transactions map[member.Process]*coordinated

// coordinated is the transactions of a coordinator that it may need. Those below finished have a tick.
type coordinated struct {
	finished uint64
	open     map[uint64]*transaction
}

// maxJoins bounds the parts that wait for a tick in messages to the oracle. The others have joined, too, and come
// again.
const maxJoins = 256

// joinWait is how long a part waits in one message.
const joinWait = 5 * time.Second

// transaction is the parts that have joined. issued is closed when tick is set.
type transaction struct {
	joined map[uint64]bool
	tick   uint64
	issued chan struct{}
}

// find returns a transaction, which is made if it is not there; nil if it is finished. It drops those that are.
func (ts transactions) find(p Part) *transaction {
	of := ts[p.Coordinator]
	if of == nil {
		of = &coordinated{open: map[uint64]*transaction{}}
		ts[p.Coordinator] = of
	}
	if p.Finished > of.finished {
		of.finished = p.Finished
		maps.DeleteFunc(of.open, func(n uint64, _ *transaction) bool { return n < of.finished })
	}
	if p.Number < of.finished {
		return nil
	}
	tx := of.open[p.Number]
	if tx == nil {
		tx = &transaction{joined: map[uint64]bool{}, issued: make(chan struct{})}
		of.open[p.Number] = tx
	}
	return tx
}

// outcome returns the tick of a transaction; 0 if none is issued.
func (ts transactions) outcome(p Part) uint64 {
	if of := ts[p.Coordinator]; of != nil && of.open[p.Number] != nil {
		return of.open[p.Number].tick
	}
	return 0
}

// Join waits until all parts of a transaction have joined, and returns the tick of their batches. All holders of the
// batches of p must have them. If it returns an error, it must be called again, as long as the view is adopted.
func (t *Ticks) Join(ctx context.Context, v *view.View, p Part) (tick uint64, err error) {
	return t.request(ctx, v, join, p)
}

// Outcome returns the tick of a transaction. If it returns 0, the tick is greater than each one that was issued before the
// call.
func (t *Ticks) Outcome(ctx context.Context, v *view.View, p Part) (tick uint64, err error) {
	return t.request(ctx, v, outcome, p)
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
	var tx *transaction
	if err = p.Check(t.member.View()); err == nil {
		tx, n = t.issued.transact(epoch, what, p)
	}
	leave()
	if tx == nil {
		if err == nil && what == join && n == 0 {
			err = peer.Refuse(peer.CodeUnavailable, epoch, "the coordinator has finished the transaction")
		}
		return n, err
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

// transact does what is requested. It returns the transaction if its tick must be waited for. A join that comes too late
// gets 0.
func (i *issued) transact(epoch uint64, what byte, p Part) (wait *transaction, n uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.begin(epoch)
	if what == outcome {
		return nil, i.transactions.outcome(p)
	}
	tx := i.transactions.find(p)
	if tx == nil { // a late copy of a message: the part is committed, or will be in the next view
		return nil, 0
	}
	if tx.joined[p.Index] = true; tx.tick == 0 && uint64(len(tx.joined)) >= p.Parts {
		i.last++
		tx.tick = i.last
		close(tx.issued)
	}
	if tx.tick == 0 {
		return tx, 0
	}
	return nil, tx.tick
}
