// Tests of backfills after an earlier epoch's backfill stopped.

package backfill

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// fills is a cluster in which writes take no time and backfills stop anywhere. It has the rows of
// each place and the memory of each process.
type fills struct {
	t         *testing.T
	random    *rand.Rand
	view      *view.View
	triples   [][]byte // keys in SPO
	newest    []int
	has       map[trie.MachineID]map[stored]int
	synced    map[trie.MachineID]map[stored]int // what survives a crash
	histories map[trie.MachineID]history
	next      trie.MachineID
	sent      int
	resumed   int
}

// stored names a place of a triple.
type stored struct {
	triple int
	slot   recovery.Place
}

func up(id trie.MachineID) view.Member {
	return view.Member{ID: id, Incarnation: 1, Address: fmt.Sprintf("h:%d", id), State: view.Up}
}

func newFills(t *testing.T, random *rand.Rand, machines int) *fills {
	f := &fills{t: t, random: random, has: map[trie.MachineID]map[stored]int{}, synced: map[trie.MachineID]map[stored]int{}, histories: map[trie.MachineID]history{}, next: 1}
	p, err := trie.NewPlacement([]trie.MachineID{1}, trie.PlacementOptions{Partitions: 60})
	require.NoError(t, err)
	f.view = view.First("test", "id", up(f.id()), recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, 60)), Placement: p, Copies: recovery.DefaultCopies}, 1)
	var splits []view.SplitAt
	for _, o := range triple.Orders {
		for i := range 12 {
			splits = append(splits, view.SplitAt{Segment: 1, At: []byte{byte(o), 0x20, byte('b' + 2*i)}})
		}
	}
	f.take(f.view.Split(f.view.Splittable(splits)))
	for i := range 40 {
		term := func(n int) triple.Term { return triple.NewIRI(string(rune('a'+(i*n)%26)) + fmt.Sprint(":", i)) }
		key, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{Subject: term(1), Predicate: term(7), Object: term(11)})
		f.triples = append(f.triples, key)
	}
	f.newest = make([]int, len(f.triples))
	var ms []view.Member
	for range machines - 1 {
		ms = append(ms, up(f.id()))
	}
	f.take(f.view.Join(ms...))
	f.take(f.view.ToServe(nil))
	f.take(f.view.ToIdle())
	for i := range f.triples {
		f.write(i)
	}
	return f
}

func (f *fills) id() trie.MachineID {
	f.next++
	return f.next - 1
}

// take adopts a view on all members.
func (f *fills) take(v *view.View, err error) {
	f.t.Helper()
	require.NoError(f.t, err)
	f.view = v
	for _, m := range v.Members {
		f.histories[m.ID] = f.histories[m.ID].begin(v)
		if f.has[m.ID] == nil {
			f.has[m.ID], f.synced[m.ID] = map[stored]int{}, map[stored]int{}
		}
	}
}

func (f *fills) resolve(i int) *recovery.Resolver {
	r := f.view.Joint().Resolver()
	require.NoError(f.t, r.Resolve(f.triples[i]))
	return r
}

// write settles a new version of a triple.
func (f *fills) write(i int) {
	f.newest[i]++
	for _, s := range f.resolve(i).Writes() {
		f.has[s.Machine][stored{i, s}], f.synced[s.Machine][stored{i, s}] = f.newest[i], f.newest[i]
	}
}

// walk is the backfill of a machine; it stops somewhere if it is not whole.
func (f *fills) walk(self trie.MachineID, whole bool) {
	type row struct {
		at     position
		triple int
		slot   recovery.Place
	}
	var rows []row
	for i := range f.triples {
		r := f.resolve(i)
		for _, s := range r.Base() {
			if s.Machine != self {
				continue
			}
			table := store.TableStorage
			if s.Extra {
				table = store.TableReplica
			}
			rows = append(rows, row{positionOf(table, slices.Clone(r.Key(s.Order))), i, s})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return compare(a.at, b.at) })
	done := passProgress{view: f.view, until: map[trie.MachineID]position{}, rest: position{table: 2}}
	if !whole && len(rows) > 0 {
		done.rest = rows[f.random.IntN(len(rows))].at
		for _, m := range f.view.Members { // messages that had not arrived
			if late := rows[f.random.IntN(len(rows))].at; f.random.IntN(3) == 0 && compare(late, done.rest) < 0 {
				done.until[m.ID] = late
			}
		}
	}
	e := newEarlierPasses(self, f.view, f.histories[self])
	for _, row := range rows {
		e.reset()
		r := f.resolve(row.triple)
		for _, s := range slices.Clone(r.Fills(row.slot)) {
			if compare(row.at, done.positionOf(s.Machine)) >= 0 {
				continue
			}
			if e.arrived(row.at, r, row.slot, s) {
				f.resumed++
				continue
			}
			f.sent++
			at := stored{row.triple, s}
			f.has[s.Machine][at] = max(f.has[s.Machine][at], f.has[self][stored{row.triple, row.slot}])
		}
	}
	f.histories[self] = f.histories[self].record(done)
}

// change makes another view of phase fill.
func (f *fills) change() {
	v := f.view
	m := v.Members[f.random.IntN(len(v.Members))]
	switch f.random.IntN(5) {
	case 0:
		f.take(v.Join(up(f.id())))
	case 1: // it restarts, and what was not synced is gone
		f.has[m.ID] = map[stored]int{}
		maps.Copy(f.has[m.ID], f.synced[m.ID])
		f.histories[m.ID] = nil
		f.take(v.Readmit(view.Member{ID: m.ID, Incarnation: m.Incarnation + 1, Address: m.Address}))
		f.take(f.view.Unwait(m.ID))
	case 2: // it is excluded, if no data is lost by that
		if next, err := v.Exclude(m.ID); err == nil && len(next.Lost) == 0 && len(next.Members) > 2 {
			f.take(next, nil)
		}
	case 3:
		var few []trie.MachineID
		for _, id := range v.Target.Placement.Machines() {
			if len(few) < 2 || f.random.IntN(2) == 0 {
				few = append(few, id)
			}
		}
		p, err := v.Target.Placement.Adapt(few, trie.PlacementOptions{})
		require.NoError(f.t, err)
		f.take(v.MoveTo(p))
	case 4:
		f.take(v.Rebalance())
	}
}

// Whatever views follow each other, and wherever their backfills stop: when all of the last
// one are done, each place of target has the newest version, durably.
func TestBackfillsResume(t *testing.T) {
	seed.Slow(t)
	seed := rand.Uint64N(1 << 32)
	if s, err := strconv.ParseUint(os.Getenv("TREFOIL_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("TREFOIL_SEED=%d repeats this", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	sent, resumed := 0, 0
	for range 150 {
		f := newFills(t, random, 3+random.IntN(4))
		f.take(f.view.Join(up(f.id())))
		for range 1 + random.IntN(8) {
			for _, m := range f.view.Members {
				for range random.IntN(3) {
					f.walk(m.ID, random.IntN(3) == 0)
					f.write(random.IntN(len(f.triples)))
				}
			}
			f.change()
		}
		if f.view.Phase != recovery.Fill {
			t.Fatal(f.view.Phase)
		}
		for _, m := range f.view.Members {
			f.walk(m.ID, true)
		}
		for i := range f.triples {
			for _, s := range f.resolve(i).Target() {
				if got := f.has[s.Machine][stored{i, s}]; got != f.newest[i] {
					t.Fatalf("triple %d at %v: version %d, not %d", i, s, got, f.newest[i])
				}
			}
		}
		sent, resumed = sent+f.sent, resumed+f.resumed
	}
	t.Logf("%d rows sent, %d not again", sent, resumed)
	if resumed < sent/20 {
		t.Errorf("%d rows were sent and only %d not again", sent, resumed)
	}
}

// The history is dropped if an epoch is missing, or if one is not of phase fill.
func TestHistoryIsConsecutive(t *testing.T) {
	f := newFills(t, rand.New(rand.NewPCG(1, 1)), 3)
	f.take(f.view.Join(up(f.id())))
	first := f.view
	h := history{}.begin(first).record(passProgress{view: first, rest: position{table: 2}})
	f.take(f.view.Join(up(f.id())))
	second := f.view
	f.take(f.view.Join(up(f.id())))
	third := f.view
	serve, err := second.ToServe(nil)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		got  history
		want int
	}{
		"the next epoch":      {h.begin(second), 2},
		"the one after":       {h.begin(second).begin(third), 3},
		"an epoch is missing": {h.begin(third), 1},
		"another phase":       {h.begin(second).begin(serve), 0},
	} {
		if len(c.got) != c.want {
			t.Errorf("%s: %d epochs, not %d", name, len(c.got), c.want)
		}
	}
}
