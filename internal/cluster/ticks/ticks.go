// Package ticks is the clock of commits of a cluster: one order of the batches of all sequencers.
//
// A tick is an epoch and a number in it. One member of a view, its oracle, issues the numbers 1, 2, 3 and so on,
// from memory. A sequencer requests a tick for batches when all their holders have them ([Ticks.Next]). A reader
// requests the last one that was issued ([Ticks.Now]), and returns the effects of the batches with that tick or a
// lower one.
//
//	sequencer                     oracle             reader
//	  all holders have b
//	  Next -------------------->  n+1
//	  b is committed at n+1       n+1  <------------ Now: T = n+1
//	  answer to the client                           rows of T: b is in them
//
// These hold:
//
//   - If a client got its answer before a reader began, the batch's tick is at most the reader's, because it was
//     issued before.
//   - If a batch has a tick of at most T, all holders have its rows before T is issued. So each snapshot of
//     a store for a reader at T has them.
//   - If the tick of a batch is requested after T is issued, it is greater than T. So a reader that meets a batch
//     without one needs not wait.
//
// A new view has greater ticks than the one before, because its epoch is greater. So no tick must be durable. An
// oracle issues commits their ticks without a lease, as the batches of a lost view are committed before there is
// one. It answers readers only with a lease: otherwise there may be a later view, with later ticks.
//
// The oracle is [view.View.Oracle].
package ticks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Method is the method between members. A request is the epoch as a uvarint, and a byte: 1 issues a tick, 0 returns the
// last one. The answer is its number as a uvarint.
const Method = "ticks/tick"

// Timeout is how long a reader waits for an oracle.
const Timeout = 100 * time.Millisecond

// Ticks is one machine's part in the clock, as the oracle and a client of it. Its methods are safe
// for concurrent use.
type Ticks struct {
	member member.Member
	self   trie.MachineID

	issued  issued
	pending pending
	joins   chan struct{} // a token for each part that waits in a message to this machine

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup
}

// issued is what this machine has issued as an oracle.
type issued struct {
	mu    sync.Mutex
	epoch uint64
	last  uint64 // of the epoch
	transactions
}

// New returns the ticks of a member. The caller must close it.
func New(m member.Member, self trie.MachineID) *Ticks {
	t := &Ticks{member: m, self: self, joins: make(chan struct{}, maxJoins)}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// Close ends all requests. Now returns [store.ErrClosed] from then on.
func (t *Ticks) Close() {
	t.pending.mu.Lock() // a reader may begin a request
	t.stop()
	t.pending.mu.Unlock()
	t.running.Wait()
}

// Next issues a tick of a view for a commit, and returns its number.
func (t *Ticks) Next(ctx context.Context, v *view.View) (uint64, error) { return t.tick(ctx, v, true) }

// tick requests a tick of a view from its oracle.
func (t *Ticks) tick(ctx context.Context, v *view.View, commits bool) (n uint64, err error) {
	oracle, epoch := v.Oracle(), v.Epoch
	if oracle == t.self {
		return t.answer(epoch, commits)
	}
	answer, err := t.member.Call(ctx, oracle, Method, peer.Encode(10, codeRequest(&epoch, &commits)))
	if err != nil {
		return 0, err
	}
	err = peer.Decode(answer, func(c *peer.Coder) { c.Uvarint(&n) })
	return n, err
}

func codeRequest(epoch *uint64, commits *bool) func(*peer.Coder) {
	return func(c *peer.Coder) {
		c.Uvarint(epoch)
		c.Bool(commits)
	}
}

// Handle answers Method.
func (t *Ticks) Handle(_ context.Context, body []byte) ([]byte, error) {
	var epoch uint64
	var commits bool
	if err := peer.Decode(body, codeRequest(&epoch, &commits)); err != nil {
		return nil, peer.Refuse(peer.CodeStranger, 0, "%v", err)
	}
	n, err := t.answer(epoch, commits)
	if err != nil {
		return nil, err
	}
	return peer.Encode(10, func(c *peer.Coder) { c.Uvarint(&n) }), nil
}

// answer is tick on the oracle of an epoch.
func (t *Ticks) answer(epoch uint64, commits bool) (n uint64, err error) {
	// 1. Within the gate: the adopted view must be that of the request, and this machine its oracle.
	leave, err := t.enterAsOracle(epoch)
	if err != nil {
		return 0, err
	}
	defer leave()
	n = t.issued.answer(epoch, commits)
	if commits {
		return n, nil
	}
	// 2. The lease comes after the number: until now there was no later view.
	if err := t.member.Lease(); err != nil {
		return 0, peer.Refuse(peer.CodeLease, epoch, "%v", err)
	}
	return n, nil
}

// enterAsOracle keeps the adopted view from changing until leave is called. This machine must be its oracle.
func (t *Ticks) enterAsOracle(epoch uint64) (leave func(), err error) {
	if leave, err = t.member.Enter(epoch); err != nil {
		return nil, err
	}
	if t.member.View().Oracle() != t.self {
		leave()
		return nil, peer.Refuse(peer.CodeNotOwner, epoch, "machine %s is not the oracle", t.self)
	}
	return leave, nil
}

// begin begins an epoch, if it is a new one. The caller holds mu.
func (i *issued) begin(epoch uint64) {
	if i.epoch != epoch {
		i.epoch, i.last, i.transactions = epoch, 0, transactions{}
	}
}

func (i *issued) answer(epoch uint64, commits bool) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.begin(epoch)
	if commits {
		i.last++
	}
	return i.last
}

// pending is the requests of this machine's readers to another oracle. One is under way at a time, because it
// serves all readers that came before it was sent.
type pending struct {
	mu    sync.Mutex
	began time.Time // of the request under way; zero if there is none
	next  *round    // for the readers that have come since; nil if there are none
}

// round is one request for several readers.
type round struct {
	view     *view.View
	answered chan struct{} // closed when it is
	tick     uint64
	err      error
}

// Now returns the last tick that was issued under the adopted view. If the oracle does not answer for [Timeout], it
// returns an error, and to later readers at once, until the answer has come.
//
// Of two members it returns an error: one of them that has read alone may have returned rows of batches that were not
// committed. So a later reader must see them, although they will have a greater tick.
func (t *Ticks) Now(ctx context.Context) (triple.Stamp, error) {
	v := t.member.View()
	if v == nil {
		return triple.Stamp{}, fmt.Errorf("%w: this machine has no view of the cluster yet", store.ErrUnavailable)
	}
	if len(v.Members) == 2 {
		return triple.Stamp{}, peer.Refuse(peer.CodeUnavailable, v.Epoch, "readers of two members have no ticks")
	}
	if v.Oracle() == t.self {
		n, err := t.answer(v.Epoch, false)
		return stampOf(v, n, err)
	}
	r, err := t.join(v)
	if err != nil {
		return triple.Stamp{}, err
	}
	limit := time.NewTimer(Timeout)
	defer limit.Stop()
	select {
	case <-r.answered:
		return stampOf(r.view, r.tick, r.err)
	case <-limit.C:
		return triple.Stamp{}, errSilent()
	case <-ctx.Done():
		return triple.Stamp{}, context.Cause(ctx)
	}
}

// stampOf returns a tick of a view. An error has none.
func stampOf(v *view.View, n uint64, err error) (triple.Stamp, error) {
	if err != nil {
		return triple.Stamp{}, err
	}
	return triple.Stamp{Epoch: v.Epoch, Sequence: n}, nil
}

func errSilent() error {
	return peer.Refuse(peer.CodeUnavailable, 0, "the oracle has not answered for %s", Timeout)
}

// join returns the next request, and begins it if none is under way.
func (t *Ticks) join(v *view.View) (*round, error) {
	a := &t.pending
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case t.ctx.Err() != nil:
		return nil, store.ErrClosed
	case !a.began.IsZero() && time.Since(a.began) > Timeout:
		return nil, errSilent()
	case a.next == nil:
		a.next = &round{answered: make(chan struct{})}
	}
	r := a.next
	if r.view = v; a.began.IsZero() {
		a.began, a.next = time.Now(), nil
		t.running.Go(func() { t.run(r) })
	}
	return r, nil
}

// run sends a request, and those that come meanwhile.
func (t *Ticks) run(r *round) {
	for a := &t.pending; r != nil; {
		ctx, cancel := context.WithTimeout(t.ctx, silence)
		r.tick, r.err = t.tick(ctx, r.view, false)
		cancel()
		a.mu.Lock()
		close(r.answered)
		if r, a.next = a.next, nil; r == nil {
			a.began = time.Time{}
		} else {
			a.began = time.Now()
		}
		a.mu.Unlock()
	}
}

// silence is how long a request for readers may take.
const silence = 5 * time.Second
