// SALSA, on a small graph.

package rank

// SALSA computes the scores of the stochastic approach of Lempel and Moran (TOIS 2001). The
// authority scores are the stationary distribution of a random walk from a random authority. Each
// step goes back over a random link to a hub and forward over a random link of the hub. Hub
// scores are defined likewise. No iteration is needed, because the bipartite graph of hubs
// (vertices with links) and authorities (vertices with incoming links) falls into components. A
// walk stays in its component and visits each authority in proportion to its links:
//
//	a(v) = |A_C| / |A| * in(v) / |E_C|       h(v) = |H_C| / |H| * out(v) / |E_C|
//
// A_C, H_C and E_C are the authorities, hubs and edges of the component. If the graph has weights,
// the walk takes a link with a probability proportional to its weight. in(v), out(v) and |E_C| are
// then sums of weights (their Theorem 6 is this case). Each vector sums up to 1; if the graph has no
// edges, it is 0. The cost is nearly O(edges).
func SALSA(g *Graph) Scores {
	n := g.Len()
	s := Scores{make([]float64, n), make([]float64, n)}
	// 1. Join the authorities of each hub. A hub is in the component of any of its authorities.
	trees := newForest(n)
	start := 0
	for _, end := range g.ends {
		if start < end {
			root := trees.find(g.targets[start])
			for _, to := range g.targets[start+1 : end] {
				if trees.parents[to] != root {
					root = trees.join(root, trees.find(to))
				}
			}
		}
		start = end
	}

	// 2. Count authorities, hubs and edges of each component.
	components := make([]component, n) // by root
	in, out := g.degrees()
	authorities, hubs := 0, 0
	for v, degree := range in {
		if degree > 0 {
			c := &components[trees.find(uint32(v))]
			c.authorities++
			c.edges += degree
			authorities++
		}
	}
	start = 0
	for _, end := range g.ends {
		if start < end {
			components[trees.find(g.targets[start])].hubs++
			hubs++
		}
		start = end
	}
	// 3. Turn the counts into the scores of a vertex with one edge.
	for i := range components {
		if c := &components[i]; c.edges > 0 {
			c.authorities /= float64(authorities) * c.edges
			c.hubs /= float64(hubs) * c.edges
		}
	}

	// 4. Multiply by the edges of each vertex.
	start = 0
	for v, end := range g.ends {
		if in[v] > 0 {
			s.Authority[v] = components[trees.find(uint32(v))].authorities * in[v]
		}
		if start < end {
			s.Hub[v] = components[trees.find(g.targets[start])].hubs * out[v]
		}
		start = end
	}
	return s
}

// component is the counts of one component, and then the scores of a vertex with one edge.
type component struct{ authorities, hubs, edges float64 }

// A forest is a union-find structure: each tree is a set of vertices. join uses the sizes of
// trees, find halves paths (Tarjan and van Leeuwen 1984).
type forest struct {
	parents []uint32
	sizes   []uint32 // of the trees, by root
}

func newForest(n int) *forest {
	f := &forest{make([]uint32, n), make([]uint32, n)}
	for v := range f.parents {
		f.parents[v] = uint32(v)
		f.sizes[v] = 1
	}
	return f
}

// find returns the root of the tree of v.
func (f *forest) find(v uint32) uint32 {
	for f.parents[v] != v {
		f.parents[v] = f.parents[f.parents[v]]
		v = f.parents[v]
	}
	return v
}

// join makes the trees of two roots one and returns its root.
func (f *forest) join(a, b uint32) uint32 {
	if a == b {
		return a
	}
	if f.sizes[a] < f.sizes[b] {
		a, b = b, a
	}
	f.parents[b] = a
	f.sizes[a] += f.sizes[b]
	return a
}
