// Annotations among the rows of deliveries and fills.

package replica

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// An annotation stays if its row came after the last known delete of the triple. It must also be
// the newest one of its application (see [triple.Annotation.Before]). Both are greatest values of
// all arrivals. Therefore all machines end with the same rows in any order of arrival.

// removeAnnotations deletes the annotations beside a row if they are older than its delete.
func (c *stampedCommit) removeAnnotations(version []byte, deleted triple.Stamp) error {
	// 1. Open the iterator when it is first needed, because few groups delete annotated triples.
	if c.annotations == nil {
		var err error
		if c.annotations, err = c.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyspace.Storage}, UpperBound: []byte{keyspace.Local}}); err != nil {
			return err
		}
	}
	// 2. Delete each annotation of an older row. Only SPO counts, because every triple has one row
	// there.
	lower, upper := triple.AnnotationBounds(version)
	for valid := c.annotations.SeekGE(lower); valid && bytes.Compare(c.annotations.Key(), upper) < 0; valid = c.annotations.Next() {
		value, err := c.annotations.ValueAndErr()
		if err != nil {
			return err
		}
		a, err := c.store.loadEpochs.annotationOf(value)
		if err != nil {
			return err
		}
		if !a.On.Less(deleted) {
			continue
		}
		if isSPO(version) && !a.Removed {
			c.counted.Annotations--
		}
		if err := c.batch.Delete(c.annotations.Key(), nil); err != nil {
			return err
		}
	}
	return c.annotations.Error()
}

// writeAnnotation writes an annotation, or its removal, if it wins and its triple was not deleted
// since.
func (c *stampedCommit) writeAnnotation(row *stampedRow) error {
	// 1. An annotation of a deleted row must not come back.
	version, _, _ := triple.CutAnnotation(row.key)
	deleted, err := c.deletedAt(version)
	if err != nil || row.on.Less(deleted) {
		return err
	}
	a, err := c.store.loadEpochs.annotationOf(row.value)
	if err != nil {
		return err
	}
	// 2. Of two annotations the newer one wins; was reports whether readers saw the held one.
	held, err := c.lookUp(row.key)
	if err != nil {
		return err
	}
	was := false
	if held != nil {
		h, err := c.store.loadEpochs.annotationOf(held)
		if err != nil {
			return err
		}
		if !h.Before(&a) {
			return nil
		}
		was = !h.Removed && !h.On.Less(deleted) // else this group has removed it
	}
	// 3. Count in SPO only, because every triple has one row there.
	if isSPO(row.key) && was != !a.Removed {
		if was {
			c.counted.Annotations--
		} else {
			c.counted.Annotations++
		}
	}
	if a.Removed {
		c.recordTombstone(row.key)
	}
	return c.batch.Set(row.key, row.value, nil)
}

// deletedAt returns the greatest known stamp of a delete of a row, with the rows of this group.
func (c *stampedCommit) deletedAt(version []byte) (triple.Stamp, error) {
	held, err := c.store.db.Value(version)
	if err != nil {
		return triple.Stamp{}, err
	}
	at, _ := slices.BinarySearchFunc(c.rows, version, func(row stampedRow, key []byte) int { return bytes.Compare(row.key, key) })
	to := at
	for to < len(c.rows) && bytes.Equal(c.rows[to].key, version) {
		to++
	}
	return latestDelete(triple.DeletedAt(held), c.rows[at:to]), nil
}

// markAnnotated records that the store has annotations. Until then a delete need not search for
// them.
func (c *stampedCommit) markAnnotated() error {
	s := c.store
	if s.annotated || c.to.Counters().Annotations == 0 && !slices.ContainsFunc(c.rows, func(row stampedRow) bool { return triple.IsAnnotation(row.value) }) {
		return nil
	}
	s.annotated = true // if the commit fails, later deletes search for nothing, which is harmless
	return c.batch.Set(rowAnnotated, []byte{}, nil)
}
