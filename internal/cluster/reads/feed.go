// Feeds: rows of ranges with one owner, as the coordinator reads them.

package reads

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/trie"
)

// feed returns the rows of ranges in order, or those of one range in reverse.
type feed interface {
	// next returns the next row, and false at the end.
	next() (row, bool, error)
	// seek moves to the first row at key or after it. If seeking is not cheap, done is false and
	// the feed has not moved to a row. The feed must have one range.
	seek(key []byte) (r row, ok, done bool, err error)
	close()
}

// framed is a feed of rows in frames.
type framed interface {
	// frame returns the frame with the next rows, nil if the caller must use next.
	frame() *unpacker
}

// open returns a feed of the ranges of one owner. The first request has a budget of bytes; later
// ones grow up to most. With ahead the rows are requested in the background, because they are
// read later.
func (r *Reads) open(ctx context.Context, q *request, owner trie.MachineID, budget, most int64, ahead bool) (feed, error) {
	switch {
	case owner == r.self:
		return r.openLocal(ctx, q)
	case ahead || len(q.ranges) > calledRanges:
		wait := r.common.options.IdleTimeout
		if !ahead { // the read waits for it
			wait = clockOf(ctx).left(wait)
		}
		return r.openRemote(ctx, q, owner, budget, most, wait), nil
	}
	return &calledFeed{remote: r.remote, ctx: ctx, q: q, owner: owner, budget: min(budget, calledBytes), most: most}, nil
}

// localFeed reads the rows of this machine when they are needed.
type localFeed struct {
	held   *held
	in     *localRows
	q      *request
	clock  *clock
	looked int
}

// openLocal returns a feed of this machine's rows.
func (ow *owner) openLocal(ctx context.Context, q *request) (feed, error) {
	h, err := ow.holdRows(ctx, q)
	if err != nil {
		return nil, err
	}
	in, err := h.rows(ctx, q)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return &localFeed{held: h, in: in, q: q, clock: clockOf(ctx)}, nil
}

func (f *localFeed) next() (row, bool, error) { return f.pass(f.in.next()) }

func (f *localFeed) seek(key []byte) (row, bool, bool, error) {
	r, ok, err := f.pass(f.in.seek(key))
	return r, ok, true, err
}

// pass moves forward until a row passes the filter.
func (f *localFeed) pass(valid bool) (row, bool, error) {
	for ; valid; valid = f.in.next() {
		if f.looked++; f.looked%checkRows == 0 {
			if err := f.held.check(); err != nil {
				return row{}, false, err
			}
			f.clock.progress()
		}
		pass, err := f.q.pass(f.in.row.key)
		if err != nil || pass {
			return f.in.row, pass, err
		}
	}
	return row{}, false, errors.Join(f.in.err(), f.held.check())
}

func (f *localFeed) close() {
	f.in.close()
	_ = f.held.close() // the rows are read
}
