// Tests of rankings against graphs in plain maps.

package ranking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

var seeded = seed.Rand

func TestCheck(t *testing.T) {
	pages := func(n int) []uid.UID { return make([]uid.UID, n) }
	for _, c := range []struct {
		name  string
		r     links.RankRequest
		valid bool
	}{
		{"SALSA", links.RankRequest{Algorithm: links.SALSA}, true},
		{"HITS", links.RankRequest{Algorithm: links.HITS, Pages: pages(3), In: 10, Out: 10, Top: 5}, true},
		{"PageRank", links.RankRequest{Algorithm: links.PageRank}, true},
		{"the most pages", links.RankRequest{Algorithm: links.SALSA, Pages: pages(maxRoots), In: 100, Out: 99}, true},
		{"the most around", links.RankRequest{Algorithm: links.SALSA, Pages: pages(maxVertices / (1 + 2*maxAround)), In: maxAround, Out: maxAround}, true},
		{"none", links.RankRequest{}, false},
		{"another one", links.RankRequest{Algorithm: "salsa "}, false},
		{"too many pages", links.RankRequest{Algorithm: links.SALSA, Pages: pages(maxRoots + 1)}, false},
		{"less than none in", links.RankRequest{Algorithm: links.SALSA, In: -1}, false},
		{"less than none out", links.RankRequest{Algorithm: links.SALSA, Out: -1}, false},
		{"too many in", links.RankRequest{Algorithm: links.SALSA, In: maxAround + 1}, false},
		{"too many out", links.RankRequest{Algorithm: links.SALSA, Out: maxAround + 1}, false},
		{"too many together", links.RankRequest{Algorithm: links.SALSA, Pages: pages(maxRoots), In: 100, Out: 100}, false},
		{"weights of HITS", links.RankRequest{Algorithm: links.HITS, Weighted: true}, true},
		{"weights of PageRank", links.RankRequest{Algorithm: links.PageRank, Weighted: true}, false},
		{"less than nothing", links.RankRequest{Algorithm: links.SALSA, Top: -1}, false},
		{"the greatest numbers", links.RankRequest{Algorithm: links.SALSA, Pages: pages(2), In: math.MaxInt, Out: math.MaxInt}, false},
	} {
		if err := Check(&c.r); (err == nil) != c.valid || err != nil && !errors.Is(err, links.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// plain is a Source of a graph in plain maps. If fail is set, it returns that.
type plain struct {
	*linkstest.Graph
	urls map[uid.UID]string
	fail error
}

func (p plain) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (rank.Lists[uid.UID], error) {
	if p.fail != nil {
		return rank.Lists[uid.UID]{}, p.fail
	}
	return p.Graph.SampleLinks(ctx, d, pages, s)
}

func (p plain) LinksWithin(ctx context.Context, s *rank.Set, c sample.Class) (l rank.Lists[uint32], err error) {
	all, err := p.Links(ctx, links.Forward, s.UIDs())
	if err != nil {
		return l, err
	}
	for i, from := range s.UIDs() {
		for _, to := range all.At(i) {
			if n, ok := s.Find(to); ok && sample.Class(weburl.Class(p.urls[from], p.urls[to])) >= c {
				l.Items = append(l.Items, n)
			}
		}
		l.End()
	}
	return l, nil
}

func (p plain) WeightsWithin(ctx context.Context, s *rank.Set, c sample.Class) (l rank.Lists[rank.WeightedLink], err error) {
	links, err := p.LinksWithin(ctx, s, c)
	if err != nil {
		return l, err
	}
	labels, err := p.LabelsOf(ctx, s.UIDs())
	for i, from := range s.UIDs() {
		for _, n := range links.At(i) {
			l.Items = append(l.Items, rank.WeightedLink{To: n, Weight: labels[[2]uid.UID{from, s.UIDs()[n]}].Weight})
		}
		l.End()
	}
	return l, err
}

// LabelsOf returns the labels of the links from pages, by source and target.
func (p plain) LabelsOf(ctx context.Context, pages []uid.UID) (map[[2]uid.UID]links.Label, error) {
	of := map[[2]uid.UID]links.Label{}
	lists, err := p.Links(ctx, links.Forward, pages)
	if err != nil {
		return nil, err
	}
	labels, err := p.Labels(ctx, links.Forward, pages)
	if err != nil {
		return nil, err
	}
	for i, from := range pages {
		for k, to := range lists.At(i) {
			of[[2]uid.UID{from, to}] = labels.At(i)[k]
		}
	}
	return of, nil
}

// newPlain returns the graph of some links, with the UIDs of its pages.
func newPlain(t *testing.T, changes []links.Change) (p plain, pages []uid.UID) {
	t.Helper()
	p = plain{Graph: linkstest.New(), urls: map[uid.UID]string{}}
	if _, err := p.Update(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	pages, err := p.Pages(t.Context(), 0, 1<<20)
	require.NoError(t, err)
	urls, err := p.URLs(t.Context(), pages)
	require.NoError(t, err)
	for i, u := range pages {
		p.urls[u] = urls[i]
	}
	return p, pages
}

// TestSmall is worked out by hand: a, b, c and f link to d, and a to e, in one component. Of
// its five links four lead to d and one to e; two are from a.
func TestSmall(t *testing.T) {
	url := func(name string) string { return "http://example.org/" + name }
	p, _ := newPlain(t, []links.Change{
		{Source: url("a"), Targets: []string{url("d"), url("e")}},
		{Source: url("b"), Targets: []string{url("d")}},
		{Source: url("c"), Targets: []string{url("d")}},
		{Source: url("f"), Targets: []string{url("d")}},
	})
	roots, err := p.UIDs(t.Context(), []string{url("d"), url("e")})
	require.NoError(t, err)
	for _, c := range []struct {
		in, out, top int
		all          bool
		authorities  string // scores
		hubs         string
		edges        int
	}{
		{in: 10, authorities: "d 0.8, e 0.2", hubs: "d 0, e 0", edges: 5},
		{in: 10, top: 1, authorities: "d 0.8", hubs: "d 0", edges: 5},
		{in: 10, top: 2, all: true, authorities: "d 0.8, e 0.2", hubs: "a 0.4, b 0.2", edges: 5},
		{out: 10, authorities: "d 0, e 0", hubs: "d 0, e 0"}, // because they have no links
	} {
		r := links.RankRequest{Algorithm: links.SALSA, Pages: roots, In: c.in, Out: c.out, Top: c.top, All: c.all}
		got, err := Rank(t.Context(), p, r)
		require.NoError(t, err)
		text := func(list []rank.Scored) (s string) {
			for i, one := range list {
				if i > 0 {
					s += ", "
				}
				s += fmt.Sprintf("%s %.6g", p.urls[one.UID][len(url("")):], one.Score)
			}
			return s
		}
		if text(got.Authorities) != c.authorities || text(got.Hubs) != c.hubs || got.Edges != c.edges || !got.Converged {
			t.Errorf("%+v: authorities %s, hubs %s, %+v", c, text(got.Authorities), text(got.Hubs), got)
		}
	}
}

// TestRank compares answers to random requests of random graphs with those of the plain graph.
func TestRank(t *testing.T) {
	random := seeded(t)
	edges, rounds := 0, 0
	for range 40 {
		page := func() string {
			return fmt.Sprintf("http://www%d.example%d.org/%d", random.IntN(3), random.IntN(2), random.IntN(6))
		}
		var changes []links.Change
		for range random.IntN(60) {
			one := links.Change{Source: page(), Targets: []string{page(), page()}}
			if random.IntN(2) == 0 {
				one.Labels = []links.Label{{Weight: float64(random.IntN(5))}, {Weight: 0.5}}
			}
			changes = append(changes, one)
		}
		p, pages := newPlain(t, changes)
		for range 8 {
			r := links.RankRequest{
				Algorithm: []links.Algorithm{links.SALSA, links.HITS}[random.IntN(2)],
				In:        random.IntN(4), Out: random.IntN(4), Top: random.IntN(5), All: random.IntN(2) == 0, Seed: random.Uint64(), Weighted: random.IntN(2) == 0,
				Mode: []sample.Mode{sample.ModeConsistent, sample.ModeRandom}[random.IntN(2)], Class: sample.Class(random.IntN(3)),
			}
			for range random.IntN(6) {
				if len(pages) > 0 {
					r.Pages = append(r.Pages, pages[random.IntN(len(pages))])
				}
			}
			require.NoError(t, Check(&r))
			got, err := Rank(t.Context(), p, r)
			require.NoError(t, err)
			want, err := p.Rank(t.Context(), r)
			require.NoError(t, err)
			if !slices.Equal(got.Authorities, want.Authorities) || !slices.Equal(got.Hubs, want.Hubs) || got.Vertices != want.Vertices ||
				got.Edges != want.Edges || got.Rounds != want.Rounds || got.Converged != want.Converged {
				t.Fatalf("%+v\nis answered %+v\nwant %+v", r, got, want)
			}
			edges, rounds = edges+got.Edges, rounds+got.Rounds
		}
	}
	if edges == 0 || rounds == 0 {
		t.Errorf("%d links and %d rounds tell nothing", edges, rounds)
	}
}

// TestRankFails checks that errors of the source, and the end of the context, are returned.
func TestRankFails(t *testing.T) {
	p, pages := newPlain(t, []links.Change{{Source: "http://example.org/a", Targets: []string{"http://example.org/b", "http://example.org/a"}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	broken := p
	broken.fail = errors.New("broken")
	for _, algorithm := range []links.Algorithm{links.SALSA, links.HITS} {
		r := links.RankRequest{Algorithm: algorithm, Pages: pages, In: 1, Out: 1}
		if _, err := Rank(t.Context(), broken, r); !errors.Is(err, broken.fail) {
			t.Errorf("%s: %v", algorithm, err)
		}
		if _, err := Rank(ctx, p, r); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", algorithm, err)
		}
	}
}
