// Conversion of edges into ordinals and ghosts, in pieces on all cores.

package cell

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/uid"
)

// pageTable holds the pages during a build, as runs of unpacked UIDs.
type pageTable struct {
	runWriter
	keys uid.Range
	once sync.Once
	done bool
	// slots[i] is the first run of the i-th slot of the range; the last element is the end.
	slots []uint32
}

// finish ends the pages: none may be added after it. It is safe for concurrent use.
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

// pageFinder looks up pages and caches the run of the last one, because neighbours share it.
type pageFinder struct {
	table *pageTable
	first uid.UID // first UID of the cached run
	count uint64  // pages of the cached run
	begin uint32  // first ordinal of the cached run
}

// find returns the ordinal of u, which must be in the range.
func (f *pageFinder) find(u uid.UID) (uint32, bool) {
	if within := uint64(u - f.first); within < f.count {
		return f.begin + uint32(within), true
	}
	t := f.table
	// Only runs of the same slot can hold u.
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
	// batchEdges is how many edges all workers together convert at once.
	batchEdges = 1 << 18
	// minPart is the least number of edges for which a goroutine is worth starting.
	minPart = 1 << 10
)

// side holds one direction during a build.
type side struct {
	direction Direction
	pages     *pageTable
	workers   int
	batch     int // batchEdges, except in tests

	pending       []Edge
	pendingLabels []Label // none, or one for each pending edge
	last          Edge    // last converted edge
	pieces        []*piece
	written       *ListWriter // lists instead of edges; nil if edges may come
	duplicates    atomic.Int64
	err           error
}

// piece holds some converted edges. Its lists follow those of the piece before. Its first list
// may continue the last one of that piece.
type piece struct {
	keys   []uint32 // ordinals, ascending
	counts []degree // of each key
	locals []uint32 // of all keys, one list after another
	ghosts []uint32 // indexes in remote
	labels []Label  // of all keys, or none
	remote []uid.UID
}

// degree counts the targets of each kind of one key of a piece.
type degree struct{ locals, ghosts uint32 }

// add appends edges and converts each full batch; see Builder.AddEdges.
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

// takeLabels appends the labels of the next n edges. If an earlier pending edge has no label, it
// gets NoLabel, because pendingLabels must match pending.
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

// convert turns the pending edges into one piece for each worker.
func (s *side) convert() {
	if len(s.pending) == 0 || s.err != nil {
		return
	}
	// 1. Convert the parts at the same time. Each part needs the edge before it, because order
	// and duplicates are checked across the border.
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
	// 2. Reject the whole batch if one part failed.
	for _, err := range errs {
		if err != nil {
			s.err = err
			return
		}
	}
	// 3. Keep the pieces. The labels are cleared, because they refer to the caller's anchors.
	s.pieces = append(s.pieces, made...)
	s.last = s.pending[len(s.pending)-1]
	s.pending = s.pending[:0]
	clear(s.pendingLabels)
	s.pendingLabels = s.pendingLabels[:0]
}

// convertPart converts edges; before is the edge that precedes them.
func (s *side) convertPart(before Edge, edges []Edge, labels []Label) (*piece, error) {
	p := &piece{locals: make([]uint32, 0, len(edges))}
	froms, tos := pageFinder{table: s.pages}, pageFinder{table: s.pages}
	keys := s.pages.keys
	var remote uidSet
	var d degree
	key, from := uint32(0), uid.UID(0)
	for i, e := range edges {
		// 1. Check the order, and drop duplicates.
		if e.From <= before.From && (e.From < before.From || e.To <= before.To) {
			if e == before {
				s.duplicates.Add(1)
				continue
			}
			return nil, fmt.Errorf("cell: %s edge %s to %s after %s to %s: %w", s.direction, e.From, e.To, before.From, before.To, ErrOrder)
		}
		before = e
		// 2. If a new list begins, look up its page.
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
			// The target cache starts at the page's own host, because most links stay there.
			tos.first, tos.count, tos.begin = froms.first, froms.count, froms.begin
		}
		if labels != nil {
			p.labels = append(p.labels, labels[i])
		}
		// 3. Keep the target as an ordinal if it is a page of the cell, else as a ghost.
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
	// 4. Finish the piece. Its ghosts are numbered in UID order, because remote must ascend when
	// pieces are merged.
	if !Labelled(p.labels) {
		p.labels = nil
	}
	p.sortRemote(remote.uids)
	p.locals = slices.Clip(p.locals)
	return p, nil
}

// sortRemote sets p.remote to the sorted uids. It maps p.ghosts from indexes in uids to indexes
// in p.remote.
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

// uidSet numbers distinct UIDs in the order of their first use.
type uidSet struct {
	uids  []uid.UID
	slots []uint32 // 1 + an index in uids, or 0 if free; the length is a power of two
}

// place returns the number of u, and adds u if it is new.
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
