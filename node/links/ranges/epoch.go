// Epochs: numbers that name what the graph is.

package ranges

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
)

const (
	// epochTime bounds how long members are waited for, silentTime one that is not heard of.
	epochTime  = 2 * time.Second
	silentTime = 300 * time.Millisecond
	// epochPatience is for how long it is tried again, where members have different views
	// for a moment, and epochPause how long it is waited between.
	epochPatience = 3 * time.Second
	epochPause    = 10 * time.Millisecond
	// toldTime bounds how long an answer waits for an epoch that it can do without.
	toldTime = 500 * time.Millisecond
)

// CurrentEpoch returns a number that names what the graph is: another one after every
// change of links, their labels or UIDs, and maybe where nothing has changed, as with each
// view. It is never 0, and a number that JavaScript has, too. An epoch has all that was
// acknowledged before the call. The error is node.ErrUnavailable where a member does not
// answer.
//
// told is an epoch that was returned before, or 0. Where it is returned again, after a
// read, that read has seen the graph of that epoch, and so has every other one since that
// ended with the same answer: each member counts what it shows before it shows it, counts
// only grow, and told names them when all that they count had come to all machines. It
// takes one message a member; to tell another epoch takes one more, and waits until what
// is under way is settled.
func (g *Graph) CurrentEpoch(ctx context.Context, told uint64) (uint64, error) {
	until := time.Now().Add(epochPatience)
	for settled := told == 0; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if g.ctx.Err() != nil {
			return 0, context.Cause(g.ctx)
		}
		v := g.store.View()
		if v == nil {
			return 0, fmt.Errorf("epoch of the link graph: %w: this node is no member of a cluster yet", node.ErrUnavailable)
		}
		now, err := g.epochIn(ctx, v, settled)
		switch {
		case err == nil && (settled || now == told):
			return now, nil
		case err == nil:
			settled = true
		case !refused(err) || time.Now().After(until) || !g.pause(epochPause):
			// Who refused may have had another view, or grant it a moment later.
			return 0, fmt.Errorf("epoch of the link graph: %w: %v", node.ErrUnavailable, err)
		}
	}
}

// toldEpoch is CurrentEpoch for an answer that can do without: 0 where it is not to be had
// at once.
func (g *Graph) toldEpoch(ctx context.Context, told uint64) uint64 {
	ctx, cancel := context.WithTimeout(ctx, toldTime)
	defer cancel()
	now, err := g.CurrentEpoch(ctx, told)
	if err != nil {
		return 0
	}
	return now
}

var errSlow = fmt.Errorf("not all members have answered within %s", epochTime)

// epochIn asks all members of a view for their counts.
func (g *Graph) epochIn(ctx context.Context, v *view.View, settled bool) (uint64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, epochTime, errSlow)
	defer cancel()
	marks := make([]node.JournalMark, len(v.Members))
	err := atOnce(ctx, len(marks), max(1, len(marks)), func(ctx context.Context, i int) (err error) {
		id := v.Members[i].ID
		if id != g.store.MachineID() && !g.store.Hears(id) { // it is dead, or has just begun again
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, silentTime, errSilent)
			defer cancel()
		}
		if marks[i], err = g.store.JournalChanges(ctx, v.Epoch, id, settled); err != nil {
			return fmt.Errorf("machine %s: %w", id, cmp.Or(context.Cause(ctx), err))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return epochOf(v, marks), nil
}

// refused reports whether a machine has answered and refused it.
func refused(err error) bool {
	var refusal *peer.Refusal
	return errors.As(err, &refusal)
}

// epochOf names the counts of the members of a view: by 52 bits of a hash, above a bit that
// numbers of changes of a node alone do not have.
//
// The view's number stands for who the members are and which of their processes, who reads
// what, and which bulk loads show.
func epochOf(v *view.View, marks []node.JournalMark) uint64 {
	b := make([]byte, 0, 16*(1+len(marks)))
	b = binary.BigEndian.AppendUint64(b, v.Generation)
	b = binary.BigEndian.AppendUint64(b, v.Epoch)
	for _, m := range marks {
		b = binary.BigEndian.AppendUint64(b, m.Incarnation)
		b = binary.BigEndian.AppendUint64(b, m.Number)
	}
	return links.MinClusterEpoch | xxhash.Sum64(b)>>12
}
