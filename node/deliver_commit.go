// Operations that sequencers deliver: writing them in a commit.

package node

import (
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"
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
	dead  [][]byte         // keys of the tombstones among the rows
}

// entered is what a commit has changed in the list of what is not settled.
type entered struct{ before, now *unsettledEntry }

// arrived is a batch that has come, by a delivery or by a walk.
type arrived struct {
	batch  UnsettledBatch
	filled bool
}

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
			s.unsettled.settle(r.delivery.stream(), r.settled, r.open, r.acks)
		}
	}
	var all []entered
	var come []arrived
	var forgotten []Origin
	var tokens []Token
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
			for i := range b.Operations {
				if token := b.Operations[i].Token; token != (Token{}) {
					tokens = append(tokens, token)
				}
			}
			all = append(all, entered{before, now})
			come = append(come, arrived{b, r.delivery == (Origin{})})
			if err := c.batch.Set(originKey(b.Origin), appendOperations(nil, now.operations), nil); err != nil {
				return err
			}
		}
	}
	if err := s.writeTokens(c.batch, tokens); err != nil {
		return err
	}
	for _, r := range group {
		for _, b := range r.forget {
			if s.unsettled.covered(b) {
				forgotten = append(forgotten, b.Origin)
			}
		}
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
	// It may be in the journal and come to nothing only where nothing more is written.
	for _, e := range come {
		s.journal.add(e.batch.Origin, e.batch.Operations, e.filled)
	}
	if err := s.applyStamped(c.batch, durable); err != nil {
		return err
	}
	s.counted = c.counted
	s.tombstones.add(c.dead)
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
	count, err := s.changes.note(batch)
	if err != nil {
		return err
	}
	if err := s.db.Apply(batch, pebble.NoSync); err != nil {
		return err
	}
	count()
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
