// Checks: all copies are verified, and nothing is repaired.

package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/check"
	"github.com/trefoildb/trefoil/triple"
)

// maxProblems bounds the problems in a report.
const maxProblems = 100

// Check verifies all copies of all triples: each member verifies its own rows, and then all
// orders and extra copies are compared with each other. It repairs nothing, see
// [Upkeep.Scrub]. It reads all data more than once, at full speed.
func (u *Upkeep) Check(ctx context.Context) (check.Report, error) {
	report := check.Report{Rows: map[string]int64{}, Problems: []check.Problem{}}
	v, err := u.viewAtRest()
	if err != nil {
		return report, err
	}
	ctx, cancel := u.gate.During(ctx, v.Epoch)
	defer cancel()
	problem := func(p check.Problem) {
		if len(report.Problems) == maxProblems {
			report.More++
			return
		}
		report.Problems = append(report.Problems, p)
	}
	// 1. Report the lost ranges, and the problems of each member's own store.
	for _, l := range v.Lost {
		lost := store.NewLostRange(triple.Range{Lo: l.Lo, Hi: l.Hi}, l.Epoch)
		problem(check.Problem{Order: lost.Order, Message: fmt.Sprintf("rows may be lost from %q until %q, since epoch %d", lost.From, lost.Until, lost.Epoch)})
	}
	for _, m := range v.Members {
		body, err := u.call(ctx, v.Epoch, m.ID, methodCheck, nil)
		if err = Unavailable(cause(ctx, err)); err != nil {
			return report, fmt.Errorf("check: %w", atMachine(m.ID, err))
		}
		var own check.Report
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
	c := &comparison{upkeep: u, view: v, problem: problem}
	err = c.run(ctx)
	if at := (*machineError)(nil); errors.As(err, &at) && isDamage(at.err) {
		problem(check.Problem{Machine: at.machine.String(), Message: "the orders are not compared: " + at.err.Error()})
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
