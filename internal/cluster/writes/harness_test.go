// Machines of one process, with messages in memory, for the tests of writes.

package writes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/member/membertest"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

var iri = sample.IRI

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

var errNoLease = errors.New("no lease")

// fate is what becomes of a message.
type fate int

const (
	arrives fate = iota
	unsent       // it never leaves
	lost         // it arrives, its answer does not
	hangs        // it never arrives, and its sender does not learn so
)

// world is machines with real stores in one process. Messages pass in memory.
type world struct {
	t testing.TB

	mu      sync.Mutex
	members map[trie.MachineID]*machine
	all     []*machine // in the order of their making, ended ones too
	fate    func(from, to trie.MachineID, method string) fate
	sent    func(from, to trie.MachineID, method string, body []byte)
	running sync.WaitGroup
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, members: map[trie.MachineID]*machine{}}
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	w.mu.Lock()
	all := slices.Clone(w.all)
	w.mu.Unlock()
	for _, m := range all {
		m.stop()
	}
	w.running.Wait()
	closed := map[*replica.Store]bool{}
	for _, m := range all {
		if !closed[m.store] {
			closed[m.store] = true
			if err := m.store.Close(); err != nil {
				w.t.Errorf("close: %v", err)
			}
		}
	}
}

// setFate decides what becomes of messages from now on; nil lets all arrive.
func (w *world) setFate(f func(from, to trie.MachineID, method string) fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fate = f
}

// machine is one incarnation of a machine.
type machine struct {
	membertest.Fake
	world       *world
	id          trie.MachineID
	incarnation uint64
	store       *replica.Store
	writes      *Writes
	handlers    map[string]func(context.Context, []byte) ([]byte, error)
	lastLease   atomic.Bool   // it ends when it has been looked at once more
	isolated    atomic.Bool   // its Newer fails at once
	ended       chan struct{} // closed by stop
	once        sync.Once
}

// hooked is a store that a test can hold up.
type hooked struct {
	holderStore
	deliver func(*replica.Delivery) error // runs before; an error is the answer
}

func (h *hooked) Deliver(ctx context.Context, d *replica.Delivery, j *recovery.Joint) error {
	if err := h.deliver(d); err != nil {
		return err
	}
	return h.holderStore.Deliver(ctx, d, j)
}

// machines makes n new machines, by ascending ID, that have no view yet.
func (w *world) machines(n int, opts Options) []*machine {
	w.t.Helper()
	var ms []*machine
	for range n {
		s, err := replica.Open("data", store.Options{FS: vfs.NewMem(), MemTableBytes: 4 << 20, CacheBytes: 8 << 20}, replica.Options{})
		require.NoError(w.t, err)
		ms = append(ms, &machine{id: s.MachineID(), store: s})
	}
	slices.SortFunc(ms, func(a, b *machine) int { return cmp.Compare(a.id, b.id) })
	for _, m := range ms {
		w.start(m.store, m.store, opts, m)
	}
	return ms
}

// start begins an incarnation of a machine.
func (w *world) start(s *replica.Store, as holderStore, opts Options, m *machine) {
	w.t.Helper()
	var err error
	if m.incarnation, err = s.NextIncarnation(); err != nil {
		w.t.Fatal(err)
	}
	m.world, m.id, m.store = w, s.MachineID(), s
	m.ended = make(chan struct{})
	m.Process = member.Process{Machine: m.id, Incarnation: m.incarnation}
	m.writes = newWrites(s, as, m, m.Process, opts)
	m.handlers = m.writes.handlers()
	w.mu.Lock()
	w.members[m.id] = m
	w.all = append(w.all, m)
	w.mu.Unlock()
}

// restart is the next incarnation of a machine, with its disk.
func (m *machine) restart(opts Options) *machine {
	m.stop()
	n := &machine{}
	m.world.start(m.store, m.store, opts, n)
	return n
}

// stop ends the process; its disk stays.
func (m *machine) stop() {
	m.once.Do(func() {
		m.world.mu.Lock()
		close(m.ended)
		if m.world.members[m.id] == m {
			delete(m.world.members, m.id)
		}
		m.world.mu.Unlock()
		m.writes.Close()
	})
}

func (m *machine) Lease() error {
	if m.View().Find(m.id).Waits {
		return errNoLease
	}
	err := m.Fake.Lease()
	if m.lastLease.Load() {
		m.SetLease(errNoLease)
	}
	return err
}

// Newer fails at once if m is isolated, as that of a node.
func (m *machine) Newer(ctx context.Context, than *view.View) error {
	if m.isolated.Load() && m.View() == than {
		return store.ErrUnavailable
	}
	return m.Fake.Newer(ctx, than)
}

// adopt makes v the view of m.
func (m *machine) adopt(v *view.View) {
	m.Adopt(v, func(before *view.View) { m.writes.Adopted(before, v) })
}

func adoptAll(v *view.View, ms ...*machine) {
	for _, m := range ms {
		m.adopt(v)
	}
}

func (m *machine) Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	w := m.world
	w.mu.Lock()
	target, f := w.members[to], arrives
	if w.fate != nil {
		f = w.fate(m.id, to, method)
	}
	if w.sent != nil {
		w.sent(m.id, to, method, body)
	}
	if target == nil && f != hangs {
		f = unsent
	}
	select {
	case <-m.ended:
		f = unsent
	default:
	}
	if f == arrives || f == lost {
		w.running.Add(1)
	}
	w.mu.Unlock()
	switch f {
	case unsent:
		return nil, &peer.Refusal{Code: peer.CodeUnavailable, Message: "not sent"}
	case hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	type result struct {
		body []byte
		err  error
	}
	answered := make(chan result, 1)
	go func() {
		defer w.running.Done()
		body, err := target.handlers[method](withCoordinator(ctx, m.Process), bytes.Clone(body))
		answered <- result{body, err}
	}()
	select {
	case r := <-answered:
		if f == lost {
			return nil, errors.New("the connection broke")
		}
		if _, ok := r.err.(*peer.Refusal); ok {
			return nil, r.err
		}
		if r.err != nil {
			return nil, &peer.RemoteError{Addr: to.String(), Method: method, Message: r.err.Error()}
		}
		return r.body, nil
	case <-target.ended:
		return nil, errors.New("the connection broke")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// layout returns one where each order is one segment of the owner given.
func (w *world) layout(ms []*machine, owners [4]*machine) recovery.Layout {
	w.t.Helper()
	return layoutOf(w.t, ids(ms), [4]trie.MachineID(ids(owners[:])))
}

// layoutOf returns a layout on a ring in which each order has one owner.
func layoutOf(t testing.TB, ring []trie.MachineID, owners [4]trie.MachineID) recovery.Layout {
	t.Helper()
	p, err := trie.NewPlacement(ring, trie.PlacementOptions{Partitions: 64})
	require.NoError(t, err)
	tr := trie.New(1, 0)
	for i, o := range triple.Orders {
		id := uint64(i + 1)
		if i > 0 {
			if tr, err = tr.Split(tr.Lookup([]byte{byte(o)}).ID, []byte{byte(o)}, id); err != nil {
				t.Fatal(err)
			}
		}
		partition := uint32(0)
		for p.PartitionOwner(partition) != owners[i] {
			partition++
		}
		if tr, err = tr.Assign(id, partition); err != nil {
			t.Fatal(err)
		}
	}
	return recovery.Layout{Trie: tr, Placement: p}
}

// spread returns a layout where the triples of sample, and others like them, are
// on all machines.
func (w *world) spread(ms []*machine, sample []triple.Triple) recovery.Layout {
	w.t.Helper()
	p, err := trie.NewPlacement(ids(ms), trie.PlacementOptions{Partitions: 64})
	require.NoError(w.t, err)
	tr, id := trie.New(1, 0), uint64(1)
	for _, s := range sample {
		for _, o := range triple.Orders {
			key, _ := triple.AppendKey(nil, o, s)
			if len(key) == 0 || bytes.Equal(tr.Lookup(key).Lo, key) {
				continue
			}
			id++
			if tr, err = tr.Split(tr.Lookup(key).ID, key, id); err != nil {
				w.t.Fatal(err)
			}
			if tr, err = tr.Assign(id, trie.HashPartition(id, 64)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return recovery.Layout{Trie: tr, Placement: p}
}

func ids(ms []*machine) (ids []trie.MachineID) {
	for _, m := range ms {
		ids = append(ids, m.id)
	}
	return ids
}

// viewOf returns a view of members as they run.
func (w *world) viewOf(epoch uint64, phase recovery.Phase, ms []*machine, base, target recovery.Layout) *view.View {
	w.t.Helper()
	v := &view.View{
		Cluster: "test", ClusterID: "1", Generation: 1, Epoch: epoch, Phase: phase, NextSegment: 1 << 20, Minor: protocol.Minor,
		Base: base, Target: target, BaseIncarnations: map[trie.MachineID]uint64{},
	}
	for _, m := range ms {
		v.Members = append(v.Members, view.Member{ID: m.id, Incarnation: m.incarnation, Address: "mem:" + m.id.String(), State: view.Up, Minor: protocol.Minor})
		if base.Placement.Machines().Contains(m.id) {
			v.BaseIncarnations[m.id] = m.incarnation
		}
	}
	return made(w.t, v)
}

// made returns a view as it is after the wire.
func made(t testing.TB, v *view.View) *view.View {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	out := &view.View{}
	require.NoError(t, json.Unmarshal(b, out))
	return out
}

func fact(i int) triple.Triple {
	return triple.Triple{Subject: iri("s%d", i/3), Predicate: iri("p%d", i%3), Object: iri("o%d", i*7919%101)}
}

func facts(from, to int) (ts []triple.Triple) {
	for i := from; i < to; i++ {
		ts = append(ts, fact(i))
	}
	return ts
}

func keyOf(o triple.Order, t triple.Triple) []byte {
	key, _ := triple.AppendKey(nil, o, t)
	return key
}

// row returns what m's store holds under a key.
func (m *machine) row(table byte, key []byte) (v triple.Value, ok bool) {
	m.world.t.Helper()
	sn, err := m.store.Snapshot()
	require.NoError(m.world.t, err)
	defer sn.Close()
	for row, err := range sn.Raw(ctx, table, exactly(key)) {
		require.NoError(m.world.t, err)
		if v, err = triple.DecodeValue(bytes.Clone(row.Value)); err != nil {
			m.world.t.Fatal(err)
		}
		return v, true
	}
	return v, false
}

func exactly(key []byte) triple.Range {
	return triple.Range{Lo: key, Hi: append(slices.Clip(key), 0)}
}

// read answers whether a triple is there, through one order, as the owner does.
func (m *machine) read(ctx context.Context, o triple.Order, t triple.Triple) (live bool, err error) {
	v, key := m.View(), keyOf(o, t)
	if owner, ok := v.Joint().Reader(key); !ok || owner != m.id {
		return false, errNotOwner
	}
	row, ok := m.row(store.TableStorage, key)
	if err := m.Lease(); err != nil {
		return false, err
	}
	if err := m.writes.WaitCommitted(ctx, m.store.InFlight(exactly(key), nil)); err != nil {
		return false, err
	}
	if err := m.Lease(); err != nil || m.View() != v {
		return false, errNotOwner
	}
	return ok && !row.Tombstone, nil
}

var errNotOwner = errors.New("another machine answers")

// patient is how long a test waits for what has to come.
const patient = 2 * time.Minute

// within fails the test where f does not end.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
	case <-time.After(patient):
		t.Fatalf("%s does not end", what)
	}
}

// checkSlots checks that a triple's slots under v, and no other rows of ms, say
// live.
func checkSlots(t testing.TB, v *view.View, ms []*machine, tr triple.Triple, live bool) {
	t.Helper()
	r := v.Joint().Resolver()
	require.NoError(t, r.Resolve(keyOf(triple.SPO, tr)))
	slots := slices.Clone(r.Writes())
	var first triple.Stamp
	for i, s := range slots {
		at := slices.IndexFunc(ms, func(m *machine) bool { return m.id == s.Machine })
		if at < 0 {
			t.Fatalf("%v: no machine %s", tr, s.Machine)
		}
		table := byte(store.TableStorage)
		if s.Extra {
			table = store.TableReplica
		}
		row, ok := ms[at].row(table, r.Key(s.Order))
		if live && !ok || ok && row.Tombstone == live {
			t.Errorf("%v: %s on %s (extra: %t): there %t, %+v; want live %t", tr, s.Order, s.Machine, s.Extra, ok, row.Stamp, live)
		}
		if i == 0 {
			first = row.Stamp
		} else if row.Stamp != first {
			t.Errorf("%v: %s on %s has stamp %v, another slot has %v", tr, s.Order, s.Machine, row.Stamp, first)
		}
	}
}

func sorted(ms []*machine) []*machine {
	slices.SortFunc(ms, func(a, b *machine) int { return cmp.Compare(a.id, b.id) })
	return ms
}

func isRefusal(err error) bool {
	var r *peer.Refusal
	return errors.As(err, &r)
}

// emptied waits until no operation of m takes room, because waiters return a moment before it is
// free.
func (m *machine) emptied(t testing.TB) {
	t.Helper()
	await.Condition(t, "the room is given back", func() bool { return m.writes.memory.inUse() == 0 })
}

// quiet waits until all machines have recorded all operations as committed.
func quiet(t testing.TB, ms ...*machine) {
	t.Helper()
	for _, m := range ms {
		await.Condition(t, "nothing is unsettled", func() bool { return len(m.store.InFlightBatches()) == 0 })
	}
}

// putInFlight makes an add in flight to one holder, with a stamp of epoch 1, as the sequencer does.
func (m *machine) putInFlight(holder *machine, sequence uint64) *batch {
	b := newBatch()
	b.operations = []replica.Operation{{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 1, Sequence: sequence}, Key: keyOf(triple.SPO, fact(int(sequence)))}}
	b.size = sizeOf(b.operations)
	fl := m.writes.inFlight
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.track(b, true)
	fl.send(b, map[trie.MachineID][]replica.Operation{holder.id: b.operations})
	return b
}
