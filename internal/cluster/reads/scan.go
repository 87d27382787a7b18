// Scans: the coordinator's iterator over the rows of a range.

package reads

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// aheadPieces is the number of pieces requested ahead of the current one.
	aheadPieces = 3
	// firstBudget is the bytes of the first request, few because the read may seek or have a
	// limit. Each further request has four times the bytes, up to a share of Options.Ahead.
	firstBudget = 32 << 10
	// warmRows is the number of rows without a seek before pieces are requested ahead.
	warmRows = 64
)

// scan iterates over the rows of a range, from owner to owner. If a request fails, it continues
// after the last row. It starts before the first row.
//
// Invariant: remaining is the range of the rows to return; if hasRow, only its part after key. The
// queue and rest are a plan of remaining under view.
type scan struct {
	snapshot *Snapshot
	ctx      context.Context
	cancel   context.CancelFunc
	all      triple.Range
	reverse  bool
	filter   *filter
	limit    int64

	remaining     triple.Range
	queue         []*queued
	rest          triple.Range // the part of remaining after the queue
	reversePieces []piece      // of rest
	view          *view.View   // nil if nothing is planned
	tick          triple.Stamp // of the plan, see attempt
	lastTried     *view.View   // the view of the last try, even if it failed
	budget        int64        // of the next piece's first request

	rows      int // since the last seek
	key       []byte
	keyBuffer []byte // memory for key; key may be in the frame instead
	value     []byte
	frame     *unpacker // frame with the next rows of the first feed; nil if the feed must be called
	hasRow    bool      // key is that of the current row
	returned  bool      // a part of the answer was returned: a row, or the absence of rows
	shown     int       // number of published loads at that time
	ended     bool
	err       error
	retries   retries
}

// queued is a piece with its feed. The feed is opened ahead or when the piece is reached.
type queued struct {
	piece
	feed  feed
	begun bool // a part of the answer was returned, or the next one will be
}

func (q *queued) close() {
	if q.feed != nil {
		q.feed.close()
	}
}

// scan returns an iterator over the rows of r in the filter; nil passes all. The limit is how
// many rows the caller reads at most, 0 if unknown.
func (sn *Snapshot) scan(ctx context.Context, r triple.Range, reverse bool, f *filter, limit int64) (*scan, error) {
	if err := sn.begin(ctx); err != nil {
		return nil, err
	}
	s := &scan{snapshot: sn, all: r, reverse: reverse, filter: f, limit: limit}
	s.retries, ctx = sn.retries(ctx)
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.restart(r)
	return s, nil
}

// restart drops the plan, and makes r the range to read.
func (s *scan) restart(r triple.Range) {
	s.drop()
	s.remaining = r
	s.ended, s.hasRow = r.Empty(), false
	s.budget, s.rows = firstBudget, 0
}

// drop closes all feeds and drops the plan.
func (s *scan) drop() {
	for _, q := range s.queue {
		q.close()
	}
	s.queue, s.view, s.reversePieces = s.queue[:0], nil, nil
	s.frame = nil
}

// Next moves to the next row.
func (s *scan) Next() bool {
	if s.ended || s.err != nil {
		return false
	}
	if s.rows++; s.rows%checkRows == 0 && s.ctx.Err() != nil {
		return s.fail(s.ctx.Err())
	}
	return s.nextInFrame() || s.err == nil && s.nextPlanned()
}

// nextInFrame moves to the next row of the current frame, for most rows of a long read. It must do the
// same as nextPlanned. If a row is out of the requested range, the scan fails, because the key before
// it is overwritten and the scan could not continue after it.
func (s *scan) nextInFrame() bool {
	u := s.frame
	if u == nil || !s.hasRow {
		return false
	}
	if ok, _ := u.next(); !ok { // nextPlanned finds the error
		return false
	}
	if first := s.queue[0]; u.row.index > 0 || !first.Contains(u.row.key) {
		return s.fail(fmt.Errorf("%w: %w", store.ErrUnavailable, &remoteError{first.owner, errNotRequested}))
	}
	s.key, s.value = u.row.key, u.row.value
	return true
}

// SeekGE moves to the first row with a key of at least key; in reverse, to the last row with a key
// of at most key.
func (s *scan) SeekGE(key []byte) bool {
	if s.err = s.ctx.Err(); s.err != nil {
		return false
	}
	key = bytes.Clone(key) // it may be the key of a row that is skipped
	target := s.all.Intersect(triple.Range{Lo: key})
	if s.reverse {
		target = s.all.Intersect(triple.Range{Hi: append(key[:len(key):len(key)], 0)})
	}
	// A seek backward needs a new plan; a seek forward may use rows already here.
	c := bytes.Compare(key, s.key)
	switch {
	case !s.hasRow || target.Empty() || c != 0 && (c < 0) != s.reverse:
		s.restart(target)
	case c == 0:
		return true
	case !s.skipTo(key, target):
		s.restart(target)
	case s.hasRow:
		return true
	}
	return !s.ended && s.nextPlanned()
}

// skipTo moves forward to a key, and to its row if it has arrived. It returns false if a new
// request is better.
func (s *scan) skipTo(key []byte, target triple.Range) bool {
	// 1. Drop the pieces before the key.
	for len(s.queue) > 0 && s.isAfter(key, s.queue[0].Range) {
		s.pop()
	}
	s.remaining, s.hasRow, s.rows, s.frame = target, false, 0, nil
	if len(s.queue) == 0 {
		s.rest = s.rest.Intersect(target)
		s.reversePieces = nil
		return true
	}
	// 2. Seek in the feed of the piece with the key, or cut the piece if it has no feed.
	first := s.queue[0]
	if first.feed == nil {
		first.Range = first.Intersect(target)
		return true
	}
	r, ok, done, err := first.feed.seek(key)
	if err == nil && (ok || done) {
		err = s.begin(first)
	}
	switch {
	case err != nil:
		return false // a lasting error comes again
	case ok:
		s.setRow(r)
	case done:
		s.pop()
	}
	return done
}

// isAfter reports whether a key comes after all of a range, in the direction of the read.
func (s *scan) isAfter(key []byte, r triple.Range) bool {
	if s.reverse {
		return bytes.Compare(key, r.Lo) < 0
	}
	return r.Hi != nil && bytes.Compare(r.Hi, key) <= 0
}

// nextPlanned moves to the next row of remaining. It retries if a retry may help.
func (s *scan) nextPlanned() bool {
	if s.frame != nil { // the feed overwrites its key
		s.keyBuffer = append(s.keyBuffer[:0], s.key...)
		s.key, s.frame = s.keyBuffer, nil
	}
	// Try until there is a row, the end, or an error no retry can help. The time before counts as the reader's.
	s.retries.progress()
	for {
		r, ok, err := s.step()
		if ok {
			s.setRow(r)
			return true
		}
		if err == nil {
			s.ended, s.hasRow = true, false
			return false
		}
		// Continue after the last row, under a new plan.
		if s.hasRow {
			s.remaining = rangeAfter(s.remaining, s.key, s.reverse)
			s.hasRow = false
			s.retries.progress()
		}
		err = s.snapshot.failed(s.tick, err)
		if err := s.retries.wait(s.ctx, s.lastTried, err); err != nil {
			return s.fail(err)
		}
		s.drop()
		s.budget = firstBudget
	}
}

func (s *scan) fail(err error) bool {
	s.err, s.hasRow = err, false
	return false
}

// setRow makes r the current row.
func (s *scan) setRow(r row) {
	s.keyBuffer = append(s.keyBuffer[:0], r.key...)
	s.key, s.value = s.keyBuffer, r.value
	s.hasRow, s.returned = true, true
}

// step returns the next row of the plan, and extends the plan if its queue is empty.
func (s *scan) step() (row, bool, error) {
	for {
		if len(s.queue) == 0 {
			if more, err := s.plan(); err != nil || !more {
				return row{}, false, err
			}
		}
		// The first piece has the next row, or none.
		first := s.queue[0]
		if first.feed == nil {
			if err := s.open(first, false); err != nil {
				return row{}, false, err
			}
		}
		r, ok, err := first.feed.next()
		if err == nil {
			err = s.begin(first)
		}
		if err != nil {
			return row{}, false, err
		}
		if !ok {
			s.pop()
			continue
		}
		// After enough rows: request pieces ahead, and read from the frame directly.
		if s.rows >= warmRows {
			if len(s.queue) <= aheadPieces && !s.rest.Empty() {
				err = s.requestAhead()
			}
			if f, ok := first.feed.(framed); ok {
				s.frame = f.frame()
			}
		}
		return r, err == nil, err
	}
}

// begin must be called before a row of a piece is returned, or their absence.
func (s *scan) begin(q *queued) (err error) {
	if !q.begun {
		err = s.snapshot.returns(s.tick)
		q.begun = err == nil
	}
	return err
}

// pop removes the first piece from the queue, because it was read or skipped.
func (s *scan) pop() {
	first := s.queue[0]
	first.close()
	s.frame = nil
	s.queue = append(s.queue[:0], s.queue[1:]...)
	s.remaining, s.hasRow = rangeWithout(s.remaining, first.Range, s.reverse), false
	s.returned = true // the absence of rows is a part of the answer, too
	s.retries.progress()
}

// requestAhead requests the next pieces of other machines ahead.
func (s *scan) requestAhead() error {
	if s.limit > 0 && s.limit <= warmRows {
		return nil
	}
	for len(s.queue) <= aheadPieces {
		more, err := s.plan()
		if err != nil || !more {
			return err
		}
		last := s.queue[len(s.queue)-1]
		if !last.live || last.owner == s.snapshot.reads.self {
			continue
		}
		if err := s.open(last, true); err != nil {
			return err
		}
	}
	return nil
}

// plan puts the next piece of rest into the queue. It returns false if rest is empty.
func (s *scan) plan() (bool, error) {
	// 1. Begin a plan: all of remaining, under the present view. If a load was published after the
	// first rows, the read must end.
	if s.view == nil {
		v, err := s.snapshot.plannable(s.remaining)
		if v != nil {
			s.lastTried = v
		}
		if err != nil {
			return false, err
		}
		if s.returned && v.Shown() != s.shown {
			return false, errPublished
		}
		if s.tick, err = s.snapshot.tick(s.ctx, v); err != nil {
			return false, err
		}
		s.view, s.rest, s.shown = v, s.remaining, v.Shown()
	}
	if s.rest.Empty() {
		return false, nil
	}
	// 2. Cut the next piece. In reverse all pieces are needed to find the last one.
	var p piece
	if s.reverse {
		if len(s.reversePieces) == 0 {
			s.reversePieces = pieces(s.view.Joint(), s.rest)
		}
		p = s.reversePieces[len(s.reversePieces)-1]
		s.reversePieces = s.reversePieces[:len(s.reversePieces)-1]
	} else {
		p = nextPiece(s.view.Joint(), s.rest)
	}
	s.rest = rangeWithout(s.rest, p.Range, s.reverse)
	s.queue = append(s.queue, &queued{piece: p})
	return true, nil
}

// open opens the feed of a piece. With ahead its rows are requested in the background.
func (s *scan) open(q *queued, ahead bool) (err error) {
	sent := &request{epoch: s.view.Epoch, view: s.view, reverse: s.reverse, filter: s.filter, limit: s.limit, wait: s.snapshot.wait, tick: s.tick, ranges: []triple.Range{q.Range}}
	if !q.live {
		q.feed, err = fallback{attempt{s.snapshot, s.view, s.tick}}.open(s.ctx, sent)
		return err
	}
	most := max(s.snapshot.reads.options.Ahead/(aheadPieces+2), 1)
	q.feed, err = s.snapshot.reads.open(s.ctx, sent, q.owner, min(s.budget, most), most, ahead)
	s.budget = min(4*s.budget, most)
	return err
}

// Row returns the key and the value of the row. They are valid until the next move.
func (s *scan) Row() (key, value []byte) { return s.key, s.value }

// Err returns the error of the scan, nil at the end of the range.
func (s *scan) Err() error { return s.err }

// Close ends the iteration.
func (s *scan) Close() error {
	s.cancel()
	s.drop()
	s.ended = true
	return nil
}
