// Tests of HITS, SALSA and rankings.

package rank_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// someEdges returns edges of a graph of n vertices. Some occur twice, some lead from a vertex to
// itself, and some vertices have none.
func someEdges(r *rand.Rand, n int) []rank.Edge {
	edges := make([]rank.Edge, 0, 3*n)
	for range r.IntN(3*n + 1) {
		edges = append(edges, rank.Edge{From: uint32(r.IntN(n)), To: uint32(r.IntN(n))})
		if r.IntN(4) == 0 {
			edges = append(edges, edges[r.IntN(len(edges))])
		}
	}
	return edges
}

func graphOf(t testing.TB, n int, edges []rank.Edge) *rank.Graph {
	t.Helper()
	return weightedGraph(t, n, edges, nil)
}

func weightedGraph(t testing.TB, n int, edges []rank.Edge, weights []float64) *rank.Graph {
	t.Helper()
	g, err := rank.NewGraph(n, edges, weights)
	require.NoError(t, err)
	return g
}

// someWeights returns weights of edges, nil half of the time. Some are none that count.
func someWeights(r *rand.Rand, edges []rank.Edge) []float64 {
	if r.IntN(2) == 0 {
		return nil
	}
	weights := make([]float64, len(edges))
	for i := range weights {
		weights[i] = float64(1+r.IntN(40)) / 8
		if r.IntN(8) == 0 {
			weights[i] = []float64{0, -1, math.NaN(), math.Inf(1)}[r.IntN(4)]
		}
	}
	return weights
}

// matrix is the oracle of graphs: [from][to]. Of duplicates the first one with a weight counts.
func matrix(n int, edges []rank.Edge, weights []float64) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	for i, e := range edges {
		switch {
		case weights == nil:
			m[e.From][e.To] = 1
		case m[e.From][e.To] == 0 && weights[i] > 0 && !math.IsInf(weights[i], 1):
			m[e.From][e.To] = weights[i]
		}
	}
	return m
}

func TestGraph(t *testing.T) {
	r := random(t)
	for range 200 {
		n := 1 + r.IntN(30)
		edges := someEdges(r, n)
		weights := someWeights(r, edges)
		m := matrix(n, edges, weights)
		g := weightedGraph(t, n, edges, weights)
		count := 0
		for v := range n {
			var want []uint32
			for to, x := range m[v] {
				if x > 0 {
					want = append(want, uint32(to))
				}
			}
			count += len(want)
			if got := g.Targets(uint32(v)); !slices.Equal(got, want) {
				t.Fatalf("targets of %d: %d, want %d", v, got, want)
			}
		}
		if g.Len() != n || g.NumEdges() != count {
			t.Fatalf("%d vertices, %d edges, want %d and %d", g.Len(), g.NumEdges(), n, count)
		}
	}
	for _, edge := range []rank.Edge{{From: 2, To: 0}, {From: 0, To: 2}} {
		if _, err := rank.NewGraph(2, []rank.Edge{edge}, nil); !errors.Is(err, rank.ErrGraph) {
			t.Errorf("%v: %v", edge, err)
		}
	}
	if _, err := rank.NewGraph(-1, nil, nil); !errors.Is(err, rank.ErrGraph) {
		t.Errorf("-1 vertices: %v", err)
	}
	if _, err := rank.NewGraph(2, []rank.Edge{{From: 0, To: 1}}, []float64{}); !errors.Is(err, rank.ErrGraph) {
		t.Errorf("no weights of one edge: %v", err)
	}
}

// times multiplies a vector with the matrix, or with its transpose.
func times(m [][]float64, vector []float64, transposed bool) []float64 {
	product := make([]float64, len(vector))
	for i, row := range m {
		for j, x := range row {
			if transposed {
				product[j] += x * vector[i]
			} else {
				product[i] += x * vector[j]
			}
		}
	}
	return product
}

func unit(vector []float64) []float64 {
	sum := 0.0
	for _, x := range vector {
		sum += x * x
	}
	for i := range vector {
		vector[i] /= math.Sqrt(sum)
	}
	return vector
}

// HITS against dense matrices, round by round.
func TestHITS(t *testing.T) {
	r := random(t)
	for range 100 {
		n := 2 + r.IntN(20)
		edges := append(someEdges(r, n), rank.Edge{From: 0, To: 1})
		weights := someWeights(r, edges)
		if weights != nil {
			weights[len(edges)-1] = 2
		}
		m := matrix(n, edges, weights)
		rounds := 1 + r.IntN(200)
		got, err := rank.HITS(ctx, weightedGraph(t, n, edges, weights), rank.HITSOptions{MaxRounds: rounds})
		require.NoError(t, err)
		hub := unit(slices.Repeat([]float64{1}, n))
		var authority []float64
		for range got.Rounds {
			authority = unit(times(m, hub, true))
			hub = unit(times(m, authority, false))
		}
		near(t, "authorities", got.Authority, authority, 1e-9)
		near(t, "hubs", got.Hub, hub, 1e-9)
		if got.Converged != (got.Change < 1e-9) || !got.Converged && got.Rounds != rounds || got.Rounds > rounds {
			t.Fatalf("%d rounds of %d: change %g, converged %v", got.Rounds, rounds, got.Change, got.Converged)
		}
		if got.Converged && rounds > got.Rounds {
			next := unit(times(m, hub, true))
			near(t, "the limit", next, authority, 1e-9)
		}
	}
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			t.Fatalf("%s of %d: %g, want %g", what, i, got[i], want[i])
		}
	}
}

func TestHITSEdges(t *testing.T) {
	// The default is 100 rounds; a path converges slowly, a star at once.
	star := graphOf(t, 4, []rank.Edge{{From: 1, To: 0}, {From: 2, To: 0}})
	got, err := rank.HITS(ctx, star, rank.HITSOptions{})
	if err != nil || !got.Converged || got.Rounds > 3 {
		t.Errorf("a star: %+v, %v", got, err)
	}
	near(t, "authorities", got.Authority, []float64{1, 0, 0, 0}, 0)
	near(t, "hubs", got.Hub, []float64{0, math.Sqrt(0.5), math.Sqrt(0.5), 0}, 1e-15)
	slow := graphOf(t, 300, pathEdges(300))
	if got, err := rank.HITS(ctx, slow, rank.HITSOptions{}); err != nil || got.Converged || got.Rounds != 100 {
		t.Errorf("a path: %d rounds, %v, %v", got.Rounds, got.Converged, err)
	}
	for _, n := range []int{0, 3} {
		got, err := rank.HITS(ctx, graphOf(t, n, nil), rank.HITSOptions{})
		if err != nil || !got.Converged {
			t.Errorf("no edges: %+v, %v", got, err)
		}
		near(t, "no edges", got.Authority, make([]float64, n), 0)
		near(t, "no edges", got.Hub, make([]float64, n), 0)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := rank.HITS(ended, star, rank.HITSOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// pathEdges are a path of hubs and authorities: each hub links to two.
func pathEdges(n int) []rank.Edge {
	var edges []rank.Edge
	for v := range n - 1 {
		edges = append(edges, rank.Edge{From: uint32(v), To: uint32(v)}, rank.Edge{From: uint32(v), To: uint32(v + 1)})
	}
	return edges
}

// walk is the oracle of SALSA: the walk of two steps from a random authority, or hub, until
// nothing changes.
func walk(m [][]float64) (authorities, hubs []float64) {
	ones := slices.Repeat([]float64{1}, len(m))
	in, out := times(m, ones, true), times(m, ones, false)
	iterate := func(degrees, others []float64, transposed bool) []float64 {
		scores := make([]float64, len(m))
		count := 0.0
		for _, degree := range degrees {
			if degree > 0 {
				count++
			}
		}
		for v, degree := range degrees {
			if degree > 0 {
				scores[v] = 1 / count
			}
		}
		for range 100_000 {
			next := times(m, shares(times(m, shares(scores, degrees), !transposed), others), transposed)
			change := 0.0
			for i := range next {
				change = max(change, math.Abs(next[i]-scores[i]))
			}
			scores = next
			if change < 1e-14 {
				break
			}
		}
		return scores
	}
	return iterate(in, out, true), iterate(out, in, false)
}

func shares(scores, degrees []float64) []float64 {
	divided := make([]float64, len(scores))
	for i := range scores {
		if degrees[i] > 0 {
			divided[i] = scores[i] / degrees[i]
		}
	}
	return divided
}

func TestSALSA(t *testing.T) {
	r := random(t)
	for range 150 {
		n := 1 + r.IntN(14)
		edges := someEdges(r, n)
		weights := someWeights(r, edges)
		got := rank.SALSA(weightedGraph(t, n, edges, weights))
		authorities, hubs := walk(matrix(n, edges, weights))
		near(t, "authorities", got.Authority, authorities, 1e-9)
		near(t, "hubs", got.Hub, hubs, 1e-9)
	}
}

// Two components by hand: 0 and 1 link to 2, 1 to 3; 4 links to itself; 5 is
// alone.
func TestSALSAByHand(t *testing.T) {
	g := graphOf(t, 6, []rank.Edge{{From: 0, To: 2}, {From: 1, To: 2}, {From: 1, To: 3}, {From: 1, To: 3}, {From: 4, To: 4}})
	got := rank.SALSA(g)
	near(t, "authorities", got.Authority, []float64{0, 0, 4. / 9, 2. / 9, 1. / 3, 0}, 1e-15)
	near(t, "hubs", got.Hub, []float64{2. / 9, 4. / 9, 0, 0, 1. / 3, 0}, 1e-15)
	if got := rank.SALSA(graphOf(t, 0, nil)); len(got.Authority)+len(got.Hub) != 0 {
		t.Errorf("an empty graph: %v", got)
	}
	near(t, "no edges", rank.SALSA(graphOf(t, 2, nil)).Authority, []float64{0, 0}, 0)
}

// Two components by hand: 0 links to 2 with weight 3, 1 to 2 with 1 and to 3 with 4; 4 links to
// itself. Extreme weights count by their ratio, and never make a score that is no number.
func TestWeightsByHand(t *testing.T) {
	edges := []rank.Edge{{From: 0, To: 2}, {From: 1, To: 2}, {From: 1, To: 3}, {From: 4, To: 4}}
	for _, factor := range []float64{1, 1e-320, 1e300, 1.0 / 3} {
		g := weightedGraph(t, 5, edges, []float64{3 * factor, factor, 4 * factor, 2 * factor})
		got := rank.SALSA(g)
		tolerance := 1e-15
		if factor < 1e-308 {
			tolerance = 1e-3 // such a weight has few bits
		}
		near(t, "authorities", got.Authority, []float64{0, 0, 1. / 3, 1. / 3, 1. / 3}, tolerance)
		near(t, "hubs", got.Hub, []float64{2. / 3 * 3 / 8, 2. / 3 * 5 / 8, 0, 0, 1. / 3}, tolerance)
	}
	extremes := []float64{math.MaxFloat64, 1e-320, math.MaxFloat64, 5e-324}
	g := weightedGraph(t, 5, edges, extremes)
	near(t, "authorities of extremes", rank.SALSA(g).Authority, []float64{0, 0, 1. / 3, 1. / 3, 1. / 3}, 1e-15)
	hits, err := rank.HITS(ctx, g, rank.HITSOptions{})
	require.NoError(t, err)
	near(t, "HITS of extremes", unit(slices.Clone(hits.Authority)), hits.Authority, 1e-9)
}

// Components of long paths and of stars must be found in little time.
func TestSALSAOfLongComponents(t *testing.T) {
	const n = 200_000
	edges := pathEdges(n)
	for v := range uint32(n) {
		edges = append(edges, rank.Edge{From: 7, To: v})
	}
	got := rank.SALSA(graphOf(t, n, edges))
	sum := 0.0
	for _, score := range got.Authority {
		sum += score
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("authorities sum up to %g", sum)
	}
}

func TestTop(t *testing.T) {
	r := random(t)
	for range 200 {
		n := r.IntN(400)
		uids, scores := make([]uid.UID, n), make([]float64, n)
		var want []rank.Scored
		for i := range n {
			uids[i], scores[i] = uid.UID(r.IntN(1000)), float64(r.IntN(5))
			want = append(want, rank.Scored{UID: uids[i], Score: scores[i]})
		}
		slices.SortFunc(want, func(a, b rank.Scored) int {
			if a.Score != b.Score {
				return int(b.Score - a.Score)
			}
			return int(a.UID) - int(b.UID)
		})
		for _, k := range []int{-1, 0, 1, 5, n, n + 1, math.MaxInt} {
			if got := rank.Top(k, uids, scores); !slices.Equal(got, want[:min(max(k, 0), n)]) {
				t.Fatalf("%d of %d: %v, want %v", k, n, got, want[:min(max(k, 0), n)])
			}
		}
	}
}

func TestTopPages(t *testing.T) {
	scores := [][]float64{{1, 3, 2}, nil, {3, 3, 0}}
	want := []rank.ScoredPage{
		{Address: rank.Address{Partition: 0, Page: 1}, Score: 3}, {Address: rank.Address{Partition: 2, Page: 0}, Score: 3},
		{Address: rank.Address{Partition: 2, Page: 1}, Score: 3}, {Address: rank.Address{Partition: 0, Page: 2}, Score: 2},
		{Address: rank.Address{Partition: 0, Page: 0}, Score: 1}, {Address: rank.Address{Partition: 2, Page: 2}, Score: 0},
	}
	for k := range 8 {
		if got := rank.TopPages(k, scores); !slices.Equal(got, want[:min(k, 6)]) {
			t.Errorf("%d: %v", k, got)
		}
	}
}

// Scores must be the same bits for any order of edges, and targets must ascend.
func TestOrderOfEdges(t *testing.T) {
	r := random(t)
	for range 20 {
		const n = 60
		var edges []rank.Edge
		for range 600 {
			edges = append(edges, rank.Edge{From: r.Uint32N(n), To: r.Uint32N(n)})
		}
		weighted := r.IntN(2) == 0
		score := func() (*rank.HITSResult, rank.Scores) {
			var weights []float64
			for _, e := range edges {
				if weighted {
					weights = append(weights, 1/float64(1+e.From+3*e.To))
				}
			}
			g, err := rank.NewGraph(n, edges, weights)
			require.NoError(t, err)
			salsa := rank.SALSA(g)
			hits, err := rank.HITS(ctx, g, rank.HITSOptions{MaxRounds: 7})
			require.NoError(t, err)
			for v := range uint32(n) {
				if !slices.IsSorted(g.Targets(v)) {
					t.Fatalf("targets of %d: %d", v, g.Targets(v))
				}
			}
			return hits, salsa
		}
		hits, salsa := score()
		r.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
		otherHITS, otherSALSA := score()
		if !slices.Equal(hits.Authority, otherHITS.Authority) || !slices.Equal(hits.Hub, otherHITS.Hub) {
			t.Fatal("HITS depends on the order of edges")
		}
		if !slices.Equal(salsa.Authority, otherSALSA.Authority) || !slices.Equal(salsa.Hub, otherSALSA.Hub) {
			t.Fatal("SALSA depends on the order of edges")
		}
	}
}
