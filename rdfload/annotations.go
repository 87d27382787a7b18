// Annotations of a load: they become rows beside the rows of their triples.

package rdfload

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/triple"
)

// annotationBuffer holds the annotations that one worker has added to the current run. Only that
// worker may use it, but size may be read by any goroutine.
type annotationBuffer struct {
	items []annotationItem
	bytes []byte // application IDs and data
	size  atomic.Int64
}

// annotationItem is an annotation of a quad.
type annotationItem struct {
	quad   quad // of ids; of ranks after the run is sealed
	source uint32
	offset int64 // of the statement in its source
	begin  int   // of the application ID in bytes; the data follow
	id     int   // length of the id
	end    int
}

// placeBytes is the length of a place: the source in 4 bytes and the offset of the statement in 8
// bytes, both big-endian. In run files each value of an annotation ends with its place. The place
// is necessary because one application may annotate a triple several times: the last one in the
// order of the inputs counts.
const placeBytes = 4 + 8

// rowFactor multiplies the bytes of an annotation's key while the rows of one order are sorted. It
// is 3 because the keys grow by doubling.
const rowFactor = 3

// add adds an annotation of q and copies its bytes. keyBytes is the estimated length of the key of
// q.
func (b *annotationBuffer) add(q quad, source int, offset int64, a *triple.ApplicationData, keyBytes int) {
	begin := len(b.bytes)
	b.bytes = append(append(b.bytes, a.ApplicationID...), a.Data...)
	b.items = append(b.items, annotationItem{q, uint32(source), offset, begin, len(a.ApplicationID), len(b.bytes)})
	// Twice the bytes, because slices grow by doubling.
	b.size.Add(int64(2*(len(b.bytes)-begin) + 2*64 + rowFactor*(keyBytes+len(a.ApplicationID)+16)))
}

// reset empties the buffer and releases its memory.
func (b *annotationBuffer) reset() {
	b.items, b.bytes = nil, nil
	b.size.Store(0)
}

// annotated reports whether the run under construction has annotations.
func (s *runSpace) annotated() bool {
	return slices.ContainsFunc(s.annotations, func(b *annotationBuffer) bool { return b.size.Load() > 0 })
}

// annotationsToRanks replaces ids by ranks in the annotations of one worker.
func (s *runSpace) annotationsToRanks(w int) {
	ranks := s.ranks[w].Data
	for i := range s.annotations[w].items {
		toRanks(&s.annotations[w].items[i].quad, ranks)
	}
}

// spillAnnotations writes the annotations of a sealed run to run files. They form a run of their
// own, because a merge then puts them beside their triples.
func (l *loader) spillAnnotations(run *run) error {
	made := l.newRun(0)
	made.Annotations = true
	for _, o := range triple.Orders {
		name := made.fileName(o, 0)
		w, err := createRunFile(filepath.Join(l.dir, name), l.common)
		if err != nil {
			return err
		}
		if err := errors.Join(l.writeAnnotations(w, run, o), w.Close()); err != nil {
			return err
		}
		made.Files[o.String()] = []string{name}
	}
	l.manifest.Runs = append(l.manifest.Runs, made)
	return nil
}

// writeAnnotations writes the annotations' rows of one order: sorted, and each key once.
func (l *loader) writeAnnotations(w rowSink, run *run, o triple.Order) error {
	type row struct {
		key    []byte
		buffer *annotationBuffer
		item   *annotationItem
	}
	// 1. Make the key of each annotation. GSPO must not have rows of the default graph.
	var rows []row
	maker := run.newRowMaker(o, l.start.Stamp)
	for _, b := range run.space.annotations {
		for i := range b.items {
			it := &b.items[i]
			if o == triple.GSPO && it.quad[triple.Graph] == noGraph {
				continue
			}
			version, _ := maker.row(it.quad)
			key := triple.AppendAnnotationKey(make([]byte, 0, len(version)+2+it.id), version, string(b.bytes[it.begin:it.begin+it.id]))
			rows = append(rows, row{key, b, it})
		}
	}
	// 2. Sort by key, then by place. If a key occurs more than once, the last row must win.
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.item.source, b.item.source), cmp.Compare(a.item.offset, b.item.offset))
	})
	var value []byte
	for i, r := range rows {
		if i+1 < len(rows) && bytes.Equal(r.key, rows[i+1].key) {
			continue // because a later one counts
		}
		value = triple.AppendAnnotation(value[:0], l.start.Stamp, r.buffer.bytes[r.item.begin+r.item.id:r.item.end])
		value = binary.BigEndian.AppendUint32(value, r.item.source)
		value = binary.BigEndian.AppendUint64(value, uint64(r.item.offset))
		if err := w.Set(r.key, value); err != nil {
			return err
		}
	}
	return nil
}

// place returns the place at the end of an annotation's value in a run file. The value must have at
// least placeBytes bytes.
func place(value []byte) []byte { return value[len(value)-placeBytes:] }

// withoutPlace returns the value of a row in the form of the store. An annotation must be longer
// than its place. If it is not, the error wraps errRunFile because the run file is damaged.
func withoutPlace(value []byte) ([]byte, error) {
	if !triple.IsAnnotation(value) {
		return value, nil
	}
	if len(value) <= placeBytes {
		return nil, fmt.Errorf("%w: an annotation of %d bytes, too short for its place", errRunFile, len(value))
	}
	return value[:len(value)-placeBytes], nil
}

// lastAnnotation passes on the rows of a merge. If consecutive annotations have the same key, it
// passes on only the one with the greatest place.
type lastAnnotation struct {
	each       func(key, value []byte) error
	key, value []byte // of the annotation that waits for the next row
	waits      bool
}

func (a *lastAnnotation) row(key, value []byte) error {
	if !triple.IsAnnotation(value) || len(value) < placeBytes {
		if err := a.flush(); err != nil {
			return err
		}
		return a.each(key, value)
	}
	if a.waits && bytes.Equal(a.key, key) {
		if bytes.Compare(place(a.value), place(value)) <= 0 {
			a.value = append(a.value[:0], value...)
		}
		return nil
	}
	if err := a.flush(); err != nil {
		return err
	}
	a.key, a.value, a.waits = append(a.key[:0], key...), append(a.value[:0], value...), true
	return nil
}

func (a *lastAnnotation) flush() error {
	if !a.waits {
		return nil
	}
	a.waits = false
	return a.each(a.key, a.value)
}
