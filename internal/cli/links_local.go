package cli

// This file changes the links of a store in a directory. It changes triples and
// what is noted on them: pages get their UIDs when a server opens the store, which
// learns that its links have changed.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// linkUpdater changes links, wherever they are: [links.Graph] has it.
type linkUpdater interface {
	Update(context.Context, []links.Change) (links.UpdateResult, error)
}

// localLinks is the links of a store in this process.
type localLinks struct {
	store     *node.Store
	predicate string
}

// annotators is how many labels are written at a time: one sync takes them all.
const annotators = 256

// Update implements [linkUpdater]. A page comes once in a batch for each kind of
// change, as a changeReader makes them. Pages get no UIDs.
func (l *localLinks) Update(ctx context.Context, changes []links.Change) (r links.UpdateResult, err error) {
	done, err := l.store.Update(ctx, func(sn *node.Snapshot) (node.Changes, error) {
		var add, remove []triple.Triple
		for i := range changes {
			c := &changes[i]
			targets := c.Targets
			if c.Kind == links.ReplaceLinks {
				if targets, remove, err = l.differ(ctx, sn, c, remove); err != nil {
					return node.Changes{}, err
				}
			}
			for _, target := range targets {
				t := links.Link(l.predicate, c.Source, target)
				if c.Kind == links.DeleteLinks {
					remove = append(remove, t)
				} else {
					add = append(add, t)
				}
			}
		}
		return node.Changes{Add: slices.Values(add), Delete: slices.Values(remove)}, nil
	})
	r.Added, r.Deleted = done.Added, done.Deleted
	if err != nil {
		return r, err
	}
	return r, l.label(ctx, changes)
}

// differ returns the targets of a page's whole list that it does not link to yet,
// and appends to remove the links that are not in the list.
func (l *localLinks) differ(ctx context.Context, sn *node.Snapshot, c *links.Change, remove []triple.Triple) (add []string, _ []triple.Triple, err error) {
	missing := make(map[string]bool, len(c.Targets)) // true: not seen in the store
	for _, target := range c.Targets {
		missing[target] = true
	}
	p := triple.Pattern{Subject: triple.NewIRI(c.Source), Predicate: triple.NewIRI(l.predicate), DefaultGraph: true}
	for row, err := range sn.Match(ctx, p, node.ReadOptions{}) {
		if err != nil {
			return nil, nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, nil, err
		}
		switch {
		case t.Object.Kind() == triple.IRI && hasKey(missing, t.Object.Value()):
			missing[t.Object.Value()] = false
		case t.Object.Kind() == triple.IRI:
			remove = append(remove, t)
		}
	}
	for _, target := range c.Targets {
		if missing[target] {
			add = append(add, target)
			missing[target] = false
		}
	}
	return add, remove, nil
}

func hasKey(m map[string]bool, key string) bool {
	_, ok := m[key]
	return ok
}

// notedLink is a link and what is to be noted on it.
type notedLink struct {
	link triple.Triple
	data []byte
}

// label notes the labels of added links. It returns the first error.
func (l *localLinks) label(ctx context.Context, changes []links.Change) error {
	var all []notedLink
	for i := range changes {
		c := &changes[i]
		for j, label := range c.Labels {
			if label != cell.NoLabel && c.Kind != links.DeleteLinks {
				all = append(all, notedLink{links.Link(l.predicate, c.Source, c.Targets[j]), lists.AppendLabel(nil, label)})
			}
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan notedLink, len(all))
	for _, n := range all {
		work <- n
	}
	close(work)
	var wg sync.WaitGroup
	for range min(annotators, len(all)) {
		wg.Go(func() {
			for n := range work {
				err := l.store.Annotate(ctx, n.link, links.Application, n.data)
				if err != nil && !errors.Is(err, node.ErrNotFound) { // another one has deleted it
					cancel(fmt.Errorf("label of a link: %w", err))
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// linkPattern is the pattern of all links.
func linkPattern(predicate string) triple.Pattern {
	return triple.Pattern{Predicate: triple.NewIRI(predicate), DefaultGraph: true}
}

// hasLinks tells whether there is any.
func (l *localLinks) hasLinks(ctx context.Context) (bool, error) {
	sn, err := l.store.Snapshot()
	if err != nil {
		return false, err
	}
	defer sn.Close()
	for _, err := range sn.Match(ctx, linkPattern(l.predicate), node.ReadOptions{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}
