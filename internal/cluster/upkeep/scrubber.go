// The scrubber: it leads scrubs, which repair differences, and checks, which report them.

package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// scrubber leads scrubs and checks.
type scrubber struct {
	*members
	purger *purger

	mu    sync.Mutex
	scrub api.Scrub
	ended time.Time // of the last scrub
}

// Report is the result of a scrub.
type Report struct {
	Rows        int64   `json:"rows"`        // in all orders
	Differences int64   `json:"differences"` // triples whose copies were not the same
	Repaired    int64   `json:"repaired"`    // of these
	Left        int64   `json:"left"`        // of these, not repaired
	Foreign     int64   `json:"foreign"`     // rows on machines that must not have them
	Unreadable  int64   `json:"unreadable"`  // rows that cannot be decoded
	Seconds     float64 `json:"seconds"`
}

// Scrub compares all copies of all triples, at a bounded rate, and repairs differences. The row
// with the greatest stamp is the right one. The leader runs it by itself, see [Upkeep.Run].
func (sc *scrubber) Scrub(ctx context.Context) (Report, error) {
	v, err := sc.viewAtRest()
	if err != nil {
		return Report{}, err
	}
	if !sc.leading.CompareAndSwap(false, true) {
		return Report{}, fmt.Errorf("scrub: %w: %w", store.ErrUnavailable, errBusy)
	}
	defer sc.leading.Store(false)
	ctx, cancel := sc.gate.EpochContext(ctx, v.Epoch)
	defer cancel()
	start := time.Now()
	c := &comparison{scrubber: sc, view: v, repair: true, scan: scanRequest{rate: max(sc.options.ScrubRate, 0)}}
	c.problem = func(p api.Problem) {
		sc.options.Logger.Warn("copies differ", "machine", p.Machine, "order", p.Order, "triple", p.Triple, "problem", p.Message)
	}
	err = c.run(ctx)
	c.report.Seconds = time.Since(start).Seconds()
	sc.record(c.report, err)
	return c.report, err
}

// record adds the result of a scrub to the status.
func (sc *scrubber) record(r Report, err error) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	s := &sc.scrub
	s.Differences += r.Differences
	s.Repaired += r.Repaired
	s.Left, s.Rows, s.Seconds, s.Error = r.Left+r.Foreign+r.Unreadable, r.Rows, r.Seconds, ""
	if err != nil {
		s.Error = err.Error()
		return
	}
	s.Passes++
	sc.ended = time.Now()
}

// Status returns the scrubs led by this node, nil if none.
func (sc *scrubber) Status() *api.Scrub {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.scrub == (api.Scrub{}) {
		return nil
	}
	s := sc.scrub
	if !sc.ended.IsZero() {
		s.Age = time.Since(sc.ended).Seconds()
	}
	return &s
}

// maxProblems bounds the problems in a report.
const maxProblems = 100

// Check verifies all copies of all triples: each member verifies its own rows, and then all
// orders and extra copies are compared with each other. It repairs nothing, see
// [Upkeep.Scrub]. It reads all data more than once, at full speed.
func (sc *scrubber) Check(ctx context.Context) (api.CheckReport, error) {
	report := api.CheckReport{Rows: map[string]int64{}, Problems: []api.Problem{}}
	v, err := sc.viewAtRest()
	if err != nil {
		return report, err
	}
	ctx, cancel := sc.gate.EpochContext(ctx, v.Epoch)
	defer cancel()
	problem := func(p api.Problem) {
		if len(report.Problems) == maxProblems {
			report.More++
			return
		}
		report.Problems = append(report.Problems, p)
	}
	// 1. Report the lost ranges, and the problems of each member's own store.
	for _, l := range v.Lost {
		lost := store.NewLostRange(triple.Range{Lo: l.Lo, Hi: l.Hi}, l.Epoch)
		problem(api.Problem{Order: lost.Order, Message: fmt.Sprintf("rows may be lost from %q until %q, since epoch %d", lost.From, lost.Until, lost.Epoch)})
	}
	for _, m := range v.Members {
		body, err := sc.call(ctx, v.Epoch, m.ID, methodCheck, nil)
		if err = Unavailable(cause(ctx, err)); err != nil {
			return report, fmt.Errorf("check: %w", atMachine(m.ID, err))
		}
		var own api.CheckReport
		if err := json.Unmarshal(body, &own); err != nil {
			return report, atMachine(m.ID, err)
		}
		for _, p := range own.Problems {
			p.Machine = m.ID.String()
			problem(p)
		}
		report.More += own.More
	}
	// 2. Compare the members with each other. If one cannot read its files, it is a problem, and
	// no failure of the check.
	c := &comparison{scrubber: sc, view: v, problem: problem}
	err = c.run(ctx)
	if at := (*machineError)(nil); errors.As(err, &at) && isDamage(at.err) {
		problem(api.Problem{Machine: at.machine.String(), Message: "the orders are not compared: " + at.err.Error()})
		err = nil
	}
	for i, o := range triple.Orders {
		report.Rows[o.String()] = c.rows[i]
	}
	report.Triples, report.Annotations = c.rows[slices.Index(triple.Orders[:], triple.SPO)], c.annotations
	if err != nil {
		return report, fmt.Errorf("check: %w", Unavailable(cause(ctx, err)))
	}
	return report, nil
}

// isDamage reports whether err is of a machine with unreadable files.
func isDamage(err error) bool {
	r := (*peer.RemoteError)(nil)
	return errors.Is(err, store.ErrCorrupt) || errors.As(err, &r)
}

// Unavailable makes err a [store.ErrUnavailable] if nothing was done, because the same call may
// succeed later.
func Unavailable(err error) error {
	if peer.IsDefinite(err) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}
