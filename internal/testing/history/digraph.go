// A directed graph in arrays: strongly connected components, and shortest paths within one.

package history

// digraph is a directed graph. The arcs of a node are those at [first[node], first[node+1]) of to and
// label.
type digraph struct {
	first []int32
	to    []int32
	label []int32 // the caller's number of the arc
}

// arc is an arc of a graph to be built.
type arc struct{ from, to, label int32 }

// newDigraph returns the graph of some nodes with these arcs.
func newDigraph(nodes int, arcs []arc) *digraph {
	g := &digraph{first: make([]int32, nodes+1), to: make([]int32, len(arcs)), label: make([]int32, len(arcs))}
	for _, a := range arcs {
		g.first[a.from+1]++
	}
	for i := range nodes {
		g.first[i+1] += g.first[i]
	}
	place := append([]int32(nil), g.first...)
	for _, a := range arcs {
		g.to[place[a.from]], g.label[place[a.from]] = a.to, a.label
		place[a.from]++
	}
	return g
}

// components returns the number of the strongly connected component of each node. A node without a cycle
// through it has 0. It is Tarjan's algorithm without recursion, because a path may be as long as the history.
func (g *digraph) components() []int32 {
	nodes := len(g.first) - 1
	component := make([]int32, nodes)
	index := make([]int32, nodes) // when the node was found, from 1
	low := make([]int32, nodes)   // the least index that is reached from it; 0 if it is in a component
	next := append([]int32(nil), g.first[:nodes]...)
	var found, count int32
	var stack, path []int32
	for root := range int32(nodes) {
		if index[root] != 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			n := path[len(path)-1]
			// 1. The first visit.
			if index[n] == 0 {
				found++
				index[n], low[n] = found, found
				stack = append(stack, n)
			}
			// 2. One arc for each visit. A node that is found by it is visited before n again.
			if next[n] < g.first[n+1] {
				to := g.to[next[n]]
				next[n]++
				if index[to] == 0 {
					path = append(path, to)
				} else if low[to] != 0 {
					low[n] = min(low[n], index[to])
				}
				continue
			}
			// 3. The last visit: n is the root of a component, or its low counts for the node before.
			path = path[:len(path)-1]
			if low[n] == index[n] {
				stack = g.pop(stack, n, low, component, &count)
			} else {
				before := path[len(path)-1]
				low[before] = min(low[before], low[n])
			}
		}
	}
	return component
}

// pop takes the component of a root from the stack, and numbers it if it has more than one node.
func (g *digraph) pop(stack []int32, root int32, low, component []int32, count *int32) []int32 {
	number := int32(0)
	if stack[len(stack)-1] != root {
		*count++
		number = *count
	}
	for {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		low[n], component[n] = 0, number
		if n == root {
			return stack
		}
	}
}

// path returns the labels of a shortest path between two nodes of one component, and how many arcs were
// looked at.
func (g *digraph) path(from, to int32, component []int32) (labels []int32, work int) {
	type step struct{ before, label int32 }
	steps := map[int32]step{from: {}}
	for queue := []int32{from}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if n == to {
			break
		}
		for i := g.first[n]; i < g.first[n+1]; i++ {
			work++
			next := g.to[i]
			if _, ok := steps[next]; !ok && component[next] == component[n] {
				steps[next] = step{n, g.label[i]}
				queue = append(queue, next)
			}
		}
	}
	for n := to; n != from; n = steps[n].before {
		labels = append(labels, steps[n].label)
	}
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return labels, work
}
