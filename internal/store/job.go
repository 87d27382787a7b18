// Jobs: writes of package replica on their way through the committer.

package store

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
)

// Job is another package's write through the committer. Waiting jobs share a commit, unless one
// must be alone.
type Job interface {
	// Bytes is about how many bytes the job holds and writes.
	Bytes() int64
	// Reserved reports whether the job may use reserved space, because it adds nothing or other
	// machines count on it.
	Reserved() bool
	// Alone reports whether the job must be committed by itself.
	Alone() bool
	// Commit commits the jobs of a group; the receiver is the first of them. If it returns an
	// error, none may be done.
	Commit(c *Commit, group []Job) error
}

// Commit is the right to change the counters and the stamps of a store. It is valid until the
// called function returns.
type Commit struct{ store *Store }

// keyspace.Counters returns the last committed counters.
func (c *Commit) Counters() keyspace.Counters { return c.store.counted }

// Outgrow makes the store's later stamps greater than all stamps of an epoch.
func (c *Commit) Outgrow(epoch uint64, batch *pebble.Batch) error {
	return c.store.sequence.outgrow(epoch, batch)
}

// AddTokens appends rows of tokens to a batch, and deletes outdated ones.
func (c *Commit) AddTokens(batch *pebble.Batch, tokens []Token) error {
	return c.store.writeTokens(batch, tokens)
}

// Write commits a batch and sets the counters to after; see [database.Database.Commit].
func (c *Commit) Write(batch *pebble.Batch, after keyspace.Counters, durable bool) error {
	s := c.store
	if after != s.counted {
		if err := batch.Set(keyspace.RowCounters, after.Append(nil), nil); err != nil {
			return err
		}
	}
	if err := s.db.Commit(batch, durable); err != nil {
		return err
	}
	s.counted = after
	return nil
}

// Ingest makes tables part of the database, all at once and durably. One of them must set the
// counters to after. Ingest calls loaded when their rows become readable.
func (c *Commit) Ingest(ctx context.Context, tables []string, after keyspace.Counters, loaded func()) error {
	s := c.store
	if err := s.db.Ingest(ctx, tables, loaded); err != nil {
		return err
	}
	s.metrics.loaded.Add(after.Triples - s.counted.Triples)
	s.counted = after
	return nil
}

// Do runs a job in the committer and waits for its end. After [ErrUnknown] the job may be done or
// not.
func (s *Store) Do(ctx context.Context, job Job) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	return s.queue.do(ctx, newJob(job), s.db, s.options.WriteTimeout)
}

func newJob(job Job) *request {
	kind := kindJob
	if job.Alone() {
		kind = kindJobAlone
	}
	return &request{kind: kind, job: job, size: job.Bytes(), done: make(chan struct{})}
}

// Exclusive calls do when no commit runs, and none may begin before do returns.
func (s *Store) Exclusive(do func(*Commit) error) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	return do(&Commit{s})
}

// commitJobs commits a group of jobs.
func (s *Store) commitJobs(group []*request) error {
	jobs := make([]Job, len(group))
	for i, r := range group {
		jobs[i] = r.job
	}
	before := s.sequence
	err := jobs[0].Commit(&Commit{s}, jobs)
	if err != nil {
		s.sequence = before
	}
	return err
}

// Drain waits until all earlier writes have ended, whatever their outcome. If it returns nil after
// [ErrUnknown], nothing is in progress any more. It does not wait for room on a full disk, but it
// waits if the disk does not respond.
func (s *Store) Drain(ctx context.Context) error {
	if s.options.ReadOnly {
		return nil
	}
	r := newJob(nothing{}) // answered after the others
	if err := s.queue.put(ctx, r); err != nil {
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
		return fault.Wrap("drain", s.queue.abandon(r, err, err))
	}
}

// nothing is a job that writes nothing.
type nothing struct{}

func (nothing) Bytes() int64                { return 0 }
func (nothing) Reserved() bool              { return true }
func (nothing) Alone() bool                 { return true }
func (nothing) Commit(*Commit, []Job) error { return nil }

// CountRemoved counts rows that were removed because the cluster does not need them here. Their
// space is freed in quiet times.
func (s *Store) CountRemoved(rows int64) { s.metrics.dropped.Add(rows) }
