// Searches along a path, a level of nodes at a time.

package path

import (
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/triple"
)

// Walker follows paths through the active graph. It counts nodes as it meets them; a node's place in
// this sequence is its ID.
type Walker struct {
	Exec    *exec.Execution
	Graphs  *pattern.Graphs
	Columns *columns.View // of the active graph; nil if rows must be read
	Cells   *Cells        // of the only predicate of the path; nil if they are not read
	Plan    *explain.Plan
	Holder  *memory.Holder
	names   []string // bindings by ID: a number if the columns have one, see [solution.AppendNumber]
	ids     map[string]int32
	numbers map[uint32]int32 // the IDs of numbers
	buf     []byte
	inner   int // how many searches stand in one another
}

// nodeBytes are counted for a node beside its name.
const nodeBytes = 96

// id returns the ID of a node.
func (w *Walker) id(node string) (int32, error) {
	if number, ok := w.number(node); ok {
		return w.idOf(number)
	}
	if id, ok := w.ids[node]; ok {
		return id, nil
	}
	if err := w.Holder.Grow(len(node) + nodeBytes); err != nil {
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

// number returns the number of a binding; ok is false if the columns have none, or the term is long.
func (w *Walker) number(node string) (number uint32, ok bool) {
	if number, ok = solution.Number(node); ok || w.Columns == nil {
		return number, ok
	}
	key := solution.BytesOf(node)
	if len(node) > solution.ShortTerm {
		w.buf = solution.AppendKeyForm(w.buf[:0], node)
		if key = w.buf; triple.IsLongTerm(key) {
			return 0, false
		}
	}
	number = w.Columns.Dictionary().Number(key)
	return number, number != 0
}

// idOf returns the ID of the node with a number.
func (w *Walker) idOf(number uint32) (int32, error) {
	if id, ok := w.numbers[number]; ok {
		return id, nil
	}
	if err := w.Holder.Grow(nodeBytes); err != nil {
		return 0, err
	}
	if w.numbers == nil {
		w.numbers = make(map[uint32]int32)
	}
	id := int32(len(w.names))
	w.names = append(w.names, w.Exec.Arena.Number(number))
	w.numbers[number] = id
	return id, nil
}

// term returns the encoded term of a node.
func (w *Walker) term(id int32) string {
	number, ok := solution.Number(w.names[id])
	if !ok {
		return w.names[id]
	}
	w.buf = w.Exec.Terms.Append(w.buf[:0], number)
	return w.Exec.Arena.Copy(w.buf)
}

func (w *Walker) clear() {
	w.names, w.ids, w.numbers = nil, nil, nil
	if w.Cells != nil {
		w.Cells.pages, w.Cells.ids = nil, nil
	}
	w.Holder.Free()
}

const pairBytes = 64 // of a pair in a search

// errPairs: a search from several starts found more than it is to hold.
var errPairs = errors.New("more pairs than are held")

// maxPairs is how many pairs a search from several starts holds.
const maxPairs = 1 << 18

// search finds the nodes connected with some starts by a repetition, level by level. Each level
// is one look-up of the nodes last reached by any start.
type search struct {
	w       *Walker
	path    *ast.PathRepeat
	forward bool
	ends    [][]int32 // by start: the reached nodes, each once, in the order of arrival
	starts  []int32
	seen    map[uint64]struct{} // start's index and node, of several starts
	met     []uint64            // a bit for each node, of one start
	pairs   int                 // of a start and a reached node
	next    []reached
	steps   map[int32][]int32  // by node: its neighbours by Arg
	begins  map[int32]struct{} // nodes that have neighbours by Arg, or nil if they are not known
	bounded bool
	held    int64 // of the walker's account
}

// reached is a node reached from a start.
type reached struct{ start, node int32 }

func (w *Walker) search(starts []int32, p *ast.PathRepeat, forward bool) (*search, error) {
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
	if s.has(i, node) {
		return false, nil
	}
	if s.bounded && s.pairs >= maxPairs {
		return false, errPairs
	}
	if err := s.w.Holder.Grow(pairBytes); err != nil {
		if s.bounded {
			return false, errPairs
		}
		return false, err
	}
	s.held += pairBytes
	s.pairs++
	s.ends[i] = append(s.ends[i], node)
	if len(s.starts) > 1 {
		s.seen[uint64(i)<<32|uint64(node)] = struct{}{}
		return true, nil
	}
	for int(node/64) >= len(s.met) {
		s.met = append(s.met, 0)
	}
	s.met[node/64] |= 1 << (node % 64)
	return true, nil
}

// has reports whether the i-th start reached a node.
func (s *search) has(i int, node int32) bool {
	if len(s.starts) == 1 {
		return int(node/64) < len(s.met) && s.met[node/64]&(1<<(node%64)) != 0
	}
	_, ok := s.seen[uint64(i)<<32|uint64(node)]
	return ok
}

// release gives back the memory of the search itself. The results stay.
func (s *search) release() {
	s.w.Holder.ShrinkTo(s.w.Holder.Held - s.held)
	s.held = 0
}

func (s *search) done() bool { return len(s.next) == 0 }

// level goes one step further.
func (s *search) level() error {
	// 1. Expand a node only if no earlier level did, all in one call.
	var from []int32
	requested := map[int32]struct{}{}
	for _, r := range s.next {
		if _, ok := s.steps[r.node]; ok {
			continue
		}
		if _, ok := s.begins[r.node]; !ok && s.begins != nil {
			continue
		}
		if _, ok := requested[r.node]; !ok {
			requested[r.node] = struct{}{}
			from = append(from, r.node)
		}
	}
	s.w.inner++
	to, err := s.w.expand(from, s.path.Arg, s.forward)
	s.w.inner--
	if err != nil {
		return err
	}
	// 2. Keep their steps, because other starts may meet the same nodes.
	for i, node := range from {
		bytes := 32 + 4*len(to[i])
		if err := s.w.Holder.Grow(bytes); err != nil {
			return err
		}
		s.held += int64(bytes)
		s.steps[node] = to[i]
	}
	// 3. If a node is new to a start, it belongs to the next level.
	level := s.next
	s.next = nil
	for n, r := range level {
		if n%solution.BatchRows == 0 {
			if err := s.w.Exec.Check(); err != nil {
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

// expand returns for each node its neighbours by a path, each once.
func (w *Walker) expand(from []int32, p ast.Path, forward bool) ([][]int32, error) {
	if err := w.Exec.Check(); err != nil {
		return nil, err
	}
	if len(from) == 0 {
		return nil, nil
	}
	// Each kind of path is made of simpler ones; only edges read the store.
	switch p := p.(type) {
	case *ast.PathIRI:
		if l := w.lists(p.IRI, forward); l != nil {
			return w.columnEdges(from, l)
		}
		if w.Cells != nil {
			return w.cellEdges(from, forward)
		}
		return w.edges(from, solution.Encode(triple.NewIRI(p.IRI)), nil, forward)
	case *ast.PathInverse:
		return w.expand(from, p.Arg, !forward)
	case *ast.PathRepeat:
		// A repetition within a path is a search of its own. Its lists must stay, so only its
		// own memory is released.
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
		// A pair comes once, even if several alternatives connect it.
		var to [][]int32
		var merged lists
		defer merged.end(w)
		for _, part := range p.Parts {
			more, err := w.expand(from, part, forward)
			if err == nil {
				to, err = merged.join(w, to, more)
			}
			if err != nil {
				return nil, err
			}
		}
		return to, nil
	case *ast.PathNegated:
		return w.negated(from, p, forward)
	}
	return make([][]int32, len(from)), nil
}

// sequence goes one part after the other, from all middles at once.
func (w *Walker) sequence(from []int32, p *ast.PathSequence, forward bool) ([][]int32, error) {
	// 1. At first each node has reached itself.
	to := make([][]int32, len(from))
	for i, node := range from {
		to[i] = []int32{node}
	}
	var merged lists
	defer merged.end(w)
	for i := range p.Parts {
		part := p.Parts[i]
		if !forward {
			part = p.Parts[len(p.Parts)-1-i]
		}
		// 2. Collect the reached nodes of all starts, each once, and expand them together,
		// because each call may be a message.
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
		// 3. Replace the reached nodes of each start.
		for i, list := range to {
			if len(list) == 1 {
				to[i] = more[at[list[0]]] // shared, because no list is written to again
				continue
			}
			var ends []int32
			for _, node := range list {
				ends = append(ends, more[at[node]]...)
			}
			if to[i], err = merged.distinct(w, ends); err != nil {
				return nil, err
			}
		}
	}
	return to, nil
}

// lists counts the memory of the lists of one step of a path, until it returns.
type lists struct{ held int }

// distinct returns the list with each node once, in its own memory.
func (l *lists) distinct(w *Walker, list []int32) ([]int32, error) {
	if err := w.Exec.Tick(); err != nil {
		return nil, err
	}
	if err := w.Holder.Grow(4 * cap(list)); err != nil {
		return nil, err
	}
	l.held += 4 * cap(list)
	return distinct(list), nil
}

// join returns the union of two lists for each node.
func (l *lists) join(w *Walker, a, b [][]int32) (_ [][]int32, err error) {
	if a == nil {
		return b, nil
	}
	for i, list := range b {
		if len(list) > 0 {
			if a[i], err = l.distinct(w, append(slices.Clip(a[i]), list...)); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

func (l *lists) end(w *Walker) { w.Holder.ShrinkTo(w.Holder.Held - int64(l.held)) }

// distinct leaves each node once.
func distinct(list []int32) []int32 {
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

func (w *Walker) negated(from []int32, p *ast.PathNegated, forward bool) ([][]int32, error) {
	var not [2]map[string]bool
	// 1. Divide the members by direction. Plain ones exclude predicates of edges in the
	// direction of the walk, inverse ones against it.
	for _, member := range p.Set {
		i := 0
		if member.Inverse {
			i = 1
		}
		if not[i] == nil {
			not[i] = map[string]bool{}
		}
		not[i][solution.KeyOfIRI(member.IRI)] = true
	}
	// The empty set matches all forward edges.
	if not[1] == nil && not[0] == nil {
		not[0] = map[string]bool{}
	}
	var to [][]int32
	var merged lists
	defer merged.end(w)
	for i := range not {
		if not[i] == nil {
			continue
		}
		// 2. Follow the edges of each direction. If the set has no members of a direction, it
		// does not match there.
		more, err := w.edges(from, "", not[i], forward == (i == 0))
		if err != nil {
			return nil, err
		}
		for k := range more {
			more[k] = distinct(more[k])
		}
		if to, err = merged.join(w, to, more); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// Empty reports whether a path connects every node with itself by no edge.
func Empty(p ast.Path) bool {
	switch p := p.(type) {
	case *ast.PathInverse:
		return Empty(p.Arg)
	case *ast.PathRepeat:
		return p.Min == 0 || Empty(p.Arg)
	case *ast.PathSequence:
		for _, part := range p.Parts {
			if !Empty(part) {
				return false
			}
		}
		return true
	case *ast.PathAlternative:
		if slices.ContainsFunc(p.Parts, Empty) {
			return true
		}
	}
	return false
}
