// Tests of tables: read by key, in order and in pieces.

package lists

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestTableAgainstPlainLists(t *testing.T) {
	rng := random(t)
	for _, codec := range codecs {
		for round := range 30 {
			n := 1 + rng.Uint32N(300)
			ghosts := rng.Uint32N(400) * uint32(round%3)
			graph := randomGraph(rng, n, ghosts)
			t.Run(fmt.Sprintf("%v/%d", codec, round), func(t *testing.T) {
				table := open(t, build(t, Options{Codec: codec}, graph))
				compare(t, table, graph)
				first := rng.IntN(int(n))
				compareScan(t, table.Scan(uint32(first), math.MaxUint32), first, graph)
				checkTotals(t, table, graph)
			})
		}
	}
}

func checkTotals(t *testing.T, table *Table, graph []links) {
	t.Helper()
	var locals, ghosts, degree, end int
	for _, l := range graph {
		locals += len(l.locals)
		ghosts += len(l.ghosts)
		degree = max(degree, l.degree())
		if len(l.ghosts) > 0 {
			end = max(end, int(l.ghosts[len(l.ghosts)-1])+1)
		}
	}
	if int(table.NumLocals()) != locals || int(table.NumGhosts()) != ghosts || int(table.MaxDegree()) != degree || int(table.GhostEnd()) != end {
		t.Fatalf("totals %d, %d, %d, %d; want %d, %d, %d, %d", table.NumLocals(), table.NumGhosts(), table.MaxDegree(), table.GhostEnd(), locals, ghosts, degree, end)
	}
}

func TestEmptyTables(t *testing.T) {
	for _, codec := range codecs {
		for _, graph := range [][]links{nil, make([]links, 1), make([]links, 1000)} {
			table := open(t, build(t, Options{Codec: codec}, graph))
			compare(t, table, graph)
			if l, g, err := table.Decode(table.Len(), nil, nil); l != nil || g != nil || err != nil {
				t.Fatalf("key behind the last: %v, %v, %v", l, g, err)
			}
			if table.Degree(math.MaxUint32) != 0 || table.Scan(5000, 6000).Next() {
				t.Fatal("a key that is not there has targets")
			}
		}
	}
}

// TestExtremes reads the greatest numbers that a list may hold.
func TestExtremes(t *testing.T) {
	graph := make([]links, 70000)
	graph[0] = links{locals: []uint32{0, 1, 2, 3, 69999}, ghosts: []uint32{0}}
	graph[1] = links{locals: []uint32{69998, 69999}, ghosts: []uint32{math.MaxUint32 - 1}}
	graph[2] = links{ghosts: []uint32{0, math.MaxUint32 - 1}}
	graph[3] = links{ghosts: []uint32{math.MaxUint32 - 3, math.MaxUint32 - 2, math.MaxUint32 - 1}}
	graph[69999] = links{locals: []uint32{0, 255, 256, 257, 513, 66049, 69999}}
	graph[69998] = links{locals: []uint32{69998}}
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) { compare(t, open(t, build(t, Options{Codec: codec}, graph)), graph) })
	}
}

// TestLengths reads lists of all short lengths, and of lengths near the limits of formats.
func TestLengths(t *testing.T) {
	var lengths []int
	for i := range 70 {
		lengths = append(lengths, i)
	}
	for _, limit := range []int{254, 1 << 12, 2 << 12} {
		lengths = append(lengths, limit-2, limit-1, limit, limit+1, limit+2, limit+3)
	}
	rng := random(t)
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			graph := make([]links, 20000)
			for i, n := range lengths {
				graph[3*i].locals = ascending(rng, n, 20000)
				graph[3*i+1].ghosts = ascending(rng, n, 30000)
				ghosts := lengths[rng.IntN(len(lengths))]
				graph[3*i+2] = links{ascending(rng, n, 20000), ascending(rng, ghosts, 30000)}
			}
			compare(t, open(t, build(t, Options{Codec: codec}, graph)), graph)
		})
	}
}

func TestBuilderRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		locals, ghosts []uint32
		want           error
	}{
		"descending locals": {locals: []uint32{2, 1}, want: ErrOrder},
		"equal locals":      {locals: []uint32{1, 1}, want: ErrOrder},
		"descending ghosts": {ghosts: []uint32{9, 8}, want: ErrOrder},
		"local beyond keys": {locals: []uint32{1}, want: ErrOrder},
		"greatest local":    {locals: []uint32{math.MaxUint32}, want: ErrOrder},
		"greatest ghost":    {ghosts: []uint32{math.MaxUint32}, want: ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := NewBuilder(Options{})
			require.NoError(t, err)
			err = b.Append(test.locals, test.ghosts)
			out, err2 := b.AppendTo([]byte("x"))
			if err == nil {
				err = err2
			}
			if !errors.Is(err, test.want) || err2 == nil || string(out) != "x" {
				t.Fatalf("%v, %v, %q", err, err2, out)
			}
		})
	}
	if _, err := NewBuilder(Options{Codec: 77}); err == nil {
		t.Error("an unknown codec is taken")
	}
}

// TestBuilderGoesOn checks that AppendTo may be called while the table grows.
func TestBuilderGoesOn(t *testing.T) {
	rng := random(t)
	for _, codec := range codecs {
		graph := randomGraph(rng, 100, 50)
		for i := range graph { // a first half that is a graph by itself
			if i < 50 {
				graph[i].locals = slices.DeleteFunc(graph[i].locals, func(v uint32) bool { return v >= 50 })
			}
		}
		b, _ := NewBuilder(Options{Codec: codec})
		for i, l := range graph {
			if i == 50 {
				half, err := b.AppendTo([]byte("before"))
				require.NoError(t, err)
				compare(t, open(t, half[6:]), graph[:50])
			}
			require.NoError(t, b.Append(l.locals, l.ghosts))
		}
		whole, err := b.AppendTo(nil)
		require.NoError(t, err)
		compare(t, open(t, whole), graph)
		if size, _ := open(t, whole).Size(); size != uint64(len(whole)) || b.Size() > size {
			t.Fatalf("size %d, builder's %d, is %d", size, b.Size(), len(whole))
		}
	}
}

// TestLongLists reads a list of up to ten million ghosts, and one of a thousand locals and half as
// many ghosts, whole and in pieces.
func TestLongLists(t *testing.T) {
	for _, codec := range codecs {
		n := uint32(300_000)
		if race.Enabled {
			n = 30_000
		}
		if codec == StreamVByte && !testing.Short() && !race.Enabled {
			n = 10_000_000
		}
		t.Run(codec.String(), func(t *testing.T) { testLongLists(t, codec, n) })
	}
}

func testLongLists(t *testing.T, codec Codec, n uint32) {
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	odd := make([]uint32, 0, n/2)
	for i := uint32(1); i < n; i += 2 {
		odd = append(odd, i*100)
	}
	b, _ := NewBuilder(Options{Codec: codec})
	for key := range uint32(1000) {
		var err error
		switch key {
		case 3:
			err = b.Append(all[:1000:1000], odd)
		case 5:
			err = b.Append(nil, all)
		default:
			err = b.Append([]uint32{3}, nil)
		}
		require.NoError(t, err)
	}
	data, err := b.AppendTo(nil)
	require.NoError(t, err)
	table := open(t, data)
	for key, want := range map[uint32]links{3: {all[:1000], odd}, 5: {nil, all}, 7: {locals: []uint32{3}}} {
		l, g, err := table.Decode(key, nil, nil)
		if err != nil || !slices.Equal(l, want.locals) || !slices.Equal(g, want.ghosts) {
			t.Fatalf("key %d: %d, %d, %v", key, len(l), len(g), err)
		}
		s := table.Scan(key, key+1)
		for s.Next() {
			if l, g := s.Locals(), s.Ghosts(); s.Key() != key || !slices.Equal(l, want.locals[:len(l)]) || !slices.Equal(g, want.ghosts[:len(g)]) {
				t.Fatalf("key %d: piece of %d, %d", key, len(l), len(g))
			}
			want = links{want.locals[len(s.Locals()):], want.ghosts[len(s.Ghosts()):]}
		}
		if want.degree() > 0 || s.Err() != nil {
			t.Fatalf("key %d: %d are left, %v", key, want.degree(), s.Err())
		}
	}
}

// TestManyBytes builds a table in several chunks.
func TestManyBytes(t *testing.T) {
	race.Skip(t)
	rng := random(t)
	graph := make([]links, 700)
	for i := range graph {
		at := uint32(0)
		for range 2000 {
			at += 1 + rng.Uint32N(1<<20)
			graph[i].ghosts = append(graph[i].ghosts, at)
		}
	}
	for _, codec := range codecs {
		data := build(t, Options{Codec: codec}, graph)
		compare(t, open(t, data), graph)
		if len(data) < 2*chunkBytes {
			t.Errorf("%v: %d bytes are too few for this test", codec, len(data))
		}
	}
}

// TestNoAllocation checks that a read allocates nothing if the list has room.
func TestNoAllocation(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector empties pools")
	}
	rng := random(t)
	graph := randomGraph(rng, 200, 50)
	for _, codec := range codecs {
		table := open(t, build(t, Options{Codec: codec}, graph))
		l, g := make([]uint32, 0, 1000), make([]uint32, 0, 1000)
		s := table.Scan(0, 0)
		if allocs := testing.AllocsPerRun(10, func() {
			for key := range table.Len() {
				if _, _, err := table.Decode(key, l, g); err != nil {
					t.Fatal(err)
				}
			}
			s.Reset(table, 0, table.Len())
			for s.Next() {
			}
		}); allocs > 0 {
			t.Errorf("%v: %g allocations", codec, allocs)
		}
	}
}

// TestReferencePays checks that copying makes lists smaller if there are common targets.
func TestReferencePays(t *testing.T) {
	rng := random(t)
	graph := make([]links, 2000)
	menu := ascending(rng, 30, 2000)
	for i := range graph {
		if i%50 == 0 {
			menu = ascending(rng, 30, 2000)
		}
		graph[i].locals = some(rng, menu)
	}
	plain, copies := build(t, Options{}, graph), build(t, Options{Codec: Reference}, graph)
	compare(t, open(t, copies), graph)
	if 2*len(copies) > len(plain) {
		t.Errorf("%d bytes, %d with copies", len(plain), len(copies))
	}
}
