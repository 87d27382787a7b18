// Tests of transactions whose coordinator or sequencer is lost.

package writes

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
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

// parted is a cluster, and triples with different sequencers which are not the first machine.
type parted struct {
	*world
	machines []*machine
	view     *view.View
	triples  []triple.Triple // of machines 1 and 2
}

func newParted(t *testing.T, n int) *parted {
	sample := facts(0, 60)
	w := newWorld(t)
	ms := w.machines(n, Options{RetryTimeout: 10 * time.Second, Heartbeat: 5 * time.Millisecond, Attempt: 100 * time.Millisecond})
	l := w.spread(ms, sample)
	p := &parted{world: w, machines: ms, view: w.viewOf(2, recovery.Idle, ms, l, l)}
	adoptAll(p.view, ms...)
	for _, m := range ms[1:3] {
		i := slices.IndexFunc(sample, func(tr triple.Triple) bool { return p.sequencer(tr) == m.id })
		if i < 0 {
			t.Fatalf("machine %s is no sequencer", m.id)
		}
		p.triples = append(p.triples, sample[i])
	}
	return p
}

func (p *parted) sequencer(tr triple.Triple) trie.MachineID {
	r := p.view.Joint().Resolver()
	require.NoError(p.t, r.Resolve(keyOf(triple.SPO, tr)))
	m, _ := r.Sequencer()
	return m
}

// hold lets no part reach the second sequencer, and returns when the first one has its part everywhere.
func (p *parted) hold(f fate) (submitted notify.Wake) {
	submitted = notify.NewWake()
	p.setFate(func(_, to trie.MachineID, method string) fate {
		if method == MethodPart && to == p.machines[2].id {
			submitted.Send()
			return f
		}
		return arrives
	})
	return submitted
}

// transact begins the transaction on the first machine, and waits until its first part is stored.
func (p *parted) transact(submitted notify.Wake) (done chan error) {
	done = make(chan error, 1)
	go func() {
		_, err := p.machines[0].writes.Transact(ctx, nil, p.triples)
		done <- err
	}()
	<-submitted
	first := p.machines[1].writes.inFlight
	await.Condition(p.t, "the first part is stored", func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		for _, b := range first.open {
			return b.stored
		}
		return false
	})
	return done
}

// next has the others adopt a view without some machines.
func (p *parted) exclude(gone ...*machine) (left []*machine) {
	v, err := p.view.Exclude(ids(gone)...)
	require.NoError(p.t, err)
	for _, m := range p.machines {
		if !slices.Contains(gone, m) {
			left = append(left, m)
		}
	}
	p.view = v
	adoptAll(v, left...)
	return left
}

// complete checks that all of the transaction is there, once all is quiet.
func (p *parted) complete(ms []*machine) {
	p.t.Helper()
	for _, m := range ms {
		await.Condition(p.t, "all is reconciled", m.writes.Reconciled)
	}
	quiet(p.t, ms...)
	for _, tr := range p.triples {
		checkSlots(p.t, p.view, ms, tr, true)
	}
	for _, m := range ms {
		m.emptied(p.t)
	}
}

// If the coordinator is lost before it has submitted all parts, the sequencer of another part completes the
// transaction, without a lease.
func TestCoordinatorIsLost(t *testing.T) {
	p := newParted(t, 5)
	done := p.transact(p.hold(hangs))
	p.machines[0].stop()
	if err := <-done; !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrClosed) {
		t.Errorf("%v", err)
	}
	p.setFate(nil)
	for _, m := range p.machines[1:] {
		m.SetLease(errNoLease)
	}
	p.complete(p.exclude(p.machines[0]))
}

// What a transaction had not to change is not changed by forwarding: x is deleted, although it is not there, and added.
func TestUnchangedIsNotForwarded(t *testing.T) {
	p := newParted(t, 5)
	submitted := p.hold(hangs)
	go func() { _, _ = p.machines[0].writes.Transact(ctx, p.triples, p.triples) }()
	<-submitted
	first := p.machines[1].writes.inFlight
	await.Condition(t, "the first part is stored", func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		return len(first.open) == 1 && first.open[1].stored
	})
	p.machines[0].stop()
	p.setFate(nil)
	p.complete(p.exclude(p.machines[0]))
}

// The coordinator and the sequencer of the only part that was stamped are lost: its holders complete the transaction.
func TestCoordinatorAndSequencerAreLost(t *testing.T) {
	p := newParted(t, 5)
	p.transact(p.hold(hangs))
	p.machines[0].stop()
	p.machines[1].stop()
	// A holder is not reconciled before the other part is there, because updates read after that.
	refused := make(chan trie.MachineID, 1000)
	p.setFate(func(from, _ trie.MachineID, method string) fate {
		if method == methodForward && len(refused) < 100 {
			refused <- from
			return unsent
		}
		return arrives
	})
	lost := p.machines[1]
	holders := slices.DeleteFunc(slices.Clone(p.machines), func(m *machine) bool {
		return m == p.machines[0] || m == lost || !slices.ContainsFunc(m.store.InFlightBatches(), func(b replica.InFlightBatch) bool { return b.Origin.Sequencer == lost.id })
	})
	left := p.exclude(p.machines[0], lost)
	to := p.sequencer(p.triples[1])
	for _, m := range holders {
		if m.id == to {
			continue // it forwards to itself
		}
		within(t, "a holder or the new sequencer forwards", func() {
			for range 5 {
				<-refused
			}
		})
		if m.writes.Reconciled() {
			t.Error("a holder is reconciled, and a part is missing")
		}
	}
	p.setFate(nil)
	p.complete(left)
}

// A sequencer is lost before any holder has its part: the coordinator submits the part again.
func TestSequencerOfPartIsLost(t *testing.T) {
	p := newParted(t, 5)
	submitted, holders := p.hold(arrives), notify.NewWake()
	lost := p.machines[2]
	p.setFate(func(from, to trie.MachineID, method string) fate {
		switch {
		case method == MethodPart && to == lost.id:
			submitted.Send()
		case method == MethodDeliver && from == lost.id:
			holders.Send()
			return unsent
		}
		return arrives
	})
	done := p.transact(submitted)
	<-holders
	lost.stop()
	left := p.exclude(lost)
	if err := <-done; err != nil {
		t.Errorf("%v", err)
	}
	p.complete(left)
}

// restartAll ends all machines, and begins a view in which they run again.
func (p *parted) restartAll(attempt time.Duration) {
	for _, m := range p.machines {
		m.stop()
	}
	opts := Options{Heartbeat: 5 * time.Millisecond, Attempt: attempt}
	for i, m := range p.machines {
		m = m.restart(opts)
		var err error
		p.view, err = p.view.Readmit(view.Member{ID: m.id, Incarnation: m.incarnation, Address: "mem:" + m.id.String(), Minor: protocol.Minor})
		require.NoError(p.t, err)
		p.machines[i] = m
	}
}

// hasRecord reports whether a machine has a record in flight.
func hasRecord(m *machine) bool {
	return slices.ContainsFunc(m.store.InFlightBatches(), func(b replica.InFlightBatch) bool {
		return slices.ContainsFunc(b.Operations, isRecord)
	})
}

// The sequencer of all of a transaction is lost when one other holder has its part of the operations: that one
// completes the transaction.
func TestOnlySequencerIsLost(t *testing.T) {
	p := newParted(t, 5)
	lost := p.machines[1]
	// 1. Two triples of which a holder has one.
	var only trie.MachineID
	sample := slices.DeleteFunc(facts(0, 60), func(tr triple.Triple) bool { return p.sequencer(tr) != lost.id })
	p.triples = nil
	for i := 1; i < len(sample) && only == 0; i++ {
		pair := []triple.Triple{sample[0], sample[i]}
		operations := []replica.Operation{{Key: keyOf(triple.SPO, pair[0])}, {Key: keyOf(triple.SPO, pair[1])}}
		r, err := newRoute(p.view, lost.id, operations)
		require.NoError(t, err)
		for m, of := range split(operations, r.sets, r.of) {
			if len(of) == 1 && m != lost.id {
				only, p.triples = m, pair
			}
		}
	}
	if only == 0 {
		t.Fatal("no holder has one of two triples")
	}
	// 2. It has that one, and no other machine has the other one.
	delivered := notify.NewWake()
	p.setFate(func(from, to trie.MachineID, method string) fate {
		switch {
		case method != MethodDeliver || from != lost.id:
			return arrives
		case to == only:
			delivered.Send()
			return arrives
		}
		return unsent
	})
	done := make(chan error, 1)
	go func() {
		_, err := p.machines[0].writes.Transact(ctx, nil, p.triples)
		done <- err
	}()
	<-delivered
	holder := p.machines[slices.IndexFunc(p.machines, func(m *machine) bool { return m.id == only })]
	await.Condition(t, "a holder has its part", func() bool { return len(holder.store.InFlightBatches()) > 0 })
	lost.stop()
	// 3. It may be lost, too, when it has handed its operation over: then another machine has the record.
	p.mu.Lock()
	p.sent = func(_, _ trie.MachineID, method string, body []byte) {
		m := numbered{stamped: true}
		if method != methodHandover || peer.Decode(body, m.fields) != nil || slices.ContainsFunc(m.operations, isRecord) {
			return
		}
		if !slices.ContainsFunc(p.machines, func(m *machine) bool { return m != lost && m != holder && hasRecord(m) }) {
			t.Error("the only machine with the record hands an operation over")
		}
	}
	p.mu.Unlock()
	p.setFate(nil)
	left := p.exclude(lost)
	if err := <-done; err != nil && !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
	p.complete(left)
}

// All machines end while a transaction lacks a part, and run again.
func TestAllRestartDuringTransaction(t *testing.T) {
	p := newParted(t, 3)
	p.transact(p.hold(hangs))
	p.setFate(nil)
	p.restartAll(100 * time.Millisecond)
	adoptAll(p.view, p.machines...) // they wait, so they have no leases
	p.complete(p.machines)
}

// All machines end when they have both parts of a transaction, and run again. Each holder forgets a part when the other
// is committed, too; so they report the first one as in flight when it is forwarded for the other's record.
func TestForwardingFindsWhatWasTakenOver(t *testing.T) {
	p := newParted(t, 3)
	p.setFate(func(_, _ trie.MachineID, method string) fate {
		if method == ticks.MethodTransaction {
			return hangs
		}
		return arrives
	})
	go func() { _, _ = p.machines[0].writes.Transact(ctx, nil, p.triples) }()
	for _, m := range p.machines[1:] {
		await.Condition(t, "a part is stored", func() bool {
			fl := m.writes.inFlight
			fl.mu.Lock()
			defer fl.mu.Unlock()
			return len(fl.open) == 1 && fl.open[1].stored
		})
	}
	p.setFate(nil)
	p.restartAll(time.Minute) // another handover of the first part would help
	// Records are handed over when all that they name is.
	var records, changes atomic.Int64
	p.mu.Lock()
	p.sent = func(_, _ trie.MachineID, method string, body []byte) {
		m := numbered{stamped: true}
		if method != methodHandover || peer.Decode(body, m.fields) != nil {
			return
		}
		all := int64(len(m.operations))
		of := int64(len(slices.DeleteFunc(m.operations, func(o replica.Operation) bool { return !isRecord(o) })))
		if of > 0 && of < all {
			t.Error("a record is handed over with changes, which wait for it")
		}
		records.Add(of)
		changes.Add(all - of)
	}
	p.mu.Unlock()
	second := p.machines[2]
	p.setFate(func(_, to trie.MachineID, method string) fate {
		if method == methodForward && to == second.id && second.writes.Stats().Settled == 0 {
			return unsent
		}
		return arrives
	})
	adoptAll(p.view, p.machines...)
	p.complete(p.machines)
	if records.Load() == 0 || changes.Load() == 0 {
		t.Error("nothing was handed over")
	}
}

// What was done is not done again, although its record is forwarded: others may have changed it since.
func TestRecordIsForwardedOnce(t *testing.T) {
	p := newParted(t, 3)
	records := make(chan []byte, 2)
	p.mu.Lock()
	p.sent = func(_, _ trie.MachineID, method string, body []byte) {
		var s submission
		if method == MethodPart && peer.Decode(body, s.fields) == nil {
			records <- s.record
		}
	}
	p.mu.Unlock()
	if c, err := p.machines[0].writes.Transact(ctx, nil, p.triples); err != nil || c.Changed != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	remove(t, p.machines[0], p.triples[1])
	operations, err := recorded(&replica.Operation{Long: <-records})
	require.NoError(t, err)
	for range 2 {
		fl := p.machines[1].writes.inFlight
		e, _ := fl.current()
		require.NoError(t, fl.handover.forward(e, operations))
	}
	quiet(t, p.machines...)
	checkSlots(t, p.view, p.machines, p.triples[0], true)
	checkSlots(t, p.view, p.machines, p.triples[1], false)
}

// An old record is not forwarded, because tokens may be forgotten.
func TestOldRecord(t *testing.T) {
	began := uint64(time.Now().Add(-maxRecordAge - time.Second).UnixMilli())
	operations := []replica.Operation{{Kind: store.OperationAdd, Key: keyOf(triple.SPO, fact(1)), Token: store.Token{1}}}
	old := peer.Encode(64, codeRecord(&began, &operations))
	if got, err := recorded(&replica.Operation{Long: old}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	began = uint64(time.Now().UnixMilli())
	recent := peer.Encode(64, codeRecord(&began, &operations))
	if got, err := recorded(&replica.Operation{Long: recent}); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	operations[0].Token = store.Token{}
	if _, err := recorded(&replica.Operation{Long: peer.Encode(64, codeRecord(&began, &operations))}); err == nil {
		t.Error("an operation without a token is taken")
	}
}
