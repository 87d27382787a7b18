// Reading the log: positions, and the iteration over changes.

package changefeed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

var _ feed.Source = (*Feed)(nil)

// defaultBatchBytes is the default of feed.Request.MaxBytes.
const defaultBatchBytes = 1 << 20

// Position implements [feed.Source].
func (f *Feed) Position(ctx context.Context) (feed.Position, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position(f.end), ctx.Err()
}

// Changes implements [feed.Source]. It holds about twice MaxBytes, and no Pebble iterator while the
// caller works.
func (f *Feed) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		if r.MaxBytes <= 0 {
			r.MaxBytes = defaultBatchBytes
		}
		c := consumer{f: f, r: r, yield: yield, sent: time.Now()}
		err := c.begin()
		if err == nil {
			err = c.run(ctx)
		}
		switch {
		case err == nil || errors.Is(err, errStopped):
		case r.Follow && ctx.Err() != nil:
		default:
			yield(nil, fmt.Errorf("read the change feed: %w", err))
		}
	}
}

// errStopped means that the caller stops.
var errStopped = errors.New("stopped")

// consumer is one iteration over the log.
type consumer struct {
	f       *Feed
	r       feed.Request
	matcher *feed.Matcher
	yield   func(*feed.Batch, error) bool

	until   triple.Stamp // where a consumer that does not follow ends
	done    triple.Stamp // every change up to it was sent or skipped
	next    []byte       // key of the next row
	begun   bool         // a batch was sent
	skipped bool         // done has moved since the last batch
	inside  bool         // the last batch is continued
	unsent  int          // bytes of rows since the last batch
	sent    time.Time    // when the last batch was sent
	rows    []byte       // the rows of a chunk, one after the other
	ends    []int        // their ends
	batch   feed.Batch
	whole   int // the first changes of the batch, which done covers
	earlier int // changes of earlier batches
	// complete is how many changes of all batches done covers. A batch may have been sent before
	// the end of its last request was known.
	complete int
	arena    []byte // the keys of batch.Changes
}

// begin checks the request.
func (c *consumer) begin() (err error) {
	if c.matcher, err = feed.NewMatcher(c.r.Filter); err != nil {
		return err
	}
	f, since := c.f, c.r.Since
	// What a reader has seen must lie before a consistent end.
	if c.r.Consistent && f.commits != nil {
		f.commits.Lock()
		defer f.commits.Unlock()
	}
	f.mu.Lock()
	begin, end := f.begin.Stamp, f.end
	f.mu.Unlock()
	c.until = end
	c.done = triple.Stamp{Epoch: since.Epoch, Sequence: since.Sequence(0)}
	switch {
	case since.IsZero():
		c.done = begin
	case since.Source != f.source:
		return fmt.Errorf("%w: it is of another store, or of a store from which this one was restored", feed.ErrPosition)
	case end.Less(c.done):
		return fmt.Errorf("%w: it lies behind the end of the feed", feed.ErrPosition)
	}
	c.next = logKey(nextStamp(c.done), 0)
	return nil
}

// run sends all changes. If the request follows, it waits for more.
func (c *consumer) run(ctx context.Context) error {
	for {
		// 1. The channels must come before the chunk, because a change may come after it.
		retired := c.retired()
		end, more := c.f.wait()
		if !c.r.Follow {
			end = c.until
		}
		all, err := c.read(ctx, end)
		if err == nil {
			err = c.sendRows(ctx)
		}
		if err != nil {
			return err
		}
		c.drop()
		// 2. Move the position of a consumer whose filter has skipped much, or that is at the end.
		// The first batch shows a consumer that its position is valid.
		if c.skipped && (c.unsent >= c.r.MaxBytes || all && (c.r.Positions || !c.r.Follow) || c.due() <= 0) || c.r.Follow && !c.begun {
			err = c.send(time.Time{})
		}
		if err != nil || all && !c.r.Follow {
			return err
		}
		if all && retired {
			return fmt.Errorf("%w: the changes after this position are in the feed of the cluster", fault.ErrMember)
		}
		if all {
			if err := c.wait(ctx, more); err != nil {
				return err
			}
		}
	}
}

func (c *consumer) retired() bool {
	select {
	case <-c.f.retired:
		return true
	default:
		return false
	}
}

// due returns the time until a heartbeat is due.
func (c *consumer) due() time.Duration {
	if c.r.Heartbeat <= 0 || !c.r.Follow {
		return time.Hour
	}
	return c.r.Heartbeat - time.Since(c.sent)
}

// wait waits for more changes, and sends heartbeats.
func (c *consumer) wait(ctx context.Context, more <-chan struct{}) error {
	timer := time.NewTimer(c.due())
	defer timer.Stop()
	for {
		select {
		case <-more:
			return nil
		case <-c.f.retired:
			return nil
		case <-c.f.db.Stopping():
			return fault.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			if c.r.Heartbeat > 0 {
				if err := c.send(time.Time{}); err != nil {
					return err
				}
			}
			timer.Reset(c.due())
		}
	}
}

// read reads the next chunk of rows, up to a position. all is set if it has the last of them.
func (c *consumer) read(ctx context.Context, end triple.Stamp) (all bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := c.f.db.Begin(); err != nil {
		return false, err
	}
	defer c.f.db.End()
	c.rows, c.ends = c.rows[:0], c.ends[:0]
	it, err := c.f.db.NewIter(&pebble.IterOptions{LowerBound: c.next, UpperBound: logKey(nextStamp(end), 0)})
	if err != nil {
		return false, err
	}
	// 1. Copy rows until the chunk is full. The iterator must not outlive this call, because it
	// keeps memory and files from being freed.
	valid := it.First()
	for ; valid && len(c.rows) < c.r.MaxBytes && err == nil; valid = it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			c.rows = append(append(c.rows, it.Key()...), value...)
			c.ends = append(c.ends, len(c.rows)-len(value), len(c.rows))
			c.next = append(append(c.next[:0], it.Key()...), 0)
		}
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return false, err
	}
	// 2. The rows were trimmed if the log begins behind the consumer now. A trim moves the begin
	// before it deletes, so no gap passes.
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.done.Less(f.begin.Stamp) {
		return false, &feed.GoneError{Reason: f.begin.explain(f.retention), Continue: f.position(f.end)}
	}
	return !valid, nil
}

// sendRows sends the changes of a chunk.
func (c *consumer) sendRows(ctx context.Context) error {
	begin := 0
	for i := 0; i < len(c.ends); i += 2 {
		key, value := c.rows[begin:c.ends[i]], c.rows[c.ends[i]:c.ends[i+1]]
		begin = c.ends[i+1]
		c.unsent += len(value)
		if err := c.sendRow(key, value); err != nil {
			return fmt.Errorf("row % X: %w", keyspace.Clip(key), err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// drop frees rows that a huge term has grown, because the consumer may stay idle for days.
func (c *consumer) drop() {
	if cap(c.rows) > 2*c.r.MaxBytes+2*rowBytes {
		c.rows = nil
	}
}

// sendRow sends the selected changes of a row.
func (c *consumer) sendRow(key, value []byte) error {
	last, err := parseStampKey(logPrefix, key, 4)
	if err != nil {
		return err
	}
	row, err := DecodeRow(value)
	if err != nil {
		return err
	}
	// 1. Decode the changes. At the first one of a request, the position may move behind the
	// request before. The consumer may have the first requests of the row already.
	size, before := 0, c.done
	for {
		var change feed.Change
		sequence, arena, ok, err := row.Next(&change, c.arena)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		at := triple.Stamp{Epoch: last.Epoch, Sequence: sequence}
		if at.Compare(c.done) <= 0 {
			continue
		}
		if before.Less(at) {
			c.move(before)
			before = at
		}
		if change.Kind != feed.Load {
			change.Stamp = at
		}
		if ok, err = c.matcher.Match(&change); err != nil {
			return err
		} else if !ok {
			continue
		}
		// 2. Send a batch before it is too large.
		c.arena = arena
		c.batch.Changes = append(c.batch.Changes, change)
		if size += len(change.Key) + len(change.Long) + changeBytes; change.Annotation != nil {
			size += len(change.Annotation.Data)
		}
		if size >= c.r.MaxBytes {
			if err := c.send(row.Time); err != nil {
				return err
			}
			size = 0
		}
	}
	// 3. Behind the row is behind its last request, unless the next row continues it.
	if !row.Continued {
		c.move(last)
	}
	// The consumer of a part waits for the end of its commit, also if the rest is not selected.
	if len(c.batch.Changes) == 0 && !(c.inside && c.skipped) {
		return nil
	}
	return c.send(row.Time)
}

// changeBytes is about the size of a change beside its fields.
const changeBytes = 128

// move moves the position to be sent, behind all changes of the batch.
func (c *consumer) move(to triple.Stamp) {
	if c.done.Less(to) {
		c.done, c.skipped, c.whole = to, true, len(c.batch.Changes)
		c.complete = c.earlier + c.whole
	}
}

// send sends the batch. A batch without a time is empty, and has the present time. If the last request
// is not complete, its changes have a batch of their own, which is continued: a consumer must not take them
// for changes before the position, or the others for changes behind it. The position moves before it, with
// a batch that may be empty, because a consumer can leave only there.
func (c *consumer) send(at time.Time) error {
	if at.IsZero() {
		at = time.Now()
	}
	all := c.batch.Changes
	c.batch.Time, c.batch.Position = at, c.f.position(c.done)
	if c.whole > 0 || c.skipped || len(all) == 0 {
		c.batch.Changes, c.batch.Continued = all[:c.whole:c.whole], false
		if !c.yield(&c.batch, nil) {
			return errStopped
		}
	}
	if c.whole < len(all) {
		c.batch.Changes, c.batch.Continued = all[c.whole:], true
		if !c.yield(&c.batch, nil) {
			return errStopped
		}
	}
	c.inside = c.whole < len(all)
	c.begun, c.sent, c.skipped, c.unsent, c.whole = true, time.Now(), false, 0, 0
	c.earlier += len(all)
	clear(all)
	c.batch.Changes, c.arena = all[:0], c.arena[:0]
	return nil
}

// PositionIn returns the position that the rows of a reader of the database belong to: every change
// up to it is in the rows, and no other.
func (f *Feed) PositionIn(from pebble.Reader) (feed.Position, error) {
	at, err := lastIn(from)
	if err != nil {
		return feed.Position{}, fmt.Errorf("position of a snapshot: %w", err)
	}
	return f.position(at), nil
}

// lastIn returns the stamp of the last change in the rows of a reader.
func lastIn(from pebble.Reader) (at triple.Stamp, err error) {
	// 1. It is that of the last row of the log.
	it, err := from.NewIter(RowBounds())
	if err != nil {
		return at, err
	}
	found := it.Last()
	if found {
		at, err = parseStampKey(logPrefix, it.Key(), 4)
	}
	if err := errors.Join(err, it.Error(), it.Close()); err != nil || found {
		return at, err
	}
	// 2. A log without rows has where it begins.
	value, err := database.Value(from, rowBegin)
	if err != nil || value == nil {
		return at, err
	}
	begin, err := parseMark(value)
	return begin.Stamp, err
}
