// Following the present epoch at all members at the same time.

package changes

import (
	"context"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// crowdedPause is how long a reader pauses if a member does not let it wait.
const crowdedPause = 50 * time.Millisecond

// liveWait is how long a member waits for operations before it answers that there are none.
const liveWait = 5 * time.Second

// livePart is an answer of a member.
type livePart struct {
	from trie.MachineID
	*part
}

// live passes the operations of the present epoch as they are committed. It returns nil when there is
// another view. While the consumer does not read, it holds at most one answer of each member.
func (rd *reader) live(ctx context.Context, v *view.View) error {
	if err := rd.greet(ctx, v); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	// 1. Query all members, and wait for another view.
	parts := make(chan livePart)
	for i := range v.Members {
		m := v.Members[i].ID
		after := rd.pos.Sequence(m)
		running.Go(func() { rd.poll(ctx, v, m, after, parts) })
	}
	changed := make(chan error, 1)
	running.Go(func() { changed <- rd.member.Newer(ctx, v) })
	// 2. Pass what comes.
	beat := time.NewTimer(rd.out.untilDue())
	defer beat.Stop()
	for {
		beat.Reset(rd.out.untilDue())
		rd.lag.Store(0) // all that the members have sent is passed
		select {
		case p := <-parts:
			switch {
			case p.future:
				return errFuture
			case p.trimmed:
				return rd.gone(ctx, "machine %s no longer keeps changes behind sequence %d of epoch %d", p.from, rd.pos.Sequence(p.from), v.Epoch)
			}
			if err := rd.passOperations(p.from, p.operations); err != nil {
				return err
			}
			rd.advance(p.from, triple.Stamp{Epoch: v.Epoch, Sequence: p.until})
			if err := rd.flush(rd.moved()); err != nil {
				return err
			}
			if err := rd.end(ctx); err != nil {
				return err
			}
		case err := <-changed:
			return err
		case <-beat.C:
			if err := rd.flush(true); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-rd.closing:
			return errClosed
		}
	}
}

// greet sends an empty batch at once if the reader follows and none was sent, because a consumer must
// learn that its position is valid.
func (rd *reader) greet(ctx context.Context, v *view.View) error {
	if rd.out.begun || !rd.request.Follow {
		return nil
	}
	states, err := requestAll(ctx, v, func(ctx context.Context, m trie.MachineID) (*state, error) {
		return rd.stateOf(ctx, v, m, v.Epoch)
	})
	if err != nil {
		return transient{err}
	}
	if reason := rd.trimmed(v, states); reason != "" {
		return rd.gone(ctx, "%s", reason)
	}
	return rd.flush(true)
}

// poll sends the operations of one member, from a sequence on. While the member does not answer, it
// asks again, until ctx ends: if the member is down, another view ends it.
func (rd *reader) poll(ctx context.Context, v *view.View, m trie.MachineID, after uint64, to chan<- livePart) {
	r := readRequest{view: v.Epoch, stamper: m, epoch: v.Epoch, after: after, live: true, wait: uint64(liveWait / time.Millisecond), maxBytes: maxPart}
	pause := backoff()
	for ctx.Err() == nil {
		sent := time.Now()
		p, err := rd.readOf(ctx, m, r)
		if err != nil {
			pause.Wait(ctx)
			continue
		}
		pause.Reset()
		if p.until <= r.after && !p.trimmed && !p.future {
			if time.Since(sent) < liveWait/2 {
				retry.Sleep(ctx, retry.Jitter(crowdedPause))
			}
			continue // nothing has come
		}
		select {
		case to <- livePart{m, p}:
		case <-ctx.Done():
			return
		}
		r.after, r.from = p.until, p.last
	}
}
