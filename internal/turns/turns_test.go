// Tests of the lanes, in bubbles with a clock of their own: to compute is to sleep.

package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func newTurns(t *testing.T, opts Options) *Turns {
	t.Helper()
	s, err := New(opts)
	require.NoError(t, err)
	return s
}

// compute computes for some time, with a checkpoint every step.
func compute(turn *Turn, long, step time.Duration) error {
	for ; long > 0; long -= step {
		time.Sleep(step)
		if err := turn.Check(); err != nil {
			return err
		}
	}
	return nil
}

// run is a computation of a client, and returns how long it took.
func run(t *testing.T, s *Turns, client string, long, step time.Duration) time.Duration {
	begun := time.Now()
	turn, err := s.Begin(t.Context(), client)
	if err == nil {
		err = compute(turn, long, step)
		turn.End()
	}
	if err != nil {
		t.Error(err)
	}
	return time.Since(begun)
}

// TestShortBesideLong: however many long computations there are, also of the same
// client, and however many wait, a short one takes little longer than alone.
func TestShortBesideLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurns(t, Options{ShortSlots: 1, LongSlots: 1, Seats: 4})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				turn, err := s.Begin(ctx, "hostile")
				if err != nil {
					return
				}
				defer turn.End()
				if turn.Sit() != nil {
					return
				}
				for compute(turn, time.Second, 500*time.Microsecond) == nil {
				}
			})
		}
		time.Sleep(50*time.Millisecond + 137*time.Microsecond) // amid the first round
		if took := run(t, s, "hostile", 500*time.Microsecond, 250*time.Microsecond); took > 4*time.Millisecond {
			t.Errorf("amid 50 new ones a short one took %s", took)
		}
		time.Sleep(5 * time.Second)
		for range 100 {
			if took := run(t, s, "honest", 500*time.Microsecond, 250*time.Microsecond); took > 4*time.Millisecond {
				t.Errorf("a short one took %s", took)
			}
			time.Sleep(7 * time.Millisecond)
		}
		if w := s.Stats(Seat).Waiting; w < 40 {
			t.Errorf("%d wait for a seat", w)
		}
		cancel()
		all.Wait()
		checkFree(t, s)
	})
}

// TestShortBesideHangUps: clients that begin again and again, and hang up before they are served,
// fill the short lane. A short computation goes before all but the first slices of others, both if
// it is of the same client and if each of them is a client of its own.
func TestShortBesideHangUps(t *testing.T) {
	for _, of := range []string{"one client", "many clients"} {
		t.Run(of, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTurns(t, Options{ShortSlots: 2, LongSlots: 2})
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				for i := range 200 {
					name := "probe"
					if of == "many clients" {
						name = fmt.Sprint("hostile ", i)
					}
					all.Go(func() {
						time.Sleep(time.Duration(i) * 5 * time.Millisecond) // they hang up at different times
						for ctx.Err() == nil {
							patient, done := context.WithTimeout(ctx, time.Second)
							if turn, err := s.Begin(patient, name); err == nil {
								_ = compute(turn, time.Hour, 500*time.Microsecond)
								turn.End()
							}
							done()
						}
					})
				}
				time.Sleep(3 * time.Second)
				// It takes a slice and a half, so it also waits for its second slice.
				var took []time.Duration
				for range 200 {
					all.Go(func() { took = append(took, run(t, s, "probe", 3*shortSlice/2, shortSlice/4)) })
					time.Sleep(20 * time.Millisecond)
				}
				cancel()
				all.Wait()
				slices.Sort(took)
				t.Logf("p50 %s, at most %s", took[100], took[199])
				if took[100] > 10*time.Millisecond || took[199] > 20*time.Millisecond {
					t.Errorf("3 ms took %s, at most %s", took[100], took[199])
				}
				checkFree(t, s)
			})
		})
	}
}

// TestShares: of two clients, one with many long computations, each has half.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurns(t, Options{ShortSlots: 1, LongSlots: 1, Seats: 16})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				turn, err := s.Begin(ctx, "hostile")
				if err == nil {
					for turn.Sit() == nil && compute(turn, time.Second, time.Millisecond) == nil {
					}
					turn.End()
				}
			})
		}
		time.Sleep(10 * time.Second)
		if took := run(t, s, "honest", 2*time.Second, time.Millisecond); took > 5*time.Second {
			t.Errorf("two seconds took %s beside one other client", took)
		}
		// One more of the client that has all that it may have ends as well: its
		// computations take turns.
		seats := s.clients["hostile"].seats
		if seats < 8 || seats > 15 {
			t.Errorf("one client has %d of 16 seats", seats)
		}
		cancel()
		all.Wait()
		checkFree(t, s)
	})
}

// TestLongEnds: a stream of short computations that fill their lane does not stop a
// long one, nor do newer long ones.
func TestLongEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurns(t, Options{ShortSlots: 1, LongSlots: 1, Seats: 8})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for ctx.Err() == nil {
					turn, err := s.Begin(ctx, "short")
					if err != nil {
						return
					}
					_ = compute(turn, 900*time.Microsecond, 300*time.Microsecond)
					turn.End()
				}
			})
		}
		for range 3 {
			all.Go(func() {
				for ctx.Err() == nil {
					turn, err := s.Begin(ctx, "long")
					if err != nil {
						return
					}
					_ = compute(turn, 300*time.Millisecond, time.Millisecond)
					turn.End()
				}
			})
		}
		if took := run(t, s, "honest", time.Second, time.Millisecond); took > 4*time.Second {
			t.Errorf("one second took %s", took)
		}
		cancel()
		all.Wait()
		checkFree(t, s)
	})
}

// TestWait: who waits for something else holds no slot, and goes on with one.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurns(t, Options{ShortSlots: 1, LongSlots: 1, Seats: 1})
		turn, err := s.Begin(t.Context(), "slow")
		require.NoError(t, err)
		failed := errors.New("failed")
		err = Wait(NewContext(t.Context(), turn), func() error {
			if took := run(t, s, "other", time.Millisecond/2, time.Millisecond/4); took > time.Millisecond {
				t.Errorf("took %s", took)
			}
			if err := turn.Check(); err != nil {
				t.Error(err)
			}
			return failed
		})
		if err != failed || !turn.slot {
			t.Errorf("error %v, slot %v", err, turn.slot)
		}
		turn.End()
		turn.End()
		checkFree(t, s)
	})
}

// TestWaitEnds: waits end with the context, also where a slot is granted at the same
// time, and what was granted is given back.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurns(t, Options{ShortSlots: 2, LongSlots: 1, Seats: 1})
		holder, err := s.Begin(t.Context(), "a")
		require.NoError(t, err)
		require.NoError(t, holder.Sit())
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("its time is over"))
		defer cancel()
		second, err := s.Begin(ctx, "b")
		require.NoError(t, err)
		if err := second.Sit(); !errors.Is(err, ErrSeat) || err.Error() != "no seat became free in time: its time is over" {
			t.Errorf("error %v", err)
		}
		second.End()
		exclusive, err := s.BeginExclusive(t.Context(), "c")
		require.NoError(t, err)
		var ended sync.WaitGroup
		ended.Go(func() {
			if err := exclusive.Sit(); err != nil {
				t.Error(err)
			}
			exclusive.End()
		})
		synctest.Wait()
		holder.End()
		ended.Wait()
		if err := second.Check(); err == nil {
			t.Error("no error after the end of the context")
		}
		checkFree(t, s)
	})
}

// TestOverdue: a turn waits for a slot only shortly if the holders meet no checkpoint, in
// either lane, as long as no more than Options.Overdue of them go on without one.
func TestOverdue(t *testing.T) {
	for _, lane := range []Kind{Short, Long} {
		t.Run(lane.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTurns(t, Options{ShortSlots: 1, LongSlots: 1, Overdue: 2})
				var all sync.WaitGroup
				// 1. start begins a computation without checkpoints, wait another one beside it.
				start := func() {
					all.Go(func() {
						turn, err := s.Begin(t.Context(), "stuck")
						if err == nil && lane == Long {
							err = turn.ToLong()
						}
						if err == nil {
							time.Sleep(time.Minute)
							err = turn.Check()
						}
						if err != nil {
							t.Error(err)
						}
						if used := turn.Used(); used < time.Minute {
							t.Errorf("a minute counts as %s", used)
						}
						turn.End()
					})
					synctest.Wait()
				}
				wait := func() time.Duration {
					begun := time.Now()
					turn, err := s.Begin(t.Context(), "other")
					if err == nil && lane == Long {
						err = turn.ToLong()
					}
					require.NoError(t, err)
					took := time.Since(begun)
					turn.End()
					return took
				}
				// 2. Up to the bound slots are revoked, and beyond it the turn waits.
				bound := 2 * overdueSlices * s.slice(lane)
				for n := range s.opts.Overdue {
					start()
					if took := wait(); took > bound {
						t.Errorf("beside %d that are overdue it took %s", n+1, took)
					}
				}
				start()
				if took := wait(); took < 30*time.Second {
					t.Errorf("more than %d are overdue: it took %s", s.opts.Overdue, took)
				}
				all.Wait()
				checkFree(t, s)
			})
		})
	}
}

// TestShortTakesSlices: if others wait, a computation of some slices stays in the short lane,
// and a longer one leaves it.
func TestShortTakesSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurns(t, Options{ShortSlots: 1, LongSlots: 1})
		var all sync.WaitGroup
		one := func(long time.Duration) {
			turn, err := s.Begin(t.Context(), "one")
			if err == nil {
				err = compute(turn, long, shortSlice/2)
			}
			if err != nil {
				t.Error(err)
			}
			if turn.long != (long > shortAtMost) {
				t.Errorf("after %s: in the long lane: %v", long, turn.long)
			}
			turn.End()
		}
		all.Go(func() { one(2 * shortAtMost) })
		for range 4 {
			all.Go(func() {
				for range 5 {
					one(shortAtMost - shortSlice)
				}
			})
		}
		all.Wait()
		checkFree(t, s)
	})
}

// checkFree fails the test unless all slots and seats are given back.
func checkFree(t *testing.T, s *Turns) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, want := range [kinds]int{s.opts.ShortSlots, s.opts.LongSlots, s.opts.Seats} {
		if r := &s.kinds[k]; r.free != want || len(r.waiting) > 0 || len(r.holders) > 0 {
			t.Errorf("%s: %d of %d are free, %d wait, %d hold slots", Kind(k), r.free, want, len(r.waiting), len(r.holders))
		}
	}
	if s.live != 0 || len(s.clients) > 0 || s.overdue != 0 {
		t.Errorf("%d turns and %d clients are left, %d are overdue", s.live, len(s.clients), s.overdue)
	}
}
