// Replacing lists at the machine through which changes of their pages go.

package ranges

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node/links/edits"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// replacing is how many messages about lists a machine takes at a time: those that
	// wait for locks leave room for others.
	replacing = 64
	// lastingTime is for how long writing goes on when its caller has gone.
	lastingTime = 5 * time.Second
)

// turns are who replaces lists at a machine.
type turns struct {
	messages chan struct{} // has one for each message that is being answered
	pages    locks
}

func (g *Graph) handleReplace(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
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
	done, err := g.replaceHere(ctx, epoch, changes)
	// Only replaceHere's own says that nothing was done: one that is wrapped came from another
	// machine, in the middle of the work.
	if refusal, ok := err.(*peer.Refusal); ok {
		return nil, refusal
	}
	return encodeReplaced(done, err), nil
}

// replaceHere makes changes whose place is this machine under the view of an epoch, 0 for
// none. The error is a *peer.Refusal where nothing was done, and others may do it.
func (g *Graph) replaceHere(ctx context.Context, epoch uint64, changes []links.Change) (done replaced, err error) {
	pages := make([]string, len(changes))
	for i := range changes {
		pages[i] = changes[i].Source
	}
	slices.Sort(pages)
	pages = slices.Compact(pages)
	if refusal := g.isPlace(epoch, pages); refusal != nil {
		return done, refusal
	}
	if g.settled.Load() < epoch {
		if err := g.settle(ctx, epoch); err != nil {
			return done, &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: err.Error()}
		}
	}
	release, err := g.turns.pages.take(ctx, pages)
	if err != nil {
		return done, err
	}
	defer release()
	r, err := g.begin(ctx)
	if err != nil {
		return done, err
	}
	defer r.close()
	plan, err := edits.Plan(ctx, g.o.Predicate, changes, r.wholeLists(ctx, pages))
	if err != nil {
		return done, err
	}
	if err := g.under(epoch); err != nil {
		return done, &peer.Refusal{Code: peer.CodeEpoch, Message: err.Error()}
	}
	work, end := g.lasting(ctx)
	defer end()
	var result links.UpdateResult
	err = g.carryOut(work, plan, &result, func() error { return g.under(epoch) })
	done = replaced{added: result.Added, deleted: result.Deleted}
	if errors.Is(err, errNotUnder) || err == nil && g.under(epoch) != nil {
		done.unsure, err = true, nil
	}
	return done, err
}

// isPlace returns why this machine does not change pages under the view of an epoch.
func (g *Graph) isPlace(epoch uint64, pages []string) *peer.Refusal {
	v := g.store.View()
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
		if g.place(joint, page) != g.store.MachineID() {
			return &peer.Refusal{Code: peer.CodeNotOwner, Epoch: epoch, Message: "changes of " + page + " go through another machine"}
		}
	}
	return nil
}

var errNotUnder = errors.New("another view has come")

// under returns nil while this machine is a member in an epoch that is still the last one.
func (g *Graph) under(epoch uint64) error {
	if epoch == 0 {
		return nil
	}
	if err := g.store.MayAnswer(epoch); err != nil {
		return fmt.Errorf("%w: %w", errNotUnder, err)
	}
	return nil
}

// lasting returns a context for what is not to be left half done: it ends with the graph,
// or a while after ctx.
func (g *Graph) lasting(ctx context.Context) (work context.Context, end func()) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	late := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(lastingTime, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(work, func() { timer.Stop() })
	})
	closed := context.AfterFunc(g.ctx, func() { cancel(errClosed) })
	return work, func() {
		late()
		closed()
		cancel(nil)
	}
}

// heldEnds and heldBytes bound what is held of lists that are to be replaced; longer ones
// are read page by page.
const (
	heldEnds  = 1 << 17
	heldBytes = 16 << 20
)

// wholeLists is edits.Targets with the lists of pages read all at once.
func (r *reader) wholeLists(ctx context.Context, pages []string) edits.Targets {
	var all []wanted
	for i, page := range pages {
		all = append(all, wanted{r.graph.listRange(links.Forward, page), i})
	}
	lists := make([][]string, len(pages))
	whole := make([]bool, len(pages))
	last, ends, size := -1, 0, 0
	err := r.look(ctx, all, func(i int, row *row) error {
		if i != last && last >= 0 {
			whole[last] = true
		}
		last = i
		page, _ := row.iri(triple.Subject)
		end, ok := row.iri(triple.Object)
		if !ok || len(row.terms[triple.Graph]) > 0 || string(page) != pages[i] {
			return nil
		}
		ends, size = ends+1, size+len(end)
		if ends > heldEnds || size > heldBytes {
			return errEnough
		}
		lists[i] = append(lists[i], string(end))
		return nil
	})
	at := make(map[string]int, len(pages))
	for i, page := range pages {
		if err == nil || whole[i] && errors.Is(err, errEnough) {
			at[page] = i
		}
	}
	return func(ctx context.Context, src string, do func(dst string)) error {
		i, ok := at[src]
		if !ok {
			return r.eachTarget(ctx, src, do)
		}
		for _, dst := range lists[i] {
			do(dst)
		}
		return nil
	}
}
