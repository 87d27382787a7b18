// Operations that sequencers deliver: their rows.

package replica

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// The rule of the greatest stamp decides which rows of a group are written.

// writeRows writes the rows of a group if they win over the held ones. It makes one pass over the
// tables in the order of the keys.
func (c *stampedCommit) writeRows(group []*stamped) error {
	// 1. Sort the rows of all jobs, because one iterator moves only forward over them.
	parts := 0
	for _, r := range group {
		if len(r.rows) > 0 {
			parts++
			c.rows = append(c.rows, r.rows...)
		}
		if r.delivery != (Origin{}) {
			c.delivers = true
		} else if len(r.rows) > 0 {
			c.fills, c.disordered = true, c.disordered || len(r.entries) > 0
		}
	}
	if parts == 0 {
		return nil
	}
	if parts > 1 {
		slices.SortFunc(c.rows, compareRows)
	}
	if c.delivers {
		c.overwritten = make([]overwritten, 0, len(c.rows))
	}
	// 2. The mark must be set before rows, because a delete relies on it.
	if err := c.markAnnotated(); err != nil {
		return err
	}
	var err error
	if c.it, err = c.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyspace.Storage}, UpperBound: []byte{keyspace.Local}}); err != nil {
		return err
	}
	defer c.closeIterators()
	// 3. Decide each key once. Of annotations only the first row may win.
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
	if c.annotations != nil {
		c.annotations.Close()
	}
}

// lookUp returns the value of the row with a key, or nil if it is missing. Keys must ascend from
// call to call.
func (c *stampedCommit) lookUp(key []byte) ([]byte, error) {
	// If the last seek went past this key, its row is missing.
	if !c.moved || c.valid && bytes.Compare(c.it.Key(), key) < 0 {
		c.valid, c.moved = c.it.SeekGE(key), true
	}
	if !c.valid || !bytes.Equal(c.it.Key(), key) {
		return nil, c.it.Error()
	}
	return c.it.ValueAndErr()
}

// stampOf returns the stamp of a held row, zero if there is none.
func (c *stampedCommit) stampOf(held []byte) (triple.Stamp, error) {
	if held == nil {
		return triple.Stamp{}, nil
	}
	return c.store.loadEpochs.stampOf(held)
}

// isSPO reports whether a Pebble key is of a row in SPO, because only those are counted.
func isSPO(key []byte) bool {
	return key[0] == keyspace.Storage && triple.Order(key[1]) == triple.SPO
}

// writeVersion writes a live row or a tombstone. rows have one key, the newest first; the first
// one is written if it wins. A late delete among them still removes older annotations, so the row
// that stays must record it. Therefore the order of arrival does not matter.
func (c *stampedCommit) writeVersion(rows []stampedRow) error {
	// 1. Find the winner and the latest delete. If both are held already, nothing changes.
	row := &rows[0]
	held, err := c.lookUp(row.key)
	if err != nil {
		return err
	}
	stamp, err := c.stampOf(held)
	if err != nil {
		return err
	}
	c.recordOverwritten(rows, held, stamp)
	wins := held == nil || stamp.Less(row.stamp)
	known := triple.DeletedAt(held)
	deleted := latestDelete(known, rows)
	if !wins && deleted == known {
		return nil
	}
	// 2. Write the winner, and count it against the held row.
	value := held
	if wins {
		value = row.value
		c.count(row, held)
		if triple.IsTombstone(value) {
			c.recordTombstone(row.key)
		}
	}
	// 3. A live row must record the latest delete, because late annotations are compared with it.
	if !triple.IsTombstone(value) && triple.DeletedAt(value) != deleted {
		v, err := triple.DecodeValue(value)
		if err != nil {
			return err
		}
		v.Deleted = deleted
		value = v.Append(nil)
	}
	// 4. If the delete is news, older annotations must go.
	if c.store.annotated && known.Less(deleted) {
		if err := c.removeAnnotations(row.key, deleted); err != nil {
			return err
		}
	}
	return c.batch.Set(row.key, value, nil)
}

// latestDelete returns the greatest stamp of a delete, from known and from rows of one key.
func latestDelete(known triple.Stamp, rows []stampedRow) triple.Stamp {
	for i := range rows {
		if d := triple.DeletedAt(rows[i].value); known.Less(d) {
			known = d
		}
	}
	return known
}

// count counts a live row or tombstone that replaces the held row.
func (c *stampedCommit) count(row *stampedRow, held []byte) {
	if !isSPO(row.key) {
		return
	}
	was, is := held != nil && !triple.IsTombstone(held), !triple.IsTombstone(row.value)
	switch {
	case was && !is:
		c.counted.Count(row.key[1:], -1)
	case is && !was:
		c.counted.Count(row.key[1:], 1)
	}
}
