// Small graphs, on which pages are ranked at query time.

package rank

import (
	"fmt"
	"math"
	"sync"
)

// Edge is a link from one vertex to another.
type Edge struct{ From, To uint32 }

// Graph is a set of edges between the vertices 0 ... Len()-1. It does not change after it is
// made, so several goroutines may read it at once.
type Graph struct {
	ends    []int    // ends[v] is the end of the targets of v; its start is ends[v-1], or 0
	targets []uint32 // in any order for each vertex, without duplicates
	in      []uint32 // number of edges to each vertex
	// weights are those of targets, nil if each is 1. Invariant: the greatest one is below 1 and
	// at least 1/2, and none is below minWeight.
	weights []float64

	sorting       sync.Once
	sorted        []uint32 // targets, ascending for each vertex; made when first needed
	sortedWeights []float64
}

// minWeight bounds weights from below, so that sums of them can be divided by.
const minWeight = 1e-300

// NewGraph returns the graph of n vertices with these edges, in any order. Of duplicates the first
// one counts. An edge from a vertex to itself is an edge. weights must be nil, or have one weight
// for each edge. An edge is left out if its weight is not positive and finite. Only the ratios of
// weights count: a weight below 1e-300 of the greatest one is raised to this. NewGraph keeps
// nothing of its arguments. Errors wrap [ErrGraph] if n is out of range, an edge names a vertex
// beyond n, or the number of weights is wrong.
func NewGraph(n int, edges []Edge, weights []float64) (*Graph, error) {
	// 1. Check the arguments, and count the edges of each vertex.
	if n < 0 || n > math.MaxUint32 {
		return nil, fmt.Errorf("rank: a graph of %d vertices: %w", n, ErrGraph)
	}
	if weights != nil && len(weights) != len(edges) {
		return nil, fmt.Errorf("rank: %d weights of %d edges: %w", len(weights), len(edges), ErrGraph)
	}
	g := &Graph{ends: make([]int, n), targets: make([]uint32, len(edges))}
	if weights != nil {
		g.weights = make([]float64, len(edges))
	}
	for i, e := range edges {
		if int(e.From) >= n || int(e.To) >= n {
			return nil, fmt.Errorf("rank: edge %d is from %d to %d in a graph of %d vertices: %w", i, e.From, e.To, n, ErrGraph)
		}
		g.ends[e.From]++
	}
	// 2. Put them side by side.
	start := 0
	for v, degree := range g.ends {
		g.ends[v] = start // moves to the end as targets come
		start += degree
	}
	for i, e := range edges {
		g.targets[g.ends[e.From]] = e.To
		if weights != nil {
			g.weights[g.ends[e.From]] = weights[i]
		}
		g.ends[e.From]++
	}
	g.tidy(true)
	return g, nil
}

// tidy drops duplicates, and edges whose weight is not positive and finite. If selfLinks is false,
// it drops edges from a vertex to itself too. It counts the remaining edges by target.
func (g *Graph) tidy(selfLinks bool) {
	// 1. Move the kept edges to the front.
	n := g.Len()
	g.in = make([]uint32, n)
	last := make([]uint32, n) // 1 + the vertex with the last edge to each, or 0
	start, to := 0, 0
	for v, end := range g.ends {
		this := uint32(v) + 1
		for at := start; at < end; at++ {
			target := g.targets[at]
			if last[target] == this || int(target) == v && !selfLinks {
				continue
			}
			if g.weights != nil {
				if w := g.weights[at]; !(w > 0 && w <= math.MaxFloat64) {
					continue
				}
				g.weights[to] = g.weights[at]
			}
			last[target] = this
			g.in[target]++
			g.targets[to] = target
			to++
		}
		start, g.ends[v] = end, to
	}
	// 2. The weights that are left have another maximum.
	g.targets = g.targets[:to]
	g.scale()
}

// scale establishes the invariant of weights. The factor is a power of two, because it rounds
// nothing.
func (g *Graph) scale() {
	if g.weights == nil {
		return
	}
	g.weights = g.weights[:len(g.targets)]
	greatest, same := 0.0, true
	for _, w := range g.weights {
		greatest = max(greatest, w)
		same = same && w == g.weights[0]
	}
	if same {
		g.weights = nil
		return
	}
	_, exponent := math.Frexp(greatest)
	for i, w := range g.weights {
		g.weights[i] = max(math.Ldexp(w, -exponent), minWeight)
	}
}

// ascending returns the targets, ascending for each vertex, and their weights, nil if each is 1. It
// needs O(edges + vertices) and no comparison, because it distributes the edges by target and then
// back to their vertices.
func (g *Graph) ascending() (targets []uint32, weights []float64) {
	g.sorting.Do(func() {
		// 1. Distribute the edges by target. Invariant: ends[v] is the end of the sources of v so
		// far.
		ends := make([]int, g.Len()) // of the sources of each vertex
		start := 0
		for v, degree := range g.in {
			ends[v] = start // moves to the end as sources come
			start += int(degree)
		}
		sources := make([]uint32, len(g.targets)) // ascending for each vertex
		bySource := make([]float64, len(g.weights))
		next := make([]int, g.Len()) // where the next target of each vertex goes
		start = 0
		for v, end := range g.ends {
			for at := start; at < end; at++ {
				to := g.targets[at]
				sources[ends[to]] = uint32(v)
				if g.weights != nil {
					bySource[ends[to]] = g.weights[at]
				}
				ends[to]++
			}
			next[v], start = start, end
		}
		// 2. Distribute them back by source. The targets of each vertex come out ascending,
		// because the loop goes through them in ascending order.
		g.sorted = make([]uint32, len(g.targets))
		if g.weights != nil {
			g.sortedWeights = make([]float64, len(g.targets))
		}
		start = 0
		for v, end := range ends {
			for at := start; at < end; at++ {
				from := sources[at]
				g.sorted[next[from]] = uint32(v)
				if g.weights != nil {
					g.sortedWeights[next[from]] = bySource[at]
				}
				next[from]++
			}
			start = end
		}
	})
	return g.sorted, g.sortedWeights
}

// degrees returns the sums of the weights of the edges to and from each vertex. Without weights
// they are the numbers of edges.
func (g *Graph) degrees() (in, out []float64) {
	in, out = make([]float64, g.Len()), make([]float64, g.Len())
	start := 0
	if g.weights == nil {
		for v, end := range g.ends {
			in[v], out[v] = float64(g.in[v]), float64(end-start)
			start = end
		}
		return in, out
	}
	targets, weights := g.ascending() // because sums must be the same bits for any order of edges
	for v, end := range g.ends {
		for at := start; at < end; at++ {
			in[targets[at]] += weights[at]
			out[v] += weights[at]
		}
		start = end
	}
	return in, out
}

// Len returns the number of vertices.
func (g *Graph) Len() int { return len(g.ends) }

// NumEdges returns the number of edges.
func (g *Graph) NumEdges() int { return len(g.targets) }

// Targets returns the targets of a vertex's edges, ascending. The slice belongs to the graph and
// must not be changed.
func (g *Graph) Targets(v uint32) []uint32 {
	start := 0
	if v > 0 {
		start = g.ends[v-1]
	}
	targets, _ := g.ascending()
	return targets[start:g.ends[v]]
}

// Scores are two scores for each vertex of a graph. An authority scores high if good hubs link to
// it, a hub if it links to good authorities.
type Scores struct{ Authority, Hub []float64 }
