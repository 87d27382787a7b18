// Tests of adds and deletes on healthy machines, and of the copies they leave.

package writes

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// idle makes n machines that have adopted one idle view.
func idle(t testing.TB, n int, opts Options, sample []triple.Triple) (*world, []*machine) {
	t.Helper()
	w := newWorld(t)
	ms := w.machines(n, opts)
	l := w.spread(ms, sample)
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	return w, ms
}

func add(t testing.TB, m *machine, ts ...triple.Triple) (changed, unchanged int64) {
	t.Helper()
	changed, unchanged, err := m.writes.Write(ctx, store.OperationAdd, ts)
	if err != nil {
		t.Errorf("add: %v", err)
	}
	return changed, unchanged
}

func remove(t testing.TB, m *machine, ts ...triple.Triple) (changed, unchanged int64) {
	t.Helper()
	changed, unchanged, err := m.writes.Write(ctx, store.OperationDelete, ts)
	if err != nil {
		t.Errorf("delete: %v", err)
	}
	return changed, unchanged
}

// An acknowledged operation is in all places, through any coordinator, with graphs and long terms
// too. If it changes nothing, it is counted and not stamped.
func TestAcknowledgedIsInAllSlots(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		ts := facts(0, 120)
		for i := range ts {
			switch i % 4 {
			case 1:
				ts[i].Graph = iri("graph%d", i%3)
			case 2:
				ts[i].Object = triple.NewString(strings.Repeat("long", 2000) + ts[i].Object.Value())
			}
		}
		_, ms := idle(t, n, Options{}, ts[:20])
		v := ms[0].View()
		if c, u := add(t, ms[0], ts...); c != 120 || u != 0 {
			t.Errorf("%d machines: %d added, %d unchanged", n, c, u)
		}
		for _, tr := range ts {
			checkSlots(t, v, ms, tr, true)
		}
		stamped := int64(0)
		for _, m := range ms {
			stamped += m.writes.Stats().Operations
		}
		if stamped != 120 {
			t.Errorf("%d machines: %d stamps", n, stamped)
		}
		if c, u := add(t, ms[n-1], ts[:60]...); c != 0 || u != 60 {
			t.Errorf("%d machines: again: %d added, %d unchanged", n, c, u)
		}
		if c, u := remove(t, ms[n/2], ts[30:]...); c != 90 || u != 0 {
			t.Errorf("%d machines: %d deleted, %d unchanged", n, c, u)
		}
		if c, u := remove(t, ms[0], ts...); c != 30 || u != 90 {
			t.Errorf("%d machines: %d deleted, %d unchanged", n, c, u)
		}
		for _, tr := range ts {
			checkSlots(t, v, ms, tr, false)
		}
		for _, m := range ms {
			stamped -= m.writes.Stats().Operations
		}
		if stamped != -120 {
			t.Errorf("%d machines: %d stamps for 120 deletes", n, -stamped)
		}
	}
}

// Triples that are equal within one call count once as changed.
func TestEqualTriplesInOneCall(t *testing.T) {
	_, ms := idle(t, 3, Options{}, facts(0, 9))
	if c, u := add(t, ms[0], fact(1), fact(2), fact(1), fact(1)); c != 2 || u != 2 {
		t.Errorf("%d added, %d unchanged", c, u)
	}
}

// If many clients add or delete one triple at once, the adds and deletes with an effect must
// alternate.
func TestConcurrentWritersCountRight(t *testing.T) {
	_, ms := idle(t, 3, Options{}, facts(0, 9))
	var mu sync.Mutex
	var added, deleted int64
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 40 {
				kind := store.OperationAdd
				if r.IntN(2) == 0 {
					kind = store.OperationDelete
				}
				c, u, err := ms[i%3].writes.Write(ctx, kind, []triple.Triple{fact(4)})
				if err != nil || c+u != 1 {
					t.Errorf("%d, %d, %v", c, u, err)
				}
				mu.Lock()
				if kind == store.OperationAdd {
					added += c
				} else {
					deleted += c
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if d := added - deleted; d != 0 && d != 1 {
		t.Errorf("%d adds and %d deletes changed something", added, deleted)
	}
	checkSlots(t, ms[0].View(), ms, fact(4), added > deleted)
}

// A malformed triple is refused before anything is written.
func TestMalformedTriple(t *testing.T) {
	_, ms := idle(t, 3, Options{}, facts(0, 9))
	_, _, err := ms[0].writes.Write(ctx, store.OperationAdd, []triple.Triple{fact(0), {Subject: iri("s")}})
	if err == nil || !strings.Contains(err.Error(), "triple 1") {
		t.Errorf("%v", err)
	}
	if s := ms[0].writes.Stats(); s.Operations != 0 {
		t.Errorf("%+v", s)
	}
}

// If a holder is not reached, or its answers are lost, it holds writes up without other effects.
func TestHolderFailsForAWhile(t *testing.T) {
	for _, f := range []fate{unsent, lost, hangs} {
		w, ms := idle(t, 3, Options{Attempt: 20 * time.Millisecond}, facts(0, 9))
		var failed sync.WaitGroup
		failed.Add(5)
		left := 5
		w.setFate(func(_, to trie.MachineID, method string) fate {
			if to != ms[2].id || method != MethodDeliver || left == 0 {
				return arrives
			}
			left--
			failed.Done()
			return f
		})
		within(t, "the write", func() { add(t, ms[0], facts(0, 30)...) })
		failed.Wait()
		for _, tr := range facts(0, 30) {
			checkSlots(t, ms[0].View(), ms, tr, true)
		}
	}
}

// Watermarks travel even if no delivery follows, because holders must forget.
func TestHeartbeats(t *testing.T) {
	_, ms := idle(t, 3, Options{Heartbeat: time.Millisecond}, facts(0, 30))
	add(t, ms[0], facts(0, 90)...)
	for _, m := range ms {
		await.Condition(t, "nothing is unsettled", func() bool { return len(m.store.InFlightBatches()) == 0 })
		for _, h := range m.store.SequencerStates() {
			for _, of := range ms {
				if of.id == h.Sequencer && h.Committed > 0 && of.writes.Acked()[m.id] < h.Last {
					t.Errorf("machine %s has %d of %s, which knows of %d", m.id, h.Last, h.Sequencer, of.writes.Acked()[m.id])
				}
			}
		}
	}
}

// A coordinator that is behind, or ahead, waits and groups anew.
func TestCoordinatorBehindAndAhead(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(3, Options{})
	one := w.layout(ms, [4]*machine{ms[0], ms[0], ms[0], ms[0]})
	other := w.layout(ms, [4]*machine{ms[1], ms[1], ms[1], ms[1]})
	v2, v3 := w.viewOf(2, recovery.Idle, ms, one, one), w.viewOf(3, recovery.Idle, ms, other, other)
	adoptAll(v2, ms...)
	adoptAll(v3, ms[:2]...)
	refusals := notify.NewWake()
	w.mu.Lock()
	w.sent = func(_, _ trie.MachineID, method string, _ []byte) {
		if method == MethodSubmit || method == MethodDeliver {
			refusals.Send()
		}
	}
	w.mu.Unlock()
	var running sync.WaitGroup
	running.Go(func() { add(t, ms[2], facts(0, 10)...) })  // behind: asks ms[0]
	running.Go(func() { add(t, ms[0], facts(10, 20)...) }) // ahead: its holder ms[2] is behind
	<-refusals
	ms[2].adopt(v3)
	within(t, "the writes", running.Wait)
	for _, tr := range facts(0, 20) {
		checkSlots(t, v3, ms, tr, true)
	}
}

// If nobody takes an operation, the coordinator returns in time, with an error: nothing was done.
func TestUnavailable(t *testing.T) {
	w, ms := idle(t, 3, Options{RetryTimeout: 30 * time.Millisecond}, facts(0, 30))
	ms[0].SetLease(errNoLease) // it takes none itself
	w.setFate(func(_, _ trie.MachineID, method string) fate {
		if method == MethodSubmit || method == MethodPart {
			return unsent
		}
		return arrives
	})
	_, _, err := ms[0].writes.Write(ctx, store.OperationAdd, facts(0, 90))
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v", err)
	}
	for _, m := range ms {
		m.SetLease(errNoLease)
	}
	w.setFate(nil)
	if _, _, err := ms[0].writes.Write(ctx, store.OperationAdd, facts(100, 200)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	for _, tr := range facts(100, 200) {
		checkSlots(t, ms[0].View(), ms, tr, false)
	}
}

// Close and the end of a context leave open what comes of an operation.
func TestUnknown(t *testing.T) {
	w, ms := idle(t, 3, Options{}, nil)
	delivered := notify.NewWake()
	w.setFate(func(_, _ trie.MachineID, method string) fate {
		if method == MethodDeliver {
			delivered.Send()
			return hangs
		}
		return arrives
	})
	write := func(ctx context.Context, i int) chan error {
		ended := make(chan error, 1)
		go func() {
			_, _, err := ms[0].writes.Write(ctx, store.OperationAdd, facts(i, i+1))
			ended <- err
		}()
		return ended
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	first := write(limited, 0)
	<-delivered
	cancel()
	if err := <-first; !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the context ends: %v", err)
	}
	second := write(ctx, 50)
	r := ms[0].View().Joint().Resolver()
	require.NoError(t, r.Resolve(keyOf(triple.SPO, fact(50))))
	sequencer, _ := r.Sequencer()
	stamped := w.members[sequencer]
	await.Condition(t, "it is stamped", func() bool { return stamped.writes.Stats().Operations >= 2 })
	stamped.stop()
	if err := <-second; !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the sequencer closes: %v", err)
	}
}

// Operations in flight are bounded: further ones wait, and are refused if there is no room in time.
func TestRoomInFlight(t *testing.T) {
	_, ms := idle(t, 1, Options{MaxInFlight: 3000}, nil)
	m := ms[0]
	require.NoError(t, m.writes.memory.take(ctx, 2000))
	limited, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, _, err := m.writes.Write(limited, store.OperationAdd, facts(0, 10)); err == nil || errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		add(t, m, facts(0, 10)...)
	}()
	m.writes.memory.give(2000)
	within(t, "the write", func() { <-ended })
	m.emptied(t)
}

// A holder whose disk is full refuses, new operations are refused, and those on
// their way go on when there is room.
func TestFullDisk(t *testing.T) {
	var mu sync.Mutex
	full := true
	_, ms := held(t, Options{}, func(*replica.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		if full {
			return store.ErrDiskFull
		}
		return nil
	})
	first, third, v := ms[0], ms[2], ms[0].View()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		add(t, first, facts(0, 10)...)
	}()
	await.Condition(t, "the holder says that it is full", func() bool {
		first.writes.inFlight.mu.Lock()
		defer first.writes.inFlight.mu.Unlock()
		return first.writes.era.streams[third.id].full
	})
	for _, m := range ms {
		if _, _, err := m.writes.Write(ctx, store.OperationAdd, facts(10, 20)); !errors.Is(err, store.ErrDiskFull) {
			t.Errorf("%v", err)
		}
	}
	mu.Lock()
	full = false
	mu.Unlock()
	within(t, "the write", func() { <-ended })
	add(t, third, facts(10, 30)...)
	for _, tr := range facts(0, 30) {
		checkSlots(t, v, ms, tr, true)
	}
}
