// The committer: groups of requests become one Pebble batch and one fsync.

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/store/segments"
	"github.com/trefoildb/trefoil/internal/tracing"
)

// Committer writes all rows of a store, except for the ones of bulk loads. It is safe for concurrent
// use.
//
// A write is answered after a sync, and a sync takes longer than all the rest of a small write. If
// each write had its own, 64 writers would be as slow as one. Writes depend on each other, too: the
// add of a triple that exists changes nothing, and the counts of the answers must be exact. So one
// goroutine decides on all writes, in their order, and writes that wait at the same time share one
// batch and one sync. Only work without an order is left to the callers: they check triples and
// encode keys, on all cores.
//
// Invariants:
//
//  1. A request that is answered without an error is durable. After ErrUnknown, or if the store has
//     failed, it may be done or not. After any other error it has written nothing.
//  2. A group is one Pebble batch: the rows of all orders, the tokens, the counters, the limit of
//     the stamps and the rows of the change feed. So a crash leaves all of a request or nothing,
//     and the feed misses no change.
//  3. Stamps ascend in the order of the commits. The stamp of a committed row is never given again,
//     also after a crash.
//  4. A request sees the state that the requests before it left, in its group, too.
//  5. After a group that failed, sequence and counted are those before it.
//
// The protocol:
//
//	caller                                    run
//	  check triples, encode keys
//	  queue.put; wait if the queue is full
//	                                          group = the first request, and those behind it that may
//	                                              share its commit, up to maxGroupBytes
//	                                          with mu locked:
//	                                            reject all if the store has failed or the disk is full
//	                                            claim room on the disk; if there is too little, keep the
//	                                              requests that add nothing or serve other machines
//	                                            jobs: the first one commits all of them
//	                                            others: reject them if the directory is a member's
//	                                              find all triples in one pass over SPO
//	                                              for each request, for each triple:
//	                                                skip it if its token is taken, or nothing changes
//	                                                take a stamp if the request has none
//	                                                rows into the batch, change into the feed
//	                                              tokens, feed, counters; write and sync the batch
//	  r.done is closed  <--------------------   answer all, in the order of the group
//
// If its context ends, or the timeout, a caller takes its request back, unless the committer has it
// already (request.state). Then it waits for another timeout, and again if the committer has made a
// step with the request meanwhile. If not, it returns ErrUnknown. A large change (kindApply) is a
// group of its own, because its context or its size may end it in its midst.
//
// Rows of bulk loads become part of the store as tables, under the same lock. A job of package
// replica has stamps of its own; it shares the queue, the lock and the sync ([Committer.Do]).
type Committer struct {
	db       *database.Database
	timeout  time.Duration // see Options.WriteTimeout
	queue    queue
	member   *membership
	feed     *changefeed.Feed
	segments *segments.Segments
	density  *density
	metrics  *metrics

	// mu is held when rows are written: by run, and by a load that publishes. It guards the rest.
	mu       sync.Mutex
	sequence sequence
	counted  keyspace.Counters
	tokens   tokens
	claimed  int64 // of the disk, for the group that is committed
}

// read reads the local state of the committer.
func (c *Committer) read() (err error) {
	if c.counted, err = c.db.Counters(); err != nil {
		return err
	}
	if err := c.sequence.read(c.db); err != nil {
		return err
	}
	return c.tokens.read()
}

// maxGroupBytes limits one commit. For a larger group the sync is a small part of the time, and
// the next group is prepared during the write.
const maxGroupBytes = 4 << 20

// run commits until the queue is closed. It takes all waiting requests, because requests of
// one group share one fsync.
func (c *Committer) run() {
	var group []*request
	for {
		group = c.queue.take(group[:0], maxGroupBytes)
		if len(group) == 0 {
			return
		}
		c.mu.Lock()
		c.commitGroup(group)
		c.mu.Unlock()
		clear(group)
	}
}

// commitGroup commits the requests of a group in order and answers them when they are
// durable. If the group fails, every request gets the error. None is done then, unless the
// error says otherwise.
func (c *Committer) commitGroup(group []*request) {
	start := time.Now()
	var size int64
	for _, r := range group {
		size += r.size
	}
	// 1. Reject the whole group if the store has failed or the disk is full.
	err := c.db.Err()
	if err == nil && c.db.Full() {
		err = fmt.Errorf("%w: %s", ErrDiskFull, c.db.Path())
	}
	if err == nil {
		if admitted := c.admit(group); len(admitted) > 0 {
			err = c.commitRows(admitted)
		}
		c.db.Release(c.claimed)
		c.claimed = 0
	}
	// 2. After an error nothing counts as done. A request keeps its own error if it has one.
	if err != nil {
		for _, r := range group {
			r.undo()
			if r.err == nil {
				r.err = err
			}
		}
	}
	c.metrics.committed(group, size, time.Since(start))
	// 3. Answer only now, because the rows are durable.
	for _, r := range group {
		r.finish(r.err)
	}
	c.segments.Written(size)
}

// admit returns the requests with enough room on the disk: all, the ones that may use the reserved
// space, or none. The others get their error. The room of those it returns is claimed.
func (c *Committer) admit(group []*request) []*request {
	size := int64(0)
	for _, r := range group {
		size += r.size
	}
	full := c.claim(size, false)
	if full == nil {
		return group
	}
	// The disk has no room for all. Some requests may use the reserved space, because they help to
	// free space or other machines rely on them.
	var reserved []*request
	size = 0
	for _, r := range group {
		if r.reserved() {
			reserved = append(reserved, r)
			size += r.size
		} else {
			r.err = full
		}
	}
	if len(reserved) > 0 {
		if full = c.claim(size, true); full == nil {
			return reserved
		}
	}
	for _, r := range reserved {
		r.err = full
	}
	return nil
}

// claim replaces the claim of the group.
func (c *Committer) claim(bytes int64, reserved bool) error {
	c.db.Release(c.claimed)
	c.claimed = 0
	err := c.db.Claim(bytes, reserved)
	if err == nil {
		c.claimed = bytes
	}
	return err
}

// commitRows commits a group in one batch.
func (c *Committer) commitRows(group []*request) (err error) {
	// 1. Jobs commit themselves. All other requests are rejected if the directory belongs to a
	// cluster.
	if group[0].job != nil {
		return c.commitJobs(group)
	}
	if err := c.member.checkAlone(); err != nil {
		return err
	}
	// 2. Make a batch of about the right size, because growing a large one copies it.
	w := &commit{to: c, counted: c.counted}
	size := int64(0)
	for _, r := range group {
		size += r.size
	}
	if size > 1<<16 {
		w.batch = c.db.NewBatchWithSize(int(size+size/8) + 1<<10)
	} else {
		w.batch = c.db.NewBatch()
	}
	w.log = c.feed.Begin(w.batch)
	before := c.sequence
	defer func() {
		w.batch.Close()
		if err != nil { // nothing is written, or nothing will be written ever again
			c.sequence = before
		}
	}()
	// 3. Write the rows and tokens into the batch.
	if group[0].kind == KindApply {
		err = w.commitChange(group[0])
	} else {
		err = w.commitGroup(group)
	}
	if err != nil {
		return err
	}
	if err := c.tokens.write(w.batch, slices.Collect(maps.Keys(w.taken))); err != nil {
		return err
	}
	if w.batch.Empty() {
		return nil
	}
	// 4. The feed's rows must be in the same batch, because no change may be missed.
	done, err := w.log.Finish()
	if err != nil {
		return err
	}
	if err := (&Commit{c}).Write(w.batch, w.counted, true); err != nil {
		return err
	}
	done()
	if w.cleared {
		c.Cleared(group[0].removed)
	}
	return nil
}

// Do runs a job in the committer and waits for its end. After [ErrUnknown] the job may be done or
// not.
func (c *Committer) Do(ctx context.Context, job Job) error {
	if c.db.ReadOnly {
		return ErrReadOnly
	}
	return c.do(ctx, newJob(job))
}

// Exclusive calls do when no commit runs, and none may begin before do returns.
func (c *Committer) Exclusive(do func(*Commit) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return do(&Commit{c})
}

// commitJobs commits a group of jobs.
func (c *Committer) commitJobs(group []*request) error {
	jobs := make([]Job, len(group))
	for i, r := range group {
		jobs[i] = r.job
	}
	before := c.sequence
	err := jobs[0].Commit(&Commit{c}, jobs)
	if err != nil {
		c.sequence = before
	}
	return err
}

// do commits a request and waits for its end.
func (c *Committer) do(ctx context.Context, r *request) (err error) {
	ctx, span := tracing.Start(ctx, "commit")
	defer func() { span.End(err) }()
	return c.queue.do(ctx, r, c.db, c.timeout)
}

// Removed counts rows that were removed because the cluster does not need them here. Their space is
// freed in quiet times.
func (c *Committer) Removed(rows int64) { c.metrics.dropped.Add(rows) }

// FlushCleared is the number of cleared triples above which the store flushes. When the range
// deletions are in a table, Pebble drops the rows below them.
const FlushCleared = 10_000

// Cleared updates estimates after a clear. If the clear was large, it also frees disk space soon.
func (c *Committer) Cleared(removed int64) {
	c.density.forget()
	if removed < FlushCleared {
		return
	}
	if _, err := c.db.AsyncFlush(); err != nil {
		c.db.Logger.Error("a clear could not be flushed; it is in the log", "error", err)
	}
}

// Drain waits until all earlier writes have ended, whatever their outcome. If it returns nil after
// [ErrUnknown], nothing is in progress any more. It does not wait for room on a full disk, but it
// waits if the disk does not respond.
func (s *Store) Drain(ctx context.Context) error {
	if s.options.ReadOnly {
		return nil
	}
	r := newJob(nothing{}) // answered after the others
	if err := s.committer.queue.put(ctx, r); err != nil {
		return fault.Wrap("drain", err)
	}
	select {
	case <-r.done:
		if errors.Is(r.err, ErrClosed) {
			return fault.Wrap("drain", r.err)
		}
		return nil
	case <-s.db.Failed():
		return fault.Wrap("drain", s.db.Err())
	case <-ctx.Done():
		err := context.Cause(ctx)
		return fault.Wrap("drain", s.committer.queue.abandon(r, err, err))
	}
}
