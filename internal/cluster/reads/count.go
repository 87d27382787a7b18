// Counts: sums of the counts of owners.

package reads

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/triple"
)

// tally is the sum of the counts of owners.
type tally struct {
	rows    int64
	exact   bool
	answers int // owners that answered
}

// total adds up the answers of the owners of ranges, which ascend and are disjoint. If one fails, its ranges are requested again under
// the next view. If a bulk load was published in between, all ranges are.
func (sn *Snapshot) total(ctx context.Context, ranges []triple.Range, fetch func(context.Context, *view.View, *group) (tally, error)) (tally, error) {
	if err := sn.begin(ctx); err != nil {
		return tally{}, err
	}
	sum, rest := tally{exact: true}, ranges
	t, ctx := sn.retries(ctx)
	for shown := 0; ; {
		if sn.closed.Load() {
			return tally{}, fmt.Errorf("count: %w", store.ErrClosed)
		}
		// 1. Begin again if a load was published: no part may lack it.
		v := sn.reads.member.View()
		if v.Shown() != shown {
			shown = v.Shown()
			sum, rest = tally{exact: true}, ranges
		}
		// 2. Query the owners of the ranges without an answer.
		_, groups, err := sn.newAttempt(v).split(rest)
		if err == nil {
			var some tally
			some, rest, err = requestAll(ctx, v, groups, fetch)
			sum.rows += some.rows
			sum.exact = sum.exact && some.exact
			if some.answers > 0 {
				t.pause = 0 // but the clock stays: others may have been silent for long
			}
		}
		if err == nil {
			return sum, ctx.Err()
		}
		if err := t.wait(ctx, v, err); err != nil {
			return tally{}, err
		}
	}
}

// requestAll queries the owners of all groups at the same time. It returns the sum, and the ranges of
// the failed groups with an error: a lasting one if there is any, otherwise the first.
func requestAll(ctx context.Context, v *view.View, groups []*group, fetch func(context.Context, *view.View, *group) (tally, error)) (sum tally, rest []triple.Range, err error) {
	// 1. Ask. A single group needs no goroutine. With several, the query gives its turn back
	// while it waits, because it needs no processor then.
	answers, failures := make([]tally, len(groups)), make([]error, len(groups))
	if len(groups) == 1 {
		answers[0], failures[0] = fetch(ctx, v, groups[0])
	} else if err := turns.Wait(ctx, func() error {
		var wait sync.WaitGroup
		for i, g := range groups {
			wait.Go(func() { answers[i], failures[i] = fetch(turns.Detach(ctx), v, g) })
		}
		wait.Wait()
		return nil
	}); err != nil {
		return sum, nil, err
	}
	// 2. Sum the answers. A lasting error must win, because a retry would not help then.
	sum.exact = true
	for i, g := range groups {
		if failures[i] == nil {
			sum.rows += answers[i].rows
			sum.exact = sum.exact && answers[i].exact
			sum.answers++
			continue
		}
		rest = append(rest, g.ranges...)
		if err == nil || retryable(err) {
			err = failures[i]
		}
	}
	// 3. The ranges must ascend again, because they were grouped by owner.
	slices.SortFunc(rest, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	return sum, rest, err
}

// count returns how many rows of ranges pass a filter; nil passes all. The ranges ascend and are disjoint.
func (sn *Snapshot) count(ctx context.Context, ranges []triple.Range, f *filter) (int64, error) {
	sum, err := sn.total(ctx, ranges, func(ctx context.Context, v *view.View, g *group) (tally, error) {
		at, err := sn.attemptRows(ctx, v)
		if err != nil {
			return tally{}, err
		}
		n := int64(0)
		q := &request{epoch: v.Epoch, view: v, filter: f, wait: sn.wait, tick: at.tick, ranges: g.ranges}
		switch {
		case !g.live:
			err = fallback{at}.visit(ctx, q, func(int, []byte, []byte) error { n++; return nil })
		case g.owner == sn.reads.self:
			n, _, err = sn.reads.countLocal(ctx, q)
		default:
			err = turns.Wait(ctx, func() (err error) {
				n, err = sn.reads.countRemote(turns.Detach(ctx), q, g.owner)
				return err
			})
		}
		if err == nil {
			err = sn.returns(at.tick)
		}
		return tally{rows: n, exact: true}, sn.failed(at.tick, err)
	})
	return sum.rows, err
}
