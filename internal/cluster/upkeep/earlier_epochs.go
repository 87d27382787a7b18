// Waits until the operations of earlier epochs are all committed.

package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
)

// commitTimeout bounds [Upkeep.WaitCommitted].
const commitTimeout = 10 * time.Second

// WaitCommitted waits until all operations stamped before the adopted epoch are committed or dropped,
// and returns this epoch. It is no less than the given one. If a member does not answer, the
// error is a [store.ErrUnavailable].
//
// Within an epoch a triple has one sequencer, and its stamps are in the order of its operations.
// But if a sequencer is dead, others complete its operations some time later, with their old
// stamps. After Settled none of them can appear any more.
func (u *Upkeep) WaitCommitted(ctx context.Context, epoch uint64) (uint64, error) {
	wait, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	defer context.AfterFunc(u.options.Closing, cancel)()
	// Query all members until they agree. If a newer view is adopted meanwhile, query under it.
	pause := retry.Backoff{First: 2 * time.Millisecond, Last: 100 * time.Millisecond}
	for {
		changed, v := u.gate.Changed(), u.gate.View()
		err := fmt.Errorf("this machine has not adopted epoch %d", epoch)
		if v != nil && v.Epoch >= epoch {
			if _, err = u.callAll(wait, v, methodCommitted, nil); err == nil {
				return v.Epoch, nil
			}
		}
		// The wait must also end with a new view, because members answer only in its epoch then.
		switch retry.SleepUntil(wait, pause.Next(), changed); {
		case u.options.Closing.Err() != nil:
			return 0, store.ErrClosed
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case wait.Err() != nil:
			return 0, fmt.Errorf("%w: operations of earlier epochs are not known to be settled: %w", store.ErrUnavailable, err)
		}
	}
}

func (u *Upkeep) handleCommitted(_ context.Context, epoch uint64, _ []byte) ([]byte, error) {
	switch v := u.gate.View(); {
	case v == nil || v.Epoch != epoch:
		return nil, peer.Refuse(peer.CodeEpoch, u.gate.Epoch(), "the epoch is not %d", epoch)
	case !u.writes.Reconciled():
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "operations of earlier epochs are not settled on machine %s", u.gate.MachineID())
	}
	return nil, nil
}
