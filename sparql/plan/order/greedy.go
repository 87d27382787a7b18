// The order of joins between many patterns: the best one of a few that are linked with the rows so far.

package order

import (
	"cmp"
	"slices"
)

// greedyWindow is how many patterns a step of a long search compares. The search of n patterns then takes
// n * greedyWindow comparisons, and not n * n.
const greedyWindow = 64

// maxFirst is how many patterns of many are tried as the first one in a wanted sequence.
const maxFirst = 8

// window chooses the patterns that a step of a greedy search compares.
type window struct {
	model *joinModel
	used  []bool
	// queue has the patterns in the order of their rows; those before at are used.
	queue []int
	at    int
	// linked has the patterns that [joinModel.linked] finds, or have no variable. It may have used ones.
	linked []int
	known  []bool  // in linked
	bound  []bool  // the variables that the rows bind
	of     [][]int // the patterns of each variable, in the order of their rows; nil if they are in linked
	terms  [][]int // the triple terms that patterns look up if the rows bind a variable: the first of their parts
	some   []int
}

// newWindow returns the window of a search over all patterns if they are more than it holds; nil for others, which
// compare all patterns in each step.
func newWindow(m *joinModel, used []bool, start *joinState) *window {
	if len(m.list) <= greedyWindow {
		return nil
	}
	n := len(m.vars.slots)
	w := &window{model: m, used: used, known: make([]bool, len(m.list)), bound: make([]bool, n), of: make([][]int, n), terms: make([][]int, n)}
	for i := range m.list {
		w.queue = append(w.queue, i)
	}
	slices.SortStableFunc(w.queue, func(a, b int) int { return cmp.Compare(m.list[a].Rows, m.list[b].Rows) })
	// 1. A pattern without variables joins with nothing, so it is linked from the start.
	for _, i := range w.queue {
		vars := false
		for _, v := range m.list[i].Local {
			if v >= 0 {
				w.of[v] = append(w.of[v], i)
				vars = true
			}
		}
		if !vars {
			w.link(i)
		}
	}
	for _, u := range m.unfolds.list {
		if i := slices.IndexFunc(u.parts[:], func(v int) bool { return v >= 0 }); i >= 0 {
			w.terms[u.parts[i]] = append(w.terms[u.parts[i]], u.term)
		}
	}
	// 2. What is bound before the search links its patterns, as a step does.
	w.bind(start)
	return w
}

func (w *window) link(i int) {
	if !w.known[i] {
		w.known[i] = true
		w.linked = append(w.linked, i)
	}
}

// reach links the patterns of a variable.
func (w *window) reach(v int) {
	for _, i := range w.of[v] {
		w.link(i)
	}
	w.of[v] = nil
}

// bind links the patterns of the variables that a state binds, those of variables that equalities link with them,
// and those whose triple terms begin with them.
func (w *window) bind(s *joinState) {
	for v, d := range s.distinct {
		if d == 0 || w.bound[v] {
			continue
		}
		w.bound[v] = true
		w.reach(v)
		for _, i := range w.model.equalities[v] {
			t := &w.model.tests[i]
			w.reach(t.left + t.right - v)
		}
		for _, term := range w.terms[v] {
			w.reach(term)
		}
	}
}

// next returns the patterns to compare: the first linked ones, or if there are none the unused ones of fewest rows.
func (w *window) next() []int {
	isUsed := func(i int) bool { return w.used[i] }
	head := w.linked[:min(len(w.linked), 2*greedyWindow)]
	kept := len(slices.DeleteFunc(head, isUsed))
	w.linked = slices.Delete(w.linked, kept, len(head))
	w.some = append(w.some[:0], w.linked[:min(kept, greedyWindow)]...)
	for len(w.some) == 0 && w.at < len(w.queue) && isUsed(w.queue[w.at]) {
		w.at++
	}
	if len(w.some) == 0 {
		w.some = append(w.some, w.queue[w.at:min(w.at+greedyWindow, len(w.queue))]...)
		w.some = slices.DeleteFunc(w.some, isUsed)
	}
	return w.some
}

// greedy always takes the pattern with the fewest resulting rows next, and among equal ones the cheapest.
func (p *search) greedy(w ways) (steps []Step, last joinState) {
	m := p.model
	last = m.begin()
	used := make([]bool, len(m.list))
	some := newWindow(m, used, &last)
	all := make([]int, len(m.list))
	for i := range all {
		all[i] = i
	}
	for range m.list {
		if p.Exec.Check() != nil { // Find checks it again
			return nil, last
		}
		// 1. Compare the patterns that are linked. A wanted first one has no other beside it.
		from := all
		switch {
		case len(steps) == 0 && w.first >= 0:
			from = []int{w.first}
		case some != nil:
			from = some.next()
		}
		best := p.bestOf(from, used, &last, w, len(steps) == 0)
		// 2. The bindings belong to the state, and must not be shared with the one before.
		i := int(best.last)
		used[i] = true
		steps = append(steps, m.step(&best))
		best.distinct = slices.Clone(last.distinct)
		m.complete(&best, last.distinct, i)
		if last = best; some != nil {
			some.bind(&last)
		}
	}
	return steps, last
}

// bestOf returns the state after the best next pattern of some. Products are taken only if no pattern is linked.
func (p *search) bestOf(some []int, used []bool, last *joinState, w ways, first bool) (best joinState) {
	m := p.model
	linked := !first && slices.ContainsFunc(some, func(i int) bool { return !used[i] && m.linked(last, &m.list[i]) })
	for _, i := range some {
		if used[i] || linked && !m.linked(last, &m.list[i]) {
			continue
		}
		for _, method := range m.methods(w.hash && !(first && m.in.Start)) {
			s, ok := m.join(last, i, method)
			if ok && (!best.reached || s.rows < best.rows || s.rows == best.rows && s.cost < best.cost) {
				best = s
			}
		}
	}
	return best
}
