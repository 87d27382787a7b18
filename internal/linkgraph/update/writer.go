// Changes of the graph: the store's triples come first.

package update

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/linkgraph/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/read"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// mayGrow returns links.ErrMemory if an update would leave too little memory.
func (w *Writer) mayGrow(changes []links.Change) error {
	if w.Options.MemoryBytes == 0 || !slices.ContainsFunc(changes, func(c links.Change) bool { return c.Kind != links.DeleteLinks && len(c.Targets) > 0 }) {
		return nil
	}
	return w.Fits(w.Board.Memory()/9*10, "the graph with a tenth for changes")
}

// Writer changes the triples of links and labels.
type Writer struct {
	*machine.Machine
	Board    *state.Board
	Router   *route.Router
	Assigner *assign.Assigner
	Reader   *read.Reader
	// changing is held exclusively by changes that depend on a read, and shared by other changes, on a
	// lone node. It must be taken after all other locks.
	changing sync.RWMutex
}

// updateHere makes changes as one change of the store, and then writes labels.
func (w *Writer) updateHere(ctx context.Context, changes []links.Change, result *links.UpdateResult) error {
	// 1. Pages get UIDs before they have links.
	n, err := w.nameAll(ctx, changes)
	if err != nil {
		return err
	}
	result.Pages += n.given
	// 2. Change the triples, then write the labels of links that exist now.
	change := w.changeBlindly
	if edits.Reads(changes) {
		change = w.changeInTurn
	}
	labels, done, err := change(ctx, changes, n)
	if err != nil {
		return fmt.Errorf("change links: %w", err)
	}
	result.Added += done.Added
	result.Deleted += done.Deleted
	return edits.WriteLabels(ctx, labels, w.annotate)
}

// annotate sets the label of a triple, or removes it if label is nil. It retries while a machine of
// the cluster is down.
func (w *Writer) annotate(ctx context.Context, t triple.Triple, label []byte) error {
	unavailable := func(err error) bool { return errors.Is(err, store.ErrUnavailable) }
	return w.Router.Retry(ctx, unavailable, func() error { return store.Annotate(ctx, w.Node, t, links.Application, label) })
}

// changeInTurn makes changes that depend on the present links. No other change of this graph
// may come between their read and their write.
func (w *Writer) changeInTurn(ctx context.Context, changes []links.Change, _ named) (labels []edits.Labelled, done store.Result, err error) {
	// In a cluster the caller has the locks of the partitions.
	if w.Node.Lone() != nil {
		w.changing.Lock()
		defer w.changing.Unlock()
	}
	err = w.changeParts(ctx, changes, &labels, &done)
	return labels, done, err
}

// changeOnce makes changes that depend on the present links as one change of the store. It returns
// errLongLists if the lists to be replaced are too long for that.
func (w *Writer) changeOnce(ctx context.Context, changes []links.Change) (labels []edits.Labelled, done store.Result, err error) {
	plan := func(sn store.Reader) (store.Steps, error) {
		n := 0
		plan, err := edits.Plan(ctx, w.Options.Predicate, changes, func(ctx context.Context, src string, do func(string)) error {
			return w.eachTarget(ctx, sn, src, func(dst string) error {
				if n++; n > 2*ChangedLinks {
					return errLongLists
				}
				do(dst)
				return nil
			})
		})
		labels = plan.Labels
		return store.Steps{Add: slices.Values(plan.Add), Delete: slices.Values(plan.Delete)}, err
	}
	// 1. On a lone node no other change comes in between.
	if w.Node.Lone() != nil {
		done, err = store.Update(ctx, w.Node, plan)
		return labels, done, err
	}
	// 2. In a cluster the change is fenced.
	r, err := w.Node.Reader()
	if err != nil {
		return nil, done, err
	}
	defer r.Close()
	c, err := plan(r)
	if err == nil {
		done, err = store.Apply(ctx, w.Node, c)
	}
	return labels, done, err
}

// changeBlindly makes changes that do not depend on the present links. They run concurrently,
// because small ones can then share a sync.
func (w *Writer) changeBlindly(ctx context.Context, changes []links.Change, n named) (labels []edits.Labelled, done store.Result, err error) {
	plan, err := edits.Plan(ctx, w.Options.Predicate, changes, nil)
	if err != nil {
		return nil, done, err
	}
	if w.Node.Lone() != nil {
		w.changing.RLock()
		defer w.changing.RUnlock()
	}
	c := store.Steps{Add: slices.Values(plan.Add), Delete: slices.Values(plan.Delete)}
	if at := n.state.At.Sequence(0); at > 0 && n.state.Held == machine.AllPartitions && n.state.Stores.Has(cell.ForwardStore) && w.Node.Lone() != nil {
		c.Absent, c.AbsentSince = w.absent(plan.Add, n), at
	}
	done, err = store.Apply(ctx, w.Node, c)
	return plan.Labels, done, err
}

// absent returns a function that reports if a link, by its index in a list, is not in the graph
// of n: then it was not in the store. The function must be called in ascending order.
func (w *Writer) absent(list []triple.Triple, n named) func(int) bool {
	var src string
	var links []uid.UID // of src
	known := false
	return func(i int) bool {
		t := &list[i]
		if page := t.Subject.Value(); i == 0 || page != src {
			u := n.uids[page]
			src, known = page, u != 0
			if known {
				links = n.state.View(u).AppendLinks(links[:0], cell.Forward, u)
			}
		}
		dst := n.uids[t.Object.Value()]
		if !known || dst == 0 {
			return false
		}
		_, there := slices.BinarySearch(links, dst)
		return !there
	}
}

// named is the state of the pages that changes give links to.
type named struct {
	state *state.State
	uids  map[string]uid.UID
	given int64 // number of pages that just got a UID
}

// nameAll assigns UIDs to pages without one that get links. It does so in one call, because the
// pages of a host must be numbered in order.
func (w *Writer) nameAll(ctx context.Context, changes []links.Change) (n named, err error) {
	// 1. Take what this machine knows. The cache must be loaded before the state, see there.
	known := w.Assigner.Known.Load()
	if err := w.Board.Failed(); err != nil {
		return n, err
	}
	if n.state = w.Board.State.Load(); n.state == nil {
		n.state = &state.State{} // the primaries know the pages
	}
	if w.Node.Lone() != nil && n.state.Held != machine.AllPartitions {
		return n, w.Board.Loading()
	}
	urls := edits.Pages(changes)
	uids := make([]uid.UID, len(urls))
	others := known.Get(urls, uids)
	var unknown []string
	for _, i := range others {
		var ok bool
		if uids[i], ok = n.state.LookUp(urls[i]); !ok {
			unknown = append(unknown, urls[i])
		}
	}
	known.Add(urls, uids, others)
	// 2. The others have UIDs in the store, or get new ones.
	n.uids = make(map[string]uid.UID, len(urls))
	for i, u := range uids {
		if u != 0 {
			n.uids[urls[i]] = u
		}
	}
	if len(unknown) > 0 {
		n.given, err = w.Assigner.Resolve(ctx, unknown, n.uids)
	}
	return n, err
}

// eachTarget calls do with the targets of a page's links in the default graph, until an error.
func (w *Writer) eachTarget(ctx context.Context, sn store.Matcher, src string, do func(dst string) error) error {
	p := triple.Pattern{Subject: triple.NewIRI(src), Predicate: triple.NewIRI(w.Options.Predicate)}
	for row, err := range sn.Match(ctx, p, store.ReadOptions{}) {
		if err != nil {
			return err
		}
		t, err := row.Triple()
		if err != nil {
			return err
		}
		if t.Graph.IsZero() && t.Object.Kind() == triple.IRI {
			if err := do(t.Object.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}
