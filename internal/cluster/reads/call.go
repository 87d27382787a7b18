// Calls to other members; they end when the view changes.

package reads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// call sends a message of a view and returns its answer. It ends if the view changes, if this member
// is isolated, or if no answer comes within Options.IdleTimeout.
func (r *Reads) call(ctx context.Context, under *view.View, owner trie.MachineID, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer r.watch(ctx, cancel, under)()
	defer cancel(nil)
	answer, err := r.member.Call(ctx, owner, method, body)
	if err == nil {
		return answer, nil
	}
	if cause := context.Cause(ctx); cause == errMoved || errors.Is(cause, store.ErrUnavailable) {
		return nil, cause
	}
	return nil, &remoteError{owner, err}
}

// watchAfter is the delay before a call is watched. Most calls take a millisecond. For these a
// timer is cheap, and a goroutine waiting for the view is not.
const watchAfter = 20 * time.Millisecond

// watch ends the context of a call if its view is replaced, if this member is isolated, or after the
// timeout.
func (r *Reads) watch(ctx context.Context, cancel context.CancelCauseFunc, under *view.View) (stop func() bool) {
	end := time.Now().Add(r.options.IdleTimeout)
	return time.AfterFunc(watchAfter, func() {
		silent := fmt.Errorf("nothing came from it for %s", r.options.IdleTimeout)
		wait, done := context.WithDeadlineCause(ctx, end, silent)
		defer done()
		err := r.member.Newer(wait, under)
		if err == nil {
			err = errMoved
		}
		if cause := context.Cause(wait); cause != nil {
			err = cause
		}
		cancel(err)
	}).Stop
}
