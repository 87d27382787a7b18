// Tests of transactions: readers see all of one or none, and its parts end.

package writes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// piece is a triple with the sequencer i%n of n machines.
func piece(i int) triple.Triple {
	return triple.Triple{Subject: iri("s%03d", i), Predicate: iri("p"), Object: iri("o%d", i*7919%101)}
}

func pieces(of ...int) (ts []triple.Triple) {
	for _, i := range of {
		ts = append(ts, piece(i))
	}
	return ts
}

// apart returns a layout in which machine i%n of n is the sequencer of piece i, for count pieces. The first three have a
// place of each piece.
func (w *world) apart(ms []*machine, count int) recovery.Layout {
	w.t.Helper()
	l := w.layout(ms, [4]*machine{ms[0], ms[1], ms[2%len(ms)], ms[0]})
	id := uint64(len(triple.Orders))
	for i := range count {
		partition := uint32(0)
		for l.Placement.PartitionOwner(partition) != ms[i%len(ms)].id {
			partition++
		}
		var err error
		key := keyOf(triple.SPO, piece(i))
		id++
		if l.Trie, err = l.Trie.Split(l.Trie.Lookup(key).ID, key, id); err != nil {
			w.t.Fatal(err)
		}
		if l.Trie, err = l.Trie.Assign(id, partition); err != nil {
			w.t.Fatal(err)
		}
	}
	return l
}

// sequencers makes n machines that have adopted one idle view, in which machine i%n is the sequencer of piece i. The
// first is the oracle.
func sequencers(t testing.TB, n, count int, opts Options) (*world, []*machine) {
	t.Helper()
	w := newWorld(t)
	ms := w.machines(n, opts)
	l := w.apart(ms, count)
	v := w.viewOf(2, recovery.Idle, ms, l, l)
	if v.Oracle() != ms[0].id {
		t.Fatalf("the oracle is %s", v.Oracle())
	}
	adoptAll(v, ms...)
	return w, ms
}

// transacted is the outcome of a transaction.
type transacted struct {
	counts Counts
	err    error
}

// transacts begins a transaction.
func (m *machine) transacts(ctx context.Context, deletes, adds []triple.Triple) <-chan transacted {
	ended := make(chan transacted, 1)
	m.world.running.Go(func() {
		c, err := m.writes.Transact(ctx, deletes, adds)
		ended <- transacted{c, err}
	})
	return ended
}

// expectCounts waits for a transaction.
func expectCounts(t testing.TB, ended <-chan transacted, want Counts) {
	t.Helper()
	within(t, "the transaction", func() {
		if got := <-ended; got.err != nil || got.counts != want {
			t.Errorf("%+v, %v; want %+v", got.counts, got.err, want)
		}
	})
}

// storedParts returns the number of parts in flight that all their holders have.
func storedParts(ms ...*machine) (n int) {
	for _, m := range ms {
		fl := m.writes.inFlight
		fl.mu.Lock()
		for number, b := range fl.open {
			if number == b.number && b.stored && b.part != nil {
				n++
			}
		}
		fl.mu.Unlock()
	}
	return n
}

// holdsUp lets no delivery of one machine reach another. Other messages arrive.
func (w *world) holdsUp(from, to *machine, f fate) {
	w.setFate(func(sender, receiver trie.MachineID, method string) fate {
		if sender == from.id && receiver == to.id && method == MethodDeliver {
			return f
		}
		return arrives
	})
}

// ended checks that nothing is in flight, and that no transaction takes room.
func ended(t testing.TB, ms ...*machine) {
	t.Helper()
	quiet(t, ms...)
	for _, m := range ms {
		await.Condition(t, "no batch is in flight", func() bool { return m.writes.Stats().InFlight == 0 })
		m.emptied(t)
		co := m.writes.coordinator
		await.Condition(t, "no transaction takes room", func() bool { return co.transactions.parts.inUse() == 0 && co.transactions.memory.inUse() == 0 })
	}
}

var errPassed = errors.New("the tick has passed")

// isLiveAt answers whether a triple is there at a tick, through one order. It does what an owner of rows does, and waits
// for nothing but what it cannot undo.
func (w *world) isLiveAt(ctx context.Context, v *view.View, tick triple.Stamp, o triple.Order, tr triple.Triple) (live bool, err error) {
	key := keyOf(o, tr)
	owner, _ := v.Joint().Reader(key)
	w.mu.Lock()
	m := w.members[owner]
	w.mu.Unlock()
	sn, err := m.store.Snapshot()
	if err != nil {
		return false, err
	}
	defer sn.Close()
	r := exactly(key)
	undoable, others := m.store.Undoable(m.store.InFlight(r, nil), v.Epoch)
	if err := m.writes.WaitCommitted(ctx, others); err != nil {
		return false, err
	}
	open, err := m.writes.Uncommitted(ctx, undoable, true)
	if err != nil {
		return false, err
	}
	undo, ok := m.store.Undo(open, tick, store.TableStorage, []triple.Range{r})
	if !ok {
		return false, errPassed
	}
	rows, err := sn.Rows(ctx, r)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	rows.Replace(undo.Before)
	live = rows.Next()
	return live, rows.Err()
}

// now returns the present tick, although the oracle may be slow.
func (m *machine) now(t testing.TB) (tick triple.Stamp) {
	t.Helper()
	await.Condition(t, "the oracle answers", func() bool {
		var err error
		tick, err = m.writes.Now(ctx)
		return err == nil
	})
	return tick
}

// stateAt returns a digit for each triple at a tick: 1 if it is there, else 0. The order changes with each triple.
func (w *world) stateAt(ctx context.Context, v *view.View, tick triple.Stamp, first int, ts []triple.Triple) (string, error) {
	state := []byte(strings.Repeat("0", len(ts)))
	for i, tr := range ts {
		live, err := w.isLiveAt(ctx, v, tick, triple.Orders[(first+i)%3], tr)
		if err != nil {
			return "", err
		}
		if live {
			state[i] = '1'
		}
	}
	return string(state), nil
}

// expectState reads triples at the present tick, through all machines and orders.
func expectState(t testing.TB, ms []*machine, ts []triple.Triple, want string) {
	t.Helper()
	var ticks []triple.Stamp
	for _, m := range ms {
		ticks = append(ticks, m.now(t))
	}
	within(t, "the readers", func() {
		for i, m := range ms {
			tick := ticks[i]
			for first := range 3 {
				if got, err := m.world.stateAt(ctx, m.View(), tick, first, ts); err != nil || got != want {
					t.Errorf("at %v: %s, %v; want %s", tick, got, err, want)
				}
			}
		}
	})
}

// expectHistory reads triples at all ticks of the epoch, and compares the states one after the other.
func expectHistory(t testing.TB, ms []*machine, ts []triple.Triple, want ...string) {
	t.Helper()
	last := ms[0].now(t)
	for first := range 3 {
		var states []string
		for n := range last.Sequence + 1 {
			s, err := ms[0].world.stateAt(ctx, ms[0].View(), triple.Stamp{Epoch: last.Epoch, Sequence: n}, first, ts)
			if err != nil {
				t.Fatalf("at tick %d: %v", n, err)
			}
			states = append(states, s)
		}
		if states = slices.Compact(states); !slices.Equal(states, want) {
			t.Errorf("states %v, want %v", states, want)
		}
	}
}

// While one holder of one part does not answer, readers see nothing of the transaction, and do not wait. Later they see
// all of it, and at no tick a part.
func TestReadersSeeAllOrNone(t *testing.T) {
	for _, f := range []fate{unsent, hangs} {
		for held := range 3 {
			w, ms := sequencers(t, 3, 6, Options{Attempt: 200 * time.Millisecond})
			all := pieces(0, 1, 2, 3, 4, 5)
			add(t, ms[1], pieces(0, 1, 2)...)
			w.holdsUp(ms[held], ms[(held+1)%3], f)
			done := ms[2].transacts(ctx, pieces(0, 1, 2), pieces(3, 4, 5))
			await.Condition(t, "the other parts have joined", func() bool { return storedParts(ms...) == 2 })
			expectState(t, ms, all, "111000")
			if _, err := ms[0].writes.Next(ctx, ms[0].View()); err != nil { // a later tick
				t.Fatal(err)
			}
			expectState(t, ms, all, "111000")
			w.setFate(nil)
			expectCounts(t, done, Counts{Changed: 6, Removed: 3})
			expectState(t, ms, all, "000111")
			expectHistory(t, ms, all, "000000", "111000", "000111")
			ended(t, ms...)
		}
	}
}

// intercept replaces a handler. It must be called before there are messages.
func (m *machine) intercept(method string, with func(ctx context.Context, body []byte, next func(context.Context, []byte) ([]byte, error)) ([]byte, error)) {
	next := m.handlers[method]
	m.handlers[method] = func(ctx context.Context, body []byte) ([]byte, error) { return with(ctx, body, next) }
}

// lateTicks lets the tick of a transaction not reach one of its sequencers, until late is closed. issued is sent when it is
// on its way. Questions for the tick are answered.
func lateTicks(oracle, to *machine) (issued notify.Wake, late chan struct{}) {
	issued, late = notify.NewWake(), make(chan struct{})
	oracle.intercept(ticks.MethodTransaction, func(ctx context.Context, body []byte, next func(context.Context, []byte) ([]byte, error)) ([]byte, error) {
		answer, err := next(ctx, body)
		if joins := body[1] == 0; joins && err == nil && coordinatorOf(ctx).Machine == to.id {
			issued.Send()
			select {
			case <-late:
			case <-ctx.Done():
			}
		}
		return answer, err
	})
	return issued, late
}

// If a sequencer does not have the tick yet that was issued for its part, it learns of it when a reader asks.
func TestReaderLearnsOfTheTick(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(3, Options{})
	issued, late := lateTicks(ms[0], ms[2])
	l := w.apart(ms, 3)
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	done := ms[0].transacts(ctx, nil, pieces(0, 1, 2))
	<-issued
	await.Condition(t, "the other parts are committed", func() bool { return ms[0].writes.Stats().Settled > 0 && ms[1].writes.Stats().Settled > 0 })
	expectState(t, ms, pieces(0, 1, 2), "111")
	close(late)
	expectCounts(t, done, Counts{Changed: 3})
	expectHistory(t, ms, pieces(0, 1, 2), "000", "111")
	ended(t, ms...)
}

// Tokens move between triples of all sequencers, while messages are lost. Readers at ticks always count the same number.
func TestTokensMove(t *testing.T) {
	const clients, places = 4, 7
	number := seed.Number(t)
	w, ms := sequencers(t, 3, clients*places, Options{RetryTimeout: patient, Heartbeat: time.Millisecond, Attempt: 200 * time.Millisecond})
	of := func(client, place int) int { return client*places + place }
	var all []triple.Triple
	for i := range clients * places {
		all = append(all, piece(i))
	}
	for c := range clients {
		add(t, ms[c%3], piece(of(c, 0)))
	}
	// 1. Messages that have a timeout may hang.
	var mu sync.Mutex
	faults := rand.New(rand.NewPCG(number, 0))
	w.setFate(func(_, _ trie.MachineID, method string) fate {
		mu.Lock()
		defer mu.Unlock()
		switch n := faults.IntN(100); {
		case n < 4:
			return unsent
		case n < 8:
			return lost
		case n < 10 && (method == MethodPart || method == MethodDeliver || method == ticks.MethodTransaction || method == methodCommitted):
			return hangs
		}
		return arrives
	})
	var movers, readers sync.WaitGroup
	var looks atomic.Int64
	over := make(chan struct{})
	for c := range clients {
		r := rand.New(rand.NewPCG(number, uint64(1+c)))
		movers.Go(func() {
			at := 0
			for range 15 {
				to := r.IntN(places)
				for to%3 == at%3 {
					to = r.IntN(places) // of another sequencer
				}
				got, err := ms[r.IntN(3)].writes.Transact(ctx, pieces(of(c, at)), pieces(of(c, to)))
				if want := (Counts{Changed: 2, Removed: 1}); err != nil || got != want {
					t.Errorf("from %d to %d: %+v, %v", of(c, at), of(c, to), got, err)
					return
				}
				at = to
			}
		})
	}
	// 2. A reader whose messages are lost comes again.
	for i, m := range ms {
		readers.Go(func() {
			for first := i; ; first++ {
				select {
				case <-over:
					return
				default:
				}
				tick, err := m.writes.Now(ctx)
				if err != nil {
					continue
				}
				limited, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
				state, err := w.stateAt(limited, m.View(), tick, first, all)
				cancel()
				if err != nil {
					continue
				}
				looks.Add(1)
				if !oneEach(state, clients, places) {
					t.Errorf("at %v: %s", tick, state)
					return
				}
			}
		})
	}
	within(t, "the moves", movers.Wait)
	close(over)
	within(t, "the readers", readers.Wait)
	w.setFate(nil)
	t.Logf("%d looks", looks.Load())
	if looks.Load() == 0 {
		t.Error("nobody has looked")
	}
	ended(t, ms...)
	if state, err := w.stateAt(ctx, ms[1].View(), ms[1].now(t), 0, all); err != nil || !oneEach(state, clients, places) {
		t.Errorf("in the end: %s, %v", state, err)
	}
}

// oneEach reports whether each client has one token.
func oneEach(state string, clients, places int) bool {
	for c := range clients {
		if strings.Count(state[c*places:(c+1)*places], "1") != 1 {
			return false
		}
	}
	return true
}

// A part is stamped and counted once, although an answer is lost, after the commit or before it.
func TestPartIsStampedOnce(t *testing.T) {
	for _, early := range []bool{false, true} {
		w := newWorld(t)
		ms := w.machines(3, Options{})
		var again, lostOnes atomic.Int64
		for _, m := range ms[1:] {
			var tries atomic.Int64
			m.intercept(MethodPart, func(ctx context.Context, body []byte, next func(context.Context, []byte) ([]byte, error)) ([]byte, error) {
				if tries.Add(1) > 1 {
					again.Add(1)
					return next(ctx, body)
				}
				lostOnes.Add(1)
				if early {
					w.running.Go(func() { _, _ = next(ctx, body) })
				} else if _, err := next(ctx, body); err != nil {
					t.Error(err)
				}
				return nil, errors.New("the connection broke")
			})
		}
		l := w.apart(ms, 6)
		adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
		add(t, ms[0], piece(1))
		add(t, ms[0], piece(2))
		before := ms[1].writes.Stats().Settled + ms[2].writes.Stats().Settled
		if early {
			w.holdsUp(ms[0], ms[1], unsent) // no part is committed before the others are submitted again
		}
		done := ms[0].transacts(ctx, pieces(1, 2), pieces(0, 4, 5))
		if early {
			await.Condition(t, "parts are submitted again", func() bool { return again.Load() == 2 })
			w.setFate(nil)
		}
		expectCounts(t, done, Counts{Changed: 5, Removed: 2})
		if n := lostOnes.Load(); n != 2 {
			t.Errorf("%d answers were lost", n)
		}
		for i, live := range []bool{true, false, false, false, true, true} {
			checkSlots(t, ms[0].View(), ms, piece(i), live)
		}
		ended(t, ms...)
		for _, m := range ms[1:] {
			if n := m.writes.Stats().Batches; n != 2 {
				t.Errorf("%d batches of %s, want the first add and the part", n, m.id)
			}
		}
		if n := ms[1].writes.Stats().Settled + ms[2].writes.Stats().Settled - before; n < 4 {
			t.Errorf("%d operations of parts were committed", n)
		}
	}
}

// Deletes come before adds, so a triple in both is there afterwards, without its annotations.
func TestDeleteAndAddOfOneTriple(t *testing.T) {
	_, ms := sequencers(t, 3, 3, Options{})
	for _, others := range [][]triple.Triple{nil, pieces(1, 2)} {
		add(t, ms[0], piece(0))
		if _, err := ms[0].writes.Annotate(ctx, piece(0), noteOf(7), store.Condition{}, nil); err != nil {
			t.Fatal(err)
		}
		noted := func(want state) {
			t.Helper()
			for i, o := range triple.Orders[:3] {
				if s, err := ms[i].readAll(ctx, o, piece(0)); err != nil || s != want {
					t.Errorf("%s: %+v, %v; want %+v", o, s, err, want)
				}
			}
		}
		noted(state{live: true, note: 7})
		c, err := ms[0].writes.Transact(ctx, pieces(0), append(pieces(0), others...))
		if want := (Counts{Changed: 2 + int64(len(others)), Removed: 1}); err != nil || c != want {
			t.Errorf("%+v, %v; want %+v", c, err, want)
		}
		noted(state{live: true})
		checkSlots(t, ms[0].View(), ms, piece(0), true)
	}
	ended(t, ms...)
}

// A part that changes nothing joins all the same, and counts as unchanged.
func TestPartChangesNothing(t *testing.T) {
	_, ms := sequencers(t, 3, 6, Options{})
	add(t, ms[0], piece(0))
	done := ms[2].transacts(ctx, pieces(4), pieces(0, 2, 5))
	expectCounts(t, done, Counts{Changed: 2, Unchanged: 2})
	expectCounts(t, ms[1].transacts(ctx, pieces(4), pieces(0, 2, 5)), Counts{Unchanged: 4})
	ended(t, ms...)
}

// If a sequencer refuses its part for long and others have stamped theirs, the client need not wait any more. The
// transaction goes on, and no reader sees a part of it.
func TestPartIsRefused(t *testing.T) {
	_, ms := sequencers(t, 3, 6, Options{RetryTimeout: 10 * time.Millisecond})
	ms[2].SetLease(errNoLease)
	c, err := ms[1].writes.Transact(ctx, nil, pieces(0, 1, 2, 3, 4, 5))
	if !errors.Is(err, store.ErrUnknown) || c != (Counts{}) || !strings.Contains(fmt.Sprint(err), "0 of 6 triples are written") {
		t.Errorf("%+v, %v", c, err)
	}
	await.Condition(t, "the other parts have joined", func() bool { return storedParts(ms...) == 2 })
	expectState(t, ms[:2], pieces(0, 1, 3, 4), "0000")
	ms[2].SetLease(nil)
	ended(t, ms...)
	expectHistory(t, ms, pieces(0, 1, 2, 3, 4, 5), "000000", "111111")
}

// If all parts are refused for long, nothing is done, now or later.
func TestAllPartsAreRefused(t *testing.T) {
	_, ms := sequencers(t, 3, 6, Options{RetryTimeout: 10 * time.Millisecond})
	for _, m := range ms[1:] {
		m.SetLease(errNoLease)
	}
	c, err := ms[0].writes.Transact(ctx, nil, pieces(1, 2, 4, 5))
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || c != (Counts{}) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, m := range ms[1:] {
		m.SetLease(nil)
	}
	ended(t, ms...)
	for _, m := range ms {
		if n := m.writes.Stats().Batches; n != 0 {
			t.Errorf("machine %s has stamped %d batches", m.id, n)
		}
	}
	expectCounts(t, ms[0].transacts(ctx, nil, pieces(1, 2, 4, 5)), Counts{Changed: 4})
	ended(t, ms...)
}

// If the view changes, all that is stamped is committed in the next one, and the client gets its answer.
func TestViewChangesDuringTransaction(t *testing.T) {
	w, ms := sequencers(t, 3, 6, Options{})
	add(t, ms[0], pieces(0, 1, 2)...)
	w.holdsUp(ms[0], ms[1], unsent)
	done := ms[2].transacts(ctx, pieces(0, 1, 2), pieces(3, 4, 5))
	await.Condition(t, "the other parts have joined", func() bool { return storedParts(ms...) == 2 })
	l := ms[0].View().Base
	adoptAll(w.viewOf(3, recovery.Idle, ms, l, l), ms...)
	w.setFate(nil)
	expectCounts(t, done, Counts{Changed: 6, Removed: 3})
	expectState(t, ms, pieces(0, 1, 2, 3, 4, 5), "000111")
	for i := range 6 {
		checkSlots(t, ms[0].View(), ms, piece(i), i >= 3)
	}
	ended(t, ms...)
	expectCounts(t, ms[1].transacts(ctx, pieces(3, 4), pieces(0, 1)), Counts{Changed: 4, Removed: 2})
}

// If the view changes when a part is committed, and another one has not got the tick, that one does not wait for the first
// in the next view.
func TestViewChangesBeforeTheTickComes(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(3, Options{})
	issued, late := lateTicks(ms[0], ms[2])
	defer close(late)
	l := w.apart(ms, 3)
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	done := ms[0].transacts(ctx, nil, pieces(0, 1, 2))
	<-issued
	await.Condition(t, "the other parts are committed", func() bool { return ms[0].writes.Stats().Settled > 0 && ms[1].writes.Stats().Settled > 0 })
	adoptAll(w.viewOf(3, recovery.Idle, ms, l, l), ms...)
	expectCounts(t, done, Counts{Changed: 3})
	ended(t, ms...)
}

// If the coordinator of a transaction is lost, all that is stamped is committed at last in a view without it.
func TestCoordinatorOfStampedPartsIsLost(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(4, Options{Heartbeat: time.Millisecond})
	l := w.apart(ms, 4)
	v := w.viewOf(2, recovery.Idle, ms, l, l)
	adoptAll(v, ms...)
	w.holdsUp(ms[0], ms[1], unsent)
	coordinator, rest := ms[3], ms[:3]
	done := coordinator.transacts(ctx, nil, pieces(0, 1, 2, 3))
	await.Condition(t, "the other parts have joined", func() bool { return storedParts(ms...) == 3 })
	coordinator.stop()
	if got := <-done; !errors.Is(got.err, store.ErrUnknown) && !errors.Is(got.err, store.ErrClosed) {
		t.Errorf("%+v", got)
	}
	next, err := v.Exclude(coordinator.id)
	require.NoError(t, err)
	adoptAll(next, rest...)
	w.setFate(nil)
	for _, m := range rest {
		await.Condition(t, "reconciled", m.writes.Reconciled)
	}
	ended(t, rest...)
	for i := range 4 {
		checkSlots(t, next, rest, piece(i), true)
	}
}

// Operations on a triple of a transaction that is held up get later ticks than it, one after the other, although all
// their holders have them.
func TestLaterOperationsGetLaterTicks(t *testing.T) {
	w, ms := sequencers(t, 3, 3, Options{})
	add(t, ms[0], piece(0))
	w.holdsUp(ms[1], ms[2], unsent)
	done := ms[2].transacts(ctx, pieces(0), pieces(1))
	await.Condition(t, "one part has joined", func() bool { return storedParts(ms...) == 1 })
	var later []<-chan error
	fl := ms[0].writes.inFlight
	for i, kind := range []store.OperationKind{store.OperationAdd, store.OperationDelete, store.OperationAdd} {
		later = append(later, ms[i].inBackground(ctx, kind, piece(0)))
		await.Condition(t, "all holders have it", func() bool {
			fl.mu.Lock()
			defer fl.mu.Unlock()
			b := fl.open[fl.last]
			return len(fl.open) == i+2 && b.stored
		})
		fl.mu.Lock()
		for _, b := range fl.open {
			if b.complete {
				t.Errorf("a tick is requested for batch %d", b.number)
			}
		}
		fl.mu.Unlock()
	}
	expectState(t, ms, pieces(0, 1), "10")
	w.setFate(nil)
	expectCounts(t, done, Counts{Changed: 2, Removed: 1})
	for _, l := range later {
		require.NoError(t, <-l)
	}
	expectHistory(t, ms, pieces(0, 1), "00", "10", "01", "11", "01", "11")
	ended(t, ms...)
}

// A transaction that is held up holds up no other one, although the operations in flight have no more room.
func TestTransactionsDoNotWaitForRoom(t *testing.T) {
	w, ms := sequencers(t, 3, 6, Options{MaxInFlight: 1})
	w.holdsUp(ms[1], ms[2], unsent)
	first := ms[0].transacts(ctx, nil, pieces(0, 1))
	await.Condition(t, "one part has joined", func() bool { return storedParts(ms...) == 1 })
	expectCounts(t, ms[2].transacts(ctx, nil, pieces(3, 2)), Counts{Changed: 2})
	expectState(t, ms, pieces(0, 1, 2, 3), "0011")
	w.setFate(nil)
	expectCounts(t, first, Counts{Changed: 2})
	ended(t, ms...)
}

// If the client goes away, it gets an unknown outcome, and the transaction goes on to its end.
func TestClientGoesAway(t *testing.T) {
	w, ms := sequencers(t, 3, 3, Options{})
	w.setFate(func(_, to trie.MachineID, method string) fate {
		if to == ms[2].id && method == MethodPart {
			return unsent
		}
		return arrives
	})
	client, leaves := context.WithCancel(ctx)
	done := ms[0].transacts(client, nil, pieces(0, 1, 2))
	await.Condition(t, "the other parts have joined", func() bool { return storedParts(ms...) == 2 })
	leaves()
	if got := <-done; !errors.Is(got.err, store.ErrUnknown) || !errors.Is(got.err, context.Canceled) {
		t.Errorf("%+v", got)
	}
	w.setFate(nil)
	ended(t, ms...)
	expectHistory(t, ms, pieces(0, 1, 2), "000", "111")
	for i := range 3 {
		checkSlots(t, ms[0].View(), ms, piece(i), true)
	}
}

// A change of more than MaxTransaction is written in pieces, and has the counts of all.
func TestLargeChange(t *testing.T) {
	w, ms := sequencers(t, 3, 6, Options{})
	var parts atomic.Int64
	w.mu.Lock()
	w.sent = func(_, _ trie.MachineID, method string, _ []byte) {
		if method == MethodPart {
			parts.Add(1)
		}
	}
	w.mu.Unlock()
	add(t, ms[0], piece(0))
	add(t, ms[0], piece(1))
	large := piece(3) // it is not there, so its delete is not sent to holders
	large.Object = triple.NewString(strings.Repeat("x", MaxTransaction-1024))
	x := ms[0].writes.newWriting(ctx, 0)
	if n := len(x.operations([]triple.Triple{large}, pieces(4))); n != 2 {
		t.Errorf("%d operations of one transaction, want 2", n)
	}
	large.Object = triple.NewString(strings.Repeat("x", MaxTransaction))
	c, err := ms[0].writes.Transact(ctx, append(pieces(0, 1, 2), large), pieces(4, 5, 5))
	if want := (Counts{Changed: 4, Removed: 2, Unchanged: 3}); err != nil || c != want {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
	if n := parts.Load(); n != 0 {
		t.Errorf("%d parts", n)
	}
	ended(t, ms...)
}

// If a holder of one part is known to be full, nothing is written. If only a sequencer knows it, it takes its part all the
// same, because others may be stamped.
func TestFullDiskOfOneHolder(t *testing.T) {
	_, ms := sequencers(t, 3, 3, Options{})
	full := map[trie.MachineID]store.Room{ms[2].id: store.RoomForDeletes}
	ms[0].writes.SetRooms(full)
	c, err := ms[0].writes.Transact(ctx, nil, pieces(0, 1, 2))
	if !errors.Is(err, store.ErrDiskFull) || errors.Is(err, store.ErrUnknown) || !strings.Contains(fmt.Sprint(err), ms[2].id.String()) || c != (Counts{}) {
		t.Errorf("%+v, %v", c, err)
	}
	for i, m := range ms {
		if s := m.writes.Stats(); s.Batches != 0 {
			t.Errorf("machine %s has stamped %d batches", m.id, s.Batches)
		}
		checkSlots(t, m.View(), ms, piece(i), false)
	}
	ms[0].writes.SetRooms(nil)
	ms[1].writes.SetRooms(full)
	expectCounts(t, ms[0].transacts(ctx, nil, pieces(0, 1, 2)), Counts{Changed: 3})
	ended(t, ms...)
}

// watched is a context that sends looked when somebody waits for its end.
type watched struct {
	context.Context
	looked notify.Wake
}

func (w watched) Done() <-chan struct{} {
	w.looked.Send()
	return w.Context.Done()
}

// The transactions of a coordinator are bounded, in number and bytes. Others wait, and nothing of them is done.
func TestTransactionsAreBounded(t *testing.T) {
	const most = maxTransactionParts / 3
	w, ms := sequencers(t, 3, 3*most+6, Options{})
	w.holdsUp(ms[1], ms[2], unsent)
	refused := func(first int) {
		t.Helper()
		client, leaves := context.WithCancel(ctx)
		waiting := watched{client, notify.NewWake()}
		done := ms[0].transacts(waiting, nil, pieces(first, first+1))
		<-waiting.looked
		leaves()
		got := <-done
		if !errors.Is(got.err, store.ErrUnavailable) || errors.Is(got.err, store.ErrUnknown) || got.counts != (Counts{}) {
			t.Errorf("%+v, %v", got.counts, got.err)
		}
	}
	var done []<-chan transacted
	for n := range most {
		done = append(done, ms[0].transacts(ctx, nil, pieces(3*n, 3*n+1)))
	}
	await.Condition(t, "one part of each has joined", func() bool { return storedParts(ms...) == most })
	refused(3 * most)
	done = append(done, ms[0].transacts(ctx, nil, pieces(3*most, 3*most+1)))
	expectCounts(t, ms[0].transacts(ctx, nil, pieces(2)), Counts{Changed: 1}) // one sequencer makes one batch of it
	w.setFate(nil)
	for _, d := range done {
		expectCounts(t, d, Counts{Changed: 2})
	}
	ended(t, ms...)
	memory := &ms[0].writes.coordinator.transactions.memory
	require.NoError(t, memory.take(ctx, maxTransactionBytes))
	refused(3*most + 3)
	memory.give(maxTransactionBytes)
	ended(t, ms...)
	expectCounts(t, ms[0].transacts(ctx, nil, pieces(3*most+3, 3*most+4)), Counts{Changed: 2})
}

// A sequencer takes parts of their coordinator only, for an epoch, and none of an earlier one.
func TestPartsAreChecked(t *testing.T) {
	_, ms := sequencers(t, 3, 3, Options{})
	expectCounts(t, ms[2].transacts(ctx, nil, pieces(1, 2)), Counts{Changed: 2})
	operations := ms[2].writes.newWriting(ctx, 1).operations(nil, pieces(1))
	for name, s := range map[string]submission{
		"of another machine":  {fence: 2, part: &ticks.Part{Coordinator: ms[0].Process, Number: 9, Parts: 2}},
		"of one part":         {fence: 2, part: &ticks.Part{Coordinator: ms[2].Process, Number: 9, Parts: 1}},
		"without an epoch":    {part: &ticks.Part{Coordinator: ms[2].Process, Number: 9, Parts: 2}},
		"of an earlier epoch": {fence: 1, part: &ticks.Part{Coordinator: ms[2].Process, Number: 9, Parts: 2}},
		"of a later epoch":    {fence: 3, part: &ticks.Part{Coordinator: ms[2].Process, Number: 9, Parts: 2}},
		"that is finished":    {fence: 2, part: &ticks.Part{Coordinator: ms[2].Process, Number: 0, Parts: 2}},
	} {
		s.operations = operations
		if answer, err := ms[2].Call(ctx, ms[1].id, MethodPart, peer.Encode(0, s.fields)); !isRefusal(err) {
			t.Errorf("%s: %x, %v", name, answer, err)
		}
	}
	if answer, err := ms[2].Call(ctx, ms[1].id, MethodPart, []byte{1}); !isRefusal(err) {
		t.Errorf("a short one: %x, %v", answer, err)
	}
	if pc := &ms[1].writes.sequencer.parts; pc.epoch != 2 || len(pc.of) != 1 { // a later epoch would drop all
		t.Errorf("parts of %d coordinators in epoch %d", len(pc.of), pc.epoch)
	}
}

// A part is a group of its own, because only its batch has its tick.
func TestPartIsAlone(t *testing.T) {
	var q queue
	q.init()
	part := &ticks.Part{Parts: 2}
	for _, p := range []*ticks.Part{nil, nil, part, part, nil, nil, part} {
		q.put(&request{part: p, done: make(chan struct{})})
	}
	var sizes []int
	for range 5 {
		sizes = append(sizes, len(q.take()))
	}
	if want := []int{2, 1, 1, 2, 1}; !slices.Equal(sizes, want) {
		t.Errorf("groups of %v, want %v", sizes, want)
	}
}

// The number before which all transactions are finished stays below those that run.
func TestFinishedTransactions(t *testing.T) {
	var ts transactions
	ts.init()
	begin := func(number, finished uint64) {
		t.Helper()
		if n, f := ts.begin(ctx); n != number || f != finished {
			t.Errorf("number %d, finished before %d; want %d and %d", n, f, number, finished)
		}
	}
	begin(1, 1)
	begin(2, 1)
	ts.end(1)
	begin(3, 2)
	ts.end(3)
	begin(4, 2)
	ts.end(2)
	ts.end(4)
	begin(5, 5)
}

// A sequencer forgets a part when its coordinator has finished with it, or in the next epoch.
func TestPartsAreForgotten(t *testing.T) {
	var pc partCalls
	of := member.Process{Machine: 2, Incarnation: 1}
	begin := func(epoch, number, finished uint64, want bool) *partCall {
		t.Helper()
		call, isNew, err := pc.begin(epoch, &ticks.Part{Coordinator: of, Number: number, Finished: finished})
		if err != nil || isNew != want {
			t.Errorf("part of %d: new %t, %v; want %t", number, isNew, err, want)
		}
		return call
	}
	first := begin(2, 1, 1, true)
	pc.end(first, &ticks.Part{Coordinator: of, Number: 1}, answer{changed: 1}, nil)
	if again := begin(2, 1, 1, false); again != first || again.answer.changed != 1 {
		t.Errorf("%+v", again)
	}
	begin(2, 2, 1, true)
	if begin(2, 3, 2, true); len(pc.of[of].calls) != 2 {
		t.Errorf("%d parts", len(pc.of[of].calls))
	}
	second := begin(2, 2, 2, false)
	pc.end(second, &ticks.Part{Coordinator: of, Number: 2}, answer{}, errClosing())
	begin(2, 2, 2, true) // it was refused
	begin(3, 3, 2, true)
	if _, _, err := pc.begin(2, &ticks.Part{Coordinator: of, Number: 3}); !isRefusal(err) {
		t.Errorf("of an earlier epoch: %v", err)
	}
}
