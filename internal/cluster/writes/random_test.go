// Random runs of writes and reads with failures, checked for linearizability.

package writes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// run is one random run: clients write and read a few triples through all
// machines and orders, messages are lost, machines die, restart, are cut off,
// join and move, and a leader sees each change through.
type run struct {
	*world
	r       *rand.Rand // of the leader
	options Options
	facts   []triple.Triple
	pairs   []pair
	used    atomic.Int64 // pairs
	view    *view.View
	started time.Time

	numbers atomic.Uint64 // that are noted

	history sync.Mutex
	seen    [][]porcupine.Operation // by triple
}

// pair is two triples that a transaction adds. It is used once.
type pair struct {
	triples []triple.Triple
	began   bool
	err     error // of the transaction
}

// newPairs returns pairs in different segments of a layout that was made for some triples.
func newPairs(n int, sample []triple.Triple) (pairs []pair) {
	for i := range n {
		a, b := sample[i%len(sample)], sample[(i+1+i/len(sample))%len(sample)]
		a.Object, b.Object = iri("pair%d", i), iri("pair%d", i)
		pairs = append(pairs, pair{triples: []triple.Triple{a, b}})
	}
	return pairs
}

// what is a client's action on a triple: read, add, delete, or annotate it with a number; 0
// removes the annotation.
type what struct {
	read, add, notes bool
	note             uint64
	compares         bool // annotates if the number is as expected; 0 is none
	expected         uint64
}

// state is a triple, there or not, and what is noted on it.
type state struct {
	live bool
	note uint64
}

// register is one triple.
var register = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, input, output any) (bool, any) {
		s, in := before.(state), input.(what)
		switch {
		case in.read:
			return output == before, s
		case in.compares && (!s.live || s.note != in.expected): // a conflict, no triple, or nobody knows
			out := output.(state)
			return out.note == unknown || out.live == s.live && out.note == different, s
		case in.compares:
			return output.(state).note != different && output.(state).live, state{true, in.note}
		case in.notes && s.live:
			return output.(state).live, state{true, in.note}
		case in.notes: // it says that the triple is not there, or nobody knows what it said
			return !output.(state).live || output.(state).note == unknown, s
		case !in.add:
			return true, state{}
		}
		s.live = true
		return true, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

const (
	unknown   = math.MaxUint64     // the output of a note whose outcome is
	different = math.MaxUint64 - 1 // the output of a comparison that failed
)

func (x *run) now() int64 { return int64(time.Since(x.started)) }

func (x *run) note(i, client int, in what, out state, call, end int64) {
	x.history.Lock()
	defer x.history.Unlock()
	x.seen[i] = append(x.seen[i], porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: end})
}

// anyone returns a running member of the newest view.
func (x *run) anyone(r *rand.Rand) *machine {
	x.mu.Lock()
	defer x.mu.Unlock()
	var ms []*machine
	for _, id := range slices.Sorted(maps.Keys(x.members)) {
		if x.view.Has(id, x.members[id].incarnation) {
			ms = append(ms, x.members[id])
		}
	}
	return ms[r.IntN(len(ms))]
}

func (x *run) reader(key []byte, v *view.View) *machine {
	owner, ok := v.Joint().Reader(key)
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.members[owner]; ok && m != nil && m.View() != nil {
		return m
	}
	return nil
}

// client works until ctx ends.
func (x *run) client(ctx context.Context, id int, r *rand.Rand) {
	for ctx.Err() == nil {
		i := r.IntN(len(x.facts))
		tr := x.facts[i]
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		switch n := r.IntN(9); {
		case n == 8:
			if n := int(x.used.Add(1)) - 1; n < len(x.pairs) {
				var deletes []triple.Triple
				if n%2 == 0 {
					deletes = x.pairs[n].triples // of what is not there
				}
				_, err := x.anyone(r).writes.Transact(limited, deletes, x.pairs[n].triples)
				x.pairs[n].began, x.pairs[n].err = true, err
			}
		case n >= 6:
			x.compare(limited, id, i, r)
		case n < 3:
			o := triple.Orders[r.IntN(3)]
			m := x.anyone(r)
			call := x.now()
			if v := m.View(); v != nil {
				if m = x.reader(keyOf(o, tr), v); m != nil {
					if s, err := m.readAll(limited, o, tr); err == nil {
						x.note(i, id, what{read: true}, s, call, x.now())
					}
				}
			}
		case n < 4:
			in := what{notes: true, note: x.numbers.Add(1)}
			if r.IntN(4) == 0 {
				in.note = 0
			}
			m := x.anyone(r)
			call := x.now()
			_, err := m.writes.Annotate(limited, tr, noteOf(in.note), store.Condition{}, x.find)
			switch {
			case err == nil:
				x.note(i, id, in, state{live: true}, call, x.now())
			case errors.Is(err, store.ErrNotFound):
				x.note(i, id, in, state{}, call, x.now())
			case errors.Is(err, store.ErrUnknown):
				x.note(i, id, in, state{live: true, note: unknown}, call, math.MaxInt64)
			}
		default:
			in := what{add: r.IntN(3) > 0}
			kind := store.OperationDelete
			if in.add {
				kind = store.OperationAdd
			}
			m := x.anyone(r)
			call := x.now()
			_, _, err := m.writes.Write(limited, kind, []triple.Triple{tr})
			switch {
			case err == nil:
				x.note(i, id, in, state{}, call, x.now())
			case errors.Is(err, store.ErrUnknown):
				x.note(i, id, in, state{}, call, math.MaxInt64)
			}
		}
		cancel()
	}
}

// adopt has all members adopt v, one after the other.
func (x *run) adopt(v *view.View, err error) {
	if err != nil {
		x.t.Fatalf("view: %v", err)
	}
	x.mu.Lock()
	x.view = v
	x.mu.Unlock()
	ms := x.up()
	x.r.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	for _, m := range ms {
		m.adopt(v)
		if x.r.IntN(2) == 0 {
			x.progress()
		}
	}
}

// up returns the running members of the view.
func (x *run) up() (ms []*machine) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.view.Members {
		if on := x.members[m.ID]; on != nil && on.incarnation == m.Incarnation {
			ms = append(ms, on)
		}
	}
	return ms
}

// checkPairs checks that each transaction was made or not, as its error says. It returns how many were made.
func (x *run) checkPairs(t *testing.T, up []*machine) (whole int) {
	for _, p := range x.pairs {
		if !p.began {
			continue
		}
		var live []bool
		for _, tr := range p.triples {
			s, err := x.reader(keyOf(triple.SPO, tr), x.view).readAll(ctx, triple.SPO, tr)
			require.NoError(t, err)
			checkSlots(t, x.view, up, tr, s.live)
			live = append(live, s.live)
		}
		switch {
		case live[0] != live[1]:
			t.Errorf("%v: %v, after %v", p.triples, live, p.err)
		case p.err == nil && !live[0]:
			t.Errorf("%v: a transaction is lost", p.triples)
		case p.err != nil && !errors.Is(p.err, store.ErrUnknown) && live[0]:
			t.Errorf("%v: a transaction was made after %v", p.triples, p.err)
		case live[0]:
			whole++
		}
	}
	return whole
}

// progress waits until clients have got on a bit, or are held up.
func (x *run) progress() {
	count := func() (n int) {
		x.history.Lock()
		defer x.history.Unlock()
		for _, s := range x.seen {
			n += len(s)
		}
		return n
	}
	limited, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	for from := count(); count() < from+10 && limited.Err() == nil; {
		retry.Sleep(limited, time.Millisecond)
	}
}

// see makes the view that was adopted last an idle one: walks, serve, idle,
// sweeps. Sometimes another machine dies on the way.
func (x *run) see() {
	if x.view.Phase == recovery.Fill {
		if len(x.up()) > 3 && x.r.IntN(4) == 0 {
			x.dies()
			x.adopt(x.view.Exclude(x.missing()...))
		}
		for _, m := range x.up() {
			x.walk(m)
		}
		x.reconciled()
		x.adopt(x.view.ToServe(nil))
		x.progress()
	}
	if x.view.Phase == recovery.Serve {
		x.adopt(x.view.ToIdle())
	}
	for _, m := range x.up() {
		if err := m.store.Sweep(ctx, x.view.Base); err != nil {
			x.t.Errorf("sweep: %v", err)
		}
	}
	x.reconciled()
}

func (x *run) reconciled() {
	for _, m := range x.up() {
		await.Condition(x.t, "the view is reconciled", m.writes.Reconciled)
	}
}

// dies ends a random member, or cuts it off for good after its lease.
func (x *run) dies() {
	ms := x.up()
	m := ms[x.r.IntN(len(ms))]
	m.SetLease(errNoLease)
	if x.r.IntN(3) > 0 {
		m.stop()
		return
	}
	x.mu.Lock()
	delete(x.members, m.id)
	x.mu.Unlock()
}

// missing returns the members of the view that are gone.
func (x *run) missing() (gone []trie.MachineID) {
	up := x.up()
	for _, m := range x.view.Members {
		if !slices.ContainsFunc(up, func(u *machine) bool { return u.id == m.ID }) {
			gone = append(gone, m.ID)
		}
	}
	return gone
}

// walk fills the places of target which m must fill.
func (x *run) walk(m *machine) {
	r := x.view.Joint().Resolver()
	all := x.facts
	for i := range x.pairs {
		all = append(all[:len(all):len(all)], x.pairs[i].triples...)
	}
	for _, tr := range all {
		require.NoError(x.t, r.Resolve(keyOf(triple.SPO, tr)))
		rows := m.best(r)
		for suffix, value := range rows {
			row := replica.FillRow{Value: value}
			row.InFlight, row.Operation = m.operationOf(r.Key(triple.SPO), suffix, value)
			for _, s := range slices.Clone(r.OwedPlaces(m.id)) {
				row.Table, row.Key = store.TableStorage, append(slices.Clone(r.Key(s.Order)), suffix...)
				if s.Extra {
					row.Table = store.TableReplica
				}
				x.mu.Lock()
				to := x.members[s.Machine]
				x.mu.Unlock()
				leave, err := to.Enter(x.view.Epoch)
				require.NoError(x.t, err)
				if err := to.store.Fill(ctx, []replica.FillRow{row}); err != nil {
					x.t.Errorf("fill: %v", err)
				}
				leave()
			}
		}
	}
}

// step is one change of the cluster.
func (x *run) step() {
	up := x.up()
	switch n := x.r.IntN(4); {
	case n == 0 && len(up) > 3:
		x.dies()
		x.progress()
		x.adopt(x.view.Exclude(x.missing()...))
	case n == 1:
		m := up[x.r.IntN(len(up))]
		m.SetLease(errNoLease)
		again := m.restart(x.options)
		x.progress()
		x.adopt(x.view.Readmit(view.Member{ID: m.id, Incarnation: again.incarnation, Address: "mem:" + m.id.String(), Minor: protocol.Minor}))
		x.reconciled()
		x.adopt(x.view.Unwait(m.id))
	case n == 2 && len(up) < 5:
		fresh := x.machines(1, x.options)[0]
		x.adopt(x.view.Join(view.Member{ID: fresh.id, Incarnation: fresh.incarnation, Address: "mem:" + fresh.id.String(), Minor: protocol.Minor}))
	default:
		p, err := trie.NewPlacement(ids(up), trie.PlacementOptions{Partitions: 64, VirtualNodes: 1 + x.r.IntN(50)})
		require.NoError(x.t, err)
		x.adopt(x.view.MoveTo(p))
	}
	x.progress()
	x.see()
}

func TestRandomRuns(t *testing.T) {
	seed.Slow(t)
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	duration := 2 * time.Second
	if s := os.Getenv("TREFOIL_WRITES_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		duration = time.Duration(n) * time.Second
	}
	if testing.Short() {
		duration = time.Second
	}
	for end := time.Now().Add(duration); time.Now().Before(end) && !t.Failed(); seed++ {
		t.Run(fmt.Sprintf("TREFOIL_SEED=%d", seed), func(t *testing.T) { randomRun(t, seed) })
	}
}

func randomRun(t *testing.T, seed uint64) {
	x := &run{
		world: newWorld(t), r: rand.New(rand.NewPCG(seed, 0)), started: time.Now(),
		options: Options{RetryTimeout: time.Second, Heartbeat: 5 * time.Millisecond, Attempt: 100 * time.Millisecond},
		facts:   facts(0, 12),
	}
	x.seen, x.pairs = make([][]porcupine.Operation, len(x.facts)), newPairs(60, x.facts)
	ms := x.machines(3+x.r.IntN(3), x.options)
	l := x.spread(ms, x.facts)
	x.view = x.viewOf(2, recovery.Idle, ms, l, l)
	adoptAll(x.view, ms...)
	var faults sync.Mutex
	fr := rand.New(rand.NewPCG(seed, 1))
	x.setFate(func(_, _ trie.MachineID, _ string) fate {
		faults.Lock()
		defer faults.Unlock()
		switch n := fr.IntN(100); {
		case n < 3:
			return unsent
		case n < 6:
			return lost
		case n < 7:
			return hangs
		}
		return arrives
	})
	working, stop := context.WithCancel(ctx)
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() { x.client(working, i, rand.New(rand.NewPCG(seed, uint64(2+i)))) })
	}
	end := func() {
		stop()
		clients.Wait()
		x.setFate(nil)
	}
	defer end()
	for range 5 {
		x.step()
	}
	end()
	x.check(t)
}

// check reads all through all orders, compares the places, and judges the history.
func (x *run) check(t *testing.T) {
	up := x.up()
	x.reconciled()
	quiet(t, up...)
	reads := 0
	for i, tr := range x.facts {
		var s state
		for _, o := range triple.Orders[:3] {
			call := x.now()
			m := x.reader(keyOf(o, tr), x.view)
			var err error
			if s, err = m.readAll(ctx, o, tr); err != nil {
				t.Fatalf("%v: %v", tr, err)
			}
			x.note(i, 99, what{read: true}, s, call, x.now())
		}
		checkSlots(t, x.view, up, tr, s.live)
		x.checkNotes(t, up, tr, s)
		reads += len(x.seen[i])
		// Many unknown outcomes make the check slow. If it does not end in time, it decides nothing.
		switch r := porcupine.CheckOperationsTimeout(register, x.seen[i], 10*time.Second); r {
		case porcupine.Illegal:
			t.Errorf("%v: %v: %d operations", tr, r, len(x.seen[i]))
		case porcupine.Unknown:
			t.Logf("%v: not judged within 10 s: %d operations", tr, len(x.seen[i]))
		}
	}
	whole := x.checkPairs(t, up)
	t.Logf("%d operations of clients, %d transactions, epoch %d", reads, whole, x.view.Epoch)
	for _, m := range up {
		m.emptied(t)
		if s := m.writes.Stats(); s.InFlight != 0 || len(m.writes.keys) != 0 {
			t.Errorf("machine %s: %+v, %d keys", m.id, s, len(m.writes.keys))
		}
	}
}
