// Small questions to other machines.

package reads

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/trie"
)

// call sends a message that was made under the view of an epoch, and returns its
// answer. It ends where the view changes, and where nothing comes for
// Options.Patience.
func (r *Reads) call(ctx context.Context, epoch uint64, owner trie.MachineID, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := r.watch(ctx, cancel, epoch)
	defer w.stop()
	defer cancel(nil)
	answer, err := r.cluster.Call(ctx, owner, method, body)
	switch {
	case err == nil:
		return answer, nil
	case context.Cause(ctx) == errMoved:
		return nil, errMoved
	}
	return nil, &remoteError{owner, err}
}

// lookEvery is how often a call looks whether the view has changed. A timer costs
// next to nothing where a call takes a millisecond, as most do; a goroutine that
// waits for the view does not.
const lookEvery = 20 * time.Millisecond

// watch ends the context of a call whose view is not the adopted one any more, or
// that has no answer in time.
type watch struct {
	reads  *Reads
	ctx    context.Context
	cancel context.CancelCauseFunc
	epoch  uint64
	end    time.Time
	timer  atomic.Pointer[time.Timer]
}

func (r *Reads) watch(ctx context.Context, cancel context.CancelCauseFunc, epoch uint64) *watch {
	w := &watch{reads: r, ctx: ctx, cancel: cancel, epoch: epoch, end: time.Now().Add(r.options.Patience)}
	w.timer.Store(time.AfterFunc(lookEvery, w.look))
	return w
}

func (w *watch) look() {
	switch {
	case w.ctx.Err() != nil:
	case w.reads.cluster.View().Epoch != w.epoch:
		w.cancel(errMoved)
	case !time.Now().Before(w.end):
		w.cancel(fmt.Errorf("nothing came from it for %s", w.reads.options.Patience))
	default:
		w.timer.Store(time.AfterFunc(lookEvery, w.look))
	}
}

// stop ends the watch; the context has ended.
func (w *watch) stop() { w.timer.Load().Stop() }
