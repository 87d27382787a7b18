// Fenced operations: they are stamped in one epoch, or refused.

package writes

import (
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

type fenceKey struct{}

// WithFence returns a context whose adds and deletes are stamped in the given epoch, or refused
// with store.ErrUnavailable. So a machine that has a task under one view, as to assign numbers,
// cannot change anything any more when another machine has the task under the next one. A later
// reader of the rows must wait first until all operations of earlier epochs are committed.
func WithFence(ctx context.Context, epoch uint64) context.Context {
	return context.WithValue(ctx, fenceKey{}, epoch)
}

// fenceOf returns the epoch of WithFence; 0 if there is none.
func fenceOf(ctx context.Context) uint64 {
	epoch, _ := ctx.Value(fenceKey{}).(uint64)
	return epoch
}

// handleFenced is handleSubmit for operations with a fence. The request has it in place of the
// epoch of the first try, so every request counts as a retry.
func (sq *sequencer) handleFenced(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := sq.beginWait(waitSubmit)
	if err != nil {
		return nil, err
	}
	defer finished()
	m := numbered{stamped: false}
	if err := peer.Decode(body, m.fields); err != nil {
		return nil, malformed(err)
	}
	a, err := sq.settle(ctx, submission{operations: m.operations, fence: m.number})
	if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.fields), nil
}
