// This file turns edges into ordinals and ghosts, in pieces on all cores.

package cell

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/uid"
)

// pageTable is the pages of a cell that is being built: runs of UIDs as they are.
type pageTable struct {
	runWriter
	keys uid.Range
	once sync.Once
	done bool
	// slots is where the runs of each slot of the range begin, and the end.
	slots []uint32
}

// finish ends the pages.
func (t *pageTable) finish() {
	t.once.Do(func() {
		t.done = true
		first, last := t.keys.First.Slot(), t.keys.Last.Slot()
		t.slots = make([]uint32, 0, int(last-first)+2)
		i := uint32(0)
		for slot := int(first); slot <= int(last); slot++ {
			t.slots = append(t.slots, i)
			for int(i) < len(t.first) && int(t.first[i].Slot()) == slot {
				i++
			}
		}
		t.slots = append(t.slots, i)
	})
}

// pageFinder looks pages up; it knows the run of the last one.
type pageFinder struct {
	table *pageTable
	first uid.UID // of the run of the last page
	count uint64  // of its pages
	begin uint32  // its first ordinal
}

// find returns the ordinal of a UID of the range.
func (f *pageFinder) find(u uid.UID) (uint32, bool) {
	if within := uint64(u - f.first); within < f.count {
		return f.begin + uint32(within), true
	}
	t := f.table
	slot := int(u.Slot() - t.keys.First.Slot())
	lo, hi := int(t.slots[slot]), int(t.slots[slot+1])
	i := lo + sort.Search(hi-lo, func(i int) bool { return t.first[lo+i] > u }) - 1
	if i < lo {
		return 0, false
	}
	end := t.pages
	if i+1 < len(t.first) {
		end = t.ordinals[i+1]
	}
	within := uint64(u - t.first[i])
	if within >= uint64(end-t.ordinals[i]) {
		return 0, false
	}
	f.first, f.count, f.begin = t.first[i], uint64(end-t.ordinals[i]), t.ordinals[i]
	return f.begin + uint32(within), true
}

const (
	// batchEdges is how many edges are converted at once, by all workers together.
	batchEdges = 1 << 18
	// minPart is how many edges are worth a goroutine.
	minPart = 1 << 10
)

// side is one direction of a cell that is being built.
type side struct {
	direction Direction
	pages     *pageTable
	workers   int
	batch     int // batchEdges, but in tests

	pending       []Edge
	pendingLabels []Label // as many as pending, or none
	last          Edge    // the last one converted
	pieces        []*piece
	written       *ListWriter // what came instead of edges; nil where these may come
	duplicates    atomic.Int64
	err           error
}

// piece is some edges, converted. Its lists follow those of the piece before; the
// first one may go on with the last one of that.
type piece struct {
	keys   []uint32 // ordinals, ascending
	counts []degree // of each key
	locals []uint32 // of all keys, one list after another
	ghosts []uint32 // places in remote
	labels []Label  // of all keys, or none
	remote []uid.UID
}

// degree is how many targets of each kind a key of a piece has.
type degree struct{ locals, ghosts uint32 }

// add takes edges in; see Builder.AddEdges.
func (s *side) add(edges []Edge, labels []Label) error {
	if s.written != nil && s.err == nil {
		s.err = fmt.Errorf("cell: %s edges beside lists: %w", s.direction, ErrOrder)
	}
	for len(edges) > 0 && s.err == nil {
		n := min(len(edges), s.batch-len(s.pending))
		s.takeLabels(n, labels)
		s.pending = append(s.pending, edges[:n]...)
		edges = edges[n:]
		if labels != nil {
			labels = labels[n:]
		}
		if len(s.pending) == s.batch {
			s.convert()
		}
	}
	return s.err
}

// takeLabels adds the labels of the next n edges to the pending ones, which begin
// with the first edge that has one.
func (s *side) takeLabels(n int, labels []Label) {
	if labels == nil && len(s.pendingLabels) == 0 {
		return
	}
	for len(s.pendingLabels) < len(s.pending) {
		s.pendingLabels = append(s.pendingLabels, NoLabel)
	}
	for i := range n {
		label := NoLabel
		if labels != nil {
			label = labels[i]
		}
		s.pendingLabels = append(s.pendingLabels, label)
	}
}

// convert turns the pending edges into a piece for each worker.
func (s *side) convert() {
	if len(s.pending) == 0 || s.err != nil {
		return
	}
	parts := min(s.workers, (len(s.pending)+minPart-1)/minPart)
	made, errs := make([]*piece, parts), make([]error, parts)
	var wg sync.WaitGroup
	for i := range parts {
		from, to := len(s.pending)*i/parts, len(s.pending)*(i+1)/parts
		before := s.last
		if from > 0 {
			before = s.pending[from-1]
		}
		var labels []Label
		if len(s.pendingLabels) > 0 {
			labels = s.pendingLabels[from:to]
		}
		work := func() { made[i], errs[i] = s.convertPart(before, s.pending[from:to], labels) }
		if i == parts-1 {
			work()
		} else {
			wg.Go(work)
		}
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			s.err = err
			return
		}
	}
	s.pieces = append(s.pieces, made...)
	s.last = s.pending[len(s.pending)-1]
	s.pending = s.pending[:0]
	clear(s.pendingLabels)
	s.pendingLabels = s.pendingLabels[:0]
}

// convertPart converts edges, the one before which is before.
func (s *side) convertPart(before Edge, edges []Edge, labels []Label) (*piece, error) {
	p := &piece{locals: make([]uint32, 0, len(edges))}
	froms, tos := pageFinder{table: s.pages}, pageFinder{table: s.pages}
	keys := s.pages.keys
	var remote uidSet
	var d degree
	key, from := uint32(0), uid.UID(0)
	for i, e := range edges {
		if e.From <= before.From && (e.From < before.From || e.To <= before.To) {
			if e == before {
				s.duplicates.Add(1)
				continue
			}
			return nil, fmt.Errorf("cell: %s edge %s to %s after %s to %s: %w", s.direction, e.From, e.To, before.From, before.To, ErrOrder)
		}
		before = e
		if e.From != from {
			if from != 0 {
				p.keys, p.counts = append(p.keys, key), append(p.counts, d)
			}
			ord, ok := uint32(0), false
			if keys.Contains(e.From) {
				ord, ok = froms.find(e.From)
			}
			if !ok || !e.To.Valid() {
				return nil, fmt.Errorf("cell: %s edge %s to %s: %w", s.direction, e.From, e.To, ErrUnknownPage)
			}
			key, from, d = ord, e.From, degree{}
			// A page's links lead most of all to its own host.
			tos.first, tos.count, tos.begin = froms.first, froms.count, froms.begin
		}
		if labels != nil {
			p.labels = append(p.labels, labels[i])
		}
		if keys.Contains(e.To) {
			if ord, ok := tos.find(e.To); ok {
				p.locals = append(p.locals, ord)
				d.locals++
				continue
			}
		}
		if !e.To.Valid() {
			return nil, fmt.Errorf("cell: %s edge %s to %s: %w", s.direction, e.From, e.To, ErrUnknownPage)
		}
		p.ghosts = append(p.ghosts, remote.place(e.To))
		d.ghosts++
	}
	if from != 0 {
		p.keys, p.counts = append(p.keys, key), append(p.counts, d)
	}
	if !Labelled(p.labels) {
		p.labels = nil
	}
	p.sortRemote(remote.uids)
	p.locals = slices.Clip(p.locals)
	return p, nil
}

// sortRemote sets p.remote to uids in ascending order, and the ghosts, which are
// places in uids, to places in that.
func (p *piece) sortRemote(uids []uid.UID) {
	p.remote = slices.Clone(uids)
	slices.Sort(p.remote)
	places := make([]uint32, len(uids))
	for i, u := range uids {
		place, _ := slices.BinarySearch(p.remote, u)
		places[i] = uint32(place)
	}
	for i, g := range p.ghosts {
		p.ghosts[i] = places[g]
	}
}

// uidSet numbers different UIDs in the order in which they come first.
type uidSet struct {
	uids  []uid.UID
	slots []uint32 // 1 + a place in uids, or 0; a power of two of them
}

// place returns the number of u.
func (s *uidSet) place(u uid.UID) uint32 {
	if 2*len(s.uids) >= len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for i := uid.Mix(uint64(u)) & mask; ; i = (i + 1) & mask {
		at := s.slots[i]
		if at == 0 {
			s.uids = append(s.uids, u)
			s.slots[i] = uint32(len(s.uids))
			return uint32(len(s.uids) - 1)
		}
		if s.uids[at-1] == u {
			return at - 1
		}
	}
}

func (s *uidSet) grow() {
	s.slots = make([]uint32, max(1<<10, 2*len(s.slots)))
	mask := uint64(len(s.slots) - 1)
	for place, u := range s.uids {
		i := uid.Mix(uint64(u)) & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = uint32(place + 1)
	}
}
