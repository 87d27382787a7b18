package exec

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// walker follows paths through the active graph. Nodes have numbers.
type walker struct {
	q      *query
	graphs *graphs
	plan   *Plan
	holder *holder
	names  []string
	ids    map[string]int32
	inner  int // how many searches stand in one another
}

// id returns the number of a node.
func (w *walker) id(node string) (int32, error) {
	if id, ok := w.ids[node]; ok {
		return id, nil
	}
	if err := w.holder.grow(len(node) + 96); err != nil {
		return 0, err
	}
	if w.ids == nil {
		w.ids = make(map[string]int32)
	}
	id := int32(len(w.names))
	w.names = append(w.names, node)
	w.ids[node] = id
	return id, nil
}

func (w *walker) clear() {
	w.names, w.ids = nil, nil
	w.holder.free()
}

const pairBytes = 64 // of a pair in a search

// errPairs: a search from several starts found more than it is to hold.
var errPairs = errors.New("more pairs than are held")

// maxPairs is how many pairs a search from several starts holds.
const maxPairs = 1 << 18

// search finds what a repetition connects with some starts, level by level: each
// level is one look-up of the nodes that any start reached last.
type search struct {
	w       *walker
	path    *ast.PathRepeat
	forward bool
	ends    [][]int32 // by start: what was reached, each once, in the order in which it was
	starts  []int32
	seen    map[uint64]struct{} // start's index and node
	next    []reached
	steps   map[int32][]int32 // by node: what Arg connects it with
	bounded bool
	held    int64 // of the walker's account
}

// reached is a node that was reached from a start.
type reached struct{ start, node int32 }

func (w *walker) search(starts []int32, p *ast.PathRepeat, forward bool) (*search, error) {
	s := &search{
		w: w, path: p, forward: forward, starts: starts, ends: make([][]int32, len(starts)),
		seen: map[uint64]struct{}{}, steps: map[int32][]int32{}, bounded: len(starts) > 1 && w.inner == 0,
	}
	for i, start := range starts {
		s.next = append(s.next, reached{int32(i), start})
		if p.Min == 0 {
			if _, err := s.put(i, start); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *search) put(i int, node int32) (bool, error) {
	key := uint64(i)<<32 | uint64(node)
	if _, ok := s.seen[key]; ok {
		return false, nil
	}
	if s.bounded && len(s.seen) >= maxPairs {
		return false, errPairs
	}
	if err := s.w.holder.grow(pairBytes); err != nil {
		if s.bounded {
			return false, errPairs
		}
		return false, err
	}
	s.held += pairBytes
	s.seen[key] = struct{}{}
	s.ends[i] = append(s.ends[i], node)
	return true, nil
}

// has reports whether the i-th start reached a node.
func (s *search) has(i int, node int32) bool {
	_, ok := s.seen[uint64(i)<<32|uint64(node)]
	return ok
}

// release gives back what only the search itself needed.
func (s *search) release() {
	s.w.holder.shrink(s.w.holder.held - s.held)
	s.held = 0
}

func (s *search) done() bool { return len(s.next) == 0 }

// level goes one step further.
func (s *search) level() error {
	var from []int32
	asked := map[int32]struct{}{}
	for _, r := range s.next {
		if _, ok := s.steps[r.node]; ok {
			continue
		}
		if _, ok := asked[r.node]; !ok {
			asked[r.node] = struct{}{}
			from = append(from, r.node)
		}
	}
	s.w.inner++
	to, err := s.w.expand(from, s.path.Arg, s.forward)
	s.w.inner--
	if err != nil {
		return err
	}
	for i, node := range from {
		bytes := 32 + 4*len(to[i])
		if err := s.w.holder.grow(bytes); err != nil {
			return err
		}
		s.held += int64(bytes)
		s.steps[node] = to[i]
	}
	level := s.next
	s.next = nil
	for n, r := range level {
		if n%batchRows == 0 {
			if err := s.w.q.check(); err != nil {
				return err
			}
		}
		for _, node := range s.steps[r.node] {
			fresh, err := s.put(int(r.start), node)
			if err != nil {
				return err
			}
			if fresh && !s.path.Once {
				s.next = append(s.next, reached{r.start, node})
			}
		}
	}
	return nil
}

// expand returns for each node what a path connects it with, each once.
func (w *walker) expand(from []int32, p ast.Path, forward bool) ([][]int32, error) {
	if err := w.q.check(); err != nil {
		return nil, err
	}
	if len(from) == 0 {
		return nil, nil
	}
	switch p := p.(type) {
	case *ast.PathIRI:
		return w.edges(from, encode(triple.NewIRI(p.IRI)), nil, forward)
	case *ast.PathInverse:
		return w.expand(from, p.Arg, !forward)
	case *ast.PathRepeat:
		s, err := w.search(from, p, forward)
		for err == nil && !s.done() {
			err = s.level()
		}
		if err != nil {
			return nil, err
		}
		s.release()
		return s.ends, nil
	case *ast.PathSequence:
		return w.sequence(from, p, forward)
	case *ast.PathAlternative:
		var to [][]int32
		for _, part := range p.Parts {
			more, err := w.expand(from, part, forward)
			if err != nil {
				return nil, err
			}
			to = joined(to, more)
		}
		return to, nil
	case *ast.PathNegated:
		return w.negated(from, p, forward)
	}
	return make([][]int32, len(from)), nil
}

// sequence goes one part after the other, from all middles at once.
func (w *walker) sequence(from []int32, p *ast.PathSequence, forward bool) ([][]int32, error) {
	to := make([][]int32, len(from))
	for i, node := range from {
		to[i] = []int32{node}
	}
	for i := range p.Parts {
		part := p.Parts[i]
		if !forward {
			part = p.Parts[len(p.Parts)-1-i]
		}
		at := map[int32]int{}
		var middles []int32
		for _, list := range to {
			for _, node := range list {
				if _, ok := at[node]; !ok {
					at[node] = len(middles)
					middles = append(middles, node)
				}
			}
		}
		more, err := w.expand(middles, part, forward)
		if err != nil {
			return nil, err
		}
		for i, list := range to {
			var ends []int32
			for _, node := range list {
				ends = append(ends, more[at[node]]...)
			}
			if len(list) > 1 {
				ends = once(ends)
			}
			to[i] = ends
		}
	}
	return to, nil
}

// joined returns the union of two lists for each node.
func joined(a, b [][]int32) [][]int32 {
	if a == nil {
		return b
	}
	for i, list := range b {
		if len(list) > 0 {
			a[i] = once(append(a[i][:len(a[i]):len(a[i])], list...))
		}
	}
	return a
}

// once leaves each node once.
func once(list []int32) []int32 {
	seen := make(map[int32]struct{}, len(list))
	kept := list[:0]
	for _, node := range list {
		if _, ok := seen[node]; !ok {
			seen[node] = struct{}{}
			kept = append(kept, node)
		}
	}
	return kept
}

func (w *walker) negated(from []int32, p *ast.PathNegated, forward bool) ([][]int32, error) {
	var not [2]map[string]bool
	for _, member := range p.Set {
		i := 0
		if member.Inverse {
			i = 1
		}
		if not[i] == nil {
			not[i] = map[string]bool{}
		}
		not[i][keyOfIRI(member.IRI)] = true
	}
	if not[1] == nil && not[0] == nil {
		not[0] = map[string]bool{}
	}
	var to [][]int32
	for i := range not {
		if not[i] == nil {
			continue
		}
		more, err := w.edges(from, "", not[i], forward == (i == 0))
		if err != nil {
			return nil, err
		}
		for k := range more {
			more[k] = once(more[k])
		}
		to = joined(to, more)
	}
	return to, nil
}

// empty reports whether a path connects every node with itself by no edge.
func empty(p ast.Path) bool {
	switch p := p.(type) {
	case *ast.PathInverse:
		return empty(p.Arg)
	case *ast.PathRepeat:
		return p.Min == 0 || empty(p.Arg)
	case *ast.PathSequence:
		for _, part := range p.Parts {
			if !empty(part) {
				return false
			}
		}
		return true
	case *ast.PathAlternative:
		for _, part := range p.Parts {
			if empty(part) {
				return true
			}
		}
	}
	return false
}
