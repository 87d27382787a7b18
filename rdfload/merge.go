// The merge of sorted sequences of rows.

package rdfload

import (
	"bytes"
	"container/heap"
	"errors"
)

// mergeSource is one sorted sequence of rows in a merge: the pieces of one order of one run, in
// order.
type mergeSource struct {
	pieces []runPiece // not yet opened
	reader *runReader
	lo     []byte
}

// runPiece is a run file with its index.
type runPiece struct {
	path  string
	index []runIndexEntry
	end   int64
}

// next moves to the source's next row; ok is false at the end.
func (s *mergeSource) next() (ok bool, err error) {
	for {
		if s.reader == nil {
			if len(s.pieces) == 0 {
				return false, nil
			}
			p := s.pieces[0]
			s.pieces = s.pieces[1:]
			if s.reader, err = openRunFile(p.path, p.index, p.end, s.lo); err != nil {
				return false, err
			}
		}
		ok, err := s.reader.next()
		if ok || err != nil {
			return ok, err
		}
		err = s.reader.close()
		s.reader = nil
		if err != nil {
			return false, err
		}
	}
}

func (s *mergeSource) close() error {
	if s.reader == nil {
		return nil
	}
	return s.reader.close()
}

// mergeHeap is a heap of sources, ordered by their current keys.
type mergeHeap []*mergeSource

func (h mergeHeap) Len() int           { return len(h) }
func (h mergeHeap) Less(i, j int) bool { return bytes.Compare(h[i].reader.key, h[j].reader.key) < 0 }
func (h mergeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(x any)        { *h = append(*h, x.(*mergeSource)) }
func (h *mergeHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// mergeRuns calls each with the distinct rows of all runs with lo <= key < hi in ascending order. A
// nil bound is no bound. If several runs have a row, they must be equal, except for annotations:
// see lastAnnotation. common is the value of rows without one of their own. Both slices are valid
// until each returns.
func mergeRuns(runs [][]runPiece, lo, hi, common []byte, each func(key, value []byte) error) (err error) {
	sources := make(mergeHeap, 0, len(runs))
	all := make([]*mergeSource, 0, len(runs))
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.close())
		}
	}()
	// 1. Move each run to its first row >= lo: a piece is read from an index entry, which may be
	// earlier.
	for _, pieces := range runs {
		s := &mergeSource{pieces: piecesFrom(pieces, lo), lo: lo}
		all = append(all, s)
		ok, err := s.next()
		for ok && err == nil && bytes.Compare(s.reader.key, lo) < 0 {
			ok, err = s.next()
		}
		if err != nil {
			return err
		}
		if ok {
			sources = append(sources, s)
		}
	}
	// 2. Merge with a heap. A repeated key is skipped, unless it is an annotation that waits: its
	// copies must all reach lastAnnotation.
	heap.Init(&sources)
	to := lastAnnotation{each: each}
	var last []byte
	var far farBuffer
	for len(sources) > 0 {
		r := sources[0].reader
		if hi != nil && bytes.Compare(r.key, hi) >= 0 {
			break
		}
		if last == nil || to.waits || !bytes.Equal(last, r.key) {
			value, err := r.wholeValue(&far)
			if err != nil {
				return err
			}
			if value == nil {
				value = common
			}
			if err := to.row(r.key, value); err != nil {
				return err
			}
			last = append(last[:0], r.key...)
		}
		// The heap's root must be fixed after its source has moved.
		ok, err := sources[0].next()
		if err != nil {
			return err
		}
		if ok {
			heap.Fix(&sources, 0)
		} else {
			heap.Pop(&sources)
		}
	}
	return to.flush()
}

// piecesFrom drops the pieces that end before lo.
func piecesFrom(pieces []runPiece, lo []byte) []runPiece {
	for len(pieces) > 1 && len(pieces[1].index) > 0 && bytes.Compare(pieces[1].index[0].key, lo) <= 0 {
		pieces = pieces[1:]
	}
	return pieces
}

// mergeBounds cuts the rows of all runs into at most parts ranges of about the same size. It
// samples the keys of the runs' indexes. It returns the inner bounds, at most parts-1 and in
// ascending order.
func mergeBounds(runs [][]runPiece, parts int) [][]byte {
	var keys [][]byte
	for _, pieces := range runs {
		for _, p := range pieces {
			for _, e := range p.index {
				keys = append(keys, e.key)
			}
		}
	}
	sortKeys(keys)
	var bounds [][]byte
	for i := 1; i < parts; i++ {
		at := len(keys) * i / parts
		if at == 0 || at >= len(keys) {
			continue
		}
		if key := keys[at]; len(bounds) == 0 || bytes.Compare(bounds[len(bounds)-1], key) < 0 {
			bounds = append(bounds, key)
		}
	}
	return bounds
}
