// Counts and estimates: sums of what the owners say.

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/turns"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// tally is what the owners of ranges say of them.
type tally struct {
	rows    int64
	exact   bool
	answers int // owners that answered
}

// total adds up what the owners of all parts of r say. Where one fails, its
// ranges are asked for anew, under the view of that time; all are where a bulk load
// was published meanwhile.
func (sn *Snapshot) total(ctx context.Context, r triple.Range, ask func(context.Context, *view.View, *group) (tally, error)) (tally, error) {
	if err := sn.begin(ctx); err != nil {
		return tally{}, err
	}
	sum, rest := tally{exact: true}, []triple.Range{r}
	t := trial{reads: sn.reads}
	for shown := 0; ; {
		if sn.closed.Load() {
			return tally{}, fmt.Errorf("count: %w", node.ErrClosed)
		}
		v := sn.reads.cluster.View()
		if v.Shown() != shown {
			shown = v.Shown()
			sum, rest = tally{exact: true}, []triple.Range{r}
		}
		_, groups, err := sn.split(v, rest)
		if err == nil {
			var some tally
			some, rest, err = askAll(ctx, v, groups, ask)
			sum.rows += some.rows
			sum.exact = sum.exact && some.exact
			if some.answers > 0 {
				t.further()
			}
		}
		if err == nil {
			return sum, ctx.Err()
		}
		if err := t.again(ctx, v, err); err != nil {
			return tally{}, err
		}
	}
}

// askAll asks about the groups at the same time. It returns the ranges of those that
// did not answer, and why the first one did not, of one that cannot if there is such.
func askAll(ctx context.Context, v *view.View, groups []*group, ask func(context.Context, *view.View, *group) (tally, error)) (sum tally, rest []triple.Range, err error) {
	answers, failures := make([]tally, len(groups)), make([]error, len(groups))
	if len(groups) == 1 {
		answers[0], failures[0] = ask(ctx, v, groups[0])
	} else if err := turns.Wait(ctx, func() error {
		var wait sync.WaitGroup
		for i, g := range groups {
			wait.Go(func() { answers[i], failures[i] = ask(turns.Detach(ctx), v, g) })
		}
		wait.Wait()
		return nil
	}); err != nil {
		return sum, nil, err
	}
	sum.exact = true
	for i, g := range groups {
		if failures[i] == nil {
			sum.rows += answers[i].rows
			sum.exact = sum.exact && answers[i].exact
			sum.answers++
			continue
		}
		rest = append(rest, g.ranges...)
		if err == nil || passing(err) {
			err = failures[i]
		}
	}
	slices.SortFunc(rest, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	return sum, rest, err
}

// count returns how many rows of r pass a filter; nil lets all pass.
func (sn *Snapshot) count(ctx context.Context, r triple.Range, f *filter) (int64, error) {
	sum, err := sn.total(ctx, r, func(ctx context.Context, v *view.View, g *group) (tally, error) {
		q := &request{epoch: v.Epoch, view: v, filter: f, ranges: g.ranges}
		switch {
		case !g.live:
			n := int64(0)
			err := sn.visit(ctx, v, q, func(int, []byte, []byte) error { n++; return nil })
			return tally{rows: n, exact: true}, err
		case g.owner == sn.reads.cluster.Self():
			n, err := sn.reads.countHere(ctx, q)
			return tally{rows: n, exact: true}, err
		}
		n := int64(0)
		err := turns.Wait(ctx, func() (err error) {
			n, err = sn.reads.countThere(turns.Detach(ctx), q, g.owner)
			return err
		})
		return tally{rows: n, exact: true}, err
	})
	return sum.rows, err
}

func (r *Reads) countHere(ctx context.Context, q *request) (n int64, err error) {
	h, err := r.hold(ctx, q.epoch, q.ranges, true)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return h.count(ctx, q, func() error { return nil })
}

// countThere asks another machine for a count.
func (r *Reads) countThere(ctx context.Context, q *request, owner trie.MachineID) (n int64, err error) {
	err = r.inParts(ctx, q, func(ctx context.Context, part *request) error {
		some, err := r.countPart(ctx, part, owner)
		n += some
		return err
	})
	return n, err
}

// inParts calls do for requests of as many ranges as one has room for, with a
// context that ends where the view changes.
func (r *Reads) inParts(ctx context.Context, q *request, do func(context.Context, *request) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		err := r.cluster.Newer(ctx, q.view)
		if err == nil {
			err = errMoved
		}
		cancel(err)
	})
	defer watch.Wait()
	defer cancel(nil)
	for rest := q.ranges; len(rest) > 0; {
		part := *q
		part.ranges = take(rest)
		rest = rest[len(part.ranges):]
		if err := do(ctx, &part); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
	}
	return nil
}

func (r *Reads) countPart(ctx context.Context, q *request, owner trie.MachineID) (n int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := r.stall(cancel)
	defer stall.Stop()
	stream, err := r.cluster.Stream(ctx, owner, MethodCount, q.encode())
	if err != nil {
		return 0, &remoteError{owner, err}
	}
	defer stream.Close()
	for {
		frame, err := stream.Next()
		if err != nil {
			return 0, &remoteError{owner, short(err)}
		}
		stall.Reset(r.options.Patience)
		d := peer.NewDecoder(frame)
		switch d.Byte() {
		case frameBeat:
		case frameNumber:
			n := int64(d.Uvarint())
			if err := d.End(); err != nil {
				return 0, &remoteError{owner, err}
			}
			if err := drain(stream); err != nil {
				return 0, &remoteError{owner, err}
			}
			return n, nil
		default:
			return 0, &remoteError{owner, badFrame("of unknown kind")}
		}
	}
}
