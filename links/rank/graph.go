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

	sorting sync.Once
	sorted  []uint32 // targets, ascending for each vertex; made when first needed
}

// NewGraph returns the graph of n vertices with these edges, in any order. Duplicates count once.
// An edge from a vertex to itself is an edge. NewGraph keeps nothing of edges. Errors wrap
// [ErrGraph] if n is out of range or an edge names a vertex beyond n.
func NewGraph(n int, edges []Edge) (*Graph, error) {
	if n < 0 || n > math.MaxUint32 {
		return nil, fmt.Errorf("rank: a graph of %d vertices: %w", n, ErrGraph)
	}
	g := &Graph{ends: make([]int, n), targets: make([]uint32, len(edges))}
	for i, e := range edges {
		if int(e.From) >= n || int(e.To) >= n {
			return nil, fmt.Errorf("rank: edge %d is from %d to %d in a graph of %d vertices: %w", i, e.From, e.To, n, ErrGraph)
		}
		g.ends[e.From]++
	}
	start := 0
	for v, degree := range g.ends {
		g.ends[v] = start // moves to the end as targets come
		start += degree
	}
	for _, e := range edges {
		g.targets[g.ends[e.From]] = e.To
		g.ends[e.From]++
	}
	g.tidy(true)
	return g, nil
}

// tidy drops duplicates. If selfLinks is false, it drops edges from a vertex to itself too. It
// counts the remaining edges by target.
func (g *Graph) tidy(selfLinks bool) {
	n := g.Len()
	g.in = make([]uint32, n)
	last := make([]uint32, n) // 1 + the vertex with the last edge to each, or 0
	start, to := 0, 0
	for v, end := range g.ends {
		this := uint32(v) + 1
		for _, target := range g.targets[start:end] {
			if last[target] == this || int(target) == v && !selfLinks {
				continue
			}
			last[target] = this
			g.in[target]++
			g.targets[to] = target
			to++
		}
		start, g.ends[v] = end, to
	}
	g.targets = g.targets[:to]
}

// ascending returns the targets, ascending for each vertex. It needs O(edges + vertices) and no
// comparison, because it distributes the edges by target and then back to their vertices.
func (g *Graph) ascending() []uint32 {
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
		next := make([]int, g.Len())              // where the next target of each vertex goes
		start = 0
		for v, end := range g.ends {
			for _, to := range g.targets[start:end] {
				sources[ends[to]] = uint32(v)
				ends[to]++
			}
			next[v], start = start, end
		}
		// 2. Distribute them back by source. The targets of each vertex come out ascending,
		// because the loop goes through them in ascending order.
		g.sorted = make([]uint32, len(g.targets))
		start = 0
		for v, end := range ends {
			for _, from := range sources[start:end] {
				g.sorted[next[from]] = uint32(v)
				next[from]++
			}
			start = end
		}
	})
	return g.sorted
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
	return g.ascending()[start:g.ends[v]]
}

// Scores are two scores for each vertex of a graph. An authority scores high if good hubs link to
// it, a hub if it links to good authorities.
type Scores struct{ Authority, Hub []float64 }
