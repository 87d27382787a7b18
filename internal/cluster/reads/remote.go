// Requests to owners on other machines. They end when the view changes.

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// remote sends requests to the owners of ranges on other machines.
type remote struct{ *common }

// call sends a message of a view and returns its answer. It ends if the view changes, if this member
// is isolated, or if the read has had no progress for Options.IdleTimeout.
func (rm *remote) call(ctx context.Context, under *view.View, owner trie.MachineID, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer rm.watch(ctx, cancel, under)()
	defer cancel(nil)
	answer, err := rm.member.Call(ctx, owner, method, body)
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
func (rm *remote) watch(ctx context.Context, cancel context.CancelCauseFunc, under *view.View) (stop func() bool) {
	end := time.Now().Add(clockOf(ctx).left(rm.options.IdleTimeout))
	return time.AfterFunc(watchAfter, func() {
		silent := fmt.Errorf("nothing came from it for %s", rm.options.IdleTimeout)
		wait, done := context.WithDeadlineCause(ctx, end, silent)
		defer done()
		err := rm.member.Newer(wait, under)
		if err == nil {
			err = errMoved
		}
		if cause := context.Cause(wait); cause != nil {
			err = cause
		}
		cancel(err)
	}).Stop
}

// stall returns a timer. It ends a request if no frame comes for a time.
func (rm *remote) stall(wait time.Duration, cancel context.CancelCauseFunc) *time.Timer {
	return time.AfterFunc(wait, func() {
		cancel(fmt.Errorf("nothing came from it for %s", rm.options.IdleTimeout))
	})
}

// inParts calls do for parts of a request, each within the limits of one message. Their context ends
// if the view changes.
func (rm *remote) inParts(ctx context.Context, q *request, do func(context.Context, *request) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		err := rm.member.Newer(ctx, q.view)
		if err == nil {
			err = errMoved
		}
		cancel(err)
	})
	defer watch.Wait()
	defer cancel(nil)
	for rest := q.ranges; len(rest) > 0; {
		part := *q
		part.ranges = take(rest)
		rest = rest[len(part.ranges):]
		if err := do(ctx, &part); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
	}
	return nil
}

// take returns the first ranges up to the limits of one request, at least one.
func take(ranges []triple.Range) []triple.Range {
	size := 0
	for i, r := range ranges {
		size += len(r.Lo) + len(r.Hi)
		if i > 0 && (i == maxRanges || size > maxRangeBytes) {
			return ranges[:i]
		}
	}
	return ranges
}

// countRemote returns the count of another machine.
func (rm *remote) countRemote(ctx context.Context, q *request, owner trie.MachineID) (n int64, err error) {
	err = rm.inParts(ctx, q, func(ctx context.Context, part *request) error {
		some, _, err := rm.countPart(ctx, part, owner, MethodCount)
		n += some
		return err
	})
	return n, err
}

// skipRemote skips rows of one range on another machine: see count of the owner.
func (rm *remote) skipRemote(ctx context.Context, q *request, owner trie.MachineID) (n int64, last []byte, err error) {
	err = rm.inParts(ctx, q, func(ctx context.Context, part *request) (err error) {
		n, last, err = rm.countPart(ctx, part, owner, MethodSkip)
		if err == nil && (n > q.limit || (n == q.limit) != (last != nil) || last != nil && !q.ranges[0].Contains(last)) {
			err = &remoteError{owner, errNotRequested}
		}
		return err
	})
	return n, last, err
}

// countPart sends one request for a count and reads its answer. The last key is that of MethodSkip.
func (rm *remote) countPart(ctx context.Context, q *request, owner trie.MachineID, method string) (n int64, last []byte, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// 1. Send the request. The timer starts anew with each frame, because a count sends beats
	// while it works.
	clock := clockOf(ctx)
	stall := rm.stall(clock.left(rm.options.IdleTimeout), cancel)
	defer stall.Stop()
	stream, err := rm.peers.Stream(ctx, owner, method, q.encode())
	if err != nil {
		return 0, nil, &remoteError{owner, err}
	}
	defer stream.Close()
	// 2. Wait for the number. Any other frame is an error.
	for {
		frame, err := stream.Next()
		if err != nil {
			return 0, nil, &remoteError{owner, truncated(err)}
		}
		clock.progress()
		stall.Reset(rm.options.IdleTimeout)
		d := peer.NewDecoder(frame)
		switch d.Byte() {
		case frameBeat:
		case frameNumber:
			n := int64(d.Uvarint())
			if rest := bytes.Clone(d.Rest()); d.Err() == nil && method == MethodSkip && len(rest) > 0 {
				last = rest
			}
			if err := d.End(); err != nil {
				return 0, nil, &remoteError{owner, err}
			}
			if err := drain(stream); err != nil {
				return 0, nil, &remoteError{owner, err}
			}
			return n, last, nil
		default:
			return 0, nil, &remoteError{owner, badFrame("of unknown kind")}
		}
	}
}

// truncated turns io.EOF into an error, because the stream ended before its last frame.
func truncated(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// drain reads the end of a stream, because its connection must be clean before it is used again.
func drain(stream *peer.Stream) error {
	switch _, err := stream.Next(); err {
	case io.EOF:
		return nil
	case nil:
		return badFrame("behind the last one")
	default:
		return err
	}
}

// annotationsRemote returns the answer of another machine.
func (rm *remote) annotationsRemote(ctx context.Context, v *view.View, q *annotatedRowRequest, owner trie.MachineID) (n replica.AnnotatedRow, err error) {
	err = rm.inParts(ctx, &request{epoch: q.epoch, view: v, ranges: []triple.Range{keyRange(q.key)}}, func(ctx context.Context, _ *request) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer rm.stall(clockOf(ctx).left(rm.options.IdleTimeout), cancel).Stop()
		answer, err := rm.member.Call(ctx, owner, methodVersions, peer.Encode(len(q.key)+len(q.id)+16, q.fields))
		if err == nil {
			err = peer.Decode(answer, codeVersioned(&n))
		}
		if err != nil {
			return &remoteError{owner, err}
		}
		return nil
	})
	return n, err
}
