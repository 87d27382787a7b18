// Encoding of one direction's pieces into its lists.

package cell

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// builtLists is one direction of a cell, built.
type builtLists struct {
	lists     *lists.Builder
	codec     lists.Codec
	ghosts    []uid.UID
	labels    *lists.LabelBuilder // nil without labels
	links     uint64
	maxDegree uint32
}

// build returns the lists of the side. It ends the side.
func (s *side) build(o Options) (builtLists, error) {
	if s.written != nil && s.err == nil {
		return s.written.finish()
	}
	s.convert()
	if s.err != nil {
		return builtLists{}, s.err
	}
	s.pending, s.pendingLabels = nil, nil
	b := builtLists{ghosts: s.numberGhosts()}
	if uint64(len(b.ghosts)) >= math.MaxUint32 {
		return b, fmt.Errorf("cell: %d ghosts: %w", len(b.ghosts), ErrTooLarge)
	}
	var err error
	if b.lists, err = lists.NewBuilder(o.Lists); err != nil {
		return b, err
	}
	if slices.ContainsFunc(s.pieces, func(p *piece) bool { return p.labels != nil }) {
		b.labels = new(lists.LabelBuilder)
	}
	return b, s.encode(&b)
}

// encode appends the lists of all pages, in order, to the builders. It drops each piece when its
// lists are coded.
func (s *side) encode(b *builtLists) error {
	// flush appends a list. Pages without links before it get empty lists, because the table
	// must have one list for each ordinal.
	flush := func(l *pageLinks) error {
		b.links += uint64(len(l.locals) + len(l.ghosts))
		b.maxDegree = max(b.maxDegree, uint32(len(l.locals)+len(l.ghosts)))
		for b.lists.Len() < l.key {
			if err := b.lists.Append(nil, nil); err != nil {
				return fmt.Errorf("cell: %s lists: %w", s.direction, err)
			}
		}
		if err := b.lists.Append(l.locals, l.ghosts); err != nil {
			return fmt.Errorf("cell: %s lists: %w", s.direction, err)
		}
		if Labelled(l.labels) {
			if err := b.labels.Append(l.key, l.labels); err != nil {
				return fmt.Errorf("cell: labels: %w", err)
			}
		}
		return nil
	}
	// 1. Append every list but the last of a piece, because the next piece may continue it.
	var open pageLinks
	for i, p := range s.pieces {
		s.pieces[i] = nil
		for list := range p.lists() {
			switch {
			case !open.some:
			case open.key == list.key:
				open.extend(list)
				continue
			default:
				if err := flush(&open); err != nil {
					return err
				}
			}
			open.set(list)
		}
		// The open list must not keep its piece in memory.
		open.detach()
	}
	// 2. Append the last list, and empty ones for the pages after it.
	if open.some {
		if err := flush(&open); err != nil {
			return err
		}
	}
	for b.lists.Len() < s.pages.pages {
		if err := b.lists.Append(nil, nil); err != nil {
			return fmt.Errorf("cell: %s lists: %w", s.direction, err)
		}
	}
	return nil
}

// pageLinks is the list of one page. If there are fewer labels than links, the last links have
// none.
type pageLinks struct {
	some           bool
	key            uint32
	locals, ghosts []uint32
	labels         []Label
}

// lists yields the lists of a piece. They share the memory of the piece.
func (p *piece) lists() func(yield func(pageLinks) bool) {
	return func(yield func(pageLinks) bool) {
		locals, ghosts, labels := p.locals, p.ghosts, p.labels
		for i, key := range p.keys {
			d := p.counts[i]
			l := pageLinks{some: true, key: key, locals: locals[:d.locals:d.locals], ghosts: ghosts[:d.ghosts:d.ghosts]}
			locals, ghosts = locals[d.locals:], ghosts[d.ghosts:]
			if labels != nil {
				n := d.locals + d.ghosts
				l.labels, labels = labels[:n:n], labels[n:]
			}
			if !yield(l) {
				return
			}
		}
	}
}

func (l *pageLinks) set(o pageLinks) { *l = o }

// detach copies the list, so it does not keep its piece in memory.
func (l *pageLinks) detach() {
	l.locals, l.ghosts, l.labels = slices.Clone(l.locals), slices.Clone(l.ghosts), slices.Clone(l.labels)
}

// extend appends further links of the same page.
func (l *pageLinks) extend(o pageLinks) {
	n := len(l.locals) + len(l.ghosts)
	l.locals = append(l.locals, o.locals...)
	l.ghosts = append(l.ghosts, o.ghosts...)
	if l.labels == nil && o.labels == nil {
		return
	}
	for len(l.labels) < n {
		l.labels = append(l.labels, NoLabel)
	}
	l.labels = append(l.labels, o.labels...)
	for len(l.labels) < len(l.locals)+len(l.ghosts) {
		l.labels = append(l.labels, NoLabel)
	}
}

// numberGhosts returns the distinct remote targets of all pieces, ascending. It maps the pieces'
// ghosts to indexes in the result.
func (s *side) numberGhosts() []uid.UID {
	all := make([][]uid.UID, len(s.pieces))
	for i, p := range s.pieces {
		all[i] = p.remote
	}
	ghosts := union(all, s.workers)
	inParallel(len(s.pieces), s.workers, func(i int) {
		p := s.pieces[i]
		places := make([]uint32, len(p.remote))
		at := 0
		for i, u := range p.remote {
			at += place(ghosts[at:], u)
			places[i] = uint32(at)
		}
		for i, g := range p.ghosts {
			p.ghosts[i] = places[g]
		}
		p.remote = nil
	})
	return ghosts
}

// place returns the index of u, which must be in the ascending list. It takes time logarithmic
// in the index.
func place(list []uid.UID, u uid.UID) int {
	high := 1
	for high < len(list) && list[high] < u {
		high *= 2
	}
	low := high / 2
	at, _ := slices.BinarySearch(list[low:min(high+1, len(list))], u)
	return low + at
}

// union merges ascending lists into one without duplicates.
func union(all [][]uid.UID, workers int) []uid.UID {
	for len(all) > 1 {
		merged := make([][]uid.UID, (len(all)+1)/2)
		inParallel(len(merged), workers, func(i int) {
			if 2*i+1 == len(all) {
				merged[i] = all[2*i]
			} else {
				merged[i] = unionOfTwo(all[2*i], all[2*i+1])
			}
		})
		all = merged
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

func unionOfTwo(a, b []uid.UID) []uid.UID {
	out := make([]uid.UID, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		if x <= y {
			out, a = append(out, x), a[1:]
		} else {
			out = append(out, y)
		}
		if y <= x {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// inParallel calls work for 0 ... n-1 in at most workers goroutines, and waits for all.
func inParallel(n, workers int, work func(i int)) {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			work(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				work(i)
			}
		})
	}
	wg.Wait()
}
