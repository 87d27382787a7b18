package rdfload

import (
	"errors"
	"sync/atomic"
)

// quadBlock is how many quads a worker takes room for at a time.
const quadBlock = 4096

// quadStore collects the quads of a run from all workers in one array, block by
// block, so that sorting needs no copy.
type quadStore struct {
	quads *arena[quad]
	spare *arena[quad] // the other buffer of the sort
	next  atomic.Int64 // blocks taken
}

// maxQuads is how many quads a run may have at most, so that counts of them fit
// in 32 bits. A run is sealed long before, see [Options.runLimit].
const maxQuads = 1 << 31

func newQuadStore(budget int64) (*quadStore, error) {
	limit := int(min(budget/16, maxQuads))
	quads, err := newArena[quad](limit)
	if err != nil {
		return nil, err
	}
	spare, err := newArena[quad](limit)
	if err != nil {
		quads.release()
		return nil, err
	}
	return &quadStore{quads: quads, spare: spare}, nil
}

func (s *quadStore) release() {
	s.quads.release()
	s.spare.release()
}

// takes returns the memory that the quads take, the sort's other buffer included.
func (s *quadStore) takes() int64 { return s.next.Load() * quadBlock * 16 * 2 }

// quadWriter is one worker's way into a quadStore.
type quadWriter struct {
	store  *quadStore
	block  []quad // the block being filled: len is how far
	blocks []int  // all blocks taken
}

func (w *quadWriter) add(q quad) error {
	if len(w.block) == cap(w.block) {
		n := int(w.store.next.Add(1)) - 1
		if (n+1)*quadBlock > cap(w.store.quads.data) {
			w.store.next.Add(-1)
			return errBudget
		}
		at := n * quadBlock
		w.block = w.store.quads.data[at : at : at+quadBlock]
		w.blocks = append(w.blocks, n)
	}
	w.block = append(w.block, q)
	return nil
}

// eachBlock calls f with each of the worker's blocks as far as it is filled.
func (w *quadWriter) eachBlock(f func([]quad)) {
	for i, n := range w.blocks {
		at := n * quadBlock
		if i == len(w.blocks)-1 {
			f(w.store.quads.data[at : at+len(w.block)])
			return
		}
		f(w.store.quads.data[at : at+quadBlock])
	}
}

func (w *quadWriter) reset() {
	w.block, w.blocks = nil, w.blocks[:0]
}

// compact makes the filled parts of all blocks one slice: holes at blocks' ends
// are filled from the array's end.
func (s *quadStore) compact(writers []*quadWriter) []quad {
	end := int(s.next.Load()) * quadBlock
	all := s.quads.data[:end]
	free := make(map[int]int) // block -> filled, of the blocks that are not full
	for _, w := range writers {
		if n := len(w.blocks); n > 0 && len(w.block) < quadBlock {
			free[w.blocks[n-1]] = len(w.block)
		}
	}
	total := end
	for _, filled := range free {
		total -= quadBlock - filled
	}
	// from walks down over filled quads beyond total, into the holes below it.
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
	s.quads.touch(used)
	s.spare.touch(used)
	s.next.Store(0)
}

// renew is reset that gives the memory back.
func (s *quadStore) renew() error {
	s.reset()
	return errors.Join(s.quads.renew(), s.spare.renew())
}

func (s *quadStore) resident() int64 { return s.quads.resident() + s.spare.resident() }
