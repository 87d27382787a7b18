package node

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// This file is the rule of the greatest stamp: which of a group's rows are written.

// writeRows writes the rows of a group that win over those that are there: one
// pass over the tables in the order of the keys.
func (c *stampedCommit) writeRows(group []*request) error {
	parts := 0
	for _, r := range group {
		if len(r.rows) > 0 {
			parts++
			c.rows = append(c.rows, r.rows...)
		}
	}
	if parts == 0 {
		return nil
	}
	if parts > 1 {
		slices.SortFunc(c.rows, compareRows)
	}
	if err := c.markAnnotated(); err != nil {
		return err
	}
	var err error
	if c.it, err = c.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableStorage}, UpperBound: []byte{tableLocal}}); err != nil {
		return err
	}
	defer c.closeIterators()
	for i := range c.rows {
		row := &c.rows[i]
		if i > 0 && bytes.Equal(row.key, c.rows[i-1].key) {
			continue // of a lesser stamp
		}
		if triple.IsAnnotation(row.value) {
			err = c.writeAnnotation(row)
		} else {
			err = c.writeVersion(row)
		}
		if err != nil {
			return err
		}
	}
	return c.it.Error()
}

func (c *stampedCommit) closeIterators() {
	c.it.Close()
	if c.notes != nil {
		c.notes.Close()
	}
}

// lookUp returns the value of the row with a key, nil where there is none. Keys
// ascend from call to call.
func (c *stampedCommit) lookUp(key []byte) ([]byte, error) {
	// Where the last seek went past this key, nothing is there.
	if !c.moved || c.valid && bytes.Compare(c.it.Key(), key) < 0 {
		c.valid, c.moved = c.it.SeekGE(key), true
	}
	if !c.valid || !bytes.Equal(c.it.Key(), key) {
		return nil, c.it.Error()
	}
	return c.it.ValueAndErr()
}

// wins tells whether a row replaces what is there under its key.
func (c *stampedCommit) wins(row *stampedRow, held []byte) (bool, error) {
	if held == nil {
		return true, nil
	}
	stamp, err := c.store.stampOf(held)
	return err == nil && stamp.Less(row.stamp), err
}

// isSPO tells whether the rows with a Pebble key are counted.
func isSPO(key []byte) bool { return key[0] == tableStorage && triple.Order(key[1]) == triple.SPO }

// writeVersion writes a version or a tombstone, where it wins.
func (c *stampedCommit) writeVersion(row *stampedRow) error {
	held, err := c.lookUp(row.key)
	if err != nil {
		return err
	}
	if ok, err := c.wins(row, held); err != nil || !ok {
		return err
	}
	dead := triple.IsTombstone(row.value)
	if isSPO(row.key) {
		if was := held != nil && !triple.IsTombstone(held); was && dead {
			c.counted.triples--
		} else if !was && !dead {
			c.counted.triples++
		}
	}
	if dead {
		c.noteTombstone(row.key)
	}
	if dead && c.store.annotated {
		if err := c.removeNotes(row); err != nil {
			return err
		}
	}
	return c.batch.Set(row.key, row.value, nil)
}

// removeNotes removes the annotations beside a version that are older than its
// tombstone.
func (c *stampedCommit) removeNotes(row *stampedRow) error {
	if c.notes == nil {
		var err error
		if c.notes, err = c.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableStorage}, UpperBound: []byte{tableLocal}}); err != nil {
			return err
		}
	}
	lower, upper := triple.AnnotationBounds(row.key)
	for valid := c.notes.SeekGE(lower); valid && bytes.Compare(c.notes.Key(), upper) < 0; valid = c.notes.Next() {
		value, err := c.notes.ValueAndErr()
		if err != nil {
			return err
		}
		stamp, err := c.store.stampOf(value)
		if err != nil {
			return err
		}
		if !stamp.Less(row.stamp) {
			continue
		}
		if isSPO(row.key) {
			c.counted.annotations--
		}
		if err := c.batch.Delete(c.notes.Key(), nil); err != nil {
			return err
		}
	}
	return c.notes.Error()
}

// writeAnnotation writes an annotation, where it wins and is not older than a
// tombstone of its version.
func (c *stampedCommit) writeAnnotation(row *stampedRow) error {
	version, _, _ := triple.CutAnnotation(row.key)
	dead, err := c.deadSince(version, row.stamp)
	if err != nil || dead {
		return err
	}
	held, err := c.lookUp(row.key)
	if err != nil {
		return err
	}
	if ok, err := c.wins(row, held); err != nil || !ok {
		return err
	}
	if held == nil && isSPO(row.key) {
		c.counted.annotations++
	}
	return c.batch.Set(row.key, row.value, nil)
}

// deadSince tells whether the row of a version will be a tombstone with a greater
// stamp: the one that is there, or one of this group.
func (c *stampedCommit) deadSince(version []byte, stamp triple.Stamp) (bool, error) {
	value, err := c.store.get(version)
	if err != nil {
		return false, err
	}
	at, ok := slices.BinarySearchFunc(c.rows, version, func(row stampedRow, key []byte) int { return bytes.Compare(row.key, key) })
	if ok {
		wins, err := c.wins(&c.rows[at], value)
		if err != nil {
			return false, err
		}
		if wins {
			value = c.rows[at].value
		}
	}
	if value == nil || !triple.IsTombstone(value) {
		return false, nil
	}
	dead, err := c.store.stampOf(value)
	return stamp.Less(dead), err
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
