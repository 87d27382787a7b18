// This file holds small graphs: those that pages are ranked on at query time.

package rank

import (
	"fmt"
	"math"
)

// Edge is a link from one vertex to another.
type Edge struct{ From, To uint32 }

// Graph is a set of edges between the vertices 0 ... Len()-1. It is not changed
// once it is made.
type Graph struct {
	ends    []int    // ends[v] is the end of the targets of v; its start is ends[v-1], or 0
	targets []uint32 // ascending for each vertex, without duplicates
	in      []uint32 // how many edges lead to each vertex
}

// NewGraph returns the graph of n vertices with these edges, in any order.
// Duplicates count once; an edge from a vertex to itself is an edge. It keeps
// nothing of edges. Errors wrap [ErrGraph].
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

// tidy sorts the targets of each vertex, and drops duplicates and, unless they
// are wanted, edges from a vertex to itself. Edges are put in the order of their
// targets, and from there back to their vertices: O(edges + vertices), without a
// comparison.
func (g *Graph) tidy(selfLinks bool) {
	n := g.Len()
	ends := make([]int, n) // of the sources of each vertex
	for _, to := range g.targets {
		ends[to]++
	}
	start := 0
	for v, degree := range ends {
		ends[v] = start // moves to the end as sources come
		start += degree
	}
	sources := make([]uint32, len(g.targets)) // ascending for each vertex
	starts := make([]int, n)
	start = 0
	for v, end := range g.ends {
		for _, to := range g.targets[start:end] {
			sources[ends[to]] = uint32(v)
			ends[to]++
		}
		starts[v], start = start, end
	}
	g.in = make([]uint32, n)
	kept := starts // where the next target of each vertex goes
	start = 0
	for v, end := range ends {
		last := -1
		for _, from := range sources[start:end] {
			if int(from) == last || int(from) == v && !selfLinks {
				continue
			}
			last = int(from)
			g.targets[kept[from]] = uint32(v)
			kept[from]++
			g.in[v]++
		}
		start = end
	}
	g.closeUp(kept)
}

// closeUp moves lists together, each of which has become shorter and ends at ends.
func (g *Graph) closeUp(ends []int) {
	start, to := 0, 0
	for v, end := range g.ends {
		if start != to {
			copy(g.targets[to:], g.targets[start:ends[v]])
		}
		to += ends[v] - start
		g.ends[v], start = to, end
	}
	g.targets = g.targets[:to]
}

// Len returns the number of vertices.
func (g *Graph) Len() int { return len(g.ends) }

// NumEdges returns the number of edges.
func (g *Graph) NumEdges() int { return len(g.targets) }

// Targets returns where the edges of a vertex lead, ascending. The slice is the
// graph's and only to be read.
func (g *Graph) Targets(v uint32) []uint32 {
	start := 0
	if v > 0 {
		start = g.ends[v-1]
	}
	return g.targets[start:g.ends[v]]
}

// Scores are those of the vertices of a graph as authorities, which good hubs
// link to, and as hubs, which link to good authorities.
type Scores struct{ Authority, Hub []float64 }
