// Cycles of dependencies, and their names.

package history

import (
	"slices"
	"strings"
)

// stage is a graph whose cycles are searched.
type stage struct {
	data  dependency // the edges of the graph: ww, wr, rw
	order dependency // process, realTime, or 0 for none
	// points is set if the nodes are snapshots and commits, not transactions: a cycle has no two rw in a row.
	points bool
	// pivot has the kinds of which each new cycle has an edge. The stages before have found the others.
	pivot dependency
}

// stages begins with the anomalies that break most levels.
func stages() (all []stage) {
	for _, order := range []dependency{0, process, realTime} {
		for _, s := range []stage{
			{data: ww, pivot: ww},                          // G0
			{data: ww | wr, pivot: wr},                     // G1c
			{data: ww | wr | rw, points: true, pivot: rw},  // G-single, G-nonadjacent
			{data: ww | wr | rw, points: false, pivot: rw}, // G2-item
		} {
			if order != 0 {
				s.order, s.pivot = order, order
			}
			all = append(all, s)
		}
	}
	return all
}

// findCycles finds the cycles of a history with some transactions.
func findCycles(txns int, data, processes, times []edge, report *Report) {
	all := slices.Concat(data, processes, times)
	// All cycles of all stages are cycles of the graph of all edges. Most histories have none, and need no
	// stage. Edges of processes are edges of real time, too, so that they add none.
	component := plainGraph(txns, all).components()
	all = slices.DeleteFunc(all, func(e edge) bool {
		return component[e.from] == 0 || component[e.from] != component[e.to]
	})
	if len(all) == 0 {
		return
	}
	for _, s := range stages() {
		s.search(txns, all, report)
	}
}

// plainGraph returns the graph of transactions. The labels are the indexes of the edges.
func plainGraph(txns int, edges []edge) *digraph {
	arcs := make([]arc, len(edges))
	for i, e := range edges {
		arcs[i] = arc{int32(e.from), int32(e.to), int32(i)}
	}
	return newDigraph(txns, arcs)
}

// noEdge is the label of the arc from a transaction's snapshot to its commit.
const noEdge = -1

// arc returns the arc of an edge in the stage's graph. If nodes are points in time, the snapshot of T is
// 2T and its commit 2T+1.
func (s stage) arc(e edge, label int) arc {
	from, to := int32(e.from), int32(e.to)
	switch {
	case !s.points:
	case e.kind == rw:
		from, to = 2*from, 2*to+1
	default:
		from, to = 2*from+1, 2*to
	}
	return arc{from, to, int32(label)}
}

// graph returns the graph of the stage.
func (s stage) graph(txns int, edges []edge) *digraph {
	var arcs []arc
	for i, e := range edges {
		if e.kind&(s.data|s.order) != 0 {
			arcs = append(arcs, s.arc(e, i))
		}
	}
	if !s.points {
		return newDigraph(txns, arcs)
	}
	for t := range int32(txns) {
		arcs = append(arcs, arc{2 * t, 2*t + 1, noEdge})
	}
	return newDigraph(2*txns, arcs)
}

const (
	maxPivots = 50        // pivots of a component that are tried: their cycles differ in length and name
	maxWork   = 5_000_000 // arcs that a stage looks at before each component gets a single try
)

// search finds cycles of each component.
func (s stage) search(txns int, edges []edge, report *Report) {
	g := s.graph(txns, edges)
	component := g.components()
	tries := map[int32]int{}
	work := 0
	for i, e := range edges {
		if e.kind&s.pivot == 0 {
			continue
		}
		// 1. An edge within a component has a path back, so that each try finds a cycle.
		a := s.arc(e, i)
		in := component[a.from]
		if in == 0 || in != component[a.to] || tries[in] == maxPivots || tries[in] > 0 && work > maxWork {
			continue
		}
		tries[in]++
		labels, n := g.path(a.to, a.from, component)
		work += n
		// 2. The step from a snapshot to the commit is no dependency.
		found := cycle{e}
		for _, label := range labels {
			if label != noEdge {
				found = append(found, edges[label])
			}
		}
		if s.points {
			found = found.simple()
		}
		found = found.merged()
		report.add(found.name(), found.explain(), found.txns()...)
	}
}

// cycle is a closed walk: each edge ends where the next one begins.
type cycle []edge

// simple returns a part of a cycle of points in time that visits no transaction twice.
//
// A walk may visit a transaction's snapshot and its commit at different times. Then it is two closed walks.
// It comes to the snapshot and leaves the commit by edges that are not rw, so the part with these two
// has no two rw in a row there either.
func (c cycle) simple() cycle {
	for i := range c {
		for j := i + 1; j < len(c); j++ {
			if c[i].from != c[j].from {
				continue
			}
			inner, outer := c[i:j], slices.Concat(c[j:], c[:i])
			if cycle(inner).adjacent() {
				inner = outer
			}
			return cycle(inner).simple()
		}
	}
	return c
}

// merged returns the cycle with one edge of an order where it has several in a row.
func (c cycle) merged() cycle {
	ordered := func(e edge) bool { return e.kind == process || e.kind == realTime }
	// A cycle begins anywhere. It must not begin within a row.
	if i := slices.IndexFunc(c, func(e edge) bool { return !ordered(e) }); i > 0 {
		c = slices.Concat(c[i:], c[:i])
	}
	var short cycle
	for _, e := range c {
		if n := len(short) - 1; n >= 0 && ordered(e) && short[n].kind == e.kind {
			short[n].to = e.to
		} else {
			short = append(short, e)
		}
	}
	return short
}

// adjacent reports whether two edges of rw are in a row.
func (c cycle) adjacent() bool {
	before := c[len(c)-1]
	for _, e := range c {
		if e.kind == rw && before.kind == rw {
			return true
		}
		before = e
	}
	return false
}

// name returns Adya's name of the cycle, with a suffix if it needs an order.
func (c cycle) name() string {
	switch kinds := c.kinds(); {
	case kinds&realTime != 0:
		return c.baseName() + realTimeSuffix
	case kinds&process != 0:
		return c.baseName() + processSuffix
	}
	return c.baseName()
}

func (c cycle) kinds() (all dependency) {
	for _, e := range c {
		all |= e.kind
	}
	return all
}

func (c cycle) baseName() string {
	count := 0 // of rw
	for _, e := range c {
		if e.kind == rw {
			count++
		}
	}
	switch {
	case count == 1:
		return GSingle
	case count > 1 && c.adjacent():
		return G2Item
	case count > 1:
		return GNonadjacent
	case c.kinds()&wr != 0:
		return G1c
	}
	return G0
}

func (c cycle) txns() (all []int) {
	for _, e := range c {
		all = append(all, e.from)
	}
	return all
}

func (c cycle) explain() string {
	reasons := make([]string, len(c))
	for i, e := range c {
		reasons[i] = e.explain()
	}
	return strings.Join(reasons, "; ")
}
