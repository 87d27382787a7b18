// Small questions to other machines.

package reads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// call sends a message that was made under a view, and returns its
// answer. It ends where the view changes, where this member is cut off, and where
// nothing comes for Options.Patience.
func (r *Reads) call(ctx context.Context, under *view.View, owner trie.MachineID, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer r.watch(ctx, cancel, under)()
	defer cancel(nil)
	answer, err := r.cluster.Call(ctx, owner, method, body)
	if err == nil {
		return answer, nil
	}
	if cause := context.Cause(ctx); cause == errMoved || errors.Is(cause, node.ErrUnavailable) {
		return nil, cause
	}
	return nil, &remoteError{owner, err}
}

// watchAfter is when a call begins to be watched. A timer costs next to nothing where
// a call takes a millisecond, as most do; a goroutine that waits for the view does not.
const watchAfter = 20 * time.Millisecond

// watch ends the context of a call whose view is not the adopted one any more, whose
// member is cut off, or that has no answer in time.
func (r *Reads) watch(ctx context.Context, cancel context.CancelCauseFunc, under *view.View) (stop func() bool) {
	end := time.Now().Add(r.options.Patience)
	return time.AfterFunc(watchAfter, func() {
		silent := fmt.Errorf("nothing came from it for %s", r.options.Patience)
		wait, done := context.WithDeadlineCause(ctx, end, silent)
		defer done()
		err := r.cluster.Newer(wait, under)
		if err == nil {
			err = errMoved
		}
		if cause := context.Cause(wait); cause != nil {
			err = cause
		}
		cancel(err)
	}).Stop
}
