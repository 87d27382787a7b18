// Tests of the ticks of transactions: what their parts get, and what an oracle remembers.

package ticks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// router is a machine whose messages go to the handler of their method.
type router struct{ *machine }

func (r router) Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	if method == MethodTransaction {
		return r.peers[to].ticks.HandleTransaction(ctx, body)
	}
	return r.machine.Call(ctx, to, method, body)
}

// routers is machines whose messages go to the handlers of their methods. The first is the oracle.
func routers(t *testing.T, n int) []*machine {
	t.Helper()
	ms := machines(t, n)
	for _, m := range ms {
		m.ticks = New(router{m}, m.Process.Machine)
		t.Cleanup(m.ticks.Close)
	}
	return ms
}

func process(id trie.MachineID) member.Process { return member.Process{Machine: id, Incarnation: 1} }

// partsOf returns the parts of a transaction of machine 2.
func partsOf(number, parts uint64) (all []Part) {
	for i := range parts {
		all = append(all, Part{Coordinator: process(2), Number: number, Index: i, Parts: parts})
	}
	return all
}

// joined is the tick of a part, when Join has returned.
type joined struct {
	tick uint64
	err  error
	done bool
}

// joins lets a part join in the background.
func (m *machine) joins(ctx context.Context, p Part) *joined {
	j := &joined{}
	v := m.View()
	go func() {
		j.tick, j.err = m.ticks.Join(ctx, v, p)
		j.done = true
	}()
	synctest.Wait()
	return j
}

// expectTick checks the tick of a part that has joined.
func (j *joined) expectTick(t *testing.T, want uint64) {
	t.Helper()
	synctest.Wait()
	if !j.done || j.tick != want || j.err != nil {
		t.Errorf("done %t, tick %d, %v; want tick %d", j.done, j.tick, j.err, want)
	}
}

// expectFailure checks that a part has joined, and must come again because of an error.
func (j *joined) expectFailure(t *testing.T, want error) {
	t.Helper()
	synctest.Wait()
	if !j.done || j.tick != 0 || !errors.Is(j.err, want) {
		t.Errorf("done %t, tick %d, %v; want %v", j.done, j.tick, j.err, want)
	}
}

// expectWait checks that a part waits for others.
func (j *joined) expectWait(t *testing.T) {
	t.Helper()
	if synctest.Wait(); j.done {
		t.Errorf("tick %d, %v before all parts have joined", j.tick, j.err)
	}
}

// expectOutcome checks the tick of a part as each machine learns it.
func expectOutcome(t *testing.T, ms []*machine, p Part, want uint64) {
	t.Helper()
	for _, m := range ms {
		if tick, err := m.ticks.Outcome(t.Context(), m.View(), p); err != nil || tick != want {
			t.Errorf("part %d of transaction %d, on machine %d: tick %d, %v; want %d", p.Index, p.Number, m.Process.Machine, tick, err, want)
		}
	}
}

// expectNext issues a tick for a commit.
func expectNext(t *testing.T, m *machine, want uint64) {
	t.Helper()
	if tick, err := m.ticks.Next(t.Context(), m.View()); err != nil || tick != want {
		t.Errorf("the next tick is %d, %v; want %d", tick, err, want)
	}
}

// isRefused reports whether an error is a refusal with a code.
func isRefused(err error, code peer.Code) bool {
	var r *peer.Refusal
	return errors.As(err, &r) && r.Code == code
}

// The parts of a transaction get one tick, which is issued when all have joined. A part counts once, however often it
// joins.
func TestPartsGetOneTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := routers(t, 3)
		parts := partsOf(1, 3)
		expectNext(t, ms[1], 1)
		var waiting []*joined
		for i, p := range []Part{parts[0], parts[0], parts[0], parts[1]} {
			waiting = append(waiting, ms[i%3].joins(t.Context(), p))
		}
		expectNext(t, ms[2], 2)
		for _, j := range waiting {
			j.expectWait(t)
		}
		for _, p := range parts {
			expectOutcome(t, ms, p, 0)
		}
		ms[2].joins(t.Context(), parts[2]).expectTick(t, 3)
		for _, j := range waiting {
			j.expectTick(t, 3)
		}
		expectNext(t, ms[0], 4)
		for i, p := range parts {
			ms[i].joins(t.Context(), p).expectTick(t, 3)
			expectOutcome(t, ms, p, 3)
		}
		expectNext(t, ms[0], 5)
	})
}

// Transactions of two coordinators, or of one with two numbers, have nothing in common.
func TestTransactionsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := routers(t, 3)
		one, two := partsOf(1, 2), partsOf(2, 2)
		third := one[1]
		third.Coordinator = process(3)
		first := ms[0].joins(t.Context(), one[0])
		second := ms[0].joins(t.Context(), two[1])
		other := ms[0].joins(t.Context(), third)
		for _, j := range []*joined{first, second, other} {
			j.expectWait(t)
		}
		ms[0].joins(t.Context(), two[0]).expectTick(t, 1)
		second.expectTick(t, 1)
		third.Index = 0
		ms[0].joins(t.Context(), third).expectTick(t, 2)
		other.expectTick(t, 2)
		first.expectWait(t)
		ms[0].joins(t.Context(), one[1]).expectTick(t, 3)
		first.expectTick(t, 3)
	})
}

// A new view has no transactions: what has joined before it does not count. Parts of the view before are refused.
func TestNewViewForgetsTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := routers(t, 3)
		parts, done := partsOf(2, 2), partsOf(1, 2)
		before := ms[0].View()
		ms[0].joins(t.Context(), done[0])
		ms[0].joins(t.Context(), done[1]).expectTick(t, 1)
		ended, end := context.WithCancel(t.Context())
		old := ms[2].joins(ended, parts[0])
		for _, m := range ms {
			m.Adopt(viewOf(2, 3), nil)
		}
		expectOutcome(t, ms, done[0], 0)
		second := ms[1].joins(t.Context(), parts[1])
		second.expectWait(t)
		ms[0].joins(t.Context(), parts[0]).expectTick(t, 1)
		second.expectTick(t, 1)
		old.expectWait(t)
		end()
		old.expectFailure(t, context.Canceled)
		for _, m := range ms {
			if tick, err := m.ticks.Join(t.Context(), before, parts[0]); !isRefused(err, peer.CodeEpoch) {
				t.Errorf("of the view before: tick %d, %v", tick, err)
			}
		}
	})
}

// The oracle drops what the coordinator has finished with, and no transaction of another one. A question takes no memory.
// A late copy of a message about a transaction that is finished gets a tick at once, so it does not wait for good.
func TestFinishedTransactionsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := routers(t, 3)
		open := partsOf(7, 2)[0]
		open.Coordinator = process(3)
		other := ms[2].joins(t.Context(), open)
		finished := func(n uint64) uint64 { return max(n, 3) - 2 }
		for n := uint64(1); n <= 100; n++ {
			parts := partsOf(n, 2)
			parts[0].Finished, parts[1].Finished = finished(n), finished(n)
			ms[1].joins(t.Context(), parts[0])
			ms[1].joins(t.Context(), parts[1]).expectTick(t, n)
			expectOutcome(t, ms[:1], parts[0], n)
			expectOutcome(t, ms[:1], partsOf(1000+n, 2)[0], 0)
		}
		known := ms[0].ticks.issued.transactions
		if len(known) != 2 || len(known[process(2)].open) != 3 || len(known[process(3)].open) != 1 {
			t.Errorf("%d coordinators, %d and %d transactions; want 2, 3 and 1", len(known), len(known[process(2)].open), len(known[process(3)].open))
		}
		for n := finished(100); n <= 100; n++ {
			expectOutcome(t, ms, partsOf(n, 2)[0], n)
		}
		if n, err := ms[1].ticks.Join(t.Context(), ms[1].View(), partsOf(50, 2)[0]); err == nil {
			t.Errorf("a part of a finished transaction gets tick %d", n)
		}
		open.Index = 1
		ms[0].joins(t.Context(), open).expectTick(t, 101)
		other.expectTick(t, 101)
	})
}

// Only the oracle of an epoch answers, and only what it can decode, about a part that is possible.
func TestTransactionsAreRefused(t *testing.T) {
	ms := routers(t, 3)
	parts := partsOf(1, 2)
	p := parts[1]
	for what := range requests {
		if n, err := ms[1].ticks.transact(t.Context(), 1, what, p); n != 0 || !isRefused(err, peer.CodeNotOwner) {
			t.Errorf("request %d to another machine: %d, %v", what, n, err)
		}
		if n, err := ms[0].ticks.transact(t.Context(), 2, what, p); n != 0 || !isRefused(err, peer.CodeEpoch) {
			t.Errorf("request %d in another epoch: %d, %v", what, n, err)
		}
		for _, wrong := range []Part{
			{Coordinator: process(4), Number: 1, Parts: 2}, {Coordinator: member.Process{Machine: 2, Incarnation: 2}, Number: 1, Parts: 2},
			{Coordinator: process(2), Number: 1, Parts: 1}, {Coordinator: process(2), Number: 1, Parts: 4},
			{Coordinator: process(2), Number: 1, Index: 2, Parts: 2}, {Coordinator: process(2), Number: 1, Finished: 2, Parts: 2},
		} {
			if n, err := ms[2].ticks.request(t.Context(), ms[2].View(), what, wrong); n != 0 || !isRefused(err, peer.CodeStranger) {
				t.Errorf("request %d of %+v: %d, %v", what, wrong, n, err)
			}
		}
	}
	message := func(p Part) []byte {
		epoch, what := uint64(1), join
		return peer.Encode(64, codeTransaction(&epoch, &what, &p))
	}
	good := message(p)
	for name, body := range map[string][]byte{
		"nothing": nil, "a short one": good[:len(good)-1], "a long one": append(good[:len(good):len(good)], 0), "an unknown request": append([]byte{good[0], requests}, good[2:]...),
	} {
		if answer, err := ms[0].ticks.HandleTransaction(t.Context(), body); !isRefused(err, peer.CodeStranger) {
			t.Errorf("%s: %x, %v", name, answer, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := ms[0].ticks.Join(ended, ms[0].View(), parts[0]); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	expectOutcome(t, ms, p, 0)
	if _, err := ms[0].ticks.HandleTransaction(t.Context(), good); err != nil {
		t.Error(err)
	}
	expectOutcome(t, ms, p, 1)
}

// A bounded number of parts waits at the oracle. The others are refused, but have joined all the same.
func TestWaitingPartsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := routers(t, 3)
		var waiting []*joined
		for n := range uint64(maxJoins) {
			waiting = append(waiting, ms[n%3].joins(t.Context(), partsOf(n+1, 2)[0]))
		}
		busy := partsOf(1000, 2)
		for range 2 {
			if tick, err := ms[2].ticks.Join(t.Context(), ms[2].View(), busy[0]); tick != 0 || !isRefused(err, peer.CodeBusy) {
				t.Errorf("one too many: tick %d, %v", tick, err)
			}
		}
		// 1. The last part to join does not wait, so it is not refused.
		ms[1].joins(t.Context(), busy[1]).expectTick(t, 1)
		ms[2].joins(t.Context(), busy[0]).expectTick(t, 1)
		for n, j := range waiting {
			j.expectWait(t)
			ms[0].joins(t.Context(), partsOf(uint64(n+1), 2)[1]).expectTick(t, uint64(n+2))
			j.expectTick(t, uint64(n+2))
		}
		// 2. The places are free again.
		again := ms[0].joins(t.Context(), partsOf(2000, 2)[0])
		again.expectWait(t)
		ms[0].joins(t.Context(), partsOf(2000, 2)[1]).expectTick(t, maxJoins+2)
	})
}

// A part waits in one message until a limit, the end of the caller, or that of the oracle. It has joined all the same.
func TestWaitingPartsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := routers(t, 3)
		cause := errors.New("the caller has ended")
		ended, end := context.WithCancelCause(t.Context())
		parts := partsOf(1, 3)
		began := time.Now()
		canceled := ms[0].joins(ended, parts[0])
		end(cause)
		canceled.expectFailure(t, cause)
		_, err := ms[1].ticks.Join(t.Context(), ms[1].View(), parts[1])
		if waited := time.Since(began); !isRefused(err, peer.CodeUnavailable) || waited != joinWait || !strings.Contains(err.Error(), joinWait.String()) {
			t.Errorf("after %s: %v", waited, err)
		}
		if n := len(ms[0].ticks.joins); n != 0 {
			t.Errorf("%d parts hold a place", n)
		}
		ms[2].joins(t.Context(), parts[2]).expectTick(t, 1)
		for _, p := range parts {
			expectOutcome(t, ms, p, 1)
		}
		local, remote := ms[0].joins(t.Context(), partsOf(2, 2)[0]), ms[2].joins(t.Context(), partsOf(3, 2)[0])
		ms[0].ticks.Close()
		local.expectFailure(t, store.ErrClosed)
		remote.expectFailure(t, store.ErrClosed)
	})
}
