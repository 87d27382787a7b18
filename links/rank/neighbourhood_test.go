// Tests of neighbourhood graphs, with a source in memory.

package rank_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/rank/ranktest"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// pairs are hosts of two extents each, and domains of three hosts each.
type pairs struct{}

func (pairs) Host(e uid.Extent) uint64   { return uint64(e) / 2 }
func (pairs) Domain(e uid.Extent) uint64 { return uint64(e) / 6 }

// memory is a source of lists in memory, by page, ascending.
type memory struct {
	list    func(rank.Direction, uid.UID) []uid.UID
	samples int // number of calls
	within  int
	mu      sync.Mutex
}

// newMemory returns a source of forward links.
func newMemory(links map[uid.UID][]uid.UID) *memory {
	backward := map[uid.UID][]uid.UID{}
	for _, from := range slices.Sorted(maps.Keys(links)) {
		for _, to := range links[from] {
			backward[to] = append(backward[to], from)
		}
	}
	return &memory{list: func(d rank.Direction, u uid.UID) []uid.UID {
		if d == rank.Forward {
			return links[u]
		}
		return backward[u]
	}}
}

func (m *memory) count(counter *int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*counter++
}

func (m *memory) SampleLinks(ctx context.Context, d rank.Direction, pages []uid.UID, s sample.Spec) (rank.Lists[uid.UID], error) {
	m.count(&m.samples)
	return rank.MakeLists(ctx, len(pages), nil, func(l *rank.Lists[uid.UID], spans iter.Seq2[int, int]) {
		for from, to := range spans {
			for _, page := range pages[from:to] {
				l.Items = sample.Sample(l.Items, m.list(d, page), page, s, pairs{})
				l.End()
			}
		}
	})
}

func (m *memory) LinksWithin(ctx context.Context, s *rank.Set, c sample.Class) (rank.Lists[uint32], error) {
	m.count(&m.within)
	return rank.MakeLists(ctx, s.Len(), nil, func(l *rank.Lists[uint32], spans iter.Seq2[int, int]) {
		for from, to := range spans {
			for _, page := range s.UIDs()[from:to] {
				l.Items = s.AppendWithin(l.Items, m.list(rank.Forward, page), c, sample.ClassesOf(pairs{}, page))
				l.End()
			}
		}
	})
}

// weightOf is the weight of a link in memory.
func weightOf(from, to uid.UID) float64 { return float64((3*from + to) % 7) }

func (m *memory) WeightsWithin(ctx context.Context, s *rank.Set, c sample.Class) (l rank.Lists[rank.WeightedLink], err error) {
	plain, err := m.LinksWithin(ctx, s, c)
	if err != nil {
		return l, err
	}
	for i, page := range s.UIDs() {
		for _, to := range plain.At(i) {
			l.Items = append(l.Items, rank.WeightedLink{To: to, Weight: weightOf(page, s.UIDs()[to])})
		}
		l.End()
	}
	return l, nil
}

// someLinks returns a graph of about n pages of the first extents.
func someLinks(r *rand.Rand, n int) map[uid.UID][]uid.UID {
	page := func() uid.UID { return uid.UID(1+r.IntN(20))<<uid.PageBits | uid.UID(r.IntN(1+n/10)) }
	links := map[uid.UID][]uid.UID{}
	for range n {
		from := page()
		for range r.IntN(12) {
			links[from] = append(links[from], page())
		}
		slices.Sort(links[from])
		links[from] = slices.Compact(links[from])
	}
	return links
}

// Numbers must agree with Find, for any number of links.
func TestNumbers(t *testing.T) {
	r := random(t)
	for _, pages := range []int{0, 1, 60, 5000} {
		var s rank.Set
		for range pages {
			s.Add(uid.UID(1 + r.IntN(8000)))
		}
		for _, n := range []int{0, 1, 127, 128, 129, 1000} {
			links, numbers := make([]uid.UID, n), make([]uint32, n)
			for i := range links {
				links[i] = uid.UID(r.IntN(8000))
			}
			s.Numbers(numbers, links)
			for i, u := range links {
				want, ok := s.Find(u)
				if !ok {
					want = rank.NotIn
				}
				if numbers[i] != want {
					t.Fatalf("page %d, link %d of %d in %d pages: %d, want %d", u, i, n, s.Len(), numbers[i], want)
				}
			}
		}
	}
}

func TestSource(t *testing.T) {
	seed := random(t).Uint64()
	for n := range 4 {
		links := someLinks(rand.New(rand.NewPCG(seed, 1)), 40*n)
		ranktest.CheckSource(t, seed, newMemory(links), links, weightOf, pairs{})
	}
}

// The graph must have the roots, the samples of their lists, and the links of the class inside.
// It needs two rounds of requests.
func TestNeighbourhood(t *testing.T) {
	r := random(t)
	for range 200 {
		links := someLinks(r, 60)
		m := newMemory(links)
		roots := []uid.UID{0, 1<<64 - 1} // no UID, and an unknown page
		for range r.IntN(20) {
			roots = append(roots, uid.UID(1+r.IntN(20))<<uid.PageBits|uid.UID(r.IntN(7)))
		}
		o := rank.NeighbourhoodOptions{
			In: r.IntN(5), Out: r.IntN(5) - 1, Mode: sample.Mode(r.IntN(2)), Class: sample.Class(r.IntN(3)), Seed: r.Uint64(),
		}
		n, err := rank.NewNeighbourhood(ctx, m, roots, o)
		require.NoError(t, err)
		checkNeighbourhood(t, m, n, roots, o)
		if m.samples > 2 || m.within != 1 {
			t.Fatalf("asked %d and %d times", m.samples, m.within)
		}
		again, err := rank.NewNeighbourhood(ctx, m, roots, o)
		if err != nil || !slices.Equal(again.Set.UIDs(), n.Set.UIDs()) || !slices.EqualFunc(listed(again.Graph), listed(n.Graph), slices.Equal) {
			t.Fatalf("another one the second time: %v", err)
		}
	}
}

// listed returns the targets of each vertex.
func listed(g *rank.Graph) [][]uint32 {
	all := make([][]uint32, g.Len())
	for v := range all {
		all[v] = g.Targets(uint32(v))
	}
	return all
}

func checkNeighbourhood(t *testing.T, m *memory, n *rank.Neighbourhood, roots []uid.UID, o rank.NeighbourhoodOptions) {
	t.Helper()
	var wanted []uid.UID
	add := func(u uid.UID) {
		if !slices.Contains(wanted, u) {
			wanted = append(wanted, u)
		}
	}
	for _, root := range roots[1:] {
		add(root)
	}
	count := len(wanted)
	for _, root := range wanted[:count] {
		in := sample.Spec{N: o.In, Mode: o.Mode, Class: o.Class, Seed: o.Seed + 1}
		for _, u := range sample.Sample(nil, m.list(rank.Backward, root), root, in, pairs{}) {
			add(u)
		}
		out := sample.Spec{N: o.Out, Mode: o.Mode, Class: o.Class, Seed: o.Seed}
		for _, u := range sample.Sample(nil, m.list(rank.Forward, root), root, out, pairs{}) {
			add(u)
		}
	}
	if !slices.Equal(n.Set.UIDs(), wanted) || n.Roots != count || n.Graph.Len() != len(wanted) {
		t.Fatalf("%+v: %d roots, %v, want %d, %v", o, n.Roots, n.Set.UIDs(), count, wanted)
	}
	for id, page := range wanted {
		var inside []uint32
		all := sample.Spec{N: 1000, Class: o.Class}
		for _, to := range sample.Sample(nil, m.list(rank.Forward, page), page, all, pairs{}) {
			if other := slices.Index(wanted, to); other >= 0 && other != id {
				inside = append(inside, uint32(other))
			}
		}
		slices.Sort(inside)
		if got := n.Graph.Targets(uint32(id)); !slices.Equal(got, inside) {
			t.Fatalf("%+v: links of %d: %d, want %d", o, id, got, inside)
		}
	}
}

func TestNeighbourhoodOfNothing(t *testing.T) {
	m := newMemory(nil)
	for _, roots := range [][]uid.UID{nil, {0}, {5}, {5, 5}} {
		n, err := rank.NewNeighbourhood(ctx, m, roots, rank.NeighbourhoodOptions{In: 3, Out: 3})
		if err != nil || n.Graph.NumEdges() != 0 || n.Graph.Len() != n.Roots || n.Roots != n.Set.Len() {
			t.Fatalf("%d: %+v, %v", roots, n, err)
		}
		scores := rank.SALSA(n.Graph)
		top := n.TopRoots(10, scores.Authority)
		if len(top) != n.Roots || n.Roots == 1 && top[0] != (rank.Scored{UID: 5}) {
			t.Errorf("%d: %v", roots, top)
		}
	}
}

// A ranking has the roots alone or all pages. If scores are equal, UIDs must ascend.
func TestNeighbourhoodTop(t *testing.T) {
	links := map[uid.UID][]uid.UID{30: {10, 20, 40}, 50: {40}}
	n, err := rank.NewNeighbourhood(ctx, newMemory(links), []uid.UID{20, 10, 30}, rank.NeighbourhoodOptions{In: 9, Out: 9})
	require.NoError(t, err)
	scores := rank.SALSA(n.Graph).Authority
	third := 1.0 / 3
	if got := n.TopRoots(3, scores); !slices.Equal(got, []rank.Scored{{UID: 10, Score: third}, {UID: 20, Score: third}, {UID: 30}}) {
		t.Errorf("roots: %v", got)
	}
	if got := n.Top(2, scores); !slices.Equal(got, []rank.Scored{{UID: 10, Score: third}, {UID: 20, Score: third}}) {
		t.Errorf("all: %v", got)
	}
}

// A root with 10 million in-links, and a page with 10 million out-links in the set.
func TestNeighbourhoodOfAHub(t *testing.T) {
	if testing.Short() {
		t.Skip("10 million links")
	}
	const hub, star = 1, 2
	many := make([]uid.UID, 10_000_000)
	for i := range many {
		many[i] = uid.UID(3 + 2*i)
	}
	m := &memory{list: func(d rank.Direction, u uid.UID) []uid.UID {
		switch {
		case d == rank.Backward && u == hub, d == rank.Forward && u == star:
			return many
		case d == rank.Forward && u%2 == 1 && u > hub:
			return []uid.UID{hub}
		}
		return nil
	}}
	for _, mode := range []sample.Mode{sample.ModeRandom, sample.ModeConsistent} {
		n, err := rank.NewNeighbourhood(ctx, m, []uid.UID{star, hub}, rank.NeighbourhoodOptions{In: 100, Mode: mode})
		if err != nil || n.Graph.Len() != 102 || n.Graph.NumEdges() != 200 {
			t.Errorf("%s: %d pages, %d links, %v", mode, n.Graph.Len(), n.Graph.NumEdges(), err)
		}
	}
}

// twisted is a source with changed answers.
type twisted struct {
	*memory
	sample func(*rank.Lists[uid.UID]) error
	inside func(*rank.Lists[uint32]) error
}

func (l *twisted) SampleLinks(ctx context.Context, d rank.Direction, pages []uid.UID, s sample.Spec) (rank.Lists[uid.UID], error) {
	lists, err := l.memory.SampleLinks(ctx, d, pages, s)
	if l.sample != nil {
		err = l.sample(&lists)
	}
	return lists, err
}

func (l *twisted) LinksWithin(ctx context.Context, s *rank.Set, c sample.Class) (rank.Lists[uint32], error) {
	lists, err := l.memory.LinksWithin(ctx, s, c)
	if l.inside != nil {
		err = l.inside(&lists)
	}
	return lists, err
}

func TestNeighbourhoodErrors(t *testing.T) {
	broken := errors.New("no answer")
	right := newMemory(map[uid.UID][]uid.UID{5: {6, 7}, 6: {5}})
	samples := func(change func(*rank.Lists[uid.UID]) error) rank.Source {
		return &twisted{memory: right, sample: change}
	}
	inside := func(change func(*rank.Lists[uint32]) error) rank.Source {
		return &twisted{memory: right, inside: change}
	}
	for name, c := range map[string]struct {
		source rank.Source
		want   error
	}{
		"no samples":       {samples(func(*rank.Lists[uid.UID]) error { return broken }), broken},
		"a sample short":   {samples(func(l *rank.Lists[uid.UID]) error { l.Ends = l.Ends[1:]; return nil }), rank.ErrSource},
		"a sample too far": {samples(func(l *rank.Lists[uid.UID]) error { l.Ends[0] = 9; return nil }), rank.ErrSource},
		"a negative end":   {samples(func(l *rank.Lists[uid.UID]) error { l.Ends[0] = -1; return nil }), rank.ErrSource},
		"items too many":   {samples(func(l *rank.Lists[uid.UID]) error { l.Items = append(l.Items, 1); return nil }), rank.ErrSource},
		"no links":         {inside(func(*rank.Lists[uint32]) error { return broken }), broken},
		"links short":      {inside(func(l *rank.Lists[uint32]) error { l.Ends = l.Ends[1:]; return nil }), rank.ErrSource},
		"links that fall":  {inside(func(l *rank.Lists[uint32]) error { l.Ends[0], l.Ends[1] = 3, 1; return nil }), rank.ErrSource},
		"a link to none":   {inside(func(l *rank.Lists[uint32]) error { l.Items[0] = 99; return nil }), rank.ErrSource},
	} {
		_, err := rank.NewNeighbourhood(ctx, c.source, []uid.UID{5, 6}, rank.NeighbourhoodOptions{In: 2, Out: 2})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSet(t *testing.T) {
	r := random(t)
	for range 50 {
		var s rank.Set
		if r.IntN(2) == 0 {
			s.Reserve(r.IntN(300))
		}
		ids := map[uid.UID]uint32{}
		for range r.IntN(1000) {
			u := uid.UID(r.IntN(700))
			id, ok := s.Add(u)
			want, known := ids[u]
			if !known && u != 0 {
				want = uint32(len(ids))
				ids[u] = want
			}
			if ok != (u != 0) || id != want {
				t.Fatalf("%d is %d, %v, want %d", u, id, ok, want)
			}
		}
		var links []uid.UID
		var inside []uint32
		for u := range uid.UID(1000) {
			id, ok := s.Find(u)
			if want, known := ids[u]; ok != known || id != want {
				t.Fatalf("%d is %d, %v, want %d, %v", u, id, ok, want, known)
			}
			if r.IntN(2) == 0 {
				links = append(links, u)
				if ok {
					inside = append(inside, id)
				}
			}
		}
		slices.Sort(inside)
		got := s.AppendWithin(nil, links, sample.All, sample.Classes{})
		slices.Sort(got)
		if s.Len() != len(ids) || !slices.Equal(got, inside) {
			t.Fatalf("%d pages, %d inside: %d, want %d", s.Len(), len(links), got, inside)
		}
	}
}

// If a list is much longer than the set, the set's pages are searched in the list.
func TestSetOfFew(t *testing.T) {
	var s rank.Set
	links := make([]uid.UID, 10_000)
	for i := range links {
		links[i] = uid.UID(2 * (i + 1))
	}
	for _, u := range []uid.UID{7, 20_000, 2, 20_002} {
		s.Add(u)
	}
	if got := s.AppendWithin(nil, links, sample.All, sample.Classes{}); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("%d", got)
	}
}

// A set must find its last page, even if it is as full as possible.
func TestSetGrows(t *testing.T) {
	var s rank.Set
	for i := range uint32(3000) {
		u := uid.UID(uid.Mix(uint64(i) + 1))
		s.Add(u)
		if id, ok := s.Find(u); !ok || id != i {
			t.Fatalf("page %d is %d, %v", i, id, ok)
		}
	}
}

// In a large set a slot has few bits of the hash, so other pages have the same ones.
func TestSetOfMany(t *testing.T) {
	const n = 300_000
	var s rank.Set
	page := func(i uint64) uid.UID { return uid.UID(uid.Mix(i + 1)) }
	for i := range uint64(n) {
		if id, ok := s.Add(page(i)); !ok || id != uint32(i) {
			t.Fatalf("page %d is %d, %v", i, id, ok)
		}
	}
	for i := range uint64(3 * n) {
		if id, ok := s.Find(page(i)); ok != (i < n) || ok && id != uint32(i) {
			t.Fatalf("page %d is %d, %v", i, id, ok)
		}
	}
}
