// The merge of sorted sequences of rows, and levels of runs: many are merged into a larger one.

package rdfload

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/triple"
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

// mergeLevels merges the runs of a level into one of the next level if there are too many to be
// open at the same time. Each row is rewritten once a level, so the cost grows with the logarithm
// of the load's size.
func (l *loader) mergeLevels(ctx context.Context) error {
	for level := 0; ; level++ {
		// A level is merged only if it is full; lower levels first, because they may fill the next.
		var group, others []manifestRun
		for _, r := range l.manifest.Runs {
			if r.Level == level {
				group = append(group, r)
			} else {
				others = append(others, r)
			}
		}
		if len(group) == 0 && level > 0 {
			return nil
		}
		if len(group) < l.opts.levelRuns() {
			continue
		}
		made, err := l.mergeGroup(ctx, group)
		if err != nil {
			return fmt.Errorf("merge runs: %w", err)
		}
		// The manifest must be saved before the merged files are removed, because a crash may come
		// between.
		l.manifest.Runs = append(others, made)
		if err := l.manifest.save(l.dir); err != nil {
			return err
		}
		if err := l.removeRuns(group); err != nil {
			return err
		}
	}
}

// mergeGroup merges runs into one of the next level. It returns the new run, durable but not yet in
// the manifest.
func (l *loader) mergeGroup(ctx context.Context, group []manifestRun) (manifestRun, error) {
	l.stage.enter(Merging, 0)
	if l.space != nil { // it is empty, and run readers need the memory
		if err := l.space.renew(); err != nil {
			return manifestRun{}, err
		}
	}
	// 1. Check the disk: the new run needs about as much room as the group.
	size, err := l.sizeOf(group)
	if err == nil {
		err = l.sink.Room(size)
	}
	if err != nil {
		return manifestRun{}, err
	}
	// 2. Merge each order in parallel ranges, each into a run file.
	runs, err := l.openRuns(group)
	if err != nil {
		return manifestRun{}, err
	}
	made := l.newRun(group[0].Level + 1)
	made.Annotations = !slices.ContainsFunc(group, func(r manifestRun) bool { return !r.Annotations })
	for _, o := range triple.Orders {
		if len(runs[o]) == 0 {
			continue
		}
		bounds := mergeBounds(runs[o], l.opts.Workers)
		names := make([]string, len(bounds)+1)
		// Each range has its own file, so the workers need no lock.
		err := parallelErr(len(names), func(i int) error {
			names[i] = made.fileName(o, i)
			var lo, hi []byte
			if i > 0 {
				lo = bounds[i-1]
			}
			if i < len(bounds) {
				hi = bounds[i]
			}
			w, err := createRunFile(filepath.Join(l.dir, names[i]), l.common)
			if err != nil {
				return err
			}
			rows := 0
			// A merge must end soon when ctx is done, so check it every few rows; long values count
			// as more rows.
			err = mergeRuns(runs[o], lo, hi, l.common, func(key, value []byte) error {
				if rows += 1 + len(value)/rowBytes; rows >= checkEvery {
					rows = 0
					if err := ctx.Err(); err != nil {
						return err
					}
				}
				return w.Set(key, value)
			})
			return errors.Join(err, w.Close())
		})
		if err != nil {
			return manifestRun{}, err
		}
		made.Files[o.String()] = names
	}
	return made, atomicfile.SyncDir(l.dir)
}

// sizeOf returns the bytes of the files of runs.
func (l *loader) sizeOf(group []manifestRun) (int64, error) {
	size := int64(0)
	for _, r := range group {
		for _, names := range r.Files {
			for _, name := range names {
				info, err := os.Stat(filepath.Join(l.dir, name))
				if err != nil {
					return 0, err
				}
				size += info.Size()
			}
		}
	}
	return size, nil
}

// removeRuns removes the files of runs. The manifest must not name them any more.
func (l *loader) removeRuns(group []manifestRun) error {
	var errs []error
	for _, r := range group {
		for _, names := range r.Files {
			for _, name := range names {
				errs = append(errs, os.Remove(filepath.Join(l.dir, name)))
			}
		}
	}
	return errors.Join(errs...)
}
