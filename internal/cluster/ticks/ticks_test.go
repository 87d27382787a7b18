// Tests of the clock of commits: what an oracle issues, and what readers get.

package ticks

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/member/membertest"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// machine is a member whose messages go to the others by calls.
type machine struct {
	membertest.Fake
	ticks *Ticks
	peers map[trie.MachineID]*machine
	calls atomic.Int64
	gate  func(context.Context) // every call waits for it
}

func (m *machine) Call(ctx context.Context, to trie.MachineID, _ string, body []byte) ([]byte, error) {
	m.calls.Add(1)
	if m.gate != nil {
		m.gate(ctx)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return m.peers[to].ticks.Handle(ctx, body)
}

// viewOf returns a view with members 1 to n. Those in waits have come back with their disks.
func viewOf(epoch uint64, n int, waits ...trie.MachineID) *view.View {
	v := &view.View{Epoch: epoch}
	for id := trie.MachineID(1); id <= trie.MachineID(n); id++ {
		m := view.Member{ID: id, Incarnation: 1}
		for _, w := range waits {
			m.Waits = m.Waits || w == id
		}
		v.Members = append(v.Members, m)
	}
	return v
}

func machines(t *testing.T, n int) []*machine {
	var all []*machine
	of := map[trie.MachineID]*machine{}
	for id := trie.MachineID(1); id <= trie.MachineID(n); id++ {
		m := &machine{peers: of}
		m.Process = member.Process{Machine: id, Incarnation: 1}
		m.ticks = New(m, id)
		t.Cleanup(m.ticks.Close)
		of[id] = m
		all = append(all, m)
		m.Adopt(viewOf(1, n), nil)
	}
	return all
}

func expect(t *testing.T, m *machine, want triple.Stamp) {
	t.Helper()
	if now, err := m.ticks.Now(t.Context()); err != nil || now != want {
		t.Errorf("machine %d: %v, %v, want %v", m.Process.Machine, now, err, want)
	}
}

// Each commit gets a greater tick, on whatever machine it is requested, and readers get the last one. The next view
// has greater ticks, also of another oracle.
func TestTicks(t *testing.T) {
	ms := machines(t, 3)
	for i, m := range []*machine{ms[0], ms[2], ms[1], ms[2]} {
		if n, err := m.ticks.Next(t.Context(), m.View()); err != nil || n != uint64(i+1) {
			t.Fatalf("tick %d: %d, %v", i+1, n, err)
		}
		for _, reader := range ms {
			expect(t, reader, triple.Stamp{Epoch: 1, Sequence: uint64(i + 1)})
		}
	}
	for _, m := range ms {
		m.Adopt(viewOf(2, 3, 1), nil)
	}
	for _, m := range ms {
		expect(t, m, triple.Stamp{Epoch: 2})
	}
	n, err := ms[2].ticks.Next(t.Context(), ms[2].View())
	require.NoError(t, err)
	expect(t, ms[0], triple.Stamp{Epoch: 2, Sequence: n})
}

// An oracle answers no other epoch, and readers only with a lease. Commits need none, because they precede leases.
func TestTicksAreRefused(t *testing.T) {
	ms := machines(t, 3)
	v := ms[1].View()
	ms[0].SetLease(errors.New("no lease"))
	for _, m := range ms {
		if now, err := m.ticks.Now(t.Context()); err == nil || now != (triple.Stamp{}) {
			t.Errorf("%v without a lease", now)
		}
		if _, err := m.ticks.Next(t.Context(), v); err != nil {
			t.Errorf("a commit without a lease: %v", err)
		}
	}
	ms[0].SetLease(nil)
	expect(t, ms[1], triple.Stamp{Epoch: 1, Sequence: 3})
	ms[0].Adopt(viewOf(2, 3), nil)
	_, errNext := ms[1].ticks.Next(t.Context(), v)
	_, errNow := ms[1].ticks.Now(t.Context())
	_, errOther := ms[1].ticks.answer(1, true) // its view has another oracle
	for _, err := range []error{errNext, errNow, errOther} {
		var r *peer.Refusal
		if !errors.As(err, &r) {
			t.Errorf("%v", err)
		}
	}
	if _, err := ms[1].ticks.Handle(t.Context(), []byte{1}); err == nil {
		t.Error("a short message is answered")
	}
	ms[1].Adopt(viewOf(3, 2), nil)
	if now, err := ms[1].ticks.Now(t.Context()); err == nil || now != (triple.Stamp{}) {
		t.Errorf("%v of two members", now)
	}
	ms[1].Adopt(viewOf(3, 3), nil)
	ms[1].ticks.Close()
	if _, err := ms[1].ticks.Now(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	ms[1].Adopt(nil, nil)
	if _, err := ms[1].ticks.Now(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("no view: %v", err)
	}
}

// Readers that come while a request is under way share the next one. Their tick is one of after they came.
func TestReadersShareRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := machines(t, 3)
		ms[1].gate = func(context.Context) { time.Sleep(Timeout / 4) }
		var readers sync.WaitGroup
		read := func(least uint64) {
			readers.Go(func() {
				if now, err := ms[1].ticks.Now(t.Context()); err != nil || now.Sequence < least {
					t.Errorf("%v, %v, want tick %d at least", now, err, least)
				}
			})
		}
		read(0)
		synctest.Wait()
		n, err := ms[0].ticks.Next(t.Context(), ms[0].View())
		require.NoError(t, err)
		for range 100 {
			read(n)
		}
		readers.Wait()
		if calls := ms[1].calls.Load(); calls != 2 {
			t.Errorf("%d requests", calls)
		}
	})
}

// If the oracle is silent, readers go on without a tick: the first ones soon, later ones at once. They get ticks again
// when it answers.
func TestSilentOracle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := machines(t, 3)
		silent := make(chan struct{})
		ms[1].gate = func(ctx context.Context) {
			select {
			case <-silent:
			case <-ctx.Done():
			}
		}
		for _, wait := range []time.Duration{Timeout, 0, 0} {
			began := time.Now()
			if now, err := ms[1].ticks.Now(t.Context()); err == nil || time.Since(began) != wait {
				t.Errorf("%v, %v after %s, want an error after %s", now, err, time.Since(began), wait)
			}
			time.Sleep(time.Millisecond)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := ms[1].ticks.Now(ended); err == nil {
			t.Error("a reader that has ended got a tick")
		}
		close(silent)
		synctest.Wait()
		expect(t, ms[1], triple.Stamp{Epoch: 1})
	})
}
