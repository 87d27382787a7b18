// Changing the graph: its triples first.

package links

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// changedLinks is about how many links one change of the store has.
	changedLinks = 20_000
	// labelsAtOnce is how many labels are on their way at a time.
	labelsAtOnce = 256
)

// Update implements links.Graph.
func (g *Graph) Update(ctx context.Context, changes []links.Change) (result links.UpdateResult, err error) {
	for i := range changes {
		if err := g.check(&changes[i]); err != nil {
			return result, fmt.Errorf("change %d: %w", i, err)
		}
	}
	for len(changes) > 0 {
		if len(changes[0].Targets) > changedLinks {
			if err := g.updateLong(ctx, &changes[0], &result); err != nil {
				return result, err
			}
			changes = changes[1:]
			continue
		}
		n, size := 1, len(changes[0].Targets)
		for n < len(changes) && size+len(changes[n].Targets) <= changedLinks {
			size += len(changes[n].Targets)
			n++
		}
		if err := g.update(ctx, changes[:n], &result); err != nil {
			return result, err
		}
		changes = changes[n:]
	}
	s, err := g.caughtUp(ctx)
	if err != nil {
		return result, fmt.Errorf("the changes are durable, and not seen by readers yet: %w", err)
	}
	result.Epoch = s.feed
	return result, nil
}

// updateLong makes a change of very many links, in parts: readers may see some of them
// before others. Where a list is replaced, what goes goes first.
func (g *Graph) updateLong(ctx context.Context, c *links.Change, result *links.UpdateResult) error {
	kind := c.Kind
	if kind == links.ReplaceLinks {
		kind = links.AddLinks
		gone, err := g.besides(ctx, c)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(gone, changedLinks) {
			if err := g.update(ctx, []links.Change{{Kind: links.DeleteLinks, Source: c.Source, Targets: part}}, result); err != nil {
				return err
			}
		}
	}
	for at := 0; at < len(c.Targets); at += changedLinks {
		end := min(at+changedLinks, len(c.Targets))
		part := links.Change{Kind: kind, Source: c.Source, Targets: c.Targets[at:end]}
		if c.Labels != nil {
			part.Labels = c.Labels[at:end]
		}
		if err := g.update(ctx, []links.Change{part}, result); err != nil {
			return err
		}
	}
	return nil
}

// besides returns the targets that a page has in the store beside those of a change.
func (g *Graph) besides(ctx context.Context, c *links.Change) (gone []string, err error) {
	kept := make(map[string]bool, len(c.Targets))
	for _, target := range c.Targets {
		kept[target] = true
	}
	sn, err := g.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	err = g.eachTarget(ctx, sn, c.Source, func(dst string) {
		if !kept[dst] {
			gone = append(gone, dst)
		}
	})
	return gone, err
}

// check returns what is wrong with a change.
func (g *Graph) check(c *links.Change) error {
	if c.Kind > links.ReplaceLinks {
		return fmt.Errorf("%w: there is no kind %d", links.ErrInvalid, c.Kind)
	}
	if c.Labels != nil && (len(c.Labels) != len(c.Targets) || c.Kind == links.DeleteLinks) {
		return fmt.Errorf("%w: %d labels for %d targets", links.ErrInvalid, len(c.Labels), len(c.Targets))
	}
	for i := range c.Labels {
		if len(c.Labels[i].Anchor) > lists.MaxAnchor {
			return fmt.Errorf("%w: an anchor of %d bytes; %d is the most", links.ErrInvalid, len(c.Labels[i].Anchor), lists.MaxAnchor)
		}
	}
	source := triple.NewIRI(c.Source)
	if err := source.Check(); err != nil {
		return fmt.Errorf("%w: source: %w", links.ErrInvalid, err)
	}
	for i, target := range c.Targets {
		term := triple.NewIRI(target)
		if err := term.Check(); err != nil {
			return fmt.Errorf("%w: target %d: %w", links.ErrInvalid, i, err)
		}
	}
	return nil
}

// labelledLink is a link that gets a label.
type labelledLink struct {
	link  triple.Triple
	label cell.Label
}

// update makes changes as one change of the store, and then notes labels.
func (g *Graph) update(ctx context.Context, changes []links.Change, result *links.UpdateResult) error {
	pages, err := g.nameAll(ctx, changes)
	if err != nil {
		return err
	}
	result.Pages += pages
	var labels []labelledLink
	done, err := g.store.Update(ctx, func(sn *node.Snapshot) (node.Changes, error) {
		labels = labels[:0]
		return g.plan(ctx, sn, changes, &labels)
	})
	if err != nil {
		return fmt.Errorf("change links: %w", err)
	}
	result.Added += done.Added
	result.Deleted += done.Deleted
	return g.note(ctx, labels)
}

// nameAll gives UIDs to the pages that are to have links and have none, all at once: so
// that those of a host are numbered in their order.
func (g *Graph) nameAll(ctx context.Context, changes []links.Change) (given int64, err error) {
	s, err := g.now(ctx)
	if err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	var unknown []string
	look := func(url string) {
		if seen[url] {
			return
		}
		seen[url] = true
		if _, ok := s.lookUp(url); !ok {
			unknown = append(unknown, url)
		}
	}
	for i := range changes {
		c := &changes[i]
		if c.Kind == links.DeleteLinks || len(c.Targets) == 0 {
			continue
		}
		look(c.Source)
		for _, target := range c.Targets {
			look(target)
		}
	}
	if len(unknown) == 0 {
		return 0, nil
	}
	return g.resolve(ctx, unknown, map[string]uid.UID{})
}

// plan returns the change of the store that changes of links are, as it is now, and
// the labels to be noted.
func (g *Graph) plan(ctx context.Context, sn *node.Snapshot, changes []links.Change, labels *[]labelledLink) (node.Changes, error) {
	type key struct{ src, dst string }
	type end struct {
		there bool // what is to be
		fresh bool // it was deleted on the way: what was noted on it is gone
		label cell.Label
	}
	ends := map[key]*end{}
	var order []key
	of := map[string][]string{} // targets by source
	get := func(k key) *end {
		if ends[k] == nil {
			ends[k] = &end{label: cell.NoLabel}
			order = append(order, k)
			of[k.src] = append(of[k.src], k.dst)
		}
		return ends[k]
	}
	remove := func(k key) { *get(k) = end{fresh: true, label: cell.NoLabel} }
	for i := range changes {
		c := &changes[i]
		if c.Kind == links.ReplaceLinks {
			kept := make(map[string]bool, len(c.Targets))
			for _, target := range c.Targets {
				kept[target] = true
			}
			for _, dst := range of[c.Source] {
				if !kept[dst] {
					remove(key{c.Source, dst})
				}
			}
			err := g.eachTarget(ctx, sn, c.Source, func(dst string) {
				if !kept[dst] {
					remove(key{c.Source, dst})
				}
			})
			if err != nil {
				return node.Changes{}, err
			}
		}
		for j, target := range c.Targets {
			k := key{c.Source, target}
			if c.Kind == links.DeleteLinks {
				remove(k)
				continue
			}
			e := get(k)
			if e.there = true; c.Labels != nil && c.Labels[j] != cell.NoLabel {
				e.label = c.Labels[j]
			}
		}
	}
	var added, deleted []triple.Triple
	for _, k := range order {
		t := links.Link(g.o.Predicate, k.src, k.dst)
		e := ends[k]
		if e.fresh {
			deleted = append(deleted, t)
		}
		if !e.there {
			continue
		}
		added = append(added, t)
		if e.label != cell.NoLabel {
			*labels = append(*labels, labelledLink{t, e.label})
		}
	}
	return node.Changes{Add: slices.Values(added), Delete: slices.Values(deleted)}, nil
}

// eachTarget calls do with the targets of a page's links in the default graph.
func (g *Graph) eachTarget(ctx context.Context, sn *node.Snapshot, src string, do func(dst string)) error {
	p := triple.Pattern{Subject: triple.NewIRI(src), Predicate: triple.NewIRI(g.o.Predicate)}
	for row, err := range sn.Match(ctx, p, node.ReadOptions{}) {
		if err != nil {
			return err
		}
		t, err := row.Triple()
		if err != nil {
			return err
		}
		if t.Graph.IsZero() && t.Object.Kind() == triple.IRI {
			do(t.Object.Value())
		}
	}
	return nil
}

// note notes labels, many at a time: those that wait share a commit.
func (g *Graph) note(ctx context.Context, labels []labelledLink) error {
	if len(labels) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan labelledLink)
	var group sync.WaitGroup
	for range min(labelsAtOnce, len(labels)) {
		group.Go(func() {
			for l := range work {
				if err := g.store.Annotate(ctx, l.link, application, lists.AppendLabel(nil, l.label)); err != nil {
					cancel(fmt.Errorf("note the label of a link: %w", err))
				}
			}
		})
	}
	for _, l := range labels {
		if ctx.Err() != nil {
			break
		}
		work <- l
	}
	close(work)
	group.Wait()
	return context.Cause(ctx)
}
