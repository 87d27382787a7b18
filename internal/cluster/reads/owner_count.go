// Counts and estimates of an owner.

package reads

import (
	"context"
	"errors"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// serveCount answers reads/count.
func (r *Reads) serveCount(ctx context.Context, _ peer.Header, body []byte, w *peer.Writer) error {
	return r.serve(ctx, body, true, func(ctx context.Context, q *request, h *held) error {
		p := &pulse{w, time.Now()}
		n, err := h.count(ctx, q, p.beat)
		if err != nil {
			return err
		}
		e := peer.NewEncoder(16)
		e.Byte(frameNumber)
		e.Uvarint(uint64(n))
		return p.Write(e.Data())
	})
}

// count returns how many rows match a request. It calls beat every checkRows rows.
func (h *held) count(ctx context.Context, q *request, beat func() error) (n int64, err error) {
	in, err := h.rows(ctx, q)
	if err != nil {
		return 0, err
	}
	defer in.close()
	for looked := 1; in.next(); looked++ {
		if looked%checkRows == 0 {
			if err := errors.Join(h.check(), beat()); err != nil {
				return 0, err
			}
		}
		pass, err := q.pass(in.row.key)
		if err != nil {
			return 0, err
		}
		if pass {
			n++
		}
	}
	return n, errors.Join(in.err(), h.check())
}

// estimate returns about how many rows match a request. It counts rows up to the limit of the
// request; if these are all and none is in flight, exact is true.
func (h *held) estimate(ctx context.Context, q *request) (n int64, exact bool, err error) {
	in, err := h.rows(ctx, q)
	if err != nil {
		return 0, false, err
	}
	defer in.close()
	// 1. Count up to the limit. Beyond it the rest is extrapolated.
	looked, passed := int64(0), int64(0)
	for in.next() {
		if looked > 0 && looked >= q.limit {
			n, err := h.extrapolate(q, looked, passed)
			return n, false, err
		}
		looked++
		pass, err := q.pass(in.row.key)
		if err != nil {
			return 0, false, err
		}
		if pass {
			passed++
		}
	}
	// 2. All rows were counted.
	if err := errors.Join(in.err(), h.check()); err != nil {
		return 0, false, err
	}
	return passed, len(h.unsettled(q.ranges)) == 0, nil
}

// extrapolate estimates the matching rows of all ranges by the share of the first rows.
func (h *held) extrapolate(q *request, looked, passed int64) (int64, error) {
	rows := int64(0)
	for _, asked := range q.ranges {
		n, _, err := h.snapshot.EstimateRange(asked)
		if err != nil {
			return 0, err
		}
		rows += n
	}
	rows = max(rows, looked+1)
	return max(int64(float64(rows)*float64(passed)/float64(looked)), 1), nil
}
