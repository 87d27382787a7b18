// The sort of terms.

package rdfload

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
)

// termItem is a term in sorting: eight of its bytes at the current depth, and a reference to it.
type termItem struct {
	window uint64
	ref    termRef
}

// termRef is the location of a term: the worker (6 bits) of its dictionary, and its id there (32
// bits).
type termRef uint64

func newTermRef(worker int, id uint32) termRef { return termRef(uint64(worker)<<32 | uint64(id)) }

func (r termRef) worker() int { return int(r >> 32) }
func (r termRef) id() uint32  { return uint32(r) }

// termSorter sorts terms by their bytes with multikey quicksort over windows of eight bytes
// (Bentley and Sedgewick 1997; Kim and Park's caching). Terms of a document share long prefixes,
// and equal windows are never read again. Pivots must come from random samples, because the
// sequence of terms comes from strangers. It takes O(n log n) windows and depth O(log n), whatever
// the terms.
type termSorter struct {
	dictionaries []*dictionary
	free         chan struct{} // a token for each worker that may still be started
	wait         sync.WaitGroup
}

const (
	smallSort    = 24      // parts up to this size use insertion sort
	parallelSort = 1 << 14 // parts above this may go to another worker
	randomSort   = 1 << 8  // parts above this have random samples
)

// sortTerms sorts items by their terms, with at most workers goroutines.
func sortTerms(items []termItem, dictionaries []*dictionary, workers int) {
	s := &termSorter{dictionaries: dictionaries, free: make(chan struct{}, workers)}
	for range workers - 1 {
		s.free <- struct{}{}
	}
	shares := split(len(items), workers)
	parallel(len(shares), func(w int) {
		for i := shares[w].lo; i < shares[w].hi; i++ {
			items[i].window = s.window(items[i].ref, 0)
		}
	})
	s.sort(items, 0)
	s.wait.Wait()
}

func (s *termSorter) term(r termRef) []byte { return s.dictionaries[r.worker()].term(r.id()) }

// window returns the eight bytes of a term from depth on. Beyond the term's end they are 0. Two
// different terms never have equal windows to their ends, because a byte 00 is never the last of a
// term.
func (s *termSorter) window(r termRef, depth int) uint64 {
	t := s.term(r)
	if len(t) >= depth+8 {
		return binary.BigEndian.Uint64(t[depth:])
	}
	var last [8]byte
	if len(t) > depth {
		copy(last[:], t[depth:])
	}
	return binary.BigEndian.Uint64(last[:])
}

// sort sorts items. Their terms must agree on the bytes before depth, and their windows must be
// those at depth.
func (s *termSorter) sort(items []termItem, depth int) {
	for len(items) > smallSort {
		less, greater := partition(items)
		s.part(items[:less], depth)
		s.part(items[greater:], depth)
		items = items[less:greater]
		if items[0].window&0xFF == 0 && s.allEnd(items, depth) {
			return // equal terms of several dictionaries
		}
		depth += 8
		for i := range items {
			items[i].window = s.window(items[i].ref, depth)
		}
	}
	s.insertion(items, depth)
}

// part sorts items, on another worker if they are many and one is free.
func (s *termSorter) part(items []termItem, depth int) {
	if len(items) > parallelSort {
		select {
		case <-s.free:
			s.wait.Go(func() {
				s.sort(items, depth)
				s.free <- struct{}{}
			})
			return
		default:
		}
	}
	s.sort(items, depth)
}

// allEnd reports whether every term ends within the window at depth.
func (s *termSorter) allEnd(items []termItem, depth int) bool {
	for i := range items {
		if len(s.term(items[i].ref)) > depth+8 {
			return false
		}
	}
	return true
}

// partition orders items as those below, at and above a pivot window. It returns the bounds of the
// middle part.
func partition(items []termItem) (less, greater int) {
	pivot := median(items)
	less, greater = 0, len(items)
	for i := 0; i < greater; {
		switch w := items[i].window; {
		case w < pivot:
			items[i], items[less] = items[less], items[i]
			less++
			i++
		case w > pivot:
			greater--
			items[i], items[greater] = items[greater], items[i]
		default:
			i++
		}
	}
	return less, greater
}

// median returns the middle of three medians of three: nine samples.
func median(items []termItem) uint64 {
	n := len(items)
	middle := func(a, b, c uint64) uint64 { return max(min(a, b), min(max(a, b), c)) }
	m := func(i, j, k int) uint64 { return middle(items[i].window, items[j].window, items[k].window) }
	if n > randomSort {
		r := func() int { return rand.IntN(n) }
		return middle(m(r(), r(), r()), m(r(), r(), r()), m(r(), r(), r()))
	}
	e := n / 8
	return middle(m(0, e, 2*e), m(n/2-e, n/2, n/2+e), m(n-1-2*e, n-1-e, n-1))
}

func (s *termSorter) insertion(items []termItem, depth int) {
	for i := 1; i < len(items); i++ {
		for j := i; j > 0 && s.less(&items[j], &items[j-1], depth); j-- {
			items[j], items[j-1] = items[j-1], items[j]
		}
	}
}

func (s *termSorter) less(a, b *termItem, depth int) bool {
	if a.window != b.window {
		return a.window < b.window
	}
	x, y := s.term(a.ref), s.term(b.ref)
	return string(x[min(depth, len(x)):]) < string(y[min(depth, len(y)):])
}
