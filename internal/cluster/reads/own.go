// Reads of this machine's store for another package.

package reads

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// ReadOwn calls do with a snapshot of this machine's store. This machine must own all of the
// ranges in the epoch. In these ranges the snapshot shows only committed rows, and every
// operation acknowledged before the call. The result of do is only valid if ReadOwn returns nil.
// If this machine must not answer, the error is a *peer.Refusal. It may be sent to another
// machine.
func (r *Reads) ReadOwn(ctx context.Context, epoch uint64, ranges []triple.Range, do func(ctx context.Context, sn *store.Snapshot) error) error {
	return r.guard(ctx, epoch, func(ctx context.Context) (err error) {
		h, err := r.hold(ctx, epoch, ranges, true)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.close()) }()
		if err := do(ctx, h.snapshot.Snapshot); err != nil {
			return err
		}
		return h.check()
	})
}
