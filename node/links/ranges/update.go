package ranges

import (
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node/links/edits"
	"github.com/trefoildb/trefoil/triple"
)

// changedLinks is about how many links are changed at a time.
const changedLinks = 20_000

// Update implements links.Graph. Replacements of a page's list that end without an error
// leave one list, the last one's, whichever machines are asked for them; see
// [Graph.replace]. Of lists that are long, or replaced while a machine has no graph of
// links that is to do it, links of two may be left. Adds and deletes beside a replacement
// count link by link.
func (g *Graph) Update(ctx context.Context, changes []links.Change) (result links.UpdateResult, err error) {
	for i := range changes {
		if err := edits.Check(&changes[i]); err != nil {
			return result, fmt.Errorf("change %d: %w", i, err)
		}
	}
	for len(changes) > 0 {
		if isLong(&changes[0]) {
			err := g.read(ctx, func(r *reader) error { return r.updateLong(ctx, &changes[0], &result) })
			if err != nil {
				return result, err
			}
			changes = changes[1:]
			continue
		}
		n, size := 1, len(changes[0].Targets)
		for n < len(changes) && size+len(changes[n].Targets) <= changedLinks && !isLong(&changes[n]) {
			size += len(changes[n].Targets)
			n++
		}
		err := g.read(ctx, func(r *reader) error { return r.update(ctx, changes[:n], &result) })
		if err != nil {
			return result, err
		}
		changes = changes[n:]
	}
	result.Epoch = g.toldEpoch(ctx, 0)
	return result, nil
}

// updateLong makes a change of very many links, in parts: readers may see some of them
// before others. Where a list is replaced, what goes goes first.
func (r *reader) updateLong(ctx context.Context, c *links.Change, result *links.UpdateResult) error {
	part := links.Change{Kind: c.Kind, Source: c.Source}
	if c.Kind == links.ReplaceLinks {
		part.Kind = links.AddLinks
		kept := make(map[string]bool, len(c.Targets))
		for _, target := range c.Targets {
			kept[target] = true
		}
		gone := links.Change{Kind: links.DeleteLinks, Source: c.Source}
		err := r.eachTarget(ctx, c.Source, func(dst string) {
			if !kept[dst] {
				gone.Targets = append(gone.Targets, dst)
			}
		})
		if err == nil && len(gone.Targets) > 0 {
			err = r.updateLong(ctx, &gone, result)
		}
		if err != nil {
			return err
		}
	}
	for at := 0; at < len(c.Targets); at += changedLinks {
		end := min(at+changedLinks, len(c.Targets))
		part.Targets = c.Targets[at:end]
		if c.Labels != nil {
			part.Labels = c.Labels[at:end]
		}
		if err := r.update(ctx, []links.Change{part}, result); err != nil {
			return err
		}
	}
	return nil
}

// update makes changes: pages get their UIDs first, and what goes goes before what comes.
func (r *reader) update(ctx context.Context, changes []links.Change, result *links.UpdateResult) error {
	g := r.graph
	urls := edits.Pages(changes)
	found, err := r.uids(ctx, urls)
	if err != nil {
		return err
	}
	var without []string
	for i, u := range found {
		if u == 0 {
			without = append(without, urls[i])
		}
	}
	for pages := range slices.Chunk(without, namedAtOnce) {
		if _, err := g.name(ctx, pages); err != nil {
			return err
		}
		result.Pages += int64(len(pages))
	}
	if changes, err = g.replace(ctx, changes, result); err != nil || len(changes) == 0 {
		return err
	}
	plan, err := edits.Plan(ctx, g.o.Predicate, changes, r.eachTarget)
	if err != nil {
		return err
	}
	return g.carryOut(ctx, plan, result, func() error { return nil })
}

// carryOut does what was planned, part by part, while may returns nil.
func (g *Graph) carryOut(ctx context.Context, plan edits.Edits, result *links.UpdateResult, may func() error) error {
	for part := range slices.Chunk(plan.Delete, changedLinks) {
		if err := may(); err != nil {
			return err
		}
		done, err := g.store.Delete(ctx, part)
		result.Deleted += done.Deleted
		if err != nil {
			return fmt.Errorf("delete links: %w", err)
		}
	}
	for part := range slices.Chunk(plan.Add, changedLinks) {
		if err := may(); err != nil {
			return err
		}
		done, err := g.store.Add(ctx, part)
		result.Added += done.Added
		if err != nil {
			return fmt.Errorf("add links: %w", err)
		}
	}
	return edits.Note(ctx, plan.Labels, func(ctx context.Context, link triple.Triple, label []byte) error {
		return g.store.Annotate(ctx, link, links.Application, label)
	})
}
