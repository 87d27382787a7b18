// The timeout of reads that wait for others.

// Package readtimeout bounds how long a read waits for others.
//
// A read may need another member, a view, a lease, or a structure that follows the change feed. If none of them gets
// any further for [Idle], the read ends with [store.ErrUnavailable], which clients get as 503 with Retry-After. The
// bound is on waiting, not on work: a long query may take its time while rows or heartbeats come.
//
// [Bound] is for a wait of several steps. Package reads of the cluster counts from the last row or heartbeat instead.
package readtimeout

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
)

// Idle is how long a read waits for others without any progress. It is longer than the default failure timeout of a
// cluster, because a machine that has died is excluded then, and the next view answers.
const Idle = 5 * time.Second

// Step is how long a machine waits for its own structures before it refuses a question of another machine. It is short
// because the other one may ask again, or query a third machine, and its client's Idle counts meanwhile.
const Step = time.Second

// errEnded is the cause of a context that Bound has ended.
var errEnded = fmt.Errorf("%w: nothing got further within %s: other machines do not answer, or are behind", store.ErrUnavailable, Idle)

// Bound returns a context for one wait of a read. It ends after [Idle] with a cause that wraps
// [store.ErrUnavailable], or earlier with a wait around it. The caller must call cancel.
func Bound(ctx context.Context) (waiting context.Context, cancel context.CancelFunc) {
	return context.WithTimeoutCause(ctx, Idle, errEnded)
}

// BoundStep is Bound for a question of another machine.
func BoundStep(ctx context.Context) (waiting context.Context, cancel context.CancelFunc) {
	return context.WithTimeoutCause(ctx, Step, errEnded)
}
