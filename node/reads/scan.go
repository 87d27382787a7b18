// The coordinator's iterator over a range.

package reads

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// aheadPieces is how many pieces behind the one that is read are asked ahead.
	aheadPieces = 3
	// firstBudget is how many bytes are asked for at first: reads that seek or have
	// a limit need few. Each request after it asks for four times as many, up to
	// most of Options.Ahead.
	firstBudget = 32 << 10
	// warmRows is after how many rows, one after the other, pieces are asked ahead.
	warmRows = 64
)

// scan iterates over the rows of a range, from owner to owner, and goes on behind
// the last row when something has failed on the way. It starts before the first
// row.
//
// Invariant: what is not given out yet, and is to be, is left or, where keyed,
// left behind key; the queue and rest are a plan of it under view.
type scan struct {
	snapshot *Snapshot
	ctx      context.Context
	cancel   context.CancelFunc
	all      triple.Range
	reverse  bool
	filter   *filter
	limit    int64

	left   triple.Range
	queue  []*queued
	rest   triple.Range // what the queue does not have
	back   []piece      // of rest, in reverse
	view   *view.View   // nil: nothing is planned
	tried  *view.View   // the last view, also one under which nothing can be read
	budget int64        // of the next piece's first request

	rows  int // since the last seek
	key   []byte
	own   []byte // the scan's own key; key may be the frame's
	value []byte
	frame *unpacker // what the first feed's next rows are in; nil: ask the feed
	keyed bool      // key is that of the current row
	given bool      // something of the answer was given: a row, or that there is none
	shown int       // loads, when that was read
	over  bool
	err   error
	trial trial
}

// queued is a piece, whose feed is opened ahead or when the piece is reached.
type queued struct {
	piece
	feed feed
}

func (q *queued) close() {
	if q.feed != nil {
		q.feed.close()
	}
}

// scan returns an iterator over the rows of r that pass the filter; nil lets all
// pass. The limit is how many of them will be read, 0 where that is not known.
func (sn *Snapshot) scan(ctx context.Context, r triple.Range, reverse bool, f *filter, limit int64) (*scan, error) {
	if err := sn.begin(ctx); err != nil {
		return nil, err
	}
	s := &scan{snapshot: sn, all: r, reverse: reverse, filter: f, limit: limit}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.trial.reads = sn.reads
	s.restart(r)
	return s, nil
}

// restart drops what was planned: what lies in r is to be read.
func (s *scan) restart(r triple.Range) {
	s.drop()
	s.left = r
	s.over, s.keyed = r.Empty(), false
	s.budget, s.rows = firstBudget, 0
}

func (s *scan) drop() {
	for _, q := range s.queue {
		q.close()
	}
	s.queue, s.view, s.back = s.queue[:0], nil, nil
	s.frame = nil
}

// Next moves to the next row.
func (s *scan) Next() bool {
	if s.over || s.err != nil {
		return false
	}
	if s.rows++; s.rows%checkRows == 0 && s.ctx.Err() != nil {
		return s.fail(s.ctx.Err())
	}
	return s.quick() || s.err == nil && s.move()
}

// quick moves to the next row of the frame at hand. It does the same as move, and
// less of it: most rows of a long read come this way. Where a row is not of what was
// asked for, nothing is left of the key before it, from behind which to go on.
func (s *scan) quick() bool {
	u := s.frame
	if u == nil || !s.keyed {
		return false
	}
	if ok, _ := u.next(); !ok { // move will say why
		return false
	}
	if first := s.queue[0]; u.row.index > 0 || !first.Contains(u.row.key) {
		return s.fail(fmt.Errorf("%w: %w", node.ErrUnavailable, &remoteError{first.owner, errNotAsked}))
	}
	s.key, s.value = u.row.key, u.row.value
	return true
}

// SeekGE moves to the first row whose key is at least key; in reverse, to the last
// one whose key is at most that.
func (s *scan) SeekGE(key []byte) bool {
	if s.err = s.ctx.Err(); s.err != nil {
		return false
	}
	key = bytes.Clone(key) // it may be of a row that is passed over
	target := s.all.Intersect(triple.Range{Lo: key})
	if s.reverse {
		target = s.all.Intersect(triple.Range{Hi: append(key[:len(key):len(key)], 0)})
	}
	c := bytes.Compare(key, s.key)
	switch {
	case !s.keyed || target.Empty() || c != 0 && (c < 0) != s.reverse:
		s.restart(target)
	case c == 0:
		return true
	case !s.skip(key, target):
		s.restart(target)
	case s.keyed:
		return true
	}
	return !s.over && s.move()
}

// skip moves on to a key that lies behind the current row, to the row there where
// it is at hand; false where it is better to ask anew.
func (s *scan) skip(key []byte, target triple.Range) bool {
	for len(s.queue) > 0 && s.isBehind(key, s.queue[0].Range) {
		s.pop()
	}
	s.left, s.keyed, s.rows, s.frame = target, false, 0, nil
	if len(s.queue) == 0 {
		s.rest = s.rest.Intersect(target)
		s.back = nil
		return true
	}
	first := s.queue[0]
	if first.feed == nil {
		first.Range = first.Intersect(target)
		return true
	}
	r, ok, done, err := first.feed.seek(key)
	switch {
	case err != nil:
		return false // what does not pass comes again
	case ok:
		s.give(r)
	case done:
		s.pop()
	}
	return done
}

// isBehind reports whether a key lies behind all of a piece, in the direction of
// the read.
func (s *scan) isBehind(key []byte, r triple.Range) bool {
	if s.reverse {
		return bytes.Compare(key, r.Lo) < 0
	}
	return r.Hi != nil && bytes.Compare(r.Hi, key) <= 0
}

// move moves to the next row of what is left, trying again where that may help.
func (s *scan) move() bool {
	if s.frame != nil { // whose key the feed is about to write over
		s.own = append(s.own[:0], s.key...)
		s.key, s.frame = s.own, nil
	}
	for {
		r, ok, err := s.step()
		if ok {
			s.give(r)
			return true
		}
		if err == nil {
			s.over, s.keyed = true, false
			return false
		}
		if s.keyed {
			s.left = behind(s.left, s.key, s.reverse)
			s.keyed = false
			s.trial.further()
		}
		if err := s.trial.again(s.ctx, s.tried, err); err != nil {
			return s.fail(err)
		}
		s.drop()
		s.budget = firstBudget
	}
}

func (s *scan) fail(err error) bool {
	s.err, s.keyed = err, false
	return false
}

// give makes a row the current one.
func (s *scan) give(r row) {
	s.own = append(s.own[:0], r.key...)
	s.key, s.value = s.own, r.value
	s.keyed, s.given = true, true
}

// step returns the next row under the plan.
func (s *scan) step() (row, bool, error) {
	for {
		if len(s.queue) == 0 {
			if more, err := s.plan(); err != nil || !more {
				return row{}, false, err
			}
		}
		first := s.queue[0]
		if first.feed == nil {
			if err := s.open(first, false); err != nil {
				return row{}, false, err
			}
		}
		r, ok, err := first.feed.next()
		if err != nil {
			return row{}, false, err
		}
		if !ok {
			s.pop()
			continue
		}
		if s.rows >= warmRows {
			if len(s.queue) <= aheadPieces && !s.rest.Empty() {
				err = s.fill()
			}
			if f, ok := first.feed.(framed); ok {
				s.frame = f.frame()
			}
		}
		return r, err == nil, err
	}
}

// pop takes the first piece off the queue: all of it is read or passed over.
func (s *scan) pop() {
	first := s.queue[0]
	first.close()
	s.frame = nil
	s.queue = append(s.queue[:0], s.queue[1:]...)
	s.left, s.keyed = s.without(s.left, first.Range), false
	s.given = true // that there were no rows is a part of the answer too
	s.trial.further()
}

// without returns what of r lies behind a part of it.
func (s *scan) without(r, part triple.Range) triple.Range {
	switch {
	case s.reverse && len(part.Lo) > 0:
		return r.Intersect(triple.Range{Hi: part.Lo})
	case !s.reverse && part.Hi != nil:
		return r.Intersect(triple.Range{Lo: part.Hi})
	}
	return triple.Range{Hi: []byte{}} // part reaches the end of the space
}

// fill asks for the next pieces of other machines.
func (s *scan) fill() error {
	if s.limit > 0 && s.limit <= warmRows {
		return nil
	}
	for len(s.queue) <= aheadPieces {
		more, err := s.plan()
		if err != nil || !more {
			return err
		}
		last := s.queue[len(s.queue)-1]
		if !last.live || last.owner == s.snapshot.reads.cluster.Self() {
			continue
		}
		if err := s.open(last, true); err != nil {
			return err
		}
	}
	return nil
}

// plan puts the next piece of rest into the queue; false where rest is empty.
func (s *scan) plan() (bool, error) {
	if s.view == nil {
		v, err := s.snapshot.plannable(s.left)
		if v != nil {
			s.tried = v
		}
		if err != nil {
			return false, err
		}
		if s.given && v.Shown() != s.shown {
			return false, errPublished
		}
		s.view, s.rest, s.shown = v, s.left, v.Shown()
	}
	if s.rest.Empty() {
		return false, nil
	}
	var p piece
	if s.reverse {
		if len(s.back) == 0 {
			s.back = pieces(s.view.Joint(), s.rest)
		}
		p = s.back[len(s.back)-1]
		s.back = s.back[:len(s.back)-1]
	} else {
		p = nextPiece(s.view.Joint(), s.rest)
	}
	s.rest = s.without(s.rest, p.Range)
	s.queue = append(s.queue, &queued{piece: p})
	return true, nil
}

// open opens the feed of a piece, ahead of time or when its rows are wanted.
func (s *scan) open(q *queued, ahead bool) (err error) {
	asked := &request{epoch: s.view.Epoch, view: s.view, reverse: s.reverse, filter: s.filter, limit: s.limit, ranges: []triple.Range{q.Range}}
	if !q.live {
		q.feed, err = s.snapshot.degrade(s.ctx, s.view, asked)
		return err
	}
	most := max(s.snapshot.reads.options.Ahead/(aheadPieces+2), 1)
	q.feed, err = s.snapshot.reads.open(s.ctx, asked, q.owner, min(s.budget, most), most, ahead)
	s.budget = min(4*s.budget, most)
	return err
}

// Key returns the key of the row; valid until the next move.
func (s *scan) Key() []byte { return s.key }

// Value returns the value of the row; valid until the next move.
func (s *scan) Value() []byte { return s.value }

// Err returns why there is no row; nil at the end of the range.
func (s *scan) Err() error { return s.err }

// Close ends the iteration.
func (s *scan) Close() error {
	s.cancel()
	s.drop()
	s.over = true
	return nil
}

// plannable returns the view under which a range can be read now.
func (sn *Snapshot) plannable(r triple.Range) (*view.View, error) {
	if sn.closed.Load() {
		return nil, fmt.Errorf("read a snapshot: %w", node.ErrClosed)
	}
	v := sn.reads.cluster.View()
	return v, sn.readable(v, r)
}

// readable returns an error unless a range can be read under a view.
func (sn *Snapshot) readable(v *view.View, r triple.Range) error {
	if v.Phase == recovery.Ingest {
		return refuse(peer.CodeUnavailable, v.Epoch, "a bulk load is being taken in")
	}
	if sn.lostToo {
		return nil
	}
	if l, ok := lost(v, r); ok {
		return fmt.Errorf("%w: since epoch %d rows may be gone of what is asked for", node.ErrLost, l.Epoch)
	}
	return nil
}
