// From operations to the batches of a consumer.

package changes

import (
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

var errClosed = fmt.Errorf("the change feed: %w", store.ErrClosed)

// output is the batch that a reader fills.
type output struct {
	batch     feed.Batch
	bytes     int // of the changes since the last batch, with those that the filter does not select
	most      int
	heartbeat time.Duration // 0: never
	last      time.Time     // when a batch was sent
	begun     bool          // a batch was sent
	sent      feed.Position // of the last batch
	inside    bool          // the last batch is continued
}

const defaultBytes = 1 << 20

func (o *output) init(r feed.Request) {
	o.most, o.last = r.MaxBytes, time.Now()
	if o.most <= 0 {
		o.most = defaultBytes
	}
	if r.Follow {
		o.heartbeat = r.Heartbeat
	}
}

// due reports whether a heartbeat is due.
func (o *output) due() bool { return o.untilDue() <= 0 }

// untilDue returns the time until the next heartbeat; it is very long if there are none.
func (o *output) untilDue() time.Duration {
	if o.heartbeat == 0 {
		return 1 << 62
	}
	return time.Until(o.last.Add(o.heartbeat))
}

// changeBytes is about what a change costs beside its key and data.
const changeBytes = 64

// passOperations passes operations of one stamper, in order. The position moves behind them.
func (rd *reader) passOperations(stamper trie.MachineID, operations []replica.Logged) error {
	for i := range operations {
		o := &operations[i]
		c := feed.Change{Stamp: o.Stamp, Sequencer: stamper, Depth: o.Token.Depth(), Key: o.Key, Long: o.Long}
		switch o.Kind {
		case store.OperationAdd:
			c.Kind = feed.Add
		case store.OperationDelete:
			c.Kind = feed.Delete
		case store.OperationAnnotate:
			c.Kind = feed.Annotate
			c.Annotation = &feed.Annotation{ApplicationID: o.Annotation.ApplicationID, Removed: o.Annotation.Removed, Data: o.Annotation.Data}
		default:
			continue
		}
		if rd.target != nil && !rd.target.Covers(stamper, o.Stamp) {
			break // so are all behind it
		}
		// A full batch ends before this change. It may be empty: the position of a consumer whose
		// filter skips much must move.
		if rd.out.bytes >= rd.out.most {
			if i > 0 {
				rd.advance(stamper, operations[i-1].Stamp)
			}
			if err := rd.flush(true); err != nil {
				return err
			}
		}
		if err := rd.pass(&c, o.Time); err != nil {
			return err
		}
	}
	if n := len(operations); n > 0 {
		rd.advance(stamper, operations[n-1].Stamp)
	}
	return nil
}

// advance moves the position behind what was passed of a stamper, but not behind the target.
func (rd *reader) advance(stamper trie.MachineID, stamp triple.Stamp) {
	if rd.target != nil && stamp.Epoch == rd.target.Epoch {
		stamp.Sequence = min(stamp.Sequence, rd.target.Sequence(stamper))
	}
	rd.pos = rd.pos.Advance(stamper, stamp)
}

// pass adds a change to the batch if the filter selects it. The caller moves the position.
func (rd *reader) pass(c *feed.Change, ms int64) error {
	rd.out.bytes += len(c.Key) + len(c.Long) + changeBytes
	if c.Annotation != nil {
		rd.out.bytes += len(c.Annotation.Data)
	}
	ok, err := rd.matcher.Match(c)
	if err != nil {
		return fmt.Errorf("the change feed, stamp %d/%d of machine %s: %w", c.Stamp.Epoch, c.Stamp.Sequence, c.Sequencer, err)
	}
	if !ok {
		return nil
	}
	c.Time = time.UnixMilli(ms)
	rd.out.batch.Changes = append(rd.out.batch.Changes, *c)
	rd.out.batch.Time = c.Time
	return nil
}

// moved reports whether an empty batch is due, because the consumer wants positions.
func (rd *reader) moved() bool {
	return rd.request.Positions && rd.request.Follow && !rd.out.sent.Reaches(rd.pos)
}

// flush sends the batch. An empty one is sent only if always is set.
func (rd *reader) flush(always bool) error {
	b := &rd.out.batch
	if len(b.Changes) == 0 && !always {
		return nil
	}
	b.Position, b.Continued = rd.pos, rd.part > 0
	// 1. A part of a lone store's commit must not move the position.
	if b.Continued && rd.out.sent.String() != rd.pos.String() {
		if !rd.yield(&feed.Batch{Time: time.Now(), Position: rd.pos}, nil) {
			return errDone
		}
	}
	// 2. The changes, or the position alone.
	if len(b.Changes) == 0 {
		b.Time = time.Now()
	} else {
		rd.lag.Store(b.Time.UnixMilli())
	}
	rd.out.sent, rd.out.begun, rd.out.inside = rd.pos, true, b.Continued
	if !rd.yield(b, nil) {
		return errDone
	}
	clear(b.Changes)
	b.Changes, rd.out.bytes, rd.out.last = b.Changes[:0], 0, time.Now()
	return nil
}
