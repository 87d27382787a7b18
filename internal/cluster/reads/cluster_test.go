// Machines of one process and their views, for the tests of reads.

package reads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/cryptotest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/member/membertest"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

var iri = sample.IRI

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

var random = seed.Rand

// machine is one member: a store, a server, and what reads need of a member.
type machine struct {
	membertest.Fake
	world   *world
	index   int
	store   *replica.Store
	host    *memnet.Host
	address string
	server  *peer.Server
	client  *peer.Client
	reads   *Reads

	// settle is what WaitCommitted does; nil waits for nothing. open is what Uncommitted returns; if it is
	// nil, it does what WaitCommitted does.
	settle func(context.Context, []replica.Origin) error
	open   func([]replica.Origin) []replica.Origin
	now    triple.Stamp   // what Now returns; zero is an error
	later  []triple.Stamp // if it is not empty, Now returns the first one, and drops it
	// cut is after how many more bytes the connections that this machine has
	// made break; 0 is never.
	cut     atomic.Int64
	asked   atomic.Int64 // requests sent
	methods sync.Map     // and by method
	// served is called before this machine answers a request.
	served atomic.Pointer[func()]
	// short makes it end its answers at once, as if there were nothing.
	short atomic.Bool
	// sends takes one for each request, where it is not nil.
	sends chan struct{}
	// ended receives a value for each ended answer if it is not nil.
	ended chan struct{}
}

func (m *machine) Self() trie.MachineID { return m.store.MachineID() }

func (m *machine) addressOf(to trie.MachineID) (string, error) {
	if member := m.View().Find(to); member != nil {
		return member.Address, nil
	}
	return "", fmt.Errorf("machine %s is no member", to)
}

func (m *machine) Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	address, err := m.ask(to, method)
	if err != nil {
		return nil, err
	}
	return m.client.Call(ctx, peer.Recipient{Address: address}, method, body)
}

func (m *machine) Stream(ctx context.Context, to trie.MachineID, method string, body []byte) (*peer.Stream, error) {
	address, err := m.ask(to, method)
	if err != nil {
		return nil, err
	}
	return m.client.Stream(ctx, peer.Recipient{Address: address}, method, body)
}

// ask counts a request and returns where it goes.
func (m *machine) ask(to trie.MachineID, method string) (string, error) {
	m.asked.Add(1)
	count, _ := m.methods.LoadOrStore(method, new(atomic.Int64))
	count.(*atomic.Int64).Add(1)
	address, err := m.addressOf(to)
	if err == nil && m.sends != nil {
		m.sends <- struct{}{}
	}
	return address, err
}

func (m *machine) WaitCommitted(ctx context.Context, batches []replica.Origin) error {
	if m.settle == nil {
		return nil
	}
	return m.settle(ctx, batches)
}

func (m *machine) Uncommitted(ctx context.Context, batches []replica.Origin, _ bool) ([]replica.Origin, error) {
	if m.open == nil {
		return nil, m.WaitCommitted(ctx, batches)
	}
	return m.open(batches), nil
}

func (m *machine) Now(context.Context) (triple.Stamp, error) {
	if len(m.later) > 0 {
		m.now, m.later = m.later[0], m.later[1:]
	}
	if m.now == (triple.Stamp{}) {
		return m.now, errors.New("there is no oracle")
	}
	return m.now, nil
}

// setNow makes now the tick of snapshots.
func (w *world) setNow(now triple.Stamp) {
	for _, m := range w.machines {
		m.now = now
	}
}

// adopt makes v the adopted view.
func (m *machine) adopt(v *view.View) { m.Adopt(v, nil) }

// cutConn breaks when the bytes of its machine are used up.
type cutConn struct {
	net.Conn
	machine *machine
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.machine.cut.Load() > 0 && c.machine.cut.Add(-int64(n)) <= 0 {
		c.machine.cut.Store(0)
		c.Conn.Close()
		return 0, errors.New("the connection broke")
	}
	return n, err
}

// world is a cluster and a store of its own with the same triples.
type world struct {
	testing.TB
	net      *memnet.Net
	machines []*machine
	layout   recovery.Layout
	triples  []triple.Triple
	minor    uint64         // of the protocol
	lone     *replica.Store // see truth
}

// newWorld makes a cluster of some machines, without triples.
func newWorld(t testing.TB, machines int, o Options) *world {
	w := &world{TB: t, net: memnet.New(1), minor: protocol.Minor}
	if t, ok := t.(*testing.T); ok {
		cryptotest.SetGlobalRandom(t, 1) // the machines' names, and with them the placement
	}
	for i := range machines {
		w.machines = append(w.machines, w.newMachine(i, o))
	}
	return w
}

func openStore(t testing.TB) *replica.Store {
	s, err := replica.Open("data", store.Options{FS: vfs.NewMem(), CacheBytes: 4 << 20, MemTableBytes: 4 << 20}, replica.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func (w *world) newMachine(i int, o Options) *machine {
	ip := fmt.Sprintf("10.0.0.%d", i+1)
	m := &machine{world: w, index: i, store: openStore(w), host: w.net.Host(ip), address: ip + ":7000"}
	m.Process = member.Process{Machine: m.Self(), Incarnation: 1}
	listener, err := m.host.Listen(ctx, m.address)
	if err != nil {
		w.Fatal(err)
	}
	m.server = peer.NewServer(peer.Options{Check: func(peer.Header) *peer.Refusal { return nil }})
	m.client = peer.NewClient(func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := m.host.Dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		return &cutConn{conn, m}, nil
	}, func() peer.Header { return peer.Header{Cluster: "test", Epoch: m.View().Epoch, From: m.Self()} }, peer.ClientOptions{})
	if m.reads, err = New(m.store, m, m, m.Self(), o); err != nil {
		w.Fatal(err)
	}
	m.server.HandleStream(MethodScan, m.stream(m.reads.serveScan))
	m.server.HandleStream(MethodCount, m.stream(m.reads.serveCount))
	m.server.HandleStream(MethodSkip, m.stream(m.reads.serveSkip))
	m.server.Handle(MethodRows, m.call(m.reads.serveRows))
	m.server.Handle(methodVersions, m.reads.serveVersions)
	m.server.Handle(methodAnnotations, m.reads.serveAnnotations)
	m.server.Handle(methodSurvey, m.reads.serveSurvey)
	var serving sync.WaitGroup
	serving.Go(func() { _ = m.server.Serve(listener) })
	w.Cleanup(func() {
		m.client.Close()
		soon, cancel := context.WithCancel(ctx)
		cancel()
		if err := m.server.Close(soon); err != nil {
			w.Errorf("close: %v", err)
		}
		serving.Wait()
	})
	return m
}

// call is a handler; it records its requests first.
func (m *machine) call(h peer.Handler) peer.Handler {
	return func(ctx context.Context, from peer.Header, body []byte) ([]byte, error) {
		if served := m.served.Load(); served != nil {
			(*served)()
		}
		if m.short.Load() {
			return nil, nil
		}
		if m.ended != nil {
			defer func() { m.ended <- struct{}{} }()
		}
		return h(ctx, from, body)
	}
}

// stream is a handler; it records its requests first.
func (m *machine) stream(h peer.StreamHandler) peer.StreamHandler {
	return func(ctx context.Context, from peer.Header, body []byte, w *peer.Writer) error {
		if served := m.served.Load(); served != nil {
			(*served)()
		}
		if m.short.Load() {
			return nil
		}
		if m.ended != nil {
			defer func() { m.ended <- struct{}{} }()
		}
		return h(ctx, from, body, w)
	}
}

// fill splits the space at some of the triples' keys, and puts every version where
// it belongs, and into the lone store.
func (w *world) fill(rng *rand.Rand, segments int, triples []triple.Triple) {
	w.triples = triples
	w.layout = w.newLayout(rng, segments, w.machines)
	rows := map[trie.MachineID][]replica.FillRow{}
	value := []byte(nil)
	for i, t := range triples {
		value = triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: uint64(i + 1)}, t)
		spo, _ := triple.AppendKey(nil, triple.SPO, t)
		slots, err := w.layout.Places(spo)
		if err != nil {
			w.Fatal(err)
		}
		for _, s := range slots {
			key, _ := triple.AppendKey(nil, s.Order, t)
			table := store.TableStorage
			if s.Extra {
				table = store.TableReplica
			}
			rows[s.Machine] = append(rows[s.Machine], replica.FillRow{Table: table, Key: key, Value: value})
		}
	}
	for _, m := range w.machines {
		m.fill(w, rows[m.Self()])
	}
	w.adopt(w.viewOf(1))
}

func (m *machine) fill(t testing.TB, rows []replica.FillRow) {
	for some := range slices.Chunk(rows, 1<<14) {
		require.NoError(t, m.store.Fill(ctx, some))
	}
}

const partitions = 64

// newLayout splits the space at prefixes of keys.
func (w *world) newLayout(rng *rand.Rand, segments int, machines []*machine) recovery.Layout {
	l := recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, partitions))}
	for id := uint64(2); id <= uint64(segments); id++ {
		at := []byte{byte(1 + rng.IntN(4))}
		if len(w.triples) > 0 && rng.IntN(8) > 0 {
			o := triple.Orders[rng.IntN(len(triple.Orders))]
			if key, _ := triple.AppendKey(nil, o, w.triples[rng.IntN(len(w.triples))]); len(key) > 0 {
				at = key[:1+rng.IntN(len(key))]
				if rng.IntN(3) == 0 {
					at = append(bytes.Clone(key), 0)
				}
			}
		}
		split, err := l.Trie.Split(l.Trie.Lookup(at).ID, at, id)
		if errors.Is(err, trie.ErrOutside) {
			continue
		}
		if err == nil {
			l.Trie, err = split.Assign(id, trie.HashPartition(id, partitions))
		}
		if err != nil {
			w.Fatal(err)
		}
	}
	var ids []trie.MachineID
	for _, m := range machines {
		ids = append(ids, m.Self())
	}
	var err error
	if l.Placement, err = trie.NewPlacement(ids, trie.PlacementOptions{Partitions: partitions}); err != nil {
		w.Fatal(err)
	}
	return l
}

// viewOf returns the view of an epoch in which some machines are dead.
func (w *world) viewOf(epoch uint64, dead ...*machine) *view.View {
	v := &view.View{
		Cluster: "test", ClusterID: "test", Generation: 1, Epoch: epoch, Minor: w.minor, Base: w.layout, Target: w.layout,
		BaseIncarnations: map[trie.MachineID]uint64{}, NextSegment: 1 << 40,
	}
	var live []*machine
	for _, m := range w.machines {
		if slices.Contains(dead, m) {
			continue
		}
		live = append(live, m)
		v.Members = append(v.Members, view.Member{ID: m.Self(), Incarnation: 1, Minor: w.minor, Address: m.address, State: view.Up})
		if w.layout.Placement.Machines().Contains(m.Self()) {
			v.BaseIncarnations[m.Self()] = 1
		}
	}
	slices.SortFunc(v.Members, func(a, b view.Member) int {
		return bytes.Compare([]byte(a.ID.String()), []byte(b.ID.String()))
	})
	if len(dead) > 0 {
		v.Phase = recovery.Fill
		v.Target = w.newLayout(rand.New(rand.NewPCG(0, 0)), 1, live)
		v.Target.Trie = v.Base.Trie
	}
	return w.made(v)
}

// made returns a view as it comes over the wire.
func (w *world) made(v *view.View) *view.View {
	b, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	made := new(view.View)
	if err := json.Unmarshal(b, made); err != nil {
		w.Fatal(err)
	}
	return made
}

// adopt makes all machines adopt v.
func (w *world) adopt(v *view.View) {
	for _, m := range w.machines {
		m.adopt(v)
	}
}

// snapshot returns a snapshot of the cluster that a machine makes.
func (w *world) snapshot(machine int) *Snapshot {
	sn, err := w.machines[machine].reads.Snapshot()
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { sn.Close() })
	return sn
}

// truth returns a snapshot of a lone store with the same triples.
func (w *world) truth() *replica.Snapshot {
	if w.lone == nil {
		w.lone = openStore(w)
		for some := range slices.Chunk(w.triples, 1<<14) {
			if _, err := store.Add(ctx, w.lone, some); err != nil {
				w.Fatal(err)
			}
		}
	}
	sn, err := w.lone.Snapshot()
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { sn.Close() })
	return sn
}

// draw returns one of few triples: some in named graphs, some with long terms.
func draw(rng *rand.Rand) triple.Triple {
	t := triple.Triple{
		Subject:   iri("s%d", rng.IntN(12)),
		Predicate: iri("p%d", rng.IntN(4)),
		Object:    triple.NewTyped(fmt.Sprint(rng.IntN(40)-20), triple.XSDInteger),
	}
	switch rng.IntN(8) {
	case 0, 1:
		t.Graph = iri("g%d", rng.IntN(3))
	case 2:
		t.Object = triple.NewString(strings.Repeat("long ", 300) + fmt.Sprint(rng.IntN(5)))
	case 3:
		t.Object = iri("s%d", rng.IntN(12))
	case 4:
		t.Object = triple.NewLang(fmt.Sprintf("text %d", rng.IntN(9)), "en")
	}
	return t
}

// drawn returns so many distinct triples, or nearly.
func drawn(rng *rand.Rand, n int) []triple.Triple {
	set := map[triple.Triple]bool{}
	for range n {
		set[draw(rng)] = true
	}
	return slices.SortedFunc(maps.Keys(set), triple.SPO.Compare)
}

// students returns many triples, not like each other.
func students(n int) []triple.Triple {
	var triples []triple.Triple
	for i := range n {
		triples = append(triples, student(i))
	}
	return triples
}

func student(i int) triple.Triple {
	return triple.Triple{
		Subject:   iri("university%d/student%06d", i/5000, i/4),
		Predicate: iri("p%d", i%4),
		Object:    triple.NewString(fmt.Sprintf("value %d of %d", i%97, i)),
	}
}

func isError(err, target error) bool { return errors.Is(err, target) }

// fewer returns n, or a third of it under the race detector.
func fewer(n int) int {
	if race.Enabled {
		return (n + 2) / 3
	}
	return n
}
