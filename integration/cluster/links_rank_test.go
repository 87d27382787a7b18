// Rankings by the links around pages, with and without weights, also right after a machine is killed.

package cluster

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// TestLinksRankedAfterKill ranks with weights right after a machine was killed, before what it read
// is regenerated.
func TestLinksRankedAfterKill(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for range 40 {
			web.change()
		}
		web.check(web.some())
		w.settle()
		web.copied()
		m := w.any()
		web.end(m)
		m.kill()
		g := web.some()
		roots, err := g.UIDs(t.Context(), slices.Sorted(maps.Keys(web.links)))
		require.NoError(t, err)
		web.checkRankings(g, roots)
	})
}

// checkRankings compares rankings with those of the same graph in plain memory.
func (w *web) checkRankings(g *linkgraph.Graph, roots []uid.UID) {
	w.t.Helper()
	for _, weighted := range []bool{false, true} {
		for _, class := range []sample.Class{sample.All, sample.InterHost} {
			request := links.RankRequest{Algorithm: links.SALSA, Pages: roots, In: 3, Out: 3, Mode: sample.ModeConsistent, Class: class, Weighted: weighted}
			got, err := g.Rank(w.t.Context(), request)
			require.NoError(w.t, err)
			n, err := rank.NewNeighbourhood(w.t.Context(), plainSource{w}, roots, rank.NeighbourhoodOptions{In: 3, Out: 3, Mode: sample.ModeConsistent, Class: class, Weighted: weighted})
			require.NoError(w.t, err)
			want := n.TopRoots(n.Graph.Len(), rank.SALSA(n.Graph).Authority)
			if !slices.EqualFunc(got.Authorities, want, func(a, b rank.Scored) bool {
				return a.UID == b.UID && a.Score-b.Score < 1e-12 && b.Score-a.Score < 1e-12
			}) || got.Vertices != n.Graph.Len() || got.Edges != n.Graph.NumEdges() {
				w.t.Fatalf("%v, weighted %v: %+v\nwant %v, %d vertices, %d edges", class, weighted, got, want, n.Graph.Len(), n.Graph.NumEdges())
			}
		}
	}
}

// plainSource is the graph in plain maps as package rank asks for it.
type plainSource struct{ *web }

func (s plainSource) list(d rank.Direction, u uid.UID) (list []uid.UID) {
	for src, of := range s.links {
		for dst := range of {
			if from, to := s.uids[src], s.uids[dst]; d == rank.Forward && from == u {
				list = append(list, to)
			} else if d == rank.Backward && to == u {
				list = append(list, from)
			}
		}
	}
	slices.Sort(list)
	return list
}

func (s plainSource) SampleLinks(_ context.Context, d rank.Direction, pages []uid.UID, spec sample.Spec) (l rank.Lists[uid.UID], err error) {
	for _, u := range pages {
		l.Items = sample.Sample(l.Items, s.list(d, u), u, spec, plainHosts(s))
		l.End()
	}
	return l, nil
}

func (s plainSource) LinksWithin(_ context.Context, set *rank.Set, class sample.Class) (l rank.Lists[uint32], err error) {
	for _, u := range set.UIDs() {
		l.Items = set.AppendWithin(l.Items, s.list(rank.Forward, u), class, sample.ClassesOf(plainHosts(s), u))
		l.End()
	}
	return l, nil
}

func (s plainSource) WeightsWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[rank.WeightedLink], err error) {
	plain, err := s.LinksWithin(ctx, set, class)
	for i, u := range set.UIDs() {
		for _, to := range plain.At(i) {
			label := s.links[s.urls[u]][s.urls[set.UIDs()[to]]]
			l.Items = append(l.Items, rank.WeightedLink{To: to, Weight: label.Weight})
		}
		l.End()
	}
	return l, err
}

// plainHosts tells hosts by the pages that are known: www0 to www5 of one domain.
type plainHosts struct{ *web }

func (h plainHosts) Host(e uid.Extent) uint64 {
	for u, url := range h.urls {
		if u.Extent() == e {
			return uint64(url[len("http://www")])
		}
	}
	return 0
}

func (h plainHosts) Domain(uid.Extent) uint64 { return 1 }
