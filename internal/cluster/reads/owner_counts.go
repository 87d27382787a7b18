// Counts, estimates and samples of an owner.

package reads

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// serveCount answers reads/count.
func (ow *owner) serveCount(ctx context.Context, _ peer.Header, body []byte, w *peer.Writer) error {
	return ow.serve(ctx, body, func(ctx context.Context, q *request, h *held) error {
		p := &pulse{w, time.Now()}
		q.limit = 0
		n, _, err := h.count(ctx, q, p.beat)
		if err != nil {
			return err
		}
		return p.Write(appendNumber(nil, n))
	})
}

// serveSkip answers reads/skip.
func (ow *owner) serveSkip(ctx context.Context, _ peer.Header, body []byte, w *peer.Writer) error {
	return ow.serve(ctx, body, func(ctx context.Context, q *request, h *held) error {
		p := &pulse{w, time.Now()}
		n, last, err := h.count(ctx, q, p.beat)
		if err != nil {
			return err
		}
		return p.Write(append(appendNumber(nil, n), last...))
	})
}

func appendNumber(dst []byte, n int64) []byte {
	return binary.AppendUvarint(append(dst, frameNumber), uint64(n))
}

// count returns how many rows match a request. If the request has a limit, count stops at the row
// that reaches it, and last is the key of that row; otherwise last is nil. It calls beat every
// checkRows rows.
func (h *held) count(ctx context.Context, q *request, beat func() error) (n int64, last []byte, err error) {
	in, err := h.rows(ctx, q)
	if err != nil {
		return 0, nil, err
	}
	defer in.close()
	for looked := 1; in.next(); looked++ {
		if looked%checkRows == 0 {
			if err := errors.Join(h.check(), beat()); err != nil {
				return 0, nil, err
			}
		}
		pass, err := q.pass(in.row.key)
		if err != nil {
			return 0, nil, err
		}
		if !pass {
			continue
		}
		if n++; n == q.limit {
			return n, bytes.Clone(in.row.key), h.check()
		}
	}
	return n, nil, errors.Join(in.err(), h.check())
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
	return passed, len(h.inFlightIn(q.ranges, q.filter)) == 0, nil
}

// extrapolate estimates the matching rows of all ranges by the share of the first rows.
func (h *held) extrapolate(q *request, looked, passed int64) (int64, error) {
	rows := int64(0)
	for _, requested := range q.ranges {
		n, _, err := h.snapshot.EstimateRange(requested)
		if err != nil {
			return 0, err
		}
		rows += n
	}
	rows = max(rows, looked+1)
	return max(int64(float64(rows)*float64(passed)/float64(looked)), 1), nil
}

// countLocal returns the count of this machine: see count.
func (ow *owner) countLocal(ctx context.Context, q *request) (n int64, last []byte, err error) {
	h, err := ow.holdRows(ctx, q)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	clock := clockOf(ctx)
	return h.count(ctx, q, func() error { clock.progress(); return nil })
}

// serveSurvey answers reads/survey.
func (ow *owner) serveSurvey(ctx context.Context, _ peer.Header, body []byte) (answer []byte, err error) {
	var q survey
	if err := peer.Decode(body, q.fields); err != nil {
		return nil, peer.Refuse(peer.CodeStranger, 0, "%v", err)
	}
	err = ow.guard(ctx, q.epoch, func(ctx context.Context) error {
		found, err := ow.surveyLocal(ctx, &q)
		answer = peer.Encode(32*len(found), codeFindings(found))
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// surveyLocal answers the questions from this machine's store.
func (ow *owner) surveyLocal(ctx context.Context, q *survey) (found []source.Finding, err error) {
	var all []triple.Range
	for _, one := range q.questions {
		all = append(all, one.ranges...)
	}
	h, err := ow.hold(ctx, q.epoch, all, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	for _, one := range q.questions {
		f, err := h.answer(ctx, q, one)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, h.check()
}

// answer answers one question.
func (h *held) answer(ctx context.Context, q *survey, one question) (f source.Finding, err error) {
	if q.filter == nil && q.limit <= exactPlanRows {
		f, err = h.glance(ctx, one.ranges)
	} else {
		f.Rows, f.Exact, err = h.estimate(ctx, &request{filter: q.filter, limit: q.limit, ranges: one.ranges})
	}
	if err != nil || one.places == 0 || f.Rows < int64(one.least) {
		return f, err
	}
	// Of many pieces sample some, because each takes a few seeks.
	stride := (len(one.ranges) + one.places - 1) / one.places
	places := max(1, one.places*stride/len(one.ranges))
	for first := range stride { // the pieces between them, where those have no rows
		for i := first; i < len(one.ranges); i += stride {
			some, err := source.SampleRange(ctx, h.snapshot.Source(), one.ranges[i], places)
			if err != nil {
				return f, err
			}
			f.Samples = append(f.Samples, some...)
		}
		if len(f.Samples) > 0 {
			break
		}
	}
	return f, nil
}

// glance estimates for a plan. It counts fewer rows than estimate before it uses the sizes of tables.
func (h *held) glance(ctx context.Context, ranges []triple.Range) (f source.Finding, err error) {
	f.Exact = true
	for _, r := range ranges {
		rows, exact, err := h.snapshot.Source().Estimate(ctx, r)
		if err != nil {
			return f, err
		}
		f.Rows += rows
		f.Exact = f.Exact && exact
	}
	f.Exact = f.Exact && len(h.inFlightIn(ranges, nil)) == 0
	return f, nil
}
