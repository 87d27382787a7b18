// Package edits tells what changes of links mean for the triples of a store: which
// are added and deleted, and which labels are noted, given what is there.
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

// Edits are what is to be done to a store, in this order.
type Edits struct {
	Delete, Add []triple.Triple
	Labels      []Labelled // of triples that are there then
}

// Labelled is a link that gets a label.
type Labelled struct {
	Link  triple.Triple
	Label cell.Label
}

// Targets calls do with the targets of a page's links in the default graph, as the
// store has them.
type Targets func(ctx context.Context, src string, do func(dst string)) error

// Check returns what is wrong with a change, a links.ErrInvalid.
func Check(c *links.Change) error {
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

// link is one of the links that changes are about.
type link struct{ src, dst string }

// end is what becomes of a link.
type end struct {
	there bool // what is to be
	fresh bool // it was deleted on the way: what was noted on it is gone
	label cell.Label
}

// planner goes through changes.
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

// clear removes the links of a page besides those to some targets.
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

// Reads tells that what changes come to depends on what is there: Plan calls targets.
func Reads(changes []links.Change) bool {
	return slices.ContainsFunc(changes, func(c links.Change) bool { return c.Kind == links.ReplaceLinks })
}

// plain returns what changes come to that are all of one kind, adds without labels or
// deletes: just that, some of it more than once where they say it more than once.
func plain(predicate string, changes []links.Change) (e Edits, ok bool) {
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

// Plan returns what changes, made one after the other, come to.
func Plan(ctx context.Context, predicate string, changes []links.Change, targets Targets) (e Edits, err error) {
	if e, ok := plain(predicate, changes); ok {
		return e, nil
	}
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
// order in particular.
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

// noting is how many labels are on their way at a time.
const noting = 256

// Note has labels noted by note, many at a time: those that wait share a commit.
func Note(ctx context.Context, labels []Labelled, note func(ctx context.Context, link triple.Triple, label []byte) error) error {
	return each(ctx, len(labels), noting, func(i int) error {
		if err := note(ctx, labels[i].Link, lists.AppendLabel(nil, labels[i].Label)); err != nil {
			return fmt.Errorf("note the label of a link: %w", err)
		}
		return nil
	})
}
