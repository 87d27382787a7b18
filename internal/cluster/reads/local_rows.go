// Rows of several ranges of this machine's store, by one iterator.

package reads

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// localRows iterates over the rows of ranges. The ranges must ascend.
type localRows struct {
	epoch   uint64
	tick    bool // the rows are those of a tick
	rows    *store.Rows
	ranges  []triple.Range
	reverse bool // there is one range then
	begun   bool
	near    int
	row     row
}

// nearRows bounds the steps towards the next range before a seek, because a seek takes as long as 10
// to 25 steps. If steps did not reach earlier ranges, fewer are tried; every nearTry ranges, all
// are.
const (
	nearRows = 16
	nearTry  = 16
)

// rows returns the rows of a request, without its filter.
func (h *held) rows(ctx context.Context, q *request) (*localRows, error) {
	hull := triple.Range{Lo: q.ranges[0].Lo, Hi: q.ranges[len(q.ranges)-1].Hi}
	read := h.snapshot.Rows
	if q.replicas {
		read, q.kept = h.snapshot.Replicas, h.owner.keeps()
	}
	rows, err := read(ctx, hull)
	if err != nil {
		return nil, err
	}
	if h.undo != nil {
		rows.Replace(h.undo.Before)
	}
	return &localRows{epoch: h.epoch, tick: q.tick != (triple.Stamp{}), rows: rows, ranges: q.ranges, reverse: q.reverse, near: nearRows}, nil
}

// keeps returns a function. It reports whether this machine has a place for a replica under base.
// One goroutine at a time may call it.
func (ow *owner) keeps() func(key []byte) (bool, error) {
	resolver, self := ow.member.View().Joint().Resolver(), ow.self
	return func(key []byte) (bool, error) {
		err := resolver.Resolve(key)
		return slices.Contains(resolver.Base(), recovery.Place{Machine: self, Order: triple.SPO, Extra: true}), err
	}
}

// next moves to the next row. The first call moves to the first row.
func (l *localRows) next() bool {
	step, first := l.rows.Next, l.rows.First
	if l.reverse {
		step, first = l.rows.Prev, l.rows.Last
	}
	if l.begun {
		return l.setRow(step())
	}
	l.begun = true
	return l.setRow(first())
}

// seek moves to the first row at key or after it, in the direction of the read. There must be one
// range.
func (l *localRows) seek(key []byte) bool {
	l.begun = true
	if l.reverse {
		return l.setRow(l.rows.SeekLT(append(bytes.Clone(key), 0)))
	}
	return l.setRow(l.rows.SeekGE(key))
}

// setRow makes the row of the iterator the current one, or the first row after it within a range.
func (l *localRows) setRow(valid bool) bool {
	if len(l.ranges) > 1 {
		valid = l.skipToRange(valid)
	}
	if !valid {
		return false
	}
	l.row.key, l.row.value = l.rows.Key(), l.rows.Value()
	return true
}

// skipToRange moves forward until the row is in a range.
func (l *localRows) skipToRange(valid bool) bool {
	for valid {
		r := l.ranges[l.row.index]
		if r.Hi == nil || bytes.Compare(l.rows.Key(), r.Hi) < 0 {
			if bytes.Compare(l.rows.Key(), r.Lo) >= 0 {
				return true
			}
			valid = l.stepTo(r.Lo)
			continue
		}
		if l.row.index+1 == len(l.ranges) {
			return false
		}
		l.row.index++
	}
	return false
}

// stepTo moves forward to the first row with a key of at least lo.
func (l *localRows) stepTo(lo []byte) bool {
	most := l.near
	if l.row.index%nearTry == 0 {
		most = nearRows
	}
	for range most {
		if !l.rows.Next() {
			return false
		}
		if bytes.Compare(l.rows.Key(), lo) >= 0 {
			l.near = min(l.near+2, nearRows)
			return true
		}
	}
	l.near = max(l.near-2, 0)
	return l.rows.SeekGE(lo)
}

// err returns the error that ended the rows. If the row before an operation is unknown, a retry helps when
// that is committed.
func (l *localRows) err() error {
	err := l.rows.Err()
	switch unknown := errors.Is(err, replica.ErrUnknownBefore); {
	case unknown && l.tick:
		return peer.Refuse(peer.CodeTick, l.epoch, "%v", err)
	case unknown:
		return peer.Refuse(peer.CodeUnavailable, l.epoch, "%v", err)
	}
	return err
}

func (l *localRows) close() { _ = l.rows.Close() } // err has returned the error
