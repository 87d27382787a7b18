// Package edits computes what changes of links mean for the triples of a store: which are added
// and deleted, and which labels are annotated, given the present triples.
package edits

import (
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/triple"
)

// Edits are the operations on a store, in this order.
type Edits struct {
	Delete, Add []triple.Triple
	Labels      []Labelled // of triples that exist then
}

// Labelled is the triple of a link, or of a page's UID, that gets a label.
type Labelled struct {
	Triple triple.Triple
	Label  cell.Label
}

// Targets calls do with the targets of a page's links in the default graph of the store.
type Targets func(ctx context.Context, src string, do func(dst string)) error

// Check returns links.ErrInvalid with the reason if a change is invalid.
func Check(c *links.Change) error {
	if c.Kind > links.LabelPage {
		return fmt.Errorf("%w: there is no kind %d", links.ErrInvalid, c.Kind)
	}
	if c.Kind == links.LabelPage && (len(c.Labels) != 1 || len(c.Targets) > 0) {
		return fmt.Errorf("%w: %d labels of a page, and %d targets; one label is expected, and no target", links.ErrInvalid, len(c.Labels), len(c.Targets))
	}
	if c.Kind != links.LabelPage && c.Labels != nil && (len(c.Labels) != len(c.Targets) || c.Kind == links.DeleteLinks) {
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

// link is one of the links of the changes.
type link struct{ src, dst string }

// end is the final state of a link.
type end struct {
	there bool // whether it must exist
	fresh bool // it was deleted on the way, so its annotations are gone
	label cell.Label
}

// planner is the state of a plan.
type planner struct {
	ends  map[link]*end
	order []link
	of    map[string][]string // targets by source
}

func (p *planner) get(l link) *end {
	if p.ends[l] == nil {
		p.ends[l] = &end{label: cell.NoLabel}
		p.order = append(p.order, l)
		p.of[l.src] = append(p.of[l.src], l.dst)
	}
	return p.ends[l]
}

func (p *planner) remove(l link) { *p.get(l) = end{fresh: true, label: cell.NoLabel} }

// clear removes the links of a page except those to some targets.
func (p *planner) clear(ctx context.Context, src string, but []string, targets Targets) error {
	kept := make(map[string]bool, len(but))
	for _, target := range but {
		kept[target] = true
	}
	for _, dst := range p.of[src] {
		if !kept[dst] {
			p.remove(link{src, dst})
		}
	}
	return targets(ctx, src, func(dst string) {
		if !kept[dst] {
			p.remove(link{src, dst})
		}
	})
}

// Reads reports whether the result of changes depends on the store: then Plan calls targets.
func Reads(changes []links.Change) bool {
	return slices.ContainsFunc(changes, func(c links.Change) bool { return c.Kind == links.ReplaceLinks })
}

// plain returns the edits of changes of one kind, adds without labels or deletes. They are the
// changes themselves, with repetitions. ok is false if the changes are of another kind.
func plain(predicate string, changes []links.Change) (e Edits, ok bool) {
	// Check that all changes are of the same plain kind.
	n := 0
	for i := range changes {
		c := &changes[i]
		if c.Kind != changes[0].Kind || c.Kind == links.ReplaceLinks || c.Labels != nil {
			return e, false
		}
		n += len(c.Targets)
	}
	list := make([]triple.Triple, 0, n)
	for i := range changes {
		c := &changes[i]
		for _, target := range c.Targets {
			list = append(list, links.Link(predicate, c.Source, target))
		}
	}
	if len(changes) > 0 && changes[0].Kind == links.DeleteLinks {
		return Edits{Delete: list}, true
	}
	return Edits{Add: list}, true
}

// Plan returns the edits of changes that are made one after the other.
func Plan(ctx context.Context, predicate string, changes []links.Change, targets Targets) (e Edits, err error) {
	// 1. Plain changes do not depend on each other.
	if e, ok := plain(predicate, changes); ok {
		return e, nil
	}
	// 2. Replay the changes in memory. A later one overrides an earlier one.
	p := planner{ends: map[link]*end{}, of: map[string][]string{}}
	for i := range changes {
		c := &changes[i]
		if c.Kind == links.ReplaceLinks {
			if err := p.clear(ctx, c.Source, c.Targets, targets); err != nil {
				return e, err
			}
		}
		for j, target := range c.Targets {
			l := link{c.Source, target}
			if c.Kind == links.DeleteLinks {
				p.remove(l)
				continue
			}
			to := p.get(l)
			if to.there = true; c.Labels != nil && c.Labels[j] != cell.NoLabel {
				to.label = c.Labels[j]
			}
		}
	}
	// 3. Turn final states into edits. A fresh link is deleted first, because its old label
	// must go.
	for _, l := range p.order {
		t := links.Link(predicate, l.src, l.dst)
		to := p.ends[l]
		if to.fresh {
			e.Delete = append(e.Delete, t)
		}
		if !to.there {
			continue
		}
		e.Add = append(e.Add, t)
		if to.label != cell.NoLabel {
			e.Labels = append(e.Labels, Labelled{t, to.label})
		}
	}
	return e, nil
}

// Pages returns the URLs of the pages that changes may give links to, each once, in no
// particular order.
func Pages(changes []links.Change) []string {
	seen := map[string]bool{}
	var urls []string
	look := func(url string) {
		if !seen[url] {
			seen[url] = true
			urls = append(urls, url)
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
	return urls
}

// concurrentLabels is the number of labels that are written concurrently.
const concurrentLabels = 256

// WriteLabels calls note for the labels, many concurrently, because those that wait share a commit. A
// label that is cell.NoLabel is nil.
func WriteLabels(ctx context.Context, labels []Labelled, annotate func(ctx context.Context, t triple.Triple, label []byte) error) error {
	return Each(ctx, len(labels), concurrentLabels, func(i int) error {
		var label []byte
		if labels[i].Label != cell.NoLabel {
			label = lists.AppendLabel(nil, labels[i].Label)
		}
		if err := annotate(ctx, labels[i].Triple, label); err != nil {
			return fmt.Errorf("write a label: %w", err)
		}
		return nil
	})
}
