// The quads of a run, which all workers collect, and their radix sort.

package rdfload

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/rdfload/internal/arena"
)

// quadBlock is the number of quads in a block of a worker.
const quadBlock = 4096

// quadStore collects the quads of all workers of a run in one array, block by block. It is one
// array because sorting then needs no copy.
type quadStore struct {
	quads *arena.Array[quad]
	spare *arena.Array[quad] // the other buffer of the sort
	next  atomic.Int64       // blocks taken
}

// maxQuads is the most quads of a run, because counts of them must fit in 32 bits. A run is sealed
// long before, see [Options.runLimit].
const maxQuads = 1 << 31

func newQuadStore(budget int64) (*quadStore, error) {
	limit := int(min(budget/16, maxQuads))
	quads, err := arena.New[quad](limit)
	if err != nil {
		return nil, err
	}
	spare, err := arena.New[quad](limit)
	if err != nil {
		quads.Release()
		return nil, err
	}
	return &quadStore{quads: quads, spare: spare}, nil
}

func (s *quadStore) release() {
	s.quads.Release()
	s.spare.Release()
}

// takes returns the memory of the quads in bytes, including the sort's other buffer.
func (s *quadStore) takes() int64 { return s.next.Load() * quadBlock * 16 * 2 }

// quadWriter adds the quads of one worker to a quadStore.
type quadWriter struct {
	store  *quadStore
	block  []quad // the block being filled: its len is the filled part
	blocks []int  // all blocks taken
}

func (w *quadWriter) add(q quad) error {
	if len(w.block) == cap(w.block) {
		n := int(w.store.next.Add(1)) - 1
		if (n+1)*quadBlock > cap(w.store.quads.Data) {
			w.store.next.Add(-1)
			return errBudget
		}
		at := n * quadBlock
		w.block = w.store.quads.Data[at : at : at+quadBlock]
		w.blocks = append(w.blocks, n)
	}
	w.block = append(w.block, q)
	return nil
}

// eachBlock calls f with the filled part of each of the worker's blocks.
func (w *quadWriter) eachBlock(f func([]quad)) {
	for i, n := range w.blocks {
		at := n * quadBlock
		if i == len(w.blocks)-1 {
			f(w.store.quads.Data[at : at+len(w.block)])
			return
		}
		f(w.store.quads.Data[at : at+quadBlock])
	}
}

func (w *quadWriter) reset() {
	w.block, w.blocks = nil, w.blocks[:0]
}

// compact joins the filled parts of all blocks into one slice. It fills the holes at the ends of
// blocks with quads from the end of the array.
func (s *quadStore) compact(writers []*quadWriter) []quad {
	end := int(s.next.Load()) * quadBlock
	all := s.quads.Data[:end]
	free := make(map[int]int) // block -> filled, for blocks that are not full
	for _, w := range writers {
		if n := len(w.blocks); n > 0 && len(w.block) < quadBlock {
			free[w.blocks[n-1]] = len(w.block)
		}
	}
	total := end
	for _, filled := range free {
		total -= quadBlock - filled
	}
	// Invariant: from moves down over filled quads beyond total, and each goes into a hole below
	// total.
	from := end - 1
	for block, filled := range free {
		for at := block*quadBlock + filled; at < (block+1)*quadBlock && at < total; at++ {
			for isHole(free, from) {
				from--
			}
			all[at] = all[from]
			from--
		}
	}
	return all[:total]
}

func isHole(free map[int]int, at int) bool {
	filled, ok := free[at/quadBlock]
	return ok && at%quadBlock >= filled
}

func (s *quadStore) reset() {
	used := int(s.next.Load()) * quadBlock
	s.quads.Touch(used)
	s.spare.Touch(used)
	s.next.Store(0)
}

// renew is reset, but also releases the memory.
func (s *quadStore) renew() error {
	s.reset()
	return errors.Join(s.quads.Renew(), s.spare.Renew())
}

func (s *quadStore) resident() int64 { return s.quads.Resident() + s.spare.Resident() }

// quad is a triple as four numbers. In the current run they are ids of terms; in a sealed run they
// are their ranks in sorted order. The default graph is noGraph.
type quad [4]uint32

// noGraph is below every rank: the default graph must sort first, because its key is shorter. Ranks
// and ids of graphs are stored plus one.
const noGraph = 0

const (
	radixBits = 11
	radixSize = 1 << radixBits
)

// radixSort sorts from stably by the number at place. That number must be at most greatest, and to
// must be as long as from. It returns the sorted quads and the other buffer, because the two may
// have been exchanged. Time O(n * bits/11), on all workers.
func radixSort(from, to []quad, place int, greatest uint32, workers int) (sorted, other []quad) {
	for shift := 0; shift < bits.Len32(greatest); shift += radixBits {
		radixPass(from, to, place, shift, workers)
		from, to = to, from
	}
	return from, to
}

// radixPass scatters from into to, stably, by one digit. Each worker counts and scatters its own
// share. It is stable because the places of a digit go to the shares in order. There must be at
// most maxQuads quads, because counts have 32 bits.
func radixPass(from, to []quad, place, shift, workers int) {
	const mask = radixSize - 1
	// 1. Count the digits of each share.
	shares := split(len(from), workers)
	counts := make([][radixSize]uint32, len(shares))
	parallel(len(shares), func(w int) {
		count := &counts[w]
		for i := shares[w].lo; i < shares[w].hi; i++ {
			count[from[i][place]>>shift&mask]++
		}
	})
	// 2. Turn counts into first places: by digit, then by share.
	at := uint32(0)
	for digit := range radixSize {
		for w := range counts {
			n := counts[w][digit]
			counts[w][digit] = at
			at += n
		}
	}
	// 3. Scatter. Workers need no lock, because their places are disjoint.
	parallel(len(shares), func(w int) {
		next := &counts[w]
		for i := shares[w].lo; i < shares[w].hi; i++ {
			q := from[i]
			digit := q[place] >> shift & mask
			to[next[digit]] = q
			next[digit]++
		}
	})
}

// share is a half-open range of indices: [lo, hi).
type share struct{ lo, hi int }

// split cuts [0, n) into at most parts shares of about the same size. It returns at least one,
// which may be empty.
func split(n, parts int) []share {
	parts = max(1, min(parts, n))
	shares := make([]share, parts)
	for i := range shares {
		shares[i] = share{n * i / parts, n * (i + 1) / parts}
	}
	return shares
}

// parallel calls f(0) to f(n-1) concurrently and waits for all. If n is 1, it calls f on this
// goroutine.
func parallel(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
