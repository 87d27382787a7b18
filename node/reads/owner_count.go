// The owner's side: counts, and estimates for surveys.

package reads

import (
	"context"
	"errors"
	"time"

	"github.com/trefoildb/trefoil/node/peer"
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

// count returns how many rows a request asks for; it calls beat from time to time.
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

// estimate returns about how many rows a request asks for. Its limit is up to how
// many rows are counted; exact tells that they were all.
func (h *held) estimate(ctx context.Context, q *request) (n int64, exact bool, err error) {
	in, err := h.rows(ctx, q)
	if err != nil {
		return 0, false, err
	}
	defer in.close()
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
	if err := errors.Join(in.err(), h.check()); err != nil {
		return 0, false, err
	}
	return passed, len(h.unsettled(q.ranges)) == 0, nil
}

// extrapolate takes of the rows of all ranges as large a share to match as of
// the first ones.
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
