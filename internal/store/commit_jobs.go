// Jobs: writes of package replica on their way through the committer.

package store

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

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
type Commit struct{ to *Committer }

// Counters returns the last committed counters.
func (c *Commit) Counters() keyspace.Counters { return c.to.counted }

// LinksWith returns [keyspace.Counters.Links] as they will be when some tables are ingested.
func (c *Commit) LinksWith(tables []string) (int64, error) {
	n, err := c.to.newLinks(tables)
	return c.to.counted.Links + n, err
}

// Outgrow makes the store's later stamps greater than all stamps of an epoch.
func (c *Commit) Outgrow(epoch uint64, batch *pebble.Batch) error {
	return c.to.sequence.outgrow(epoch, batch)
}

// AddTokens appends rows of tokens to a batch, and deletes outdated ones.
func (c *Commit) AddTokens(batch *pebble.Batch, tokens []Token) error {
	return c.to.tokens.write(batch, tokens)
}

// Write commits a batch and sets the counters to after; see [database.Database.Commit].
func (c *Commit) Write(batch *pebble.Batch, after keyspace.Counters, durable bool) error {
	s := c.to
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
func (c *Commit) Ingest(ctx context.Context, tables []string, after keyspace.Counters) error {
	s := c.to
	if err := s.db.Ingest(ctx, tables); err != nil {
		return err
	}
	s.metrics.loaded.Add(after.Triples - s.counted.Triples)
	s.counted = after
	return nil
}

func newJob(job Job) *request {
	kind := kindJob
	if job.Alone() {
		kind = kindJobAlone
	}
	return &request{kind: kind, job: job, size: job.Bytes(), done: make(chan struct{})}
}

// nothing is a job that writes nothing.
type nothing struct{}

func (nothing) Bytes() int64                { return 0 }
func (nothing) Reserved() bool              { return true }
func (nothing) Alone() bool                 { return true }
func (nothing) Commit(*Commit, []Job) error { return nil }
