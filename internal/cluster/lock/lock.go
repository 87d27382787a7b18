// Package lock is the lock of a cluster: the updates that read before they write take turns, through whichever node
// they come.
//
// The oracle of the adopted view ([view.View.Oracle]) grants it from memory, in the order of the requests:
//
//	member                          oracle
//	  Acquire  lock/acquire ------>   waits for its turn
//	           <------------------    granted
//	  the update
//	  release  lock/release ------>   the next one
//
// These hold:
//
//   - A ticket names one Acquire. Its machine has it from before the request until it is released. If the machine does
//     not have it, nothing more is done under it.
//   - The oracle takes a ticket away only if its machine says that it does not have it. So no slow machine, and no
//     lost message, lets two updates run. While somebody waits, it checks that from time to time, because a release may
//     be lost.
//   - A new view has a new queue. Its oracle grants the lock when each member has adopted the view and has no ticket of an
//     earlier one. A machine that was excluded can write nothing more: no sequencer takes its operations.
//
// So a machine that stops during an update delays the updates of the others until it answers or is excluded.
package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// Methods between members. A request is the epoch as a uvarint, the machine of the ticket, and the ticket, both of 8
// bytes. The answer of holds is a byte: 1 if the machine has the ticket, or, for ticket 0, a ticket of an earlier epoch.
// The others have an empty answer.
const (
	methodAcquire = "lock/acquire"
	methodRelease = "lock/release"
	methodHolds   = "lock/holds"
)

const (
	// checkAfter is how long a ticket waits before the one with the lock is checked, and between two checks.
	checkAfter = time.Second
	// callTimeout bounds one check and one release.
	callTimeout = time.Second
	// acquireTimeout bounds a request for the lock, because its answer may be lost. Then it is sent again, as another ticket.
	acquireTimeout = 10 * time.Second
)

// Lock is one machine's part in the lock, as the oracle and a client of it. Its methods are safe for concurrent use.
type Lock struct {
	member member.Member
	self   trie.MachineID

	turn    chan struct{} // has a token while an Acquire of this machine waits or has the lock
	tickets tickets
	queue   queue

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup
}

// ticket names one Acquire of a machine in an epoch. Its number is random, so no two processes of a machine have the same.
type ticket struct {
	epoch   uint64
	machine trie.MachineID
	number  uint64
}

// ticketBytes is about the length of a ticket in a message.
const ticketBytes = 26

func (t *ticket) fields(c *peer.Coder) {
	c.Uvarint(&t.epoch)
	peer.Uint64(c, &t.machine)
	peer.Uint64(c, &t.number)
}

// New returns the lock of a member. The caller must close it.
func New(m member.Member, self trie.MachineID) *Lock {
	l := &Lock{member: m, self: self, turn: make(chan struct{}, 1), tickets: tickets{epochs: map[uint64]uint64{}}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Close ends all waits. Acquire returns [store.ErrClosed] from then on.
func (l *Lock) Close() {
	l.tickets.mu.Lock() // a release may begin
	l.stop()
	l.tickets.mu.Unlock()
	l.running.Wait()
}

// Register makes a server answer the methods of the lock.
func (l *Lock) Register(s *peer.Server) {
	for _, method := range []string{methodAcquire, methodRelease, methodHolds} {
		s.Handle(method, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
			return l.handle(ctx, method, body)
		})
	}
}

func (l *Lock) handle(ctx context.Context, method string, body []byte) ([]byte, error) {
	var t ticket
	if err := peer.Decode(body, t.fields); err != nil {
		return nil, peer.Refuse(peer.CodeStranger, 0, "%v", err)
	}
	switch method {
	case methodAcquire:
		return nil, l.grant(ctx, t)
	case methodRelease:
		l.queue.leave(t)
		return nil, nil
	}
	return l.handleHolds(t)
}

// tickets are those of this machine: wanted, or with the lock.
type tickets struct {
	mu     sync.Mutex
	epochs map[uint64]uint64 // by number
}

func (t *tickets) add(epoch uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := rand.Uint64() | 1
	t.epochs[number] = epoch
	return number
}

func (t *tickets) drop(number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.epochs, number)
}

// has reports whether a ticket is here.
func (t *tickets) has(number uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.epochs[number]
	return ok
}

// hasEarlier reports whether a ticket of an earlier epoch is here.
func (t *tickets) hasEarlier(epoch uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.epochs {
		if of < epoch {
			return true
		}
	}
	return false
}

// Acquire waits for the lock. The caller must call release, once. It returns [store.ErrUnavailable] if this member is
// isolated, and the cause if ctx ends.
func (l *Lock) Acquire(ctx context.Context) (release func(), err error) {
	// 1. One ticket of a machine waits at a time, so the oracle has few.
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.ctx.Done():
		return nil, store.ErrClosed
	}
	v, t, err := l.acquire(ctx)
	if err != nil {
		<-l.turn
		return nil, err
	}
	return func() {
		l.release(v, t)
		<-l.turn
	}, nil
}

// acquire requests the lock under one view after the other, until it is granted under the adopted one.
func (l *Lock) acquire(ctx context.Context) (v *view.View, t ticket, err error) {
	pause := pauses()
	for {
		if v = l.member.View(); v == nil {
			if err := l.awaitView(ctx); err != nil {
				return nil, t, err
			}
			continue
		}
		t = ticket{v.Epoch, l.self, l.tickets.add(v.Epoch)}
		// An oracle that was excluded may still grant it. If the view is the same after that, the next oracle waits for the
		// ticket.
		if err = l.request(ctx, v, t); err == nil && l.member.View() == v {
			return v, t, nil
		}
		l.tickets.drop(t.number)
		switch {
		case l.ctx.Err() != nil:
			return nil, t, store.ErrClosed
		case ctx.Err() != nil:
			return nil, t, context.Cause(ctx)
		case errors.Is(err, store.ErrUnavailable):
			return nil, t, err
		case l.member.View() == v:
			_ = pause.Wait(ctx) // the next round finds its end
		}
	}
}

// awaitView waits for the first view, as after a start.
func (l *Lock) awaitView(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	if err := l.member.Newer(waiting, nil); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: this machine has no view of the cluster yet", store.ErrUnavailable)
	}
	return context.Cause(ctx)
}

// request requests the lock from the oracle of a view, until there is another one.
func (l *Lock) request(ctx context.Context, v *view.View, t ticket) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(l.ctx, func() { cancel(store.ErrClosed) })()
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		err := l.member.Newer(ctx, v)
		if err == nil {
			err = errMoved
		}
		cancel(err)
	})
	oracle := v.Oracle()
	if oracle == l.self {
		return l.grant(ctx, t)
	}
	limited, end := context.WithTimeout(ctx, acquireTimeout)
	defer end()
	_, err := l.member.Call(limited, oracle, methodAcquire, peer.Encode(ticketBytes, t.fields))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

var errMoved = errors.New("another view was adopted")

// release gives the lock back. It does not wait, because the oracle finds out anyway.
func (l *Lock) release(v *view.View, t ticket) {
	oracle := v.Oracle()
	l.tickets.drop(t.number)
	if oracle == l.self {
		l.queue.leave(t)
		return
	}
	l.tickets.mu.Lock()
	defer l.tickets.mu.Unlock()
	if l.ctx.Err() == nil {
		l.running.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), callTimeout) // Close waits for it
			defer cancel()
			_, _ = l.member.Call(ctx, oracle, methodRelease, peer.Encode(ticketBytes, t.fields))
		})
	}
}

// handleHolds answers whether this machine has a ticket. It is refused under another view, so an answer about earlier
// epochs stays right.
func (l *Lock) handleHolds(t ticket) ([]byte, error) {
	leave, err := l.member.Enter(t.epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	has := l.hasHere(t)
	return peer.Encode(1, func(c *peer.Coder) { c.Bool(&has) }), nil
}

// hasHere is what this machine answers to holds.
func (l *Lock) hasHere(t ticket) bool {
	if t.number == 0 {
		return l.tickets.hasEarlier(t.epoch)
	}
	return l.tickets.has(t.number)
}

// queue is the tickets at the oracle of an epoch: the first one has the lock.
type queue struct {
	mu      sync.Mutex
	epoch   uint64
	cleared bool // no member has a ticket of an earlier epoch
	waiting []*entry
}

type entry struct {
	ticket
	first chan struct{} // closed when it is the first
}

// join puts a ticket at the end of the queue of its epoch.
func (q *queue) join(t ticket) *entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.epoch != t.epoch {
		q.epoch, q.cleared, q.waiting = t.epoch, false, nil
	}
	e := &entry{t, make(chan struct{})}
	if q.waiting = append(q.waiting, e); len(q.waiting) == 1 {
		close(e.first)
	}
	return e
}

// leave takes a ticket out of the queue, if it is there.
func (q *queue) leave(t ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.waiting, func(e *entry) bool { return e.ticket == t })
	if at < 0 {
		return
	}
	if q.waiting = slices.Delete(q.waiting, at, at+1); at == 0 && len(q.waiting) > 0 {
		close(q.waiting[0].first)
	}
}

// head returns the ticket with the lock. ok is false if there is none in the epoch.
func (q *queue) head(epoch uint64) (t ticket, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.epoch != epoch || len(q.waiting) == 0 {
		return t, false
	}
	return q.waiting[0].ticket, true
}

// grant waits until a ticket has the lock. If it returns an error, the ticket is in no queue.
func (l *Lock) grant(ctx context.Context, t ticket) error {
	// 1. Join the queue, within the gate: the adopted view must be that of the ticket, and this machine its oracle.
	leave, err := l.member.Enter(t.epoch)
	if err != nil {
		return err
	}
	v := l.member.View()
	if v.Oracle() != l.self {
		leave()
		return peer.Refuse(peer.CodeNotOwner, t.epoch, "machine %s is not the oracle", l.self)
	}
	e := l.queue.join(t)
	leave()
	// 2. Wait to be the first.
	err = l.awaitFirst(ctx, e)
	if err == nil {
		err = l.clear(ctx, v)
	}
	if err != nil {
		l.queue.leave(t)
	}
	return err
}

// awaitFirst waits until a ticket is the first. Meanwhile it checks whether the first one is still needed.
func (l *Lock) awaitFirst(ctx context.Context, e *entry) error {
	timer := time.NewTicker(checkAfter)
	defer timer.Stop()
	for {
		select {
		case <-e.first:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.ctx.Done():
			return store.ErrClosed
		case <-timer.C:
		}
		first, ok := l.queue.head(e.epoch)
		if !ok {
			return peer.Refuse(peer.CodeEpoch, l.member.View().Epoch, "another view was adopted")
		}
		if has, err := l.holds(ctx, first); err == nil && !has {
			l.queue.leave(first)
		}
	}
}

// holds queries the machine of a ticket whether it has it.
func (l *Lock) holds(ctx context.Context, t ticket) (has bool, err error) {
	if t.machine == l.self {
		return l.hasHere(t), nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := l.member.Call(ctx, t.machine, methodHolds, peer.Encode(ticketBytes, t.fields))
	if err != nil {
		return false, err
	}
	err = peer.Decode(answer, func(c *peer.Coder) { c.Bool(&has) })
	return has, err
}

// clear waits until no member of the view has a ticket of an earlier epoch.
func (l *Lock) clear(ctx context.Context, v *view.View) error {
	// 1. Once is enough, because new tickets are of this epoch.
	q := &l.queue
	q.mu.Lock()
	cleared := q.cleared && q.epoch == v.Epoch
	q.mu.Unlock()
	if cleared {
		return nil
	}
	// 2. Query all members at the same time.
	errs := make([]error, len(v.Members))
	var members sync.WaitGroup
	for i, m := range v.Members {
		members.Go(func() { errs[i] = l.awaitNone(ctx, v, m.ID) })
	}
	members.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cleared = q.cleared || q.epoch == v.Epoch
	return nil
}

// awaitNone queries a machine until it has no ticket of an epoch before that of v, or there is another view.
func (l *Lock) awaitNone(ctx context.Context, v *view.View, machine trie.MachineID) error {
	pause := pauses()
	for l.member.View() == v {
		if has, err := l.holds(ctx, ticket{epoch: v.Epoch, machine: machine}); err == nil && !has {
			return nil
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
	return peer.Refuse(peer.CodeEpoch, l.member.View().Epoch, "another view was adopted")
}

// pauses are those between tries.
func pauses() retry.Backoff {
	return retry.Backoff{First: 5 * time.Millisecond, Last: 500 * time.Millisecond}
}
