// The turn of one computation: its slot and seat, and its waits.

package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// ErrSeat is the error if no seat became free before the context ended.
var ErrSeat = errors.New("no seat became free in time")

// Turn is the turn of one computation. It must be used by one goroutine only.
type Turn struct {
	turns  *Turns
	ctx    context.Context
	name   string
	client *client

	long   bool // in the long lane
	seated bool
	exempt bool // needs no seat
	slot   bool // it computes with a slot of its lane, unless that was revoked
	// revoked is true if the slot was given to another turn. It is set under turns.mu.
	revoked atomic.Bool
	idle    int // calls of Wait under way
	since   time.Time
	used    time.Duration // time with slots, up to since
	ended   bool

	// Of its wait:
	number   uint64
	deadline time.Time
	granted  chan struct{} // closed when the wait is over
}

// Begin waits for a slot of the short lane. The turn must be ended with End. If ctx ends, the
// turn's waits end and return its cause.
func (s *Turns) Begin(ctx context.Context, client string) (*Turn, error) {
	s.mu.Lock()
	t := &Turn{turns: s, ctx: ctx, name: client, client: s.join(client)}
	s.live++
	s.mu.Unlock()
	if err := t.take(); err != nil {
		t.End()
		return nil, err
	}
	return t, nil
}

// BeginExclusive is Begin for a computation that others wait for, one at a time. It needs no seat,
// because it could get none while they hold all.
func (s *Turns) BeginExclusive(ctx context.Context, client string) (*Turn, error) {
	t, err := s.Begin(ctx, client)
	if err == nil {
		t.exempt = true
	}
	return t, err
}

func (t *Turn) lane() Kind {
	if t.long {
		return Long
	}
	return Short
}

// Check is a checkpoint. The computation must call it often, a few times in a millisecond if it
// can, and must end if it returns an error. Check may wait for a slot.
func (t *Turn) Check() error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if !t.slot {
		return nil // within Wait
	}
	now := time.Now()
	if now.Sub(t.since) < t.turns.slice(t.lane()) && !t.revoked.Load() || !t.yield(now) {
		return nil
	}
	if err := t.await(t.lane()); err != nil {
		return err
	}
	t.slot = true
	return nil
}

// ToLong moves the computation to the long lane, and waits for a slot there. It must be called if
// the computation is known to be long.
func (t *Turn) ToLong() error {
	if t.long || !t.slot {
		return nil
	}
	t.giveBack()
	t.long = true
	return t.take()
}

// Sit waits for a seat, unless the turn has one. It gives the slot back meanwhile.
func (t *Turn) Sit() error {
	if t.seated || t.exempt {
		return nil
	}
	slot := t.slot
	t.giveBack()
	if err := t.acquire(Seat); err != nil {
		return err
	}
	t.seated = true
	if slot {
		return t.take()
	}
	return nil
}

// Seated reports whether the turn has a seat, or needs none.
func (t *Turn) Seated() bool { return t.seated || t.exempt }

// take waits for a slot of the turn's lane.
func (t *Turn) take() error {
	if err := t.acquire(t.lane()); err != nil {
		return err
	}
	t.slot = true
	return nil
}

// acquire waits for a slot or a seat of a kind.
func (t *Turn) acquire(k Kind) error {
	s := t.turns
	s.mu.Lock()
	if k != Seat {
		t.client.had[k] = max(t.client.had[k], s.kinds[k].floor)
	}
	if len(s.kinds[k].waiting) == 0 && s.kinds[k].free > 0 && s.may(k, t) {
		s.give(k, t)
		s.mu.Unlock()
		return nil
	}
	t.enqueue(k)
	s.grant(k) // because the waiting turns may be ones that may not have it
	s.mu.Unlock()
	return t.await(k)
}

func (t *Turn) enqueue(k Kind) {
	s := t.turns
	t.number, t.granted = s.number, make(chan struct{})
	t.deadline = time.Now().Add(min(deadlineFactor*t.used, maxDeadline))
	s.number++
	s.kinds[k].waiting = append(s.kinds[k].waiting, t)
	s.watchHolders(k)
}

// await waits until the turn gets a slot or seat of the kind, or its context ends.
func (t *Turn) await(k Kind) error {
	begun := time.Now()
	select {
	case <-t.granted:
	case <-t.ctx.Done():
	}
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.kinds[k]
	took := time.Since(begun)
	r.waits, r.waited, r.longest = r.waits+1, r.waited+took, max(r.longest, took)
	if t.ctx.Err() == nil {
		return nil
	}
	if i := slices.Index(r.waiting, t); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	} else { // granted at the same time
		s.giveBack(k, t)
	}
	if k == Seat {
		return fmt.Errorf("%w: %w", ErrSeat, context.Cause(t.ctx))
	}
	return context.Cause(t.ctx)
}

// giveBack returns a slot or seat of a kind. s.mu must be held.
func (s *Turns) giveBack(k Kind, t *Turn) {
	switch {
	case k == Seat:
		t.client.seats--
	case t.revoked.Swap(false):
		s.overdue--
		return
	default:
		r := &s.kinds[k]
		i := slices.Index(r.holders, t)
		r.holders = slices.Delete(r.holders, i, i+1)
	}
	s.kinds[k].free++
	s.grant(k)
}

// yield gives the slot back and enqueues the turn, and returns true, if others wait, if the slot
// was revoked, or if the turn has used its time in the short lane. Otherwise another slice begins.
// If a turn has computed for shortAtMost, it moves to the long lane.
func (t *Turn) yield(now time.Time) bool {
	s, k := t.turns, t.lane()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.charge(now)
	waited := len(s.kinds[k].waiting) > 0 || t.revoked.Load()
	if !waited && (t.long || t.used < s.opts.Short) {
		return false
	}
	if !t.long && t.used >= shortAtMost {
		t.long = true
		t.client.had[Long] = max(t.client.had[Long], s.kinds[Long].floor)
	}
	t.slot = false
	s.giveBack(k, t)
	t.enqueue(t.lane())
	s.grant(t.lane())
	return true
}

// charge counts the time since the turn got its slot. s.mu must be held.
func (t *Turn) charge(now time.Time) {
	ran := now.Sub(t.since)
	t.used += ran
	t.client.had[t.lane()] += ran
	t.since = now
}

// giveBack returns the slot, if the turn holds one.
func (t *Turn) giveBack() {
	if !t.slot {
		return
	}
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	t.charge(time.Now())
	t.slot = false
	s.giveBack(t.lane(), t)
}

// Wait calls do without a slot, because do waits for something other than a processor.
func (t *Turn) Wait(do func() error) error {
	t.giveBack()
	t.idle++
	err := do()
	if t.idle--; t.idle > 0 || t.ended {
		return err
	}
	if e := t.take(); err == nil {
		err = e
	}
	return err
}

// Leave returns the slot when the computation has ended. Check does not wait after it.
func (t *Turn) Leave() { t.giveBack() }

// Used returns the computed time of the turn.
func (t *Turn) Used() time.Duration {
	if t.slot {
		return t.used + time.Since(t.since)
	}
	return t.used
}

// End returns all slots and seats of the turn. It may be called again.
func (t *Turn) End() {
	if t.ended {
		return
	}
	t.giveBack()
	t.ended = true
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.seated {
		s.giveBack(Seat, t)
	}
	s.leave(t.name, t.client)
	s.live--
}

// Receive receives from a channel of another machine's results. A long computation keeps its slot
// for a slice meanwhile, because the slots of all machines must bound the work on all of them.
// After that, and at once if it is short, it waits without a slot.
func Receive[T any](ctx context.Context, from <-chan T) (got T, ok bool) {
	select {
	case got, ok = <-from:
		return got, ok
	default:
	}
	t, _ := ctx.Value(key{}).(*Turn)
	if t == nil {
		got, ok = <-from
		return got, ok
	}
	if t.long && t.slot {
		timer := time.NewTimer(t.turns.opts.Slice)
		defer timer.Stop()
		select {
		case got, ok = <-from:
			return got, ok
		case <-timer.C:
		}
	}
	_ = t.Wait(func() error { // the next checkpoint returns the context's error
		got, ok = <-from
		return nil
	})
	return got, ok
}

type key struct{}

// NewContext returns ctx with a turn, for Wait.
func NewContext(ctx context.Context, t *Turn) context.Context {
	return context.WithValue(ctx, key{}, t)
}

// Detach returns ctx without its turn, for other goroutines.
func Detach(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, (*Turn)(nil))
}

// Wait calls do without the slot of the turn of ctx, if there is one (see [Turn.Wait]). It must be
// called in the turn's goroutine.
func Wait(ctx context.Context, do func() error) error {
	if t, _ := ctx.Value(key{}).(*Turn); t != nil {
		return t.Wait(do)
	}
	return do()
}
