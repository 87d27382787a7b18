// Tests of writes at their edges: leases that end, late deliveries, unknown answers.

package writes

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// held makes three machines; a test can hold up the store of the third. The first is the
// sequencer of all, and all have adopted one view.
func held(t testing.TB, opts Options, deliver func(*replica.Delivery) error) (w *world, ms []*machine) {
	t.Helper()
	w = newWorld(t)
	ms = w.machines(3, opts)
	ms[2].stop()
	third := &machine{}
	w.start(ms[2].store, &hooked{ms[2].store, deliver}, opts, third)
	ms[2] = third
	l := w.layout(ms, [4]*machine{ms[0], ms[0], ms[0], ms[0]})
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	return w, ms
}

// If an operation rests on one in flight, it is not stamped, and not answered before that one is
// committed.
func TestAnswersRestOnWhatIsInFlight(t *testing.T) {
	asleep, wake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	_, ms := held(t, Options{}, func(*replica.Delivery) error {
		once.Do(func() { close(asleep); <-wake })
		return nil
	})
	first := ms[1].inBackground(ctx, store.OperationAdd, fact(1))
	<-asleep
	second := ms[1].inBackground(ctx, store.OperationAdd, fact(1))
	await.Condition(t, "the second is looked at", func() bool { return ms[0].writes.Stats().Unchanged == 1 })
	select {
	case err := <-second:
		t.Errorf("answered: %v", err)
	default:
	}
	close(wake)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	if s := ms[0].writes.Stats(); s.Operations != 1 {
		t.Errorf("%+v", s)
	}
}

// A holder gets batches in ascending order, one delivery at a time, and those
// that wait as one.
func TestStreamsKeepTheirOrder(t *testing.T) {
	wake, asleep := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var numbers []uint64
	var counts []int
	running := 0
	_, ms := held(t, Options{}, func(d *replica.Delivery) error {
		mu.Lock()
		numbers = append(numbers, d.Origin.Batch)
		counts = append(counts, len(d.Operations))
		if running++; running > 1 {
			t.Error("two deliveries at a time")
		}
		first := len(numbers) == 1
		mu.Unlock()
		if first {
			close(asleep)
			<-wake
		}
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	})
	var writes []<-chan error
	writes = append(writes, ms[1].inBackground(ctx, store.OperationAdd, fact(0)))
	<-asleep
	for i := 1; i < 20; i++ {
		writes = append(writes, ms[1].inBackground(ctx, store.OperationAdd, fact(i)))
	}
	await.Condition(t, "all are stamped", func() bool { return ms[0].writes.Stats().Operations == 20 })
	if s := ms[0].writes.Stats(); s.Unanswered[ms[2].id] == 0 || s.InFlight == 0 {
		t.Errorf("%+v", s)
	}
	close(wake)
	for _, w := range writes {
		if err := <-w; err != nil {
			t.Error(err)
		}
	}
	if !slices.IsSorted(numbers) || len(numbers) != 2 || counts[1] != 19 {
		t.Errorf("batches %v, operations %v", numbers, counts)
	}
	if acked := ms[0].writes.Acked()[ms[2].id]; acked != numbers[1] {
		t.Errorf("batch %d was answered, not %d", acked, numbers[1])
	}
}

// A lease that runs out during the look-up refuses: another machine may have
// stamped since.
func TestLeaseEndsDuringLookUp(t *testing.T) {
	_, ms := held(t, Options{RetryTimeout: 10 * time.Millisecond}, func(*replica.Delivery) error { return nil })
	add(t, ms[0], fact(1))
	m := ms[0]
	m.lastLease.Store(true)
	if _, _, err := m.writes.Write(ctx, store.OperationAdd, []triple.Triple{fact(1)}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// A delivery whose outcome the store does not know keeps the gate until it is
// known.
func TestUnknownDeliveryKeepsTheGate(t *testing.T) {
	tries := 0
	var third *machine
	_, ms := held(t, Options{}, func(*replica.Delivery) error {
		if tries++; tries == 1 {
			return store.ErrUnknown
		}
		if tries == 2 && third.Free() {
			t.Error("the view may change")
		}
		return nil
	})
	third = ms[2]
	add(t, ms[0], fact(1))
	if n := ms[0].writes.Stats().Retries; tries != 2 || n != 0 {
		t.Errorf("%d tries, %d of them the sender's", tries, n)
	}
}

// What comes to be unsettled of a dead sequencer later, as by a walk, is handed
// over too.
func TestStraysThatComeLater(t *testing.T) {
	_, ms := held(t, Options{}, func(*replica.Delivery) error { return nil })
	await.Condition(t, "reconciled", ms[1].writes.Reconciled)
	o := replica.Operation{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 1, Sequence: 1}, Key: keyOf(triple.SPO, fact(1))}
	v := triple.Value{Stamp: o.Stamp}
	row := replica.FillRow{
		Table: store.TableReplica, Key: o.Key, Value: v.Append(nil),
		InFlight: replica.Origin{Sequencer: 77, Incarnation: 1, Batch: 5}, Operation: &o,
	}
	require.NoError(t, ms[1].store.Fill(ctx, []replica.FillRow{row}))
	if ms[1].writes.Reconciled() {
		t.Error("reconciled")
	}
	within(t, "the wait", func() {
		if err := ms[1].writes.WaitCommitted(ctx, []replica.Origin{row.InFlight}); err != nil {
			t.Error(err)
		}
	})
	await.Condition(t, "reconciled", ms[1].writes.Reconciled)
	checkSlots(t, ms[0].View(), ms, fact(1), true)
}

// Those who wait for a batch wait as long as they want, and not for another
// incarnation.
func TestWaitCommitted(t *testing.T) {
	w, ms := held(t, Options{}, func(*replica.Delivery) error { return nil })
	if err := ms[1].writes.WaitCommitted(ctx, nil); err != nil {
		t.Error(err)
	}
	add(t, ms[1], fact(1))
	own := replica.Origin{Sequencer: ms[0].id, Incarnation: ms[0].incarnation, Batch: 1}
	for _, m := range ms {
		if err := m.writes.WaitCommitted(ctx, []replica.Origin{own, own}); err != nil {
			t.Error(err)
		}
		if n := len(m.store.InFlight(exactly(keyOf(triple.SPO, fact(1))), nil)); n != 0 {
			t.Errorf("%d batches are still listed", n)
		}
	}
	own.Batch = 2
	limited, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	for _, m := range ms {
		if err := m.writes.WaitCommitted(limited, []replica.Origin{own}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
	another, batches, need := ms[0].incarnation+1, []uint64{1}, needCommit
	if _, err := ms[1].Call(ctx, ms[0].id, methodCommitted, peer.Encode(0, codeBatches(&another, &batches, &need))); !isRefusal(err) {
		t.Errorf("another incarnation: %v", err)
	}
	waits := make(chan error, 1)
	go func() { waits <- ms[1].writes.WaitCommitted(ctx, []replica.Origin{own}) }()
	w.members[ms[1].id].stop()
	if err := <-waits; !errors.Is(err, store.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A batch in flight is reported at once, to every member; a committed one is not.
func TestUncommitted(t *testing.T) {
	stuck := make(chan struct{})
	_, ms := held(t, Options{}, func(d *replica.Delivery) error {
		if d.Origin.Batch == 2 {
			<-stuck
		}
		return nil
	})
	add(t, ms[0], fact(1))
	done := ms[0].inBackground(ctx, store.OperationAdd, fact(2))
	first := replica.Origin{Sequencer: ms[0].id, Incarnation: ms[0].incarnation, Batch: 1}
	second := first
	second.Batch = 2
	await.Condition(t, "the second batch is in flight", func() bool { return ms[0].writes.Stats().InFlight == 1 })
	for _, m := range ms {
		open, err := m.writes.Uncommitted(ctx, []replica.Origin{second, first, second}, false)
		if err != nil || !slices.Equal(open, []replica.Origin{second}) {
			t.Errorf("%v, %v", open, err)
		}
	}
	close(stuck)
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, m := range ms {
		if open, err := m.writes.Uncommitted(ctx, []replica.Origin{second, first}, false); err != nil || len(open) != 0 {
			t.Errorf("%v, %v", open, err)
		}
	}
}

// Requests that wait leave room for deliveries.
func TestWaitingRequestsAreBounded(t *testing.T) {
	_, ms := held(t, Options{}, func(*replica.Delivery) error { return nil })
	need := needCommit
	for kind, method := range map[int]string{waitSubmit: MethodSubmit, waitCommitted: methodCommitted, waitHandover: methodHandover, waitForward: methodForward} {
		for range waitLimits[kind] {
			if _, err := ms[0].writes.beginWait(kind); err != nil {
				t.Fatal(err)
			}
		}
		var body []byte
		if kind == waitCommitted { // an open batch; a committed one has its answer
			body = peer.Encode(0, codeBatches(&ms[0].incarnation, &[]uint64{99}, &need))
		}
		_, err := ms[1].Call(ctx, ms[0].id, method, body)
		var r *peer.Refusal
		if !errors.As(err, &r) || r.Code != peer.CodeBusy {
			t.Errorf("%s: %v", method, err)
		}
	}
	add(t, ms[0], fact(1))
	stranger := commitReport{upTo: replica.Origin{Sequencer: 77, Incarnation: 1, Batch: 1}}
	if _, err := ms[1].Call(ctx, ms[0].id, methodWatermark, peer.Encode(0, stranger.fields)); !isRefusal(err) {
		t.Errorf("a watermark of no member: %v", err)
	}
}

// The answers of machines are forgotten when they leave or come as new. If one comes back with
// its disk, the disk must show them.
func TestAcksOfMachinesThatAreNoMore(t *testing.T) {
	w, ms := held(t, Options{}, func(*replica.Delivery) error { return nil })
	add(t, ms[0], fact(1))
	v := ms[0].View()
	again := ms[1].restart(Options{})
	back, err := v.Readmit(view.Member{ID: again.id, Incarnation: again.incarnation, Address: "mem:again", Minor: protocol.Minor})
	require.NoError(t, err)
	ms[0].adopt(back)
	if ms[0].writes.Acked()[again.id] == 0 {
		t.Error("the answers of a machine that came back are forgotten")
	}
	out, err := back.Exclude(ms[2].id)
	require.NoError(t, err)
	ms[0].adopt(out)
	if _, ok := ms[0].writes.Acked()[ms[2].id]; ok {
		t.Error("the answers of a machine that is no more are kept")
	}
	// It skipped the view without the machine, and sees the new one of its name.
	as := again.restart(Options{})
	l := w.layout([]*machine{ms[0], as}, [4]*machine{as, as, as, as})
	ms[0].adopt(w.viewOf(out.Epoch+1, recovery.Idle, sorted([]*machine{ms[0], as}), l, l))
	if _, ok := ms[0].writes.Acked()[as.id]; ok {
		t.Error("the answers of a machine that came as new are kept")
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	d := &replica.Delivery{
		Origin: replica.Origin{Sequencer: 1 << 63, Incarnation: 2, Batch: 3}, Committed: 2,
		Open: []uint64{1}, Parts: []replica.Part{{Batch: 2, Operations: 1}, {Batch: 3, Operations: 1}},
		Acks: map[trie.MachineID]uint64{1: 2, 1 << 63: 3},
		Operations: []replica.Operation{
			{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 5, Sequence: 6}, Key: keyOf(triple.SPO, fact(1)), Long: []byte{1, 2}},
			{Kind: store.OperationDelete, Stamp: triple.Stamp{Epoch: 5, Sequence: 7}, Key: keyOf(triple.SPO, fact(2))},
		},
	}
	var epoch uint64
	got := &replica.Delivery{}
	err := peer.Decode(encodeDelivery(9, d), func(c *peer.Coder) { codeDelivery(c, &epoch, got) })
	if err != nil || epoch != 9 || !reflect.DeepEqual(got, d) {
		t.Errorf("%d, %+v, %v", epoch, got, err)
	}
	a, b := answer{outcome: diskFull, changed: 3, unchanged: 4, full: 5}, answer{}
	if err := peer.Decode(peer.Encode(0, a.fields), b.fields); a != b || err != nil {
		t.Error(a, b, err)
	}
	if err := peer.Decode([]byte{9, 1}, new(delivered).fields); err == nil {
		t.Error("an unknown outcome is taken")
	}
}

// What cannot be read is refused, whatever it is, and nothing is done.
func FuzzMessages(f *testing.F) {
	_, ms := held(f, Options{}, func(*replica.Delivery) error { return nil })
	o := []replica.Operation{{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 2, Sequence: 6}, Key: keyOf(triple.SPO, fact(1))}}
	f.Add(encodeDelivery(1, &replica.Delivery{Origin: replica.Origin{Sequencer: 1, Incarnation: 1, Batch: 1}, Operations: o}))
	f.Add(peer.Encode(0, (&numbered{1, o, true}).fields))
	f.Add([]byte{1, 1, 2, 0, 1, 0})
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF})
	methods := slices.Sorted(maps.Keys(ms[0].handlers))
	f.Fuzz(func(t *testing.T, body []byte) {
		limited, cancel := context.WithCancel(ctx)
		cancel() // nobody waits
		for _, method := range methods {
			_, _ = ms[0].handlers[method](limited, slices.Clone(body))
		}
	})
}

// A handed-over operation is driven once, even if several machines hand it over, and must not be
// relied on before it is committed.
func TestWhatWasHandedOverIsNotReliedOn(t *testing.T) {
	asleep, wake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	_, ms := held(t, Options{}, func(*replica.Delivery) error {
		once.Do(func() { close(asleep); <-wake })
		return nil
	})
	o := []replica.Operation{{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 1, Sequence: 1}, Key: keyOf(triple.SPO, fact(1))}}
	driven := make(chan error, 2)
	for range 2 {
		waits := notify.NewWake()
		go func() { driven <- ms[0].writes.sequencer.drive(waiting{ctx, waits}, 2, o) }()
		<-waits // both arrive before the commit
	}
	<-asleep
	await.Condition(t, "the sequencer has it", func() bool { return ms[0].holds(triple.SPO, fact(1)) })
	wrote := ms[1].inBackground(ctx, store.OperationAdd, fact(1))
	await.Condition(t, "it is stamped", func() bool { return ms[0].writes.Stats().Operations == 1 })
	if ms[0].writes.Reconciled() {
		t.Error("reconciled")
	}
	close(wake)
	if err := errors.Join(<-wrote, <-driven, <-driven); err != nil {
		t.Error(err)
	}
	if s := ms[0].writes.Stats(); s.HandedOver != 1 {
		t.Errorf("%+v", s)
	}
	checkSlots(t, ms[0].View(), ms, fact(1), true)
}

// waiting is a context with a signal when its end is waited for.
type waiting struct {
	context.Context
	waits notify.Wake
}

func (w waiting) Done() <-chan struct{} {
	w.waits.Send()
	return w.Context.Done()
}

// A sequencer relies on its SPO place only if it is full and seen: not on a target's during its
// backfill, and not on rows of a load during its ingestion.
func TestWhichSlotsAreFull(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(2, Options{})
	a, b := ms[0], ms[1]
	base, target := w.layout(ms, [4]*machine{a, a, a, a}), w.layout(ms, [4]*machine{b, b, b, b})
	ring := trie.NewRing(ids(ms)...)
	for _, test := range []struct {
		phase    recovery.Phase
		live     trie.Ring
		ofA, ofB bool
	}{
		{recovery.Idle, ring, true, false},
		{recovery.Fill, ring, true, false},
		{recovery.Fill, trie.NewRing(b.id), false, false},
		{recovery.Serve, ring, false, true},
		{recovery.Ingest, ring, false, false},
	} {
		j := &recovery.Joint{Base: base, Target: base, Phase: test.phase, Members: ring, BaseLive: test.live}
		if test.phase == recovery.Fill || test.phase == recovery.Serve {
			j.Target = target
		}
		r := j.Resolver()
		require.NoError(t, r.Resolve(keyOf(triple.SPO, fact(1))))
		if ofA, ofB := full(j, r, a.id), full(j, r, b.id); ofA != test.ofA || ofB != test.ofB {
			t.Errorf("%s, %d live: %t, %t", test.phase, len(test.live), ofA, ofB)
		}
	}
}

// A batch in flight must not block readers of later ones, and must not count as committed
// because they are.
func TestOpenBatchKeepsOnlyItsReadersWaiting(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(4, Options{Heartbeat: time.Millisecond})
	a, b, c, d := ms[0], ms[1], ms[2], ms[3]
	l := w.layout(ms, [4]*machine{a, b, c, a})
	first, second := fact(1), fact(2)
	if slices.Compare(keyOf(triple.OSP, first), keyOf(triple.OSP, second)) > 0 {
		first, second = second, first
	}
	at := keyOf(triple.OSP, second)
	tr, err := l.Trie.Split(l.Trie.Lookup(at).ID, at, 99)
	require.NoError(t, err)
	partition := uint32(0)
	for l.Placement.PartitionOwner(partition) != d.id {
		partition++
	}
	if l.Trie, err = tr.Assign(99, partition); err != nil {
		t.Fatal(err)
	}
	v := w.viewOf(2, recovery.Idle, ms, l, l)
	adoptAll(v, ms...)
	f, tried := deliveriesTo(c.id, unsent)
	w.setFate(f)
	wrote := a.inBackground(ctx, store.OperationAdd, first)
	<-tried
	add(t, a, second) // c has nothing of it
	for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
		for _, m := range ms {
			if live, err := m.read(ctx, o, second); err != nil && !errors.Is(err, errNotOwner) || err == nil && !live {
				t.Errorf("what is settled is read by %s in %s: %t, %v", m.id, o, live, err)
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if live, err := a.read(limited, triple.SPO, first); err == nil {
		t.Errorf("what is not settled is read: %t", live)
	}
	await.Condition(t, "holders have dropped what is settled", func() bool { return len(d.store.InFlightBatches()) == 0 })
	if h := d.store.SequencerStates(); len(h) != 1 || h[0].Committed != 0 {
		t.Errorf("the watermark has passed an open batch: %+v", h)
	}
	w.setFate(nil)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	quiet(t, ms...)
	checkSlots(t, v, ms, first, true)
	checkSlots(t, v, ms, second, true)
}

// A machine that the others have excluded submits nothing more, although it knows no other view.
func TestExcludedCoordinator(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(4, Options{Attempt: 10 * time.Millisecond})
	l := w.layout(ms[:3], [4]*machine{ms[1], ms[1], ms[1], ms[1]})
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	add(t, ms[3], fact(1))
	adoptAll(w.viewOf(3, recovery.Idle, ms[:3], l, l), ms[:3]...)
	limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := <-ms[3].inBackground(limited, store.OperationAdd, fact(2)); err == nil {
		t.Error("an excluded machine has written")
	}
	add(t, ms[0], fact(3))
	quiet(t, ms[:3]...)
	if rows := ms[1].rowsAt(triple.Stamp{}); rows != 2 {
		t.Errorf("%d rows, want 2", rows)
	}
}
