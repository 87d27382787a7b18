package node

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// This file is annotations among the rows of a group. One stays where it was noted
// on a version that came after the last delete of its triple that is known, and it
// is the newest of its application (see [triple.Annotation.Before]). Both are
// greatest values of what has come, so that all machines end with the same whatever
// the order in which it came.

// removeNotes removes the annotations beside a version that were noted before it was
// deleted, if they are held.
func (c *stampedCommit) removeNotes(version []byte, deleted triple.Stamp) error {
	if c.notes == nil {
		var err error
		if c.notes, err = c.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableStorage}, UpperBound: []byte{tableLocal}}); err != nil {
			return err
		}
	}
	lower, upper := triple.AnnotationBounds(version)
	for valid := c.notes.SeekGE(lower); valid && bytes.Compare(c.notes.Key(), upper) < 0; valid = c.notes.Next() {
		value, err := c.notes.ValueAndErr()
		if err != nil {
			return err
		}
		a, err := c.store.annotationOf(value)
		if err != nil {
			return err
		}
		if !a.On.Less(deleted) {
			continue
		}
		if isSPO(version) && !a.Removed {
			c.counted.annotations--
		}
		if err := c.batch.Delete(c.notes.Key(), nil); err != nil {
			return err
		}
	}
	return c.notes.Error()
}

// writeAnnotation writes an annotation, or that it is removed, where it wins and its
// triple was not deleted since.
func (c *stampedCommit) writeAnnotation(row *stampedRow) error {
	version, _, _ := triple.CutAnnotation(row.key)
	deleted, err := c.deletedAt(version)
	if err != nil || row.on.Less(deleted) {
		return err
	}
	a, err := c.store.annotationOf(row.value)
	if err != nil {
		return err
	}
	held, err := c.lookUp(row.key)
	if err != nil {
		return err
	}
	was := false
	if held != nil {
		h, err := c.store.annotationOf(held)
		if err != nil {
			return err
		}
		if !h.Before(&a) {
			return nil
		}
		was = !h.Removed && !h.On.Less(deleted) // else this group has removed it
	}
	if isSPO(row.key) && was != !a.Removed {
		if was {
			c.counted.annotations--
		} else {
			c.counted.annotations++
		}
	}
	if a.Removed {
		c.noteTombstone(row.key)
	}
	return c.batch.Set(row.key, row.value, nil)
}

// deletedAt returns the greatest stamp of a delete of a version that is known when
// the group is written.
func (c *stampedCommit) deletedAt(version []byte) (triple.Stamp, error) {
	held, err := c.store.get(version)
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

// markAnnotated remembers that there are annotations: until then a delete need
// not look for them.
func (c *stampedCommit) markAnnotated() error {
	s := c.store
	if s.annotated || s.counted.annotations == 0 && !slices.ContainsFunc(c.rows, func(row stampedRow) bool { return triple.IsAnnotation(row.value) }) {
		return nil
	}
	s.annotated = true // if the commit fails a look is taken in vain, no more
	return c.batch.Set(rowAnnotated, []byte{}, nil)
}
