// Whole lists: changes of pages whose lists are replaced go through one machine.

package ranges

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/edits"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

const (
	// replacePatience is for how long changes are tried again that get no further.
	replacePatience = 20 * time.Second
	// startTime is for how long it is waited that a machine opens its graph of links.
	startTime = 3 * time.Second
	// goneTime is for how long it is waited whether a machine is excluded that broke off.
	goneTime = 12 * time.Second
)

// place returns the machine through which changes of a page's list go under a view: the
// one that reads where it begins or, where that is dead, the next member clockwise.
func (g *Graph) place(joint *recovery.Joint, page string) trie.MachineID {
	reader, live := joint.Reader(g.listRange(links.Forward, page).Lo)
	if !live {
		for m := range joint.Members.After(reader) {
			if m != reader {
				return m
			}
		}
	}
	return reader
}

// replace makes those changes that are of pages whose lists are replaced, and returns the
// others, and those whose place is a machine without a graph of links. The pages have UIDs.
//
// One machine makes the changes of a page under a view, one after the other: it holds the
// page's lock from before it reads the list until all is settled. So of two replacements
// under one view the later one finds the list of the earlier one whole. Between views it
// is so, too: before anything is read, all is settled that was stamped under views before
// (Member.Settled: by then all members have adopted this one), and what is written counts
// if this machine is still under that view when it is settled. If it is not, the changes
// are made again where the next view says: what the first try wrote is from the same
// list, and is done.
//
// So replacements of a list that end without an error leave the list of one of those that
// ended last. What ends in an error may be done in part, or be a moment later, and its
// links may stay beside those of another list. So may those of a machine that was excluded
// while it was suspended in the middle of a write, and then goes on with it: it looks
// between writes whether it still may.
func (g *Graph) replace(ctx context.Context, changes []links.Change, result *links.UpdateResult) (rest []links.Change, err error) {
	if !edits.Reads(changes) {
		return changes, nil
	}
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
	var wait waiting
	start := time.Now().Add(startTime)
	for {
		next := g.store.Changed()
		t := g.replaceUnder(ctx, g.store.View(), left)
		result.Added += t.added
		result.Deleted += t.deleted
		if t.err != nil {
			return nil, t.err
		}
		if time.Now().Before(start) {
			t.again, t.nowhere = append(t.again, t.nowhere...), nil
		}
		rest = append(rest, t.nowhere...)
		if len(t.again) == 0 {
			return rest, nil
		}
		if len(t.again) < len(left) {
			wait = waiting{}
		}
		left = t.again
		if err := wait.next(ctx, next); err != nil {
			why := node.ErrUnavailable
			if t.unsure {
				why = node.ErrUnknown
			}
			return nil, fmt.Errorf("replace the links of %d pages: %w: %w: %w", len(left), why, err, t.why)
		}
	}
}

// waiting is how a call waits between its tries.
type waiting struct {
	until time.Time // zero before the first time
	pause time.Duration
}

var errPatience = errors.New("tried for long enough")

// next waits a moment, or until changed is closed.
func (w *waiting) next(ctx context.Context, changed <-chan struct{}) error {
	now := time.Now()
	if w.until.IsZero() {
		w.until = now.Add(replacePatience)
	}
	if w.pause = min(max(2*w.pause, 10*time.Millisecond), 200*time.Millisecond); now.Add(w.pause).After(w.until) {
		return errPatience
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

// try is what came of changes under one view.
type try struct {
	replaced
	again   []links.Change // to be made again, for the reason why; unsure if some are done
	why     error
	nowhere []links.Change // of those whose machine has no graph of links
	err     error          // the first one
}

// replaceUnder makes changes as far as it goes under a view, which may be nil.
func (g *Graph) replaceUnder(ctx context.Context, v *view.View, changes []links.Change) (all try) {
	byPlace := map[trie.MachineID][]links.Change{}
	for _, c := range changes {
		to := g.store.MachineID()
		if v != nil {
			to = g.place(v.Joint(), c.Source)
		}
		byPlace[to] = append(byPlace[to], c)
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for to, mine := range byPlace {
		asking.Go(func() {
			t := g.replaceAt(ctx, v, to, mine)
			mu.Lock()
			defer mu.Unlock()
			all.added += t.added
			all.deleted += t.deleted
			all.unsure = all.unsure || t.unsure
			all.again, all.nowhere = append(all.again, t.again...), append(all.nowhere, t.nowhere...)
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

// replaceAt has one machine make changes, one message after the other.
func (g *Graph) replaceAt(ctx context.Context, v *view.View, to trie.MachineID, changes []links.Change) (t try) {
	for len(changes) > 0 {
		part := changes[:together(changes)]
		var done replaced
		var err error
		switch {
		case v == nil:
			done, err = g.replaceHere(ctx, 0, part)
		case to == g.store.MachineID():
			done, err = g.replaceHere(ctx, v.Epoch, part)
		default:
			done, err = g.replaceThere(ctx, v, to, part)
		}
		t.added += done.added
		t.deleted += done.deleted
		t.unsure = t.unsure || done.unsure
		var refusal *peer.Refusal
		switch {
		case errors.As(err, &refusal) && refusal.Code == peer.CodeMethod:
			t.nowhere, t.why = changes, err
			return t
		case done.unsure, errors.Is(err, errGone), err != nil && peer.IsDefinite(err) && ctx.Err() == nil:
			t.unsure = t.unsure || errors.Is(err, errGone)
			t.again, t.why = changes, err
			return t
		case err != nil:
			t.err = fmt.Errorf("replace links at machine %s: %w", to, err)
			return t
		}
		changes = changes[len(part):]
	}
	return t
}

// together returns how many of some changes one message takes, one at least.
func together(changes []links.Change) int {
	size := replaceHead
	for i := range changes {
		if size += changeBytes(&changes[i]); size > replaceBytes && i > 0 {
			return i
		}
	}
	return len(changes)
}

// errGone says that a machine was excluded, or began again, before it answered: whatever
// it did was under views before.
var errGone = errors.New("the machine was excluded before it answered")

// replaceThere has another machine make changes.
func (g *Graph) replaceThere(ctx context.Context, v *view.View, to trie.MachineID, changes []links.Change) (replaced, error) {
	m := v.Find(to)
	if m == nil {
		return replaced{}, errGone
	}
	call, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		for call.Err() == nil {
			next := g.store.Changed()
			if now := g.store.View(); now == nil || !now.Has(to, m.Incarnation) {
				cancel(errGone)
			}
			select {
			case <-next:
			case <-call.Done():
			}
		}
	})
	answer, err := g.store.Call(call, to, methodReplace, encodeReplace(v.Epoch, changes))
	if err == nil {
		return parseReplaced(answer)
	}
	if peer.IsDefinite(err) || ctx.Err() != nil {
		return replaced{}, err
	}
	if unreachable(err) {
		timer := time.NewTimer(goneTime)
		defer timer.Stop()
		select {
		case <-call.Done():
		case <-timer.C:
		}
	}
	if context.Cause(call) == errGone {
		return replaced{}, errGone
	}
	return replaced{}, fmt.Errorf("%w: %w", node.ErrUnknown, err)
}
