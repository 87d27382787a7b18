// Replacing whole lists, from the machine that received the update.

package updates

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

const (
	// replaceTimeout bounds the retries of changes that make no progress.
	replaceTimeout = 20 * time.Second
	// startTimeout bounds the wait until a machine opens its graph of links.
	startTimeout = 3 * time.Second
	// exclusionTimeout bounds the wait until a machine that broke off is excluded.
	exclusionTimeout = 12 * time.Second
)

// serializer returns the machine that makes the changes of a page's list under a view. It is
// the reader of the first row of the list, or the next member clockwise if that one is down.
func (g *Updater) serializer(joint *recovery.Joint, page string) trie.MachineID {
	reader, live := joint.Reader(g.Keys.List(links.Forward, page).Lo)
	if !live {
		for m := range joint.Members.After(reader) {
			if m != reader {
				return m
			}
		}
	}
	return reader
}

// replace makes the changes of pages whose lists are replaced. It returns the other changes,
// and those whose machine has no graph of links. The pages must have UIDs.
//
// One machine makes the changes of a page under a view, one after the other: it holds the
// page's lock from before it reads the list until all writes are committed. So of two
// replacements under one view, the later one finds the whole list of the earlier one.
//
// The same holds between views. Before a list is read, everything stamped under earlier views
// is committed (Member.Settled: by then all members have adopted this view). A write counts if
// this machine is still under that view when the write is committed. If it is not, the changes
// are repeated under the next view. That is safe because the first try wrote the same list.
//
// So if replacements of a list end without an error, they leave the list of one of the last
// ones. If a replacement ends in an error, it may be done in part, or a moment later. Then its
// links may stay beside those of another list. The same is possible if a machine was excluded
// while it was suspended in the middle of a write, and then continues: it checks only between
// writes if it may go on.
func (g *Updater) replace(ctx context.Context, changes []links.Change, result *links.UpdateResult) (rest []links.Change, err error) {
	if !edits.Reads(changes) {
		return changes, nil
	}
	// 1. Select all changes of pages with a replacement: their order must be kept.
	lists := map[string]bool{}
	for i := range changes {
		if changes[i].Kind == links.ReplaceLinks {
			lists[changes[i].Source] = true
		}
	}
	var left []links.Change
	for _, c := range changes {
		if lists[c.Source] {
			left = append(left, c)
		} else {
			rest = append(rest, c)
		}
	}
	// 2. Try under the latest view until everything is made. Changed must be called before
	// View, because a view that comes between the two must end the wait.
	var wait retryWait
	start := time.Now().Add(startTimeout)
	for {
		next := g.Store.Changed()
		t := g.replaceUnderView(ctx, g.Store.View(), left)
		result.Added += t.added
		result.Deleted += t.deleted
		if t.err != nil {
			return nil, t.err
		}
		// 3. A machine without a graph may be starting, so it gets some time.
		if time.Now().Before(start) {
			t.retry, t.unserved = append(t.retry, t.unserved...), nil
		}
		rest = append(rest, t.unserved...)
		if len(t.retry) == 0 {
			return rest, nil
		}
		// 4. Progress restarts the retry time.
		if len(t.retry) < len(left) {
			wait = retryWait{}
		}
		left = t.retry
		if err := wait.next(ctx, next); err != nil {
			why := store.ErrUnavailable
			if t.unsure {
				why = store.ErrUnknown
			}
			return nil, fmt.Errorf("replace the links of %d pages: %w: %w: %w", len(left), why, err, t.why)
		}
	}
}

// retryWait is the state of the pauses between a call's tries.
type retryWait struct {
	until time.Time // zero before the first time
	pause time.Duration
}

var errRetryTimeout = errors.New("tried for long enough")

// next waits a moment, or until changed is closed. It returns an error if the call must give
// up.
func (w *retryWait) next(ctx context.Context, changed <-chan struct{}) error {
	now := time.Now()
	if w.until.IsZero() {
		w.until = now.Add(replaceTimeout)
	}
	if w.pause = min(max(2*w.pause, 10*time.Millisecond), 200*time.Millisecond); now.Add(w.pause).After(w.until) {
		return errRetryTimeout
	}
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// attempt is the result of changes under one view.
type attempt struct {
	replaced
	retry    []links.Change // to be repeated because of why; unsure if some are done
	why      error
	unserved []links.Change // of machines without a graph of links
	err      error          // the first one
}

// replaceUnderView makes changes as far as possible under a view, which may be nil.
func (g *Updater) replaceUnderView(ctx context.Context, v *view.View, changes []links.Change) (all attempt) {
	// 1. Group the changes by the machine that serializes them.
	byPlace := map[trie.MachineID][]links.Change{}
	for _, c := range changes {
		to := g.Store.MachineID()
		if v != nil {
			to = g.serializer(v.Joint(), c.Source)
		}
		byPlace[to] = append(byPlace[to], c)
	}
	// 2. Send to all machines in parallel, and add up the results.
	var mu sync.Mutex
	var asking sync.WaitGroup
	for to, mine := range byPlace {
		asking.Go(func() {
			t := g.replaceOn(ctx, v, to, mine)
			mu.Lock()
			defer mu.Unlock()
			all.added += t.added
			all.deleted += t.deleted
			all.unsure = all.unsure || t.unsure
			all.retry, all.unserved = append(all.retry, t.retry...), append(all.unserved, t.unserved...)
			if all.why == nil {
				all.why = t.why
			}
			if all.err == nil {
				all.err = t.err
			}
		})
	}
	asking.Wait()
	return all
}

// replaceOn makes changes on one machine, one message after the other.
func (g *Updater) replaceOn(ctx context.Context, v *view.View, to trie.MachineID, changes []links.Change) (t attempt) {
	for len(changes) > 0 {
		// 1. Make the changes of one message, local or remote.
		part := changes[:messageChanges(changes)]
		var done replaced
		var err error
		switch {
		case v == nil:
			done, err = g.replaceLocal(ctx, 0, part)
		case to == g.Store.MachineID():
			done, err = g.replaceLocal(ctx, v.Epoch, part)
		default:
			done, err = g.replaceRemote(ctx, v, to, part)
		}
		// 2. Count what is done, even if there is an error.
		t.added += done.added
		t.deleted += done.deleted
		t.unsure = t.unsure || done.unsure
		// 3. Decide: no graph there, retry under another view, error, or next message.
		var refusal *peer.Refusal
		switch {
		case errors.As(err, &refusal) && refusal.Code == peer.CodeMethod:
			t.unserved, t.why = changes, err
			return t
		case done.unsure, errors.Is(err, errGone), err != nil && peer.IsDefinite(err) && ctx.Err() == nil:
			t.unsure = t.unsure || errors.Is(err, errGone)
			t.retry, t.why = changes, err
			return t
		case err != nil:
			t.err = fmt.Errorf("replace links at machine %s: %w", to, err)
			return t
		}
		changes = changes[len(part):]
	}
	return t
}

// messageChanges returns the number of changes that fit into one message, at least one.
func messageChanges(changes []links.Change) int {
	size := replaceHead
	for i := range changes {
		if size += changeBytes(&changes[i]); size > replaceBytes && i > 0 {
			return i
		}
	}
	return len(changes)
}

// errGone reports that a machine was excluded, or restarted, before it answered. Whatever it
// did was under earlier views.
var errGone = errors.New("the machine was excluded before it answered")

// replaceRemote makes changes on another machine.
func (g *Updater) replaceRemote(ctx context.Context, v *view.View, to trie.MachineID, changes []links.Change) (replaced, error) {
	m := v.Find(to)
	if m == nil {
		return replaced{}, errGone
	}
	// 1. Watch the view, because a machine that is excluded may never answer.
	call, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		for call.Err() == nil {
			next := g.Store.Changed()
			if now := g.Store.View(); now == nil || !now.Has(to, m.Incarnation) {
				cancel(errGone)
			}
			select {
			case <-next:
			case <-call.Done():
			}
		}
	})
	// 2. Call. A definite error means that nothing was done.
	answer, err := g.Store.Call(call, to, MethodReplace, encodeReplace(v.Epoch, changes))
	if err == nil {
		return parseReplaced(answer)
	}
	if peer.IsDefinite(err) || ctx.Err() != nil {
		return replaced{}, err
	}
	// 3. Without an answer, wait until the machine is excluded: then a retry is safe.
	if ownership.Unreachable(err) {
		timer := time.NewTimer(exclusionTimeout)
		defer timer.Stop()
		select {
		case <-call.Done():
		case <-timer.C:
		}
	}
	if context.Cause(call) == errGone {
		return replaced{}, errGone
	}
	return replaced{}, fmt.Errorf("%w: %w", store.ErrUnknown, err)
}
