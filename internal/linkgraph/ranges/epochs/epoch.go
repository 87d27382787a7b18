// Package epochs computes the epoch of a cluster's graph: a number that changes with every
// change of links, labels or UIDs.
//
// [Epochs.CurrentEpoch] requests from each member the count of such changes in its journal,
// and hashes the counts with the number of the view.
package epochs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
)

const (
	// epochTimeout bounds the wait for members, silentTimeout for one that gossip does not
	// hear.
	epochTimeout  = 2 * time.Second
	silentTimeout = 300 * time.Millisecond
	// epochRetryTimeout bounds the retries if members have different views for a moment.
	// epochPause is the pause between two tries.
	epochRetryTimeout = 3 * time.Second
	epochPause        = 10 * time.Millisecond
	// quickTimeout bounds the wait for an epoch if the answer can do without it.
	quickTimeout = 500 * time.Millisecond
)

// CurrentEpoch returns a number that identifies the state of the graph. It changes after every
// change of links, their labels or UIDs. It may also change if nothing has changed, as with
// each view. It is never 0, and JavaScript can represent it. An epoch has everything that was
// acknowledged before the call. The error is store.ErrUnavailable if a member does not answer.
//
// previous is an epoch that was returned before, or 0. If a call after a read returns previous again,
// that read has seen the graph of that epoch. So has every other read since then if it ended in
// the same way. That holds because each member counts a change before it shows the change, and
// counts only grow. And previous was returned when all counted changes were on all machines.
//
// If the epoch is still that one, the call takes one message for each member. Otherwise it takes
// two, and waits until operations in flight are committed.
func (g *Epochs) CurrentEpoch(ctx context.Context, previous uint64) (uint64, error) {
	until := time.Now().Add(epochRetryTimeout)
	// If the counts differ from previous, the second round must wait until they are committed.
	for settled := previous == 0; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if g.Ctx.Err() != nil {
			return 0, context.Cause(g.Ctx)
		}
		v := g.Store.View()
		if v == nil {
			return 0, fmt.Errorf("epoch of the link graph: %w: this node is no member of a cluster yet", store.ErrUnavailable)
		}
		now, err := g.epochUnder(ctx, v, settled)
		switch {
		case err == nil && (settled || now == previous):
			return now, nil
		case err == nil:
			settled = true
		case !refused(err) || time.Now().After(until) || !g.Pause(epochPause):
			// After a refusal, the member may have another view, or grant the call a moment
			// later.
			return 0, fmt.Errorf("epoch of the link graph: %w: %v", store.ErrUnavailable, err)
		}
	}
}

// EpochOrZero is CurrentEpoch for an answer that can do without. It returns 0 if the epoch is
// not available at once.
func (g *Epochs) EpochOrZero(ctx context.Context, previous uint64) uint64 {
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	now, err := g.CurrentEpoch(ctx, previous)
	if err != nil {
		return 0
	}
	return now
}

var errSlow = fmt.Errorf("not all members have answered within %s", epochTimeout)

// epochUnder requests the counts of all members of a view.
func (g *Epochs) epochUnder(ctx context.Context, v *view.View, settled bool) (uint64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, epochTimeout, errSlow)
	defer cancel()
	marks := make([]replica.JournalMark, len(v.Members))
	err := ownership.Parallel(ctx, len(marks), max(1, len(marks)), func(ctx context.Context, i int) (err error) {
		id := v.Members[i].ID
		if id != g.Store.MachineID() && !g.Store.Hears(id) { // it is down, or has just restarted
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, silentTimeout, ownership.ErrSilent)
			defer cancel()
		}
		if marks[i], err = g.Store.JournalChanges(ctx, v.Epoch, id, settled); err != nil {
			return fmt.Errorf("machine %s: %w", id, cmp.Or(context.Cause(ctx), err))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return epochOf(v, marks), nil
}

// refused reports whether a machine has answered with a refusal.
func refused(err error) bool {
	var refusal *peer.Refusal
	return errors.As(err, &refusal)
}

// epochOf hashes the counts of the members of a view. The result is 52 bits of a hash, below a
// bit that is never set on a lone node.
//
// The view's number stands for the members, their incarnations, the readers of ranges, and the
// bulk loads that show.
func epochOf(v *view.View, marks []replica.JournalMark) uint64 {
	b := make([]byte, 0, 16*(1+len(marks)))
	b = binary.BigEndian.AppendUint64(b, v.Generation)
	b = binary.BigEndian.AppendUint64(b, v.Epoch)
	for _, m := range marks {
		b = binary.BigEndian.AppendUint64(b, m.Incarnation)
		b = binary.BigEndian.AppendUint64(b, m.Number)
	}
	return links.MinClusterEpoch | xxhash.Sum64(b)>>12
}

// Epochs computes the epoch of the graph.
type Epochs struct{ *rowreader.Readers }

// New returns Epochs that reads through r.
func New(r *rowreader.Readers) *Epochs { return &Epochs{r} }
