// Tests of the choice of a codec.

package lists

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// menus returns the lists of a site. Its pages share a menu of that many targets, and have other
// ones of their own.
func menus(rng *rand.Rand, pages uint32, menu, own int) []links {
	shared, ghosts := ascending(rng, menu, pages), ascending(rng, 5, 1000)
	graph := make([]links, pages)
	for key := range graph {
		l := slices.Concat(shared, ascending(rng, own, pages))
		slices.Sort(l)
		graph[key] = links{locals: slices.Compact(l), ghosts: ghosts}
	}
	return graph
}

// unlike returns lists without common targets.
func unlike(rng *rand.Rand, pages uint32, degree int) []links {
	graph := make([]links, pages)
	for key := range graph {
		graph[key].locals = ascending(rng, degree, pages)
	}
	return graph
}

// A table must have the smaller codec, and the same lists with either.
func TestChoose(t *testing.T) {
	rng := random(t)
	for _, test := range []struct {
		name  string
		graph []links
		o     Options
		want  Codec
	}{
		{"menus", menus(rng, 3000, 30, 5), Options{Codec: Auto}, Reference},
		{"menus, local only", func() []links {
			graph := menus(rng, 3000, 30, 5)
			for i := range graph {
				graph[i].ghosts = nil
			}
			return graph
		}(), Options{Codec: Auto}, Reference},
		{"little in common", menus(rng, 3000, 3, 30), Options{Codec: Auto}, StreamVByte},
		{"nothing in common", unlike(rng, 3000, 30), Options{Codec: Auto}, StreamVByte},
		{"few", func() []links {
			graph := make([]links, 200)
			shared := ascending(rng, 30, 1<<20)
			for i := range graph {
				graph[i].ghosts = shared
			}
			return graph
		}(), Options{Codec: Auto}, StreamVByte},
		{"none", nil, Options{Codec: Auto}, StreamVByte},
		{"menus behind what is unlike", slices.Concat(unlike(rng, 1000, 30), menus(rng, 4000, 40, 3)), Options{Codec: Auto}, Reference},
		{"menus before what is unlike", slices.Concat(menus(rng, 1000, 30, 5), unlike(rng, 4000, 30)), Options{Codec: Auto}, StreamVByte},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := open(t, build(t, test.o, test.graph))
			if table.Codec() != test.want {
				t.Errorf("%v, want %v", table.Codec(), test.want)
			}
			compare(t, table, test.graph)
		})
	}
}

// The choice must be made once: later lists have the same codec. Errors in a list must be
// reported before and after it.
func TestChooseEarly(t *testing.T) {
	rng := random(t)
	graph := menus(rng, 3000, 30, 5)
	more := unlike(rng, 3000, 30)
	b, err := NewBuilder(Options{Codec: Auto})
	require.NoError(t, err)
	for _, l := range graph {
		require.NoError(t, b.Append(l.locals, l.ghosts))
	}
	for range 2 {
		if c, err := b.Choose(); c != Reference || err != nil {
			t.Fatal(c, err)
		}
	}
	for _, l := range more {
		require.NoError(t, b.Append(l.locals, l.ghosts))
	}
	data, err := b.AppendTo(nil)
	require.NoError(t, err)
	compare(t, open(t, data), slices.Concat(graph, more))
	if err := b.Append([]uint32{2, 1}, nil); !errors.Is(err, ErrOrder) {
		t.Error(err)
	}
	if _, err := b.Choose(); !errors.Is(err, ErrOrder) {
		t.Error(err)
	}

	// A missing target must be found whether or not the lists are encoded again.
	for _, graph := range [][]links{graph, more} {
		b, err := NewBuilder(Options{Codec: Auto})
		require.NoError(t, err)
		for _, l := range append(slices.Clone(graph), links{locals: []uint32{1 << 20}}) {
			require.NoError(t, b.Append(l.locals, l.ghosts))
		}
		if _, err := b.AppendTo(nil); !errors.Is(err, ErrOrder) {
			t.Error(err)
		}
	}
}

// The trial must predict the size. If a table copies, it must be smaller by nearly three tenths.
// Otherwise it would not be, or it is small already.
func TestChooseRight(t *testing.T) {
	if testing.Short() {
		t.Skip("builds many tables")
	}
	race.Skip(t)
	rng := random(t)
	seen := map[Codec]bool{}
	for menu := 2; menu < 40; menu += 6 {
		graph := menus(rng, 2000, menu, 18)
		plain := len(build(t, Options{}, graph))
		b, err := NewBuilder(Options{Codec: Auto})
		require.NoError(t, err)
		for _, l := range graph {
			require.NoError(t, b.Append(l.locals, l.ghosts))
		}
		c, err := b.Choose()
		require.NoError(t, err)
		if c != Reference {
			b.trial = nil
			require.NoError(t, b.copyLists())
		}
		data, err := b.AppendTo(nil)
		require.NoError(t, err)
		share := float64(len(data)) / float64(plain)
		t.Logf("menu of %d: %d and %d bytes, %.2f: %v", menu, plain, len(data), share, c)
		if c == Reference && share > 0.75 || c != Reference && share < 0.65 {
			t.Errorf("menu of %d: %v, and lists that copy take %.2f", menu, c, share)
		}
		seen[c] = true
	}
	if len(seen) != 2 {
		t.Errorf("always the same: %v", seen)
	}
}

// If lists are small already, they must not copy, however similar they are.
func TestChooseSmall(t *testing.T) {
	run := make([]uint32, 200)
	for i := range run {
		run[i] = uint32(i)
	}
	graph := make([]links, 3000)
	for key := range graph {
		graph[key].locals = run
	}
	table := open(t, build(t, Options{Codec: Auto}, graph))
	if whole, _ := table.Size(); table.Codec() != StreamVByte || whole > 3000*200/2 {
		t.Errorf("%v, %d bytes", table.Codec(), whole)
	}
}

// If a table was chosen to copy, a read must need at most one other list.
func TestChosenChains(t *testing.T) {
	table := open(t, build(t, Options{Codec: Auto}, menus(random(t), 3000, 30, 5)))
	copying := 0
	for key := range table.Len() {
		var l, source refList
		pos, _ := table.position(key)
		if !l.parse(table, pos) {
			t.Fatalf("list %d is damaged", key)
		}
		back := l.mode % refWide
		if back == 0 {
			continue
		}
		copying++
		pos, _ = table.position(key - back)
		if !source.parse(table, pos) || source.mode%refWide > 0 {
			t.Fatalf("list %d copies from list %d, which copies", key, key-back)
		}
	}
	if copying < 2000 {
		t.Errorf("%d lists copy", copying)
	}
}
