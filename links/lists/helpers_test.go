// Helpers of the tests: seeds, graphs, and the plain oracle.

package lists

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/ef"
)

// codecs lists all codecs.
var codecs = []Codec{StreamVByte, Reference}

var random = seed.Rand

// links is one list of a plain graph.
type links struct{ locals, ghosts []uint32 }

func (l links) degree() int { return len(l.locals) + len(l.ghosts) }

// ascending returns n different numbers below end, sorted. n must be at most end.
func ascending(rng *rand.Rand, n int, end uint32) []uint32 {
	if uint64(n)*3 > uint64(end) { // dense: leave some out
		all := make([]uint32, end)
		for i := range all {
			all[i] = uint32(i)
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:n]
		slices.Sort(all)
		return all
	}
	seen := map[uint32]bool{}
	for len(seen) < n {
		seen[rng.Uint32N(end)] = true
	}
	out := make([]uint32, 0, n)
	for v := range seen {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// near returns targets close to a key, in runs.
func near(rng *rand.Rand, n int, key, end uint32) []uint32 {
	seen := map[uint32]bool{}
	at := int64(key)
	for range n {
		switch rng.IntN(4) {
		case 0:
			at = int64(key) + rng.Int64N(401) - 200
		default:
			at += 1 + rng.Int64N(2)*rng.Int64N(40)
		}
		if at >= 0 && at < int64(end) {
			seen[uint32(at)] = true
		}
	}
	var out []uint32
	for v := range seen {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// randomGraph returns lists of all kinds: empty, of near and of far targets, with and without
// ghosts, and copies of earlier ones.
func randomGraph(rng *rand.Rand, n, ghosts uint32) []links {
	graph := make([]links, n)
	for key := range graph {
		l := &graph[key]
		size := rng.IntN(1 << rng.IntN(8))
		switch rng.IntN(5) {
		case 0:
		case 1:
			l.locals = ascending(rng, min(size, int(n)), n)
		case 2:
			if key > 0 {
				from := graph[key-1-rng.IntN(min(key, 6))]
				l.locals, l.ghosts = some(rng, from.locals), some(rng, from.ghosts)
				break
			}
			fallthrough
		default:
			l.locals = near(rng, size, uint32(key), n)
		}
		if ghosts > 0 && len(l.ghosts) == 0 && rng.IntN(2) == 0 {
			l.ghosts = ascending(rng, min(rng.IntN(1<<rng.IntN(6)), int(ghosts)), ghosts)
		}
	}
	return graph
}

// some returns most of a list.
func some(rng *rand.Rand, list []uint32) []uint32 {
	var out []uint32
	drop := rng.IntN(4)
	for _, v := range list {
		if rng.IntN(8) >= drop {
			out = append(out, v)
		}
	}
	return out
}

// build returns the table of a graph.
func build(t testing.TB, o Options, graph []links) []byte {
	t.Helper()
	b, err := NewBuilder(o)
	require.NoError(t, err)
	for _, l := range graph {
		require.NoError(t, b.Append(l.locals, l.ghosts))
	}
	data, err := b.AppendTo(nil)
	require.NoError(t, err)
	return data
}

// open opens the table that build returned.
func open(t testing.TB, data []byte) *Table {
	t.Helper()
	table, err := Open(data)
	require.NoError(t, err)
	return table
}

// compare compares every result of a table with the graph.
func compare(t *testing.T, table *Table, graph []links) {
	t.Helper()
	if int(table.Len()) != len(graph) {
		t.Fatalf("%d keys, want %d", table.Len(), len(graph))
	}
	prefix := []uint32{7, 7}
	for key, want := range graph {
		l, g, err := table.Decode(uint32(key), prefix[:1], prefix[:2])
		if err != nil || len(l) < 1 || len(g) < 2 || !slices.Equal(l[1:], want.locals) || !slices.Equal(g[2:], want.ghosts) {
			t.Fatalf("key %d: %v, %v, %v; want %v, %v", key, l, g, err, want.locals, want.ghosts)
		}
		compareTogether(t, table, uint32(key), want)
		locals, ghosts := table.Degrees(uint32(key))
		if int(locals) != len(want.locals) || int(ghosts) != len(want.ghosts) || table.Degree(uint32(key)) != uint64(want.degree()) {
			t.Fatalf("key %d: degrees %d, %d; want %d, %d", key, locals, ghosts, len(want.locals), len(want.ghosts))
		}
	}
	compareScan(t, table.Scan(0, table.Len()), 0, graph)
	compareBatch(t, table, graph)
}

// compareBatch reads all lists in batches of all lengths, with missing keys between.
func compareBatch(t *testing.T, table *Table, graph []links) {
	t.Helper()
	b := new(Batch)
	for key, n := 0, 1; key < len(graph); n = n%BatchLen + 1 {
		tables, keys := make([]*Table, n), make([]uint32, n)
		for i := range n {
			tables[i], keys[i] = table, uint32(key+i)
		}
		if n > 2 {
			tables[0], keys[1] = nil, math.MaxUint32
		}
		b.Decode(tables, keys)
		for i := range n {
			locals, ghosts, ok := b.List(i)
			var want links
			known := tables[i] != nil && int(keys[i]) < len(graph)
			if known {
				want = graph[keys[i]]
			}
			if ok != (known && want.degree() <= ShortList) {
				t.Fatalf("key %d of %v: in a batch %t", keys[i], table.Codec(), ok)
			}
			if ok && (!slices.Equal(locals, want.locals) || !slices.Equal(ghosts, want.ghosts)) {
				t.Fatalf("key %d: in a batch %v, %v; want %v", keys[i], locals, ghosts, want)
			}
		}
		if key += n; n > 2 {
			key -= 2 // the left-out ones come again
		}
	}
}

// compareTogether decodes a list into a slice of exactly its length, and into one that is too
// short.
func compareTogether(t *testing.T, table *Table, key uint32, want links) {
	t.Helper()
	n := want.degree()
	buf := make([]uint32, (n+3)&^3+1)
	locals, ghosts, ok := table.DecodeTogether(buf[:len(buf)-1], key)
	if ok != (table.Codec() == StreamVByte) {
		t.Fatalf("key %d of %v: together %t", key, table.Codec(), ok)
	}
	if ok && (locals != len(want.locals) || ghosts != len(want.ghosts) ||
		!slices.Equal(buf[:locals], want.locals) || !slices.Equal(buf[locals:n], want.ghosts)) {
		t.Fatalf("key %d: together %v, %d and %d; want %v, %v", key, buf, locals, ghosts, want.locals, want.ghosts)
	}
	if n > 0 {
		if _, _, ok := table.DecodeTogether(buf[:(n+3)&^3-1], key); ok {
			t.Fatalf("key %d: %d targets together in too little room", key, n)
		}
	}
}

// compareScan checks the rest of a scan, from the list of key first on.
func compareScan(t *testing.T, s *Scanner, first int, graph []links) {
	t.Helper()
	more := s.Next()
	for key := first; key < len(graph); key++ {
		var got links
		for pieces := 0; more && int(s.Key()) == key; pieces++ {
			if n := len(s.Locals()) + len(s.Ghosts()); n > PieceLen || pieces > 0 && n == 0 || len(s.Locals()) > 0 && len(got.ghosts) > 0 {
				t.Fatalf("key %d: a piece of %d", key, n)
			}
			got.locals = append(got.locals, s.Locals()...)
			got.ghosts = append(got.ghosts, s.Ghosts()...)
			more = s.Next()
		}
		if !slices.Equal(got.locals, graph[key].locals) || !slices.Equal(got.ghosts, graph[key].ghosts) {
			t.Fatalf("key %d: scanned %d, %d; want %d, %d", key, len(got.locals), len(got.ghosts), len(graph[key].locals), len(graph[key].ghosts))
		}
	}
	if more || s.Err() != nil {
		t.Fatalf("scan goes on: %v, %v", s.Key(), s.Err())
	}
}

func sequence(t testing.TB, values []uint64) ef.Parts {
	t.Helper()
	s, _, err := ef.OpenParts(ef.AppendParts(nil, values))
	require.NoError(t, err)
	return s
}

// allocated returns the bytes that f allocates. If other goroutines run, theirs count, too.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
