// Operations that sequencers deliver: writing them in a commit.

package replica

import (
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
)

// stampedCommit is the commit of a group of stamped requests.
type stampedCommit struct {
	store   *Store
	to      *store.Commit
	batch   *pebble.Batch
	counted keyspace.Counters

	rows        []stampedRow // of all requests, by compareRows
	it          *pebble.Iterator
	valid       bool             // if set, it is at a row
	moved       bool             // if set, it was moved before
	annotations *pebble.Iterator // for annotations; nil until a row needs it
	dead        [][]byte         // keys of the tombstones among the rows

	delivers, fills bool // some rows are of deliveries, or of fills
	overwritten     []overwritten
	// disordered is set if a row came after a newer one, and repeated if one came again: see
	// recordOverwritten.
	disordered, repeated bool
}

// entered is a change of one commit to the in-flight list.
type entered struct{ before, now *batchEntry }

// Commit implements [store.Job]. It commits a group of stamped jobs.
func (r *stamped) Commit(to *store.Commit, jobs []store.Job) error {
	group := make([]*stamped, len(jobs))
	for i, job := range jobs {
		group[i] = job.(*stamped)
	}
	return r.store.commitStamped(to, group)
}

func (s *Store) commitStamped(to *store.Commit, group []*stamped) (err error) {
	// 1. Take the watermarks of deliveries first, because they shorten the list.
	size := 1 << 10
	for _, r := range group {
		size += int(r.size)
	}
	c := &stampedCommit{store: s, to: to, counted: to.Counters(), batch: s.db.NewBatchWithSize(size)}
	defer c.batch.Close()
	for _, r := range group {
		if r.delivery != (Origin{}) {
			s.inFlight.commit(r.delivery.stream(), r.committed, r.open, r.acks, &r.ticks)
		}
	}
	var all []entered
	var forgotten []Origin
	var tokens []store.Token
	dirty := s.inFlight.take()
	// 2. If the commit fails, the list must be as before, unless its rows may show.
	defer func() {
		if err == nil {
			return
		}
		if s.db.Err() == nil { // otherwise its rows may show
			for _, e := range slices.Backward(all) {
				s.inFlight.leave(e.before, e.now)
			}
		}
		s.inFlight.give(dirty)
		s.log.Failed()
	}()
	// 3. Enter the batches before the rows, because a reader must find the batch of each row.
	for _, r := range group {
		for _, b := range r.entries {
			before, now := s.inFlight.enter(b.Origin, r.sent, b.Operations)
			if now == nil {
				continue
			}
			for i := range b.Operations {
				if token := b.Operations[i].Token; token != (store.Token{}) {
					tokens = append(tokens, token)
				}
			}
			all = append(all, entered{before, now})
			if err := c.writeBatch(now); err != nil {
				return err
			}
		}
	}
	if err := to.AddTokens(c.batch, tokens); err != nil {
		return err
	}
	// 4. Drop forgotten batches, if no operation was added to them meanwhile.
	for _, r := range group {
		for _, b := range r.forget {
			if s.inFlight.covered(b) {
				forgotten = append(forgotten, b.Origin)
			}
		}
	}
	// 5. Write the rows, then the rows of local state, all in one Pebble batch.
	if err := c.writeRows(group); err != nil {
		return err
	}
	c.setOverwritten(all)
	for _, origin := range forgotten {
		if err := c.forget(origin); err != nil {
			return err
		}
	}
	if err := s.log.Trim(c.batch, s.inFlight.lowest); err != nil {
		return err
	}
	outdated, err := c.writeHeard(group, dirty)
	if err != nil {
		return err
	}
	durable, marked, err := c.finish(group)
	if err != nil {
		return err
	}
	if err := to.Write(c.batch, c.counted, durable); err != nil {
		return err
	}
	// 6. The commit is done, so memory may follow. A batch must not count as received before.
	s.tombstones.add(c.dead)
	s.inFlight.remove(forgotten)
	s.inFlight.drop(outdated)
	for _, r := range group {
		for i := range r.entries {
			s.lastStamps.record(&r.entries[i])
		}
		if r.delivery != (Origin{}) {
			s.inFlight.received(r.delivery)
		}
		r.mark = marked
	}
	s.mark.Store(marked)
	return nil
}

// writeBatch writes the row of a batch, and adds it to the log.
func (c *stampedCommit) writeBatch(e *batchEntry) error {
	row := batchRow{epoch: e.epoch, time: c.store.log.Now().UnixMilli(), operations: e.operations}
	key, value := batchlog.Key(e.origin.stream(), e.origin.Batch), row.append(nil)
	if err := c.batch.Set(key, value, nil); err != nil {
		return err
	}
	return c.store.log.Add(c.batch, row.logged(e.origin.stream(), e.origin.Batch, len(key)+len(value)))
}

// forget deletes the row of a batch, because the rows of another sequencer have its operations.
func (c *stampedCommit) forget(origin Origin) error {
	if err := c.batch.Delete(batchlog.Key(origin.stream(), origin.Batch), nil); err != nil {
		return err
	}
	return c.store.log.Forgotten(c.batch, origin.stream(), origin.Batch)
}

// writeHeard writes the rows of the sequencers of the group's deliveries, and the rows in
// dirty, because reports have changed them. It deletes and returns outdated incarnations.
func (c *stampedCommit) writeHeard(group []*stamped, dirty []stream) (outdated []stream, err error) {
	// A row must count this group's batches, because it is durable together with them.
	u := &c.store.inFlight
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
		// An incarnation of this commit must stay, even if it has no entries.
		for _, old := range u.outdated(id.Machine, c.store.log.Has) {
			if _, heard := last[old]; heard {
				continue
			}
			outdated = append(outdated, old)
			if err := c.batch.Delete(heardKey(old), nil); err != nil {
				return nil, err
			}
			if err := c.store.log.Drop(c.batch, old); err != nil {
				return nil, err
			}
		}
	}
	return outdated, nil
}

// finish writes the other rows of local state.
func (c *stampedCommit) finish(group []*stamped) (durable bool, marked uint64, err error) {
	s := c.store
	epoch, counts := uint64(0), false
	for _, r := range group {
		durable = durable || r.durable
		counts = counts || r.counts
		epoch = max(epoch, r.epoch)
	}
	if err := c.to.Outgrow(epoch, c.batch); err != nil {
		return false, 0, err
	}
	marked = s.mark.Load()
	if counts {
		marked++
		if err := c.batch.Set(rowMark, binary.AppendUvarint(nil, marked), nil); err != nil {
			return false, 0, err
		}
	}
	return durable, marked, nil
}
