// Dependencies between transactions: edges of ww, wr, rw, processes and real time.

package history

import (
	"cmp"
	"fmt"
	"slices"
)

// dependency is the kind of an edge, as a bit.
type dependency uint8

const (
	ww dependency = 1 << iota
	wr
	rw
	process
	realTime
)

// edge says that a transaction comes before another one.
type edge struct {
	from, to int
	kind     dependency
	element  element // that made the dependency; of ww and rw the later transaction's
}

// explain returns the reason of an edge.
func (e edge) explain() string {
	switch e.kind {
	case ww:
		return fmt.Sprintf("T%d wrote key %d before T%d appended %d", e.from, e.element.key, e.to, e.element.value)
	case wr:
		return fmt.Sprintf("T%d read %d in key %d, which T%d appended", e.to, e.element.value, e.element.key, e.from)
	case rw:
		return fmt.Sprintf("T%d read key %d without %d, which T%d appended", e.from, e.element.key, e.element.value, e.to)
	case process:
		return fmt.Sprintf("one process ran T%d before T%d", e.from, e.to)
	}
	return fmt.Sprintf("T%d ended before T%d began", e.from, e.to)
}

// dataEdges returns the edges of ww, wr and rw.
func (v *versions) dataEdges() (edges []edge) {
	add := func(from, to int, kind dependency, e element) {
		if from != to && v.isCommitted(from) && v.isCommitted(to) {
			edges = append(edges, edge{from, to, kind, e})
		}
	}
	// 1. Appends in their order, and the unread ones, whose order is not known, behind the last.
	for key, order := range v.order {
		for i, value := range order {
			from := v.writer(element{key, value})
			for _, next := range v.nextElements(key, i+1) {
				add(from, v.writer(next), ww, next)
			}
		}
	}
	// 2. A read is between the last element that it has and the first that it lacks.
	for _, r := range v.reads {
		if r.external > 0 {
			last := element{r.key, r.list[r.external-1]}
			add(v.writer(last), r.txn, wr, last)
		}
		for _, next := range v.nextElements(r.key, r.external) {
			add(r.txn, v.writer(next), rw, next)
		}
	}
	return edges
}

// nobody is the writer of an element that was not appended.
const nobody = -1

// writer returns the transaction that appended an element, or nobody.
func (v *versions) writer(e element) int {
	if w, ok := v.writers[e]; ok {
		return w.txn
	}
	return nobody
}

func (v *versions) isCommitted(txn int) bool { return txn != nobody && v.committed[txn] }

// nextElements returns the element at a position of a list or, at its end, the unread elements.
func (v *versions) nextElements(key, position int) []element {
	if order := v.order[key]; position < len(order) {
		return []element{{key, order[position]}}
	}
	return v.unread[key]
}

// processEdges returns an edge between each two transactions that a process ran one after the other.
// An unknown one may take effect after the next one, so it has no edge to it.
func (v *versions) processEdges() (edges []edge) {
	last := map[int]int{} // by process
	for i, t := range v.txns {
		if !v.committed[i] {
			continue
		}
		if before, ok := last[t.Process]; ok {
			edges = append(edges, edge{from: before, to: i, kind: process})
		}
		if t.Outcome == Committed {
			last[t.Process] = i
		}
	}
	return edges
}

// realTimeEdges returns edges whose transitive closure is: the one ended before the other began.
//
// The frontier has the transactions that have ended, and that no later one has replaced. One replaces
// those that were in the frontier at its begin, because whatever follows it follows them, too.
func (v *versions) realTimeEdges() (edges []edge) {
	type event struct{ tick, txn int }
	var events []event
	for i, t := range v.txns {
		if v.committed[i] {
			events = append(events, event{t.Begin, i})
			if t.Outcome == Committed {
				events = append(events, event{t.End, i})
			}
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.tick, b.tick) })
	// A transaction follows only what ended before its begin, so the frontier must not be ahead of it.
	var frontier []int
	replaces := map[int][]int{} // by transaction that runs, the frontier at its begin
	for _, e := range events {
		if v.txns[e.txn].Begin == e.tick {
			for _, before := range frontier {
				edges = append(edges, edge{from: before, to: e.txn, kind: realTime})
			}
			replaces[e.txn] = slices.Clone(frontier)
			continue
		}
		frontier = slices.DeleteFunc(frontier, func(t int) bool { return slices.Contains(replaces[e.txn], t) })
		frontier = append(frontier, e.txn)
		delete(replaces, e.txn)
	}
	return edges
}
