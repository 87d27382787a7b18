package cli

// This file changes the links of a store in a directory. It changes triples and
// what is noted on them: pages get their UIDs when a server opens the store, which
// learns that its links have changed.

import (
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/edits"
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

// label notes the labels of added links, many at a time. Labels of one link never
// overtake one another: of those in a batch only the last is noted, and a batch is
// over when it returns.
func (l *localLinks) label(ctx context.Context, changes []links.Change) error {
	if !slices.ContainsFunc(changes, func(c links.Change) bool { return c.Labels != nil }) {
		return nil
	}
	nothing := func(context.Context, string, func(string)) error { return nil } // what is there bears on no label
	plan, err := edits.Plan(ctx, l.predicate, changes, nothing)
	if err != nil {
		return err
	}
	return edits.Note(ctx, plan.Labels, func(ctx context.Context, link triple.Triple, label []byte) error {
		err := l.store.Annotate(ctx, link, links.Application, label)
		if errors.Is(err, node.ErrNotFound) { // another one has deleted it
			return nil
		}
		return err
	})
}

// linkPattern is the pattern of all links.
func linkPattern(predicate string) triple.Pattern {
	return triple.Pattern{Predicate: triple.NewIRI(predicate), DefaultGraph: true}
}

// hasLinks reports whether there is any.
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
