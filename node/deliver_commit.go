package node

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// stampedCommit is the commit of a group of stamped requests.
type stampedCommit struct {
	store   *Store
	batch   *pebble.Batch
	counted counters

	rows  []stampedRow // of all requests, by compareRows
	it    *pebble.Iterator
	valid bool             // it is at a row
	moved bool             // it has been moved
	notes *pebble.Iterator // for annotations; made when it is needed
}

// entered is what a commit has changed in the list of what is not settled.
type entered struct{ before, now *unsettledEntry }

// commitStamped does a group of stamped requests.
func (s *Store) commitStamped(group []*request) (err error) {
	size := 1 << 10
	for _, r := range group {
		size += int(r.size)
	}
	c := &stampedCommit{store: s, counted: s.counted, batch: s.db.NewBatchWithSize(size)}
	defer c.batch.Close()
	for _, r := range group {
		if r.delivery != (Origin{}) {
			s.unsettled.settle(r.delivery.stream(), r.settled, r.acks)
		}
	}
	var all []entered
	var forgotten []Origin
	stale, dirty := s.unsettled.take()
	before := s.sequence
	defer func() {
		if err == nil {
			return
		}
		if s.health.err() == nil { // otherwise its rows may show
			for _, e := range slices.Backward(all) {
				s.unsettled.leave(e.before, e.now)
			}
		}
		s.unsettled.give(stale, dirty)
		s.sequence = before
	}()
	// The list comes before the rows: whoever sees a row finds its batch.
	for _, r := range group {
		for _, b := range r.entries {
			before, now := s.unsettled.enter(b.Origin, b.Operations)
			if now == nil {
				continue
			}
			all = append(all, entered{before, now})
			if err := c.batch.Set(originKey(b.Origin), appendOperations(nil, now.operations), nil); err != nil {
				return err
			}
		}
		forgotten = append(forgotten, r.forget...)
	}
	if err := c.writeRows(group); err != nil {
		return err
	}
	for _, origin := range slices.Concat(stale, forgotten) {
		if err := c.batch.Delete(originKey(origin), nil); err != nil {
			return err
		}
	}
	outdated, err := c.writeHeard(group, dirty)
	if err != nil {
		return err
	}
	durable, marked, err := c.finish(group)
	if err != nil {
		return err
	}
	if err := s.applyStamped(c.batch, durable); err != nil {
		return err
	}
	s.counted = c.counted
	s.unsettled.remove(forgotten)
	s.unsettled.drop(outdated)
	for _, r := range group {
		if r.delivery != (Origin{}) {
			s.unsettled.received(r.delivery)
		}
		r.mark = marked
	}
	s.mark.Store(marked)
	return nil
}

// applyStamped commits a batch, durably or not.
func (s *Store) applyStamped(batch *pebble.Batch, durable bool) error {
	if durable {
		return s.apply(batch)
	}
	if batch.Empty() {
		return nil
	}
	if err := s.health.err(); err != nil {
		return err
	}
	if err := s.db.Apply(batch, pebble.NoSync); err != nil {
		return err
	}
	return s.health.err()
}

// writeHeard writes the rows of the sequencers that the group has heard of, and
// of those that others have changed. It deletes those of incarnations that need
// not be known any more, and returns them.
func (c *stampedCommit) writeHeard(group []*request, dirty []stream) (outdated []stream, err error) {
	u := &c.store.unsettled
	last := map[stream]uint64{}
	for _, id := range dirty {
		last[id] = 0
	}
	for _, r := range group {
		if r.delivery != (Origin{}) {
			id := r.delivery.stream()
			last[id] = max(last[id], r.delivery.Batch)
		}
	}
	for id, batch := range last {
		if err := c.batch.Set(heardKey(id), u.row(id, batch), nil); err != nil {
			return nil, err
		}
		for _, old := range u.outdated(id.machine) {
			if _, heard := last[old]; heard {
				continue
			}
			outdated = append(outdated, old)
			if err := c.batch.Delete(heardKey(old), nil); err != nil {
				return nil, err
			}
		}
	}
	return outdated, nil
}

// finish writes the other rows of local state.
func (c *stampedCommit) finish(group []*request) (durable bool, marked uint64, err error) {
	s := c.store
	epoch, counts := uint64(0), false
	for _, r := range group {
		durable = durable || r.durable
		counts = counts || r.counts
		epoch = max(epoch, r.epoch)
	}
	if err := s.sequence.outgrow(epoch, c.batch); err != nil {
		return false, 0, err
	}
	marked = s.mark.Load()
	if counts {
		marked++
		if err := c.batch.Set(rowMark, binary.AppendUvarint(nil, marked), nil); err != nil {
			return false, 0, err
		}
	}
	if c.counted != s.counted {
		if err := c.batch.Set(rowCounters, c.counted.append(nil), nil); err != nil {
			return false, 0, err
		}
	}
	return durable, marked, nil
}

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
func (row *stampedRow) wins(held []byte) (bool, error) {
	if held == nil {
		return true, nil
	}
	stamp, err := rowStamp(held)
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
	if ok, err := row.wins(held); err != nil || !ok {
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
		stamp, err := rowStamp(value)
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
	if ok, err := row.wins(held); err != nil || !ok {
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
		wins, err := c.rows[at].wins(value)
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
	dead, err := rowStamp(value)
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
