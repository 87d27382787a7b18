// Changes of the links of a directory.

package load

import (
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// linkUpdater changes links, in this process or on a server: [links.Graph] is one.
type linkUpdater interface {
	Update(context.Context, []links.Change) (links.UpdateResult, error)
}

// localLinks changes the links of a store in this process: triples and annotations. Pages get their
// UIDs when a server opens the store, because it detects the changed links.
type localLinks struct {
	store     *store.Store
	predicate string
}

// Update implements [linkUpdater]. A page must appear at most once in a batch for each kind of
// change. A changeReader guarantees that. Pages get no UIDs.
func (l *localLinks) Update(ctx context.Context, changes []links.Change) (r links.UpdateResult, err error) {
	// 1. Add and delete triples in one change, because a replaced list must not be half there.
	done, err := store.Update(ctx, l.store, func(sn store.Reader) (store.Steps, error) {
		var add, remove []triple.Triple
		for i := range changes {
			c := &changes[i]
			targets := c.Targets
			if c.Kind == links.ReplaceLinks {
				if targets, remove, err = l.differ(ctx, sn, c, remove); err != nil {
					return store.Steps{}, err
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
		return store.Steps{Add: slices.Values(add), Delete: slices.Values(remove)}, nil
	})
	// 2. Set the labels of the links that were added.
	r.Added, r.Deleted = done.Added, done.Deleted
	if err != nil {
		return r, err
	}
	return r, l.label(ctx, changes)
}

// differ compares a page's whole list with the store. It returns the targets that the page does not
// link to yet, and appends superfluous links to remove.
func (l *localLinks) differ(ctx context.Context, sn store.Matcher, c *links.Change, remove []triple.Triple) (add []string, _ []triple.Triple, err error) {
	missing := make(map[string]bool, len(c.Targets)) // true: not found in the store
	for _, target := range c.Targets {
		missing[target] = true
	}
	// Only links to IRIs are compared; other objects of the predicate stay.
	p := triple.Pattern{Subject: triple.NewIRI(c.Source), Predicate: triple.NewIRI(l.predicate), DefaultGraph: true}
	// Targets of the row's page are marked as found. Other links are superfluous.
	for row, err := range sn.Match(ctx, p, store.ReadOptions{}) {
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
	// A target may be given twice. It must be added once.
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

// label sets the labels of added links, many at a time. If a link has several labels in a batch,
// only the last is set. Labels of different batches cannot overtake each other, because a batch is
// complete when label returns.
func (l *localLinks) label(ctx context.Context, changes []links.Change) error {
	if !slices.ContainsFunc(changes, func(c links.Change) bool { return c.Labels != nil }) {
		return nil
	}
	nothing := func(context.Context, string, func(string)) error { return nil } // labels do not depend on existing links
	plan, err := edits.Plan(ctx, l.predicate, changes, nothing)
	if err != nil {
		return err
	}
	return edits.WriteLabels(ctx, plan.Labels, func(ctx context.Context, link triple.Triple, label []byte) error {
		err := store.Annotate(ctx, l.store, link, links.Application, label)
		if errors.Is(err, store.ErrNotFound) { // deleted by somebody else meanwhile
			return nil
		}
		return err
	})
}

// linkPattern is the pattern of all links.
func linkPattern(predicate string) triple.Pattern {
	return triple.Pattern{Predicate: triple.NewIRI(predicate), DefaultGraph: true}
}

// hasLinks reports whether the store has a link.
func (l *localLinks) hasLinks(ctx context.Context) (bool, error) {
	sn, err := l.store.Snapshot()
	if err != nil {
		return false, err
	}
	defer sn.Close()
	for _, err := range sn.Match(ctx, linkPattern(l.predicate), store.ReadOptions{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}
