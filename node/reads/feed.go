// Rows of ranges that one machine answers for, as the coordinator takes them.

package reads

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/trie"
)

// feed gives the rows of ranges in order, or in reverse those of one.
type feed interface {
	// next returns the next row; false at the end.
	next() (row, bool, error)
	// seek moves to the first row whose key is key or behind it, where that is
	// cheap; done is false where it is not. There is one range.
	seek(key []byte) (r row, ok, done bool, err error)
	close()
}

// framed is a feed whose rows come in frames.
type framed interface {
	// frame returns what the next rows are in; nil where next has more to do.
	frame() *unpacker
}

// open returns a feed of ranges that have one owner. The budget is how many bytes
// are asked for at first, most how many at a time later on. With ahead, rows are
// wanted later, and are asked for in the background.
func (r *Reads) open(ctx context.Context, q *request, owner trie.MachineID, budget, most int64, ahead bool) (feed, error) {
	switch {
	case owner == r.cluster.Self():
		return r.openLocal(ctx, q)
	case ahead || len(q.ranges) > calledRanges:
		return r.openRemote(ctx, q, owner, budget, most), nil
	}
	return &calledFeed{reads: r, ctx: ctx, q: q, owner: owner, budget: min(budget, calledBytes), most: most}, nil
}

// localFeed is the rows of this machine, read as they are needed.
type localFeed struct {
	held   *held
	in     *localRows
	q      *request
	looked int
}

func (r *Reads) openLocal(ctx context.Context, q *request) (feed, error) {
	h, err := r.holdTable(ctx, q.epoch, q.ranges, q.replicas, true)
	if err != nil {
		return nil, err
	}
	in, err := h.rows(ctx, q)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return &localFeed{held: h, in: in, q: q}, nil
}

func (f *localFeed) next() (row, bool, error) { return f.pass(f.in.next()) }

func (f *localFeed) seek(key []byte) (row, bool, bool, error) {
	r, ok, err := f.pass(f.in.seek(key))
	return r, ok, true, err
}

// pass moves on from a row until one passes the filter.
func (f *localFeed) pass(valid bool) (row, bool, error) {
	for ; valid; valid = f.in.next() {
		if f.looked++; f.looked%checkRows == 0 {
			if err := f.held.check(); err != nil {
				return row{}, false, err
			}
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
