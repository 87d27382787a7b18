package reads

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// ReadOwn calls do with a snapshot of this machine's store, where this machine answers
// for all of some ranges under the view of an epoch. What the snapshot shows in them is
// settled, and has all that was acknowledged before the call; what do makes of it counts
// if ReadOwn returns nil. Errors are fit for another machine: a *peer.Refusal where this
// machine may not answer.
func (r *Reads) ReadOwn(ctx context.Context, epoch uint64, ranges []triple.Range, do func(ctx context.Context, sn *node.Snapshot) error) error {
	return r.guard(ctx, epoch, func(ctx context.Context) (err error) {
		h, err := r.hold(ctx, epoch, ranges, true)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.close()) }()
		if err := do(ctx, h.snapshot); err != nil {
			return err
		}
		return h.check()
	})
}
