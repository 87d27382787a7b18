// A model of a cluster for tests, in plain maps and slices. It has real views, and its machines
// answer the keepers of copies.

package copies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// seeded returns a generator, and logs its seed.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("TREFOIL_SEED: %v", err)
		}
	}
	t.Logf("TREFOIL_SEED=%d repeats this", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

const (
	modelPages      = 5
	modelPartitions = 30
)

// modelKeys are the keys in SPO of all possible triples.
var modelKeys = func() (keys []string) {
	for s := range modelPages {
		for _, p := range []string{"http://p/links", "http://p/uid"} {
			for o := range modelPages {
				for _, g := range []string{"", "http://g/"} {
					t := triple.Triple{Subject: modelPage(s), Predicate: triple.NewIRI(p), Object: modelPage(o)}
					if g != "" {
						t.Graph = triple.NewIRI(g)
					}
					key, _ := triple.AppendKey(nil, triple.SPO, t)
					keys = append(keys, string(key))
				}
			}
		}
	}
	return keys
}()

func modelPage(i int) triple.Term { return triple.NewIRI(fmt.Sprintf("http://page/%c", 'a'+i)) }

// inOrder returns the key in another order of a key in SPO.
func inOrder(o triple.Order, key string) []byte {
	_, terms, err := triple.SplitKey([]byte(key))
	if err != nil {
		panic(err)
	}
	return triple.AppendKeyOf(nil, o, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
}

// operation is an add or a delete that was sent to the holders of its triple.
type operation struct {
	key     string
	deleted bool
	stamp   triple.Stamp
	settled bool
	at      map[trie.MachineID]bool // machines that have received it
	// late are the machines that got it after a later one of its triple and epoch was
	// committed. A sequencer sends in order, so here such operations are reported as not
	// committed.
	late map[trie.MachineID]bool
}

type version struct {
	deleted bool
	stamp   triple.Stamp
}

func put(rows map[string]version, key string, now version) {
	if before, ok := rows[key]; !ok || before.stamp.Less(now.stamp) {
		rows[key] = now
	}
}

type machine struct {
	id          trie.MachineID
	incarnation uint64
	up          bool
	rows        map[string]version // as on a disk
	first       uint64             // number of the first operation of the journal
	journal     []*operation
}

func (m *machine) forget(n int) {
	m.journal = m.journal[n:]
	m.first += uint64(n)
}

// reset empties the journal like replica.Store after a bulk load.
func (m *machine) reset() {
	m.forget(len(m.journal))
	m.first++
}

// world is the cluster.
type world struct {
	t      testing.TB
	random *rand.Rand

	mu       sync.Mutex
	view     *view.View
	machines map[trie.MachineID]*machine
	sequence uint64
	pending  []*operation
	truth    map[string]version // everything acknowledged
	changed  map[string]bool    // since this was cleared
	loads    int
	load     []string // keys of the load that is being ingested
	taken    map[trie.MachineID]bool

	// journalRead is called before a journal is read, if it is not nil.
	journalRead func()
	most        int // rows of a message of Pull
	restless    map[trie.MachineID]bool
}

func newWorld(t testing.TB, random *rand.Rand, machines int) *world {
	w := &world{t: t, random: random, machines: map[trie.MachineID]*machine{}, truth: map[string]version{}, changed: map[string]bool{}, taken: map[trie.MachineID]bool{}, most: 1000}
	first := w.machine()
	p, err := trie.NewPlacement([]trie.MachineID{first.ID}, trie.PlacementOptions{Partitions: modelPartitions})
	if err != nil {
		t.Fatal(err)
	}
	w.view = view.First("test", "id", first, recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, modelPartitions)), Placement: p}, 1)
	splits := map[string]bool{}
	for _, o := range triple.Orders[1:] {
		splits[string([]byte{byte(o)})] = true
	}
	for range 12 {
		key := inOrder(triple.Orders[w.random.IntN(2)], modelKeys[w.random.IntN(len(modelKeys))])
		if w.random.IntN(3) > 0 { // between lists; within one otherwise
			pair, _ := triple.KeyPair(key)
			key = PairRange(pair).Lo
		}
		splits[string(key)] = true
	}
	var at []view.SplitAt
	for key := range splits {
		at = append(at, view.SplitAt{Segment: 1, At: []byte(key)})
	}
	w.next(w.view.Split(at))
	var more []view.Member
	for range machines - 1 {
		more = append(more, w.machine())
	}
	if len(more) > 0 {
		w.next(w.view.Join(more...))
		w.rest()
	}
	return w
}

func (w *world) machine() view.Member {
	m := &machine{id: trie.MachineID(w.random.Uint64() | 1), incarnation: 1, up: true, rows: map[string]version{}, first: 1}
	w.machines[m.id] = m
	return view.Member{ID: m.id, Incarnation: 1, Address: m.id.String() + ":1", State: view.Up}
}

func (w *world) next(v *view.View, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	w.view = v
}

// dead returns the members that are dead.
func (w *world) dead() (ids []trie.MachineID) {
	for i := range w.view.Members {
		if m := w.machines[w.view.Members[i].ID]; !m.up {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// lost returns the number of machines of base that are dead or have lost their data.
func (w *world) lost() int {
	j := w.view.Joint()
	lost := w.dead()
	for _, id := range j.Base.Placement.Machines() {
		if !w.machines[id].up || !j.BaseLive.Contains(id) {
			lost = append(lost, id)
		}
	}
	slices.Sort(lost)
	return len(slices.Compact(lost))
}

// write sends an operation to the machines that must have it.
func (w *world) write() {
	if w.view.Phase == recovery.Ingest {
		return
	}
	w.sequence++
	o := &operation{
		key: modelKeys[w.random.IntN(len(modelKeys))], deleted: w.random.IntN(2) == 0,
		stamp: triple.Stamp{Epoch: w.view.Epoch, Sequence: w.sequence}, at: map[trie.MachineID]bool{}, late: map[trie.MachineID]bool{},
	}
	w.changed[o.key] = true
	w.pending = append(w.pending, o)
	if w.random.IntN(4) > 0 {
		w.drive(o)
		return
	}
	for _, m := range w.holders(o.key) { // its sender is slow, or has died
		if w.random.IntN(2) == 0 && m.up {
			w.deliver(m, o)
		}
	}
}

func (w *world) holders(key string) (ms []*machine) {
	r := w.view.Joint().Resolver()
	if err := r.Resolve([]byte(key)); err != nil {
		w.t.Fatal(err)
	}
	for _, s := range r.Writes() {
		if m := w.machines[s.Machine]; !slices.Contains(ms, m) {
			ms = append(ms, m)
		}
	}
	return ms
}

func (w *world) deliver(m *machine, o *operation) {
	if o.at[m.id] {
		return
	}
	o.at[m.id] = true
	for _, later := range []triple.Stamp{m.rows[o.key].stamp, w.truth[o.key].stamp} {
		o.late[m.id] = o.late[m.id] || later.Epoch == o.stamp.Epoch && o.stamp.Less(later)
	}
	put(m.rows, o.key, version{o.deleted, o.stamp})
	m.journal = append(m.journal, o)
}

// drive sends an operation to all machines that must have it, and reports whether it is
// committed.
func (w *world) drive(o *operation) bool {
	if o.settled {
		return true
	}
	all := true
	for _, m := range w.holders(o.key) {
		if m.up {
			w.deliver(m, o)
		}
		all = all && m.up
	}
	if o.settled = all && w.view.Phase != recovery.Ingest; o.settled {
		w.changed[o.key] = true
		put(w.truth, o.key, version{o.deleted, o.stamp})
		w.pending = slices.DeleteFunc(w.pending, func(p *operation) bool { return p == o })
	}
	return o.settled
}

// driveAll drives the operations that match.
func (w *world) driveAll(fit func(*operation) bool) bool {
	all := true
	for _, o := range slices.Clone(w.pending) {
		if fit(o) {
			all = w.drive(o) && all
		}
	}
	return all
}

// exclude removes the dead machines from the members.
func (w *world) exclude() {
	dead := w.dead()
	if len(dead) == 0 {
		return
	}
	if w.view.Phase == recovery.Ingest {
		for i := range w.view.Members {
			w.takeIn(w.view.Members[i].ID)
		}
		defer w.shown()
	}
	w.next(w.view.Exclude(dead...))
	w.pending = slices.DeleteFunc(w.pending, func(o *operation) bool {
		for id := range o.at {
			if w.machines[id].up {
				return false
			}
		}
		return true
	})
}

// advance goes to the next phase if all members are up.
func (w *world) advance() {
	if len(w.dead()) > 0 {
		return
	}
	switch w.view.Phase {
	case recovery.Fill:
		w.driveAll(func(*operation) bool { return true })
		for _, key := range modelKeys {
			var latest version
			for _, m := range w.machines {
				if v, ok := m.rows[key]; ok && m.up && latest.stamp.Less(v.stamp) {
					latest = v
				}
			}
			if latest == (version{}) {
				continue
			}
			for _, m := range w.holders(key) {
				put(m.rows, key, latest)
			}
		}
		w.next(w.view.ToServe(nil))
	case recovery.Serve:
		w.next(w.view.ToIdle())
		for _, m := range w.machines {
			for _, key := range modelKeys {
				if !slices.Contains(w.holders(key), m) {
					delete(m.rows, key)
				}
			}
		}
	case recovery.Ingest:
		for i := range w.view.Members {
			w.takeIn(w.view.Members[i].ID)
		}
		w.next(w.view.ToShown(nil))
		w.shown()
	}
}

// rest continues until nothing moves.
func (w *world) rest() {
	w.exclude()
	for w.view.Phase != recovery.Idle {
		w.advance()
	}
}

// restart ends a process and starts it again.
func (w *world) restart(m *machine) {
	m.incarnation++
	m.first, m.journal = 1, nil
	w.next(w.view.Readmit(view.Member{ID: m.id, Incarnation: m.incarnation, Address: m.id.String() + ":1"}))
	w.next(w.view.Unwait(m.id))
}

// ingest starts to ingest a bulk load.
func (w *world) ingest() {
	if w.view.Phase != recovery.Idle || len(w.dead()) > 0 || !w.driveAll(func(*operation) bool { return true }) {
		return
	}
	w.loads++
	id := fmt.Sprint("load", w.loads)
	w.next(w.view.BeginLoad(view.LoadBegin{ID: id, Coordinator: w.view.Members[0].ID, Incarnation: 1}))
	w.next(w.view.ToIngest(view.LoadPublish{ID: id, Place: w.view.Place(), Tables: "t"}))
	w.load = nil
	for range 1 + w.random.IntN(8) {
		w.load = append(w.load, modelKeys[w.random.IntN(len(modelKeys))])
	}
	clear(w.taken)
}

// takeIn makes a machine ingest the load.
func (w *world) takeIn(id trie.MachineID) {
	m := w.machines[id]
	if w.view.Phase != recovery.Ingest || !m.up || w.taken[id] {
		return
	}
	w.taken[id] = true
	for _, key := range w.load {
		if slices.Contains(w.holders(key), m) {
			put(m.rows, key, version{stamp: w.loadStamp()})
		}
	}
	m.reset()
}

func (w *world) loadStamp() triple.Stamp {
	return triple.Stamp{Epoch: w.view.Load(fmt.Sprint("load", w.loads)).Epoch}
}

// shown acknowledges the load.
func (w *world) shown() {
	for _, key := range w.load {
		put(w.truth, key, version{stamp: w.loadStamp()})
		w.changed[key] = true
	}
}

var errAway = errors.New("nobody answers")

// callee returns a machine that answers under an epoch.
func (w *world) callee(id trie.MachineID, epoch uint64) (*machine, error) {
	m := w.machines[id]
	if m == nil || !m.up || w.restless[id] {
		return nil, errAway
	}
	if w.view.Epoch != epoch || w.view.Find(id) == nil {
		return nil, fmt.Errorf("%w: epoch %d", store.ErrUnavailable, epoch)
	}
	return m, nil
}

// member is one machine as its copies see it.
type member struct {
	*world
	id    trie.MachineID
	ready bool // it has a view
}

func (m *member) MachineID() trie.MachineID { return m.id }

// Changed never reports anything, because the test runs rounds and look-ups after views itself.
func (m *member) Changed() <-chan struct{} { return nil }

func (m *member) View() *view.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ready {
		return nil
	}
	return m.view
}

func (m *member) MayAnswer(epoch uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.callee(m.id, epoch)
	return err
}

func (m *member) JournalEnd(_ context.Context, epoch uint64, of trie.MachineID) (replica.JournalMark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, err := m.callee(of, epoch)
	if err != nil {
		return replica.JournalMark{}, err
	}
	mark := replica.JournalMark{Incarnation: from.incarnation, Number: from.first + uint64(len(from.journal)) - 1}
	if !m.driveAll(func(o *operation) bool { return o.at[of] }) {
		return replica.JournalMark{}, fmt.Errorf("%w: operations that are not settled", store.ErrUnavailable)
	}
	return mark, nil
}

func (m *member) Journal(_ context.Context, epoch uint64, of trie.MachineID, after replica.JournalMark) ([]replica.JournalEntry, replica.JournalMark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.journalRead != nil {
		m.journalRead()
	}
	from, err := m.callee(of, epoch)
	if err != nil {
		return nil, replica.JournalMark{}, err
	}
	if after.Incarnation != from.incarnation || after.Number+1 < from.first {
		return nil, replica.JournalMark{}, replica.ErrJournal
	}
	var entries []replica.JournalEntry
	for _, o := range from.journal[after.Number+1-from.first:] {
		known := o.settled && !o.late[of] && m.random.IntN(3) > 0
		entries = append(entries, replica.JournalEntry{Key: []byte(o.key), Deleted: o.deleted, Stamp: o.stamp, Settled: known})
	}
	after.Number += uint64(len(entries))
	return entries, after, nil
}

// pull is a Pull whose rows have the keys of up to three triples of a list as values.
func (w *world) pull(_ context.Context, epoch uint64, owner trie.MachineID, ranges []triple.Range) (rows []Row, done int, rest []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, err := w.callee(owner, epoch)
	if err != nil {
		return nil, 0, nil, err
	}
	if w.view.Phase == recovery.Ingest {
		return nil, 0, nil, fmt.Errorf("%w: a bulk load", store.ErrUnavailable)
	}
	joint := w.view.Joint()
	for i, r := range ranges {
		if r.Empty() || i > 0 && bytes.Compare(r.Lo, ranges[i-1].Hi) < 0 {
			w.t.Errorf("ranges %d and before do not ascend", i)
		}
		for s := range joint.Reads().Trie.Range(r.Lo, r.Hi) {
			if of, live := joint.ReaderOf(s); !live || of != owner {
				return nil, 0, nil, fmt.Errorf("%w: machine %s does not read that", store.ErrUnavailable, owner)
			}
		}
	}
	if !w.driveAll(func(o *operation) bool { return inRanges(ranges, o.key) }) {
		return nil, 0, nil, fmt.Errorf("%w: operations that are not settled", store.ErrUnavailable)
	}
	looked := 0
	for i, r := range ranges {
		var pair, last []byte
		parts := 0
		for _, key := range shown(m.rows, r) {
			if looked++; looked > w.most {
				return rows, i, key, nil
			}
			if now, _ := triple.KeyPair(key); !bytes.Equal(now, pair) || parts == 3 {
				begin := key
				if at := PairRange(now).Lo; !bytes.Equal(now, pair) && bytes.Compare(at, r.Lo) >= 0 {
					begin = at
				}
				rows, pair, parts = append(rows, Row{Key: begin}), now, 0
			}
			last = key
			parts++
			of := &rows[len(rows)-1]
			of.Value = append(append(of.Value, byte(len(last))), last...)
		}
	}
	return rows, len(ranges), nil, nil
}

// orderOf returns the order of a range.
func orderOf(r triple.Range) triple.Order { return triple.Order(r.Lo[0]) }

func inRange(r triple.Range, key []byte) bool {
	return bytes.Compare(r.Lo, key) <= 0 && (r.Hi == nil || bytes.Compare(key, r.Hi) < 0)
}

func inRanges(ranges []triple.Range, key string) bool {
	return slices.ContainsFunc(ranges, func(r triple.Range) bool {
		return inRange(r, inOrder(triple.SPO, key)) || inRange(r, inOrder(triple.POS, key))
	})
}

// shown returns the keys in a range of the triples that exist.
func shown(rows map[string]version, r triple.Range) (keys [][]byte) {
	for key, v := range rows {
		for _, o := range triple.Orders[:2] {
			if in := inOrder(o, key); !v.deleted && inRange(r, in) {
				keys = append(keys, in)
			}
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	return keys
}

// keeper is the copies of one machine. The test runs it, and makes it in a bubble.
type keeper struct {
	*Copies
	member *member
}

func (w *world) keeper(id trie.MachineID) *keeper {
	m := &member{world: w, id: id}
	c, err := Open(m, w.pull, Options{
		FS: vfs.NewMem(), Dir: "copies", Copies: MaxCopies, Every: 1e4 * time.Hour,
		Ranges: []triple.Range{triple.OrderRange(triple.SPO), triple.OrderRange(triple.POS)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait() // its own first round, without a view, is over: the next one is far away
	m.ready = true
	return &keeper{c, m}
}

func (k *keeper) refresh() error { return k.round(k.ctx, k.member.View()) }

// asked returns ranges of all lists: whole, or in the pieces that machines read.
func (w *world) asked(pieces bool) (ranges []triple.Range) {
	seen := map[string]bool{}
	for _, o := range triple.Orders[:2] {
		for _, key := range modelKeys {
			pair, _ := triple.KeyPair(inOrder(o, key))
			if seen[string(pair)] {
				continue
			}
			seen[string(pair)] = true
			r := PairRange(pair)
			if !pieces {
				ranges = append(ranges, r)
				continue
			}
			for s := range w.view.Joint().Reads().Trie.Range(r.Lo, r.Hi) {
				ranges = append(ranges, r.Intersect(triple.Range{Lo: s.Lo, Hi: s.Hi}))
			}
		}
	}
	slices.SortFunc(ranges, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	return ranges
}

// check looks up all lists and compares the known ones. It returns their number.
func (k *keeper) check(pieces bool) (known int, err error) {
	w := k.member.world
	w.mu.Lock()
	clear(w.changed)
	epoch, ranges := w.view.Epoch, w.asked(pieces)
	for _, o := range w.pending {
		w.changed[o.key] = true // it may be settled at any moment
	}
	w.mu.Unlock()
	found, err := k.Look(context.Background(), epoch, ranges)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, f := range found {
		if !f.Known {
			if len(f.Rows) > 0 {
				return 0, fmt.Errorf("%w: %q is not known and has rows", errWrong, ranges[i])
			}
			continue
		}
		known++
		if err := w.compare(ranges[i], f); err != nil {
			return 0, err
		}
	}
	return known, nil
}

// checkWalks reads all ranges in parts, and compares the known parts. It returns their number.
func (k *keeper) checkWalks() (parts int, err error) {
	w := k.member.world
	w.mu.Lock()
	clear(w.changed)
	epoch := w.view.Epoch
	for _, o := range w.pending {
		w.changed[o.key] = true
	}
	var pieces []triple.Range
	for _, o := range triple.Orders[:2] {
		whole := triple.OrderRange(o)
		for s := range w.view.Joint().Reads().Trie.Range(whole.Lo, whole.Hi) {
			pieces = append(pieces, whole.Intersect(triple.Range{Lo: s.Lo, Hi: s.Hi}))
		}
	}
	most := 1 + w.random.IntN(6)
	w.mu.Unlock()
	for _, rest := range pieces {
		for !rest.Empty() {
			p, err := k.Walk(context.Background(), epoch, rest, most)
			if err != nil {
				return parts, err
			}
			if !p.Known {
				break
			}
			if bytes.Compare(p.UpTo, rest.Lo) <= 0 || bytes.Compare(p.UpTo, rest.Hi) > 0 {
				return parts, fmt.Errorf("%w: a part of %q goes up to %q", errWrong, rest, p.UpTo)
			}
			parts++
			w.mu.Lock()
			err = w.compare(triple.Range{Lo: rest.Lo, Hi: p.UpTo}, p.Found)
			w.mu.Unlock()
			if err != nil {
				return parts, err
			}
			rest.Lo = p.UpTo
		}
	}
	return parts, nil
}

var errWrong = errors.New("wrong")

// compare compares a result with the truth, except for triples that have changed meanwhile.
func (w *world) compare(r triple.Range, f Found) error {
	o := orderOf(r)
	got := map[string]bool{}
	for _, row := range f.Rows {
		for rest := row.Value; len(rest) > 0; rest = rest[1+rest[0]:] {
			got[string(rest[1:1+rest[0]])] = true
		}
	}
	told := map[string]Change{}
	for _, c := range f.Changed {
		in := string(inOrder(o, string(c.Key)))
		if _, twice := told[in]; twice {
			return fmt.Errorf("%w: %q is told twice", errWrong, c.Key)
		}
		if c.Settled && w.truth[string(c.Key)].stamp.Less(c.Stamp) {
			return fmt.Errorf("%w: %q is told as settled at %v, and is not", errWrong, c.Key, c.Stamp)
		}
		told[in] = c
		if c.Settled {
			got[in] = !c.Deleted
		}
	}
	for _, key := range modelKeys {
		in := inOrder(o, key)
		c, isTold := told[string(in)]
		if w.changed[key] || !inRange(r, in) || isTold && !c.Settled {
			continue
		}
		v, ok := w.truth[key]
		if there := ok && !v.deleted; there != got[string(in)] {
			return fmt.Errorf("%w: %q in order %s is there: %v (%+v); told %v, %+v", errWrong, key, o, there, v, got[string(in)], told[string(in)])
		}
	}
	return nil
}
