// Operations that sequencers deliver: their rows.

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
	for rest := c.rows; len(rest) > 0; {
		n := 1
		for n < len(rest) && bytes.Equal(rest[n].key, rest[0].key) {
			n++
		}
		if triple.IsAnnotation(rest[0].value) {
			err = c.writeAnnotation(&rest[0])
		} else {
			err = c.writeVersion(rest[:n])
		}
		if err != nil {
			return err
		}
		rest = rest[n:]
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

// wins reports whether a row replaces what is there under its key.
func (c *stampedCommit) wins(row *stampedRow, held []byte) (bool, error) {
	if held == nil {
		return true, nil
	}
	stamp, err := c.store.stampOf(held)
	return err == nil && stamp.Less(row.stamp), err
}

// isSPO reports whether the rows with a Pebble key are counted.
func isSPO(key []byte) bool { return key[0] == tableStorage && triple.Order(key[1]) == triple.SPO }

// writeVersion writes a version or a tombstone: of rows of one key, the newest first,
// the first one where it wins. A delete among them that comes late still counts for
// what was noted before it, so that the version that stays remembers it. So it does
// not matter in which order rows come.
func (c *stampedCommit) writeVersion(rows []stampedRow) error {
	row := &rows[0]
	held, err := c.lookUp(row.key)
	if err != nil {
		return err
	}
	wins, err := c.wins(row, held)
	if err != nil {
		return err
	}
	known := triple.DeletedAt(held)
	deleted := latestDelete(known, rows)
	if !wins && deleted == known {
		return nil
	}
	value := held
	if wins {
		value = row.value
		c.count(row, held)
		if triple.IsTombstone(value) {
			c.noteTombstone(row.key)
		}
	}
	if !triple.IsTombstone(value) && triple.DeletedAt(value) != deleted {
		v, err := triple.DecodeValue(value)
		if err != nil {
			return err
		}
		v.Deleted = deleted
		value = v.Append(nil)
	}
	if c.store.annotated && known.Less(deleted) {
		if err := c.removeNotes(row.key, deleted); err != nil {
			return err
		}
	}
	return c.batch.Set(row.key, value, nil)
}

// latestDelete returns the greatest stamp of a delete that is known, or that rows
// of one version tell of.
func latestDelete(known triple.Stamp, rows []stampedRow) triple.Stamp {
	for i := range rows {
		if d := triple.DeletedAt(rows[i].value); known.Less(d) {
			known = d
		}
	}
	return known
}

// count counts a version or tombstone that replaces what is held.
func (c *stampedCommit) count(row *stampedRow, held []byte) {
	if !isSPO(row.key) {
		return
	}
	was, is := held != nil && !triple.IsTombstone(held), !triple.IsTombstone(row.value)
	switch {
	case was && !is:
		c.counted.triples--
	case is && !was:
		c.counted.triples++
	}
}
