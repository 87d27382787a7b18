// Package updates changes the links of a cluster's graph.
//
// [Updater.Update] assigns UIDs to new pages, then plans the triples to add and delete
// (package edits) and writes them. If a list is replaced, all changes of its page go
// through one machine, which holds a lock of the page (links/replace). So of two
// replacements under one view, the later one reads the list of the earlier one.
package updates

import (
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/epochs"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linklists"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// changedLinks is about the number of links that are changed at a time.
const changedLinks = 20_000

// Update implements links.Graph. If replacements of a page's list end without an error, they
// leave one list, the last one's, on whichever machines they were called; see
// [Updater.replace]. If a list is long, or the machine that must replace it has no graph of
// links, links of two lists may remain. Adds and deletes beside a replacement count link by
// link.
func (g *Updater) Update(ctx context.Context, changes []links.Change) (result links.UpdateResult, err error) {
	// 1. Check everything before anything is written.
	for i := range changes {
		if err := edits.Check(&changes[i]); err != nil {
			return result, fmt.Errorf("change %d: %w", i, err)
		}
	}
	// 2. Make the changes in parts of about changedLinks. A long change is a part of its own.
	for len(changes) > 0 {
		if isLong(&changes[0]) {
			err := g.Read(ctx, func(r *rowreader.Reader) error { return g.updateLong(ctx, r, &changes[0], &result) })
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
		err := g.Read(ctx, func(r *rowreader.Reader) error { return g.updatePart(ctx, r, changes[:n], &result) })
		if err != nil {
			return result, err
		}
		changes = changes[n:]
	}
	result.Epoch = g.epochs.EpochOrZero(ctx, 0)
	return result, nil
}

// updateLong makes a change of very many links, in parts: readers may see some before others.
// If a list is replaced, old links are deleted first.
func (g *Updater) updateLong(ctx context.Context, r *rowreader.Reader, c *links.Change, result *links.UpdateResult) error {
	// 1. A replacement deletes what is not in the new list, and then only adds.
	part := links.Change{Kind: c.Kind, Source: c.Source}
	if c.Kind == links.ReplaceLinks {
		part.Kind = links.AddLinks
		kept := make(map[string]bool, len(c.Targets))
		for _, target := range c.Targets {
			kept[target] = true
		}
		gone := links.Change{Kind: links.DeleteLinks, Source: c.Source}
		err := g.forEachTarget(ctx, r, c.Source, func(dst string) {
			if !kept[dst] {
				gone.Targets = append(gone.Targets, dst)
			}
		})
		if err == nil && len(gone.Targets) > 0 {
			err = g.updateLong(ctx, r, &gone, result)
		}
		if err != nil {
			return err
		}
	}
	// 2. Make the change part by part.
	for at := 0; at < len(c.Targets); at += changedLinks {
		end := min(at+changedLinks, len(c.Targets))
		part.Targets = c.Targets[at:end]
		if c.Labels != nil {
			part.Labels = c.Labels[at:end]
		}
		if err := g.updatePart(ctx, r, []links.Change{part}, result); err != nil {
			return err
		}
	}
	return nil
}

// updatePart makes changes. Pages get their UIDs first, and deletes come before adds.
func (g *Updater) updatePart(ctx context.Context, r *rowreader.Reader, changes []links.Change, result *links.UpdateResult) error {
	urls := edits.Pages(changes)
	found, err := g.uids.LookUpUIDs(ctx, r, urls)
	if err != nil {
		return err
	}
	var without []string
	for i, u := range found {
		if u == 0 {
			without = append(without, urls[i])
		}
	}
	for pages := range slices.Chunk(without, assign.MaxAssigned) {
		if _, err := g.uids.RequestUIDs(ctx, pages); err != nil {
			return err
		}
		result.Pages += int64(len(pages))
	}
	if changes, err = g.replace(ctx, changes, result); err != nil || len(changes) == 0 {
		return err
	}
	plan, err := edits.Plan(ctx, g.Keys.Predicate, changes, g.targetsOf(r))
	if err != nil {
		return err
	}
	return g.apply(ctx, plan, result, func() error { return nil })
}

// apply executes a plan, part by part, while may returns nil.
func (g *Updater) apply(ctx context.Context, plan edits.Edits, result *links.UpdateResult, may func() error) error {
	for part := range slices.Chunk(plan.Delete, changedLinks) {
		if err := may(); err != nil {
			return err
		}
		done, err := g.Store.Delete(ctx, part)
		result.Deleted += done.Deleted
		if err != nil {
			return fmt.Errorf("delete links: %w", err)
		}
	}
	for part := range slices.Chunk(plan.Add, changedLinks) {
		if err := may(); err != nil {
			return err
		}
		done, err := g.Store.Add(ctx, part)
		result.Added += done.Added
		if err != nil {
			return fmt.Errorf("add links: %w", err)
		}
	}
	return edits.Note(ctx, plan.Labels, func(ctx context.Context, link triple.Triple, label []byte) error {
		return g.Store.Annotate(ctx, link, links.Application, label)
	})
}

// Updater changes links.
type Updater struct {
	*rowreader.Readers
	uids   *assign.Assigner
	lists  *linklists.Reader
	epochs *epochs.Epochs
	turns  serializing
}

// New returns an Updater.
func New(r *rowreader.Readers, uids *assign.Assigner, lists *linklists.Reader, epochs *epochs.Epochs) *Updater {
	return &Updater{Readers: r, uids: uids, lists: lists, epochs: epochs, turns: serializing{messages: make(chan struct{}, maxReplaceMessages)}}
}
