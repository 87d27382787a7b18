// Random deliveries, fills, crashes and restarts beside a model.

package replica

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// holderModel is the expected state of a holder.
type holderModel struct {
	rows    map[string]held            // rows of triples
	deleted map[string]triple.Stamp    // of each row: the last delete
	notes   map[string]noted           // by the keys of their rows
	list    map[Origin]map[string]bool // the operations in flight, as text
	was     map[Origin]map[string]bool // batches that were committed at some time
	heard   map[stream]Heard
	sent    []Delivery // all deliveries
	next    map[stream]uint64
	settled map[stream]uint64
	stamp   uint64
}

// noted is an annotation or its removal.
type noted struct {
	version string
	held
	on triple.Stamp
}

func newHolderModel() *holderModel {
	return &holderModel{
		rows: map[string]held{}, deleted: map[string]triple.Stamp{}, notes: map[string]noted{},
		list: map[Origin]map[string]bool{}, was: map[Origin]map[string]bool{}, heard: map[stream]Heard{}, next: map[stream]uint64{}, settled: map[stream]uint64{},
	}
}

// put applies an operation or fill of one row. key is the key of its triple.
func (m *holderModel) put(key string, o Operation) {
	if n := o.Annotation; n != nil {
		at := string(triple.AppendAnnotationKey(nil, []byte(key), n.ApplicationID))
		old, ok := m.notes[at]
		if !ok || old.on.Less(n.On) || old.on == n.On && old.stamp.Less(o.Stamp) {
			m.notes[at] = noted{key, held{o.Stamp, n.Removed, true}, n.On}
		}
		return
	}
	row := held{stamp: o.Stamp, dead: o.Kind == store.OperationDelete}
	if row.dead && m.deleted[key].Less(row.stamp) {
		m.deleted[key] = row.stamp
	}
	if old, ok := m.rows[key]; !ok || old.stamp.Less(row.stamp) {
		m.rows[key] = row
	}
}

// want returns the expected rows, and the number of annotations beside rows of SPO in storage.
func (m *holderModel) want() (rows map[string]held, annotations int64) {
	rows = maps.Clone(m.rows)
	for key, n := range m.notes {
		if n.on.Less(m.deleted[n.version]) {
			continue
		}
		rows[key] = n.held
		if !n.dead && isSPO([]byte(key)) {
			annotations++
		}
	}
	return rows, annotations
}

func (m *holderModel) enter(from Origin, ops ...Operation) {
	if from.Batch <= m.settled[from.stream()] || m.was[from] != nil {
		return
	}
	for _, o := range ops {
		if m.list[from] == nil {
			m.list[from] = map[string]bool{}
		}
		m.list[from][textOf(o)] = true
	}
}

func (m *holderModel) settle(id stream, upTo uint64, open []uint64) {
	watermark := upTo
	if len(open) > 0 {
		watermark = open[0] - 1
	}
	m.settled[id] = max(m.settled[id], watermark)
	for from := range m.list {
		if from.stream() == id && from.Batch <= upTo && !slices.Contains(open, from.Batch) {
			m.was[from] = m.list[from]
			delete(m.list, from)
		}
	}
}

// crashed records a restart of the store. A batch that was committed above the watermark is in
// flight again, because its row stays for the change feed.
func (m *holderModel) crashed(s *Store) {
	for _, b := range s.InFlightBatches() {
		if m.was[b.Origin] != nil && b.Origin.Batch > m.settled[b.Origin.stream()] {
			m.list[b.Origin] = m.was[b.Origin]
		}
	}
	clear(m.was)
}

// deliver applies a delivery to the model of a machine under a layout.
func (m *holderModel) deliver(t *testing.T, d Delivery, l recovery.Layout, machine trie.MachineID) {
	id := d.Origin.stream()
	m.settle(id, d.Committed, d.Open)
	for _, o := range d.Operations {
		for _, key := range slotKeys(t, l, machine, o.Key) {
			m.put(key, o)
		}
	}
	at := 0
	for _, p := range d.Parts {
		m.enter(Origin{id.Machine, id.Incarnation, p.Batch}, d.Operations[at:at+p.Operations]...)
		at += p.Operations
	}
	m.enter(d.Origin, d.Operations[at:]...)
	h := m.heard[id]
	h.Last = max(h.Last, d.Origin.Batch)
	m.heard[id] = h
}

func textOf(o Operation) string {
	if o.Annotation == nil {
		return fmt.Sprint(o)
	}
	return fmt.Sprintf("%d %v %q %+v", o.Kind, o.Stamp, o.Key, *o.Annotation)
}

// operation draws an operation on one of a few triples, with its own stamp. An annotation is on a
// row of any earlier time.
func (m *holderModel) operation(rng *rand.Rand) Operation {
	m.stamp++
	kind := store.OperationAdd + store.OperationKind(rng.IntN(3))
	o := operation(kind, small(rng), 2+m.stamp%3, m.stamp)
	if kind == store.OperationAnnotate {
		o.Annotation = &Annotation{ApplicationID: string('a' + byte(rng.IntN(2))), Removed: rng.IntN(3) == 0}
		if o.Annotation.On = o.Stamp; rng.IntN(4) > 0 {
			on := 1 + rng.Uint64N(m.stamp)
			o.Annotation.On = triple.Stamp{Epoch: 2 + on%3, Sequence: on}
		}
		if !o.Annotation.Removed && rng.IntN(4) > 0 {
			o.Annotation.Data = []byte(fmt.Sprint(m.stamp))
		}
	}
	return o
}

// holds fails the test if a store differs from the model.
func (m *holderModel) holds(t *testing.T, s *Store, rng *rand.Rand) {
	t.Helper()
	want, annotations := m.want()
	got := heldRows(t, s)
	sameRows(t, got, want)
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	count := 0
	for _, b := range s.InFlightBatches() {
		want := m.list[b.Origin]
		if len(b.Operations) != len(want) {
			t.Fatalf("%v: %d operations, want %d", b.Origin, len(b.Operations), len(want))
		}
		for _, o := range b.Operations {
			if !want[textOf(o)] {
				t.Fatalf("%v has %v", b.Origin, o)
			}
		}
		count++
	}
	if count != len(m.list) {
		t.Fatalf("%d batches, want %d", count, len(m.list))
	}
	for _, h := range s.SequencerStates() {
		if want := m.heard[stream{Machine: h.Sequencer, Incarnation: h.Incarnation}].Last; h.Last != want {
			t.Fatalf("%+v, want last %d", h, want)
		}
	}
	report, err := s.Check(ctx)
	for _, p := range report.Problems {
		// An annotation in the model may be on a triple that was never added.
		if !strings.HasPrefix(p.Message, "annotation of ") {
			t.Fatalf("%+v", p)
		}
	}
	if st := s.Status(); err != nil || st.Triples != report.Triples || st.Annotations != annotations || report.Annotations != annotations {
		t.Fatalf("%d triples and %d annotations are counted, %d and %d are there, want %d annotations (%v)",
			st.Triples, st.Annotations, report.Triples, report.Annotations, annotations, err)
	}
	for range 20 {
		m.unsettled(t, s, rng)
	}
}

// unsettled compares the batches in flight in a range.
func (m *holderModel) unsettled(t *testing.T, s *Store, rng *rand.Rand) {
	t.Helper()
	o := triple.Orders[rng.IntN(3)]
	r := triple.OrderRange(o)
	switch rng.IntN(3) {
	case 0:
		r = exact(t, o, small(rng))
	case 1:
		lo, _ := triple.AppendKey(nil, o, small(rng))
		hi, _ := triple.AppendKey(nil, o, small(rng))
		r = triple.Range{Lo: lo, Hi: hi}
	}
	var want []Origin
	for _, b := range s.InFlightBatches() {
		if slices.ContainsFunc(b.Operations, func(op Operation) bool {
			key, ok, err := recovery.AppendVersion(nil, o, op.Key)
			return err != nil || ok && r.Contains(key)
		}) {
			want = append(want, b.Origin)
		}
	}
	unsettledIn(t, s, r, want...)
}

// open draws batches in flight, although later ones are committed.
func open(rng *rand.Rand, upTo uint64) (numbers []uint64) {
	for n := uint64(1); n <= upTo; n++ {
		if rng.IntN(6) == 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// Deliveries of several sequencers in any order, with repetitions, fills, watermarks, crashes and
// restarts, beside a model of the greatest stamp.
func TestHolderModel(t *testing.T) {
	seed.Slow(t)
	rng := random(t)
	for run := range race.Fewer(20) {
		fs := memdisk.New()
		s := openMem(t, store.Options{FS: fs, MemTableBytes: minMemTableBytes})
		require.NoError(t, s.SetIdentity(store.Identity{Cluster: "c", ClusterID: "1"}))
		l := sample.Layout(t, s, run%4, draws(rng, 20)...)
		j := idle(l)
		m := newHolderModel()
		for range 120 {
			id := stream{Machine: trie.MachineID(1 + rng.IntN(3)), Incarnation: 1 + rng.Uint64N(2)}
			switch n := rng.IntN(20); {
			case n < 8:
				m.next[id] += 1 + rng.Uint64N(2)
				d := Delivery{Origin: Origin{id.Machine, id.Incarnation, m.next[id]}, Committed: m.settled[id]}
				if rng.IntN(3) == 0 {
					d.Committed = rng.Uint64N(m.next[id])
				}
				for range 1 + rng.IntN(10) {
					d.Operations = append(d.Operations, m.operation(rng))
				}
				if rng.IntN(2) == 0 { // the batch before comes along
					at := rng.IntN(len(d.Operations) + 1)
					m.next[id]++
					d.Parts = []Part{{d.Origin.Batch, at}, {m.next[id], len(d.Operations) - at}}
					d.Origin.Batch = m.next[id]
				}
				d.Open = open(rng, d.Committed)
				m.deliver(t, d, l, s.MachineID())
				m.sent = append(m.sent, d)
				deliver(t, s, j, d)
			case n < 10 && len(m.sent) > 0:
				d := m.sent[rng.IntN(len(m.sent))]
				m.deliver(t, d, l, s.MachineID())
				deliver(t, s, j, d)
			case n < 14:
				m.fill(t, s, l, rng)
			case n < 16:
				batch := rng.Uint64N(m.next[id] + 1)
				but := open(rng, batch)
				m.settle(id, batch, but)
				s.RecordCommitted(Origin{id.Machine, id.Incarnation, batch}, but, nil, CommitTicks{})
			case n < 17:
				forget := s.InFlightBatches()
				forget = slices.DeleteFunc(forget, func(InFlightBatch) bool { return rng.IntN(3) != 0 })
				for _, b := range forget {
					delete(m.list, b.Origin)
				}
				require.NoError(t, s.Forget(ctx, forget))
			case n < 18:
				// Fills and watermarks become durable with the next commit.
				if _, err := s.SyncFills(ctx); err != nil {
					t.Fatal(err)
				}
				s = openMem(t, store.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{}), Member: true})
				fs = s.db.FS.(*memdisk.FS)
				m.crashed(s)
				m.holds(t, s, rng)
			default:
				m.unsettled(t, s, rng)
			}
		}
		m.holds(t, s, rng)
	}
}

// fill sends rows of a backfill: of operations delivered elsewhere, committed or in flight.
func (m *holderModel) fill(t *testing.T, s *Store, l recovery.Layout, rng *rand.Rand) {
	var rows []FillRow
	for range 1 + rng.IntN(8) {
		o := m.operation(rng)
		from := Origin{}
		if rng.IntN(2) == 0 {
			from = Origin{trie.MachineID(1 + rng.IntN(3)), 1 + rng.Uint64N(2), 1 + rng.Uint64N(30)}
		}
		for _, key := range slotKeys(t, l, s.MachineID(), o.Key) {
			row := fillRow(key[0], o)
			row.Key = []byte(key[1:])
			if o.Annotation != nil {
				row.Key = triple.AppendAnnotationKey(nil, row.Key, o.Annotation.ApplicationID)
			}
			if from != (Origin{}) {
				row.InFlight, row.Operation = from, &o
				m.enter(from, o)
			}
			m.put(key, o)
			rows = append(rows, row)
		}
	}
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	fill(t, s, rows...)
}
