// Tests of how rows are routed to owners, and of their messages.

package loads

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// spaceOf returns a view of so many machines, with segments split at keys of
// random triples, and triples.
func spaceOf(t *testing.T, random *rand.Rand, machines int) (*view.View, [][]byte) {
	t.Helper()
	var keys [][]byte
	for range 2000 {
		tr := triple.Triple{
			Subject:   triple.NewIRI(fmt.Sprintf("http://e.x/s%d", random.IntN(300))),
			Predicate: triple.NewIRI(fmt.Sprintf("http://e.x/p%d", random.IntN(5))),
			Object:    triple.NewString(fmt.Sprint(random.IntN(1000))),
		}
		if random.IntN(4) == 0 {
			tr.Graph = triple.NewIRI("http://e.x/g")
		}
		key, _ := triple.AppendKey(nil, triple.SPO, tr)
		keys = append(keys, key)
	}
	slices.SortFunc(keys, slices.Compare)
	p, err := trie.NewPlacement([]trie.MachineID{11}, trie.PlacementOptions{})
	require.NoError(t, err)
	m := view.Member{ID: 11, Incarnation: 1, Address: "a:1"}
	v := view.First("c", "1", m, recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, p.Partitions())), Placement: p}, 1)
	must := func(next *view.View, err error) {
		t.Helper()
		require.NoError(t, err)
		v = next
	}
	bounds := map[string]bool{}
	for range 40 {
		key, ok, err := recovery.AppendVersion(nil, triple.Orders[random.IntN(4)], keys[random.IntN(len(keys))])
		require.NoError(t, err)
		if ok {
			bounds[string(key)] = true
		}
	}
	for bound := range maps.Keys(bounds) {
		must(v.Split([]view.SplitAt{{Segment: v.Base.Trie.Lookup([]byte(bound)).ID, At: []byte(bound)}}))
	}
	for i := 2; i <= machines; i++ {
		must(v.Join(view.Member{ID: trie.MachineID(i * 1000), Incarnation: 1, Address: "a:1"}))
		must(v.ToServe(nil))
		must(v.ToIdle())
	}
	if v.Misplaced() > 0 {
		must(v.Rebalance())
		must(v.ToServe(nil))
		must(v.ToIdle())
	}
	return v, keys
}

// A router sends every row to the places of the layout.
func TestRouter(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for machines := 1; machines <= 6; machines++ {
		v, keys := spaceOf(t, random, machines)
		r := newRouter(v)
		for _, o := range triple.Orders {
			var rows [][]byte
			for _, key := range keys {
				if k, ok, _ := recovery.AppendVersion(nil, o, key); ok {
					rows = append(rows, k)
				}
			}
			slices.SortFunc(rows, slices.Compare)
			c := r.cursor()
			for _, key := range rows {
				slots, err := v.Base.Places(key)
				require.NoError(t, err)
				got := []recovery.Place{{Machine: r.ring[c.owner(key)], Order: o}}
				if o == triple.SPO {
					extras, err := c.replicas(key, c.owner(key))
					require.NoError(t, err)
					for _, at := range extras {
						got = append(got, recovery.Place{Machine: r.ring[at], Order: o, Extra: true})
					}
				}
				want := slices.DeleteFunc(slots, func(s recovery.Place) bool { return s.Order != o })
				if !slices.Equal(got, want) {
					t.Fatalf("%d machines: %v, want %v", machines, got, want)
				}
			}
		}
	}
}

// Rows come out of a message as they went in, and nothing else does.
func TestRows(t *testing.T) {
	common := []byte("common")
	p := packer{common: common}
	want := [][2]string{{"a", "common"}, {"abcdefghijklm", ""}, {"abcdefghijkln", "common"}, {"abd", "other"}, {"b", "common"}}
	for _, row := range want {
		p.add([]byte(row[0]), []byte(row[1]))
	}
	var got [][2]string
	each := func(key, value []byte) error {
		got = append(got, [2]string{string(key), string(value)})
		return nil
	}
	if err := unpack(p.rows, common, each); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for n := range p.rows {
		got = nil
		if err := unpack(p.rows[:n], common, each); err == nil && len(got) == len(want) {
			t.Errorf("all rows of %d bytes of %d", n, len(p.rows))
		}
	}
	if err := unpack([]byte{200, 1, 1, 'x'}, common, each); err == nil {
		t.Error("a row that shares more than there is")
	}
}

// The bytes of messages must not change, because members of two versions run side by side during
// an upgrade.
func TestMessageBytes(t *testing.T) {
	m := rowsMessage{load: "l", place: "p", name: "n", prefix: 1, stream: 2, number: 300, last: true, hash: 3}
	file := replica.StagedFile{Bytes: 300, Rows: 2, New: 1, Annotated: true, NewAnnotations: 4, Name: "f"}
	for want, fields := range map[string]func(*peer.Coder){
		"016c0170016e" + "01" + "0000000000000002" + "ac02" + "01" + "0000000000000003": m.fields,
		"00" + "ac02" + "020101" + "04" + "0166":                                        codeFile(&file),
	} {
		if got := hex.EncodeToString(peer.Encode(0, fields)); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func FuzzRows(f *testing.F) {
	p := packer{}
	p.add([]byte("key"), []byte("value"))
	p.add([]byte("keys"), nil)
	f.Add(p.rows)
	f.Fuzz(func(t *testing.T, rows []byte) {
		_ = unpack(rows, nil, func(key, value []byte) error { return nil })
		_, _, _ = parseRows(rows)
	})
}

// The space is cut into parts of about the same size, no smaller than segments may
// be.
func TestCuts(t *testing.T) {
	sample := rdfload.Sample{Bytes: 480 << 20}
	for i := range 480 {
		sample.Keys = append(sample.Keys, fmt.Appendf([]byte{1}, "%04d", i))
	}
	for _, c := range []struct {
		machines int
		options  Options
		want     int
	}{
		{3, Options{MinSegmentBytes: 1 << 20, MaxSegmentBytes: 64 << 20}, 47},
		{3, Options{MinSegmentBytes: 48 << 20, MaxSegmentBytes: 64 << 20}, 9},
		{1, Options{MinSegmentBytes: 1 << 20, MaxSegmentBytes: 12 << 20}, 39},
		{100, Options{MinSegmentBytes: 1, MaxSegmentBytes: 1}, 479},
	} {
		bounds := cuts(sample, c.machines, c.options)
		if len(bounds) != c.want || !slices.IsSortedFunc(bounds, slices.Compare[[]byte]) {
			t.Errorf("%d machines: %d bounds, want %d", c.machines, len(bounds), c.want)
		}
	}
	if bounds := cuts(rdfload.Sample{}, 3, Options{MinSegmentBytes: 1, MaxSegmentBytes: 1}); len(bounds) != 0 {
		t.Error(bounds)
	}
}
