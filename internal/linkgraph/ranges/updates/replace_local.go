// Replacing lists at the machine that serializes the changes of their pages.

package updates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// maxReplaceMessages is the number of messages about lists that a machine handles
	// concurrently. It is bounded because messages that wait for locks must leave room for
	// others.
	maxReplaceMessages = 64
	// detachTimeout bounds the time for which writing continues after its caller has gone.
	detachTimeout = 5 * time.Second
)

// serializing is the state of the replacements that this machine serializes.
type serializing struct {
	messages chan struct{} // has an element for each message that is being handled
	pages    locks
}

// HandleReplace handles links/replace.
func (g *Updater) HandleReplace(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	epoch, changes, err := parseReplace(body)
	if err != nil {
		return nil, err
	}
	select {
	case g.turns.messages <- struct{}{}:
		defer func() { <-g.turns.messages }()
	default:
		return nil, &peer.Refusal{Code: peer.CodeBusy, Epoch: epoch, Message: "the lists of many pages are being replaced"}
	}
	done, err := g.replaceLocal(ctx, epoch, changes)
	// Only an unwrapped refusal means that nothing was done. A wrapped one came from another
	// machine, in the middle of the work.
	if refusal, ok := err.(*peer.Refusal); ok {
		return nil, refusal
	}
	return encodeReplaced(done, err), nil
}

// replaceLocal makes changes that this machine serializes under the view of an epoch, 0 for
// none. The error is a *peer.Refusal if nothing was done and another machine may do it.
func (g *Updater) replaceLocal(ctx context.Context, epoch uint64, changes []links.Change) (done replaced, err error) {
	// 1. Check that this machine serializes the pages, and that earlier epochs are committed.
	pages := make([]string, len(changes))
	for i := range changes {
		pages[i] = changes[i].Source
	}
	slices.Sort(pages)
	pages = slices.Compact(pages)
	if refusal := g.checkSerializer(epoch, pages); refusal != nil {
		return done, refusal
	}
	if g.uids.Committed.Load() < epoch {
		if err := g.uids.AwaitCommitted(ctx, epoch); err != nil {
			return done, &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: err.Error()}
		}
	}
	// 2. Take the locks before the read, and hold them until the writes are committed.
	release, err := g.turns.pages.take(ctx, pages)
	if err != nil {
		return done, err
	}
	defer release()
	r, err := g.Begin(ctx)
	if err != nil {
		return done, err
	}
	defer r.Close()
	// 3. Read the lists and plan. Nothing is written yet, so a changed view is a refusal.
	plan, err := edits.Plan(ctx, g.Keys.Predicate, changes, g.readTargets(ctx, r, pages))
	if err != nil {
		return done, err
	}
	if err := g.checkEpoch(epoch); err != nil {
		return done, &peer.Refusal{Code: peer.CodeEpoch, Message: err.Error()}
	}
	// 4. Write. A caller that goes away must not leave the list half done.
	work, end := g.detach(ctx)
	defer end()
	var result links.UpdateResult
	err = g.apply(work, plan, &result, func() error { return g.checkEpoch(epoch) })
	done = replaced{added: result.Added, deleted: result.Deleted}
	// If the view has changed, the changes must be repeated.
	if errors.Is(err, errNotUnder) || err == nil && g.checkEpoch(epoch) != nil {
		done.unsure, err = true, nil
	}
	return done, err
}

// checkSerializer returns a refusal if this machine must not change pages under the view of an
// epoch.
func (g *Updater) checkSerializer(epoch uint64, pages []string) *peer.Refusal {
	v := g.Store.View()
	if v == nil && epoch == 0 {
		return nil
	}
	if v == nil || v.Epoch != epoch {
		refusal := &peer.Refusal{Code: peer.CodeEpoch, Message: fmt.Sprintf("the epoch is not %d", epoch)}
		if v != nil {
			refusal.Epoch = v.Epoch
		}
		return refusal
	}
	joint := v.Joint()
	for _, page := range pages {
		if g.serializer(joint, page) != g.Store.MachineID() {
			return &peer.Refusal{Code: peer.CodeNotOwner, Epoch: epoch, Message: "changes of " + page + " go through another machine"}
		}
	}
	return nil
}

var errNotUnder = errors.New("another view has come")

// checkEpoch returns nil while this machine is a member and the epoch is still the latest.
func (g *Updater) checkEpoch(epoch uint64) error {
	if epoch == 0 {
		return nil
	}
	if err := g.Store.MayAnswer(epoch); err != nil {
		return fmt.Errorf("%w: %w", errNotUnder, err)
	}
	return nil
}

// detach returns a context for work that must not be left half done. It ends with the graph, or
// detachTimeout after ctx.
func (g *Updater) detach(ctx context.Context) (work context.Context, end func()) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	late := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(detachTimeout, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(work, func() { timer.Stop() })
	})
	closed := context.AfterFunc(g.Ctx, func() { cancel(rowreader.ErrClosed) })
	return work, func() {
		late()
		closed()
		cancel(nil)
	}
}

// heldEnds and heldBytes bound the lists that are held for replacement. If they exceed these,
// the rest is read page by page.
const (
	heldEnds  = 1 << 17
	heldBytes = 16 << 20
)

// readTargets is edits.Targets for pages whose lists are read in one look-up.
func (g *Updater) readTargets(ctx context.Context, r *rowreader.Reader, pages []string) edits.Targets {
	var all []linkkeys.Wanted
	for i, page := range pages {
		all = append(all, linkkeys.Wanted{Range: g.Keys.List(links.Forward, page), Item: i})
	}
	// 1. Read the lists until a bound is exceeded.
	lists := make([][]string, len(pages))
	whole := make([]bool, len(pages))
	last, ends, size := -1, 0, 0
	err := r.LookUp(ctx, all, func(i int, row *linkkeys.Row) error {
		// The rows of a page come together, so the page before is whole.
		if i != last && last >= 0 {
			whole[last] = true
		}
		last = i
		page, _ := row.Iri(triple.Subject)
		end, ok := row.Iri(triple.Object)
		if !ok || len(row.Terms[triple.Graph]) > 0 || string(page) != pages[i] {
			return nil
		}
		ends, size = ends+1, size+len(end)
		if ends > heldEnds || size > heldBytes {
			return rowreader.ErrEnough
		}
		lists[i] = append(lists[i], string(end))
		return nil
	})
	// 2. Keep the lists that are whole. The others are read when they are needed.
	at := make(map[string]int, len(pages))
	for i, page := range pages {
		if err == nil || whole[i] && errors.Is(err, rowreader.ErrEnough) {
			at[page] = i
		}
	}
	return func(ctx context.Context, src string, do func(dst string)) error {
		i, ok := at[src]
		if !ok {
			return g.forEachTarget(ctx, r, src, do)
		}
		for _, dst := range lists[i] {
			do(dst)
		}
		return nil
	}
}
