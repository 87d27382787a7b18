// Samples and degrees.

package ranges

import (
	"context"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// sampledPages is of how many pages samples are held at a time beside the answer.
const sampledPages = 1 << 13

// SampleLinks implements links.Graph.
func (g *Graph) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (l links.Lists, err error) {
	err = g.readAgain(ctx, func(r *reader) error {
		l = links.Lists{}
		for part := range slices.Chunk(pages, sampledPages) {
			if err := r.sample(ctx, d, part, s, &l); err != nil {
				return err
			}
		}
		return nil
	})
	return l, err
}

// sample appends samples of the links of pages.
func (r *reader) sample(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec, l *links.Lists) error {
	a := askAbout(d, wantSamples, s, pages)
	var rest []int
	var err error
	if s.N > maxSampled {
		rest, err = r.distinct(ctx, a, a.all())
	} else {
		rest, err = r.fromOwners(ctx, a)
	}
	if err == nil {
		err = r.sampleRest(ctx, a, rest)
	}
	if err != nil {
		return err
	}
	a.repeated()
	for i := range pages {
		if l.Items, err = a.append(l.Items, i); err != nil {
			return err
		}
		l.End()
	}
	return nil
}

// sampleRest draws samples of lists whose owners did not.
func (r *reader) sampleRest(ctx context.Context, a *asking, rest []int) error {
	pages := make([]uid.UID, len(rest))
	for i, item := range rest {
		pages[i] = a.pages[item]
	}
	return r.eachList(ctx, a.d, pages, func(i int, list []uid.UID) error {
		var h hosts
		if a.spec.Class != sample.All {
			h = hosts{}
			if err := r.learn(ctx, h, pages[i:i+1]); err != nil {
				return err
			}
			if err := r.learn(ctx, h, list); err != nil {
				return err
			}
		}
		a.tell(rest[i], sample.Sample([]uid.UID{}, list, pages[i], a.spec, h))
		return nil
	})
}

// Degrees implements links.Graph.
func (g *Graph) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) (degrees []int, err error) {
	return degrees, g.readAgain(ctx, func(r *reader) error {
		degrees = make([]int, 0, len(pages))
		for part := range slices.Chunk(pages, sampledPages) {
			if degrees, err = r.degrees(ctx, d, part, degrees); err != nil {
				return err
			}
		}
		return nil
	})
}

// degrees appends how many links pages have.
func (r *reader) degrees(ctx context.Context, d links.Direction, pages []uid.UID, dst []int) ([]int, error) {
	a := askAbout(d, wantDegrees, sample.Spec{}, pages)
	rest, err := r.fromOwners(ctx, a)
	if err != nil {
		return dst, err
	}
	// Others than the owners may tell whole lists.
	left := make([]uid.UID, len(rest))
	for i, item := range rest {
		left[i] = a.pages[item]
	}
	whole := askAbout(d, wantLists, sample.Spec{}, left)
	rows, err := r.fromOwners(ctx, whole)
	if err != nil {
		return dst, err
	}
	for i, item := range rest {
		a.replies[item].degree = whole.length(i)
	}
	urls := make([]string, len(rows))
	for i, at := range rows {
		urls[i] = whole.urls[at]
	}
	err = r.targets(ctx, d, urls, func(i int, _ []byte) error {
		a.replies[rest[rows[i]]].degree++
		return nil
	})
	if err != nil {
		return dst, err
	}
	a.repeated()
	for i := range pages {
		dst = append(dst, a.replies[i].degree)
	}
	return dst, nil
}

// fromParts has machines answer about lists of which each reads a part. A consistent
// sample is the smallest links of those of the parts; another one cannot be put together.
func (r *reader) fromParts(ctx context.Context, v *view.View, a *asking, items []int) (rest []int, err error) {
	if len(items) == 0 || a.want == wantSamples && a.spec.Mode != sample.ModeConsistent {
		return items, nil
	}
	now := r.graph.standing(v)
	byOwner := map[trie.MachineID][]askedPart{}
	told := make([][]reply, len(items)) // by part
	for n, item := range items {
		pieces, _ := now.pieces(r.graph.listRange(a.d, a.urls[item]), 0)
		told[n] = make([]reply, len(pieces))
		for i, p := range pieces {
			byOwner[p.owner] = append(byOwner[p.owner], askedPart{
				askedList{a.pages[item], a.urls[item], p.Range}, &told[n][i]})
		}
	}
	var asking sync.WaitGroup
	for owner, parts := range byOwner {
		asking.Go(func() { r.graph.askParts(ctx, v, a, owner, parts) })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for n, item := range items {
		whole, ok := merge(told[n], a.spec.N)
		if !ok {
			rest = append(rest, item)
			continue
		}
		a.replies[item], a.known[item] = whole, true
	}
	return rest, nil
}

// askedPart is a part of a list, and what is told of it.
type askedPart struct {
	askedList
	told *reply
}

// askParts asks a machine about parts of lists. What it does not answer stays unknown.
func (g *Graph) askParts(ctx context.Context, v *view.View, a *asking, owner trie.MachineID, parts []askedPart) {
	for len(parts) > 0 {
		q := &question{epoch: v.Epoch, d: a.d, want: a.want, spec: a.spec}
		for i := range parts[:min(len(parts), askedLists)] {
			q.lists = append(q.lists, parts[i].askedList)
		}
		replies, err := g.askOwner(ctx, owner, q)
		if err != nil {
			g.o.Logger.Debug("parts of lists are not answered", "machine", owner, "error", err)
			return
		}
		var later []askedPart
		for i, p := range parts[:len(replies)] {
			if *p.told = replies[i]; replies[i].state == repliedLater {
				later = append(later, p)
			}
		}
		parts = append(later, parts[len(replies):]...)
	}
}

// merge returns what the parts of a list are together, in their order; false where not all
// are known. A link that ends one part and begins the next one is one.
func merge(parts []reply, n int) (whole reply, ok bool) {
	var drawn []uid.UID
	last := ""
	for i := range parts {
		p := &parts[i]
		if p.state != repliedKnown {
			return whole, false
		}
		if p.degree == 0 {
			continue
		}
		if whole.degree += p.degree; p.ends[0] == last {
			whole.degree--
		}
		last = p.ends[1]
		var err error
		if drawn, err = unpack(drawn, p.packed); err != nil {
			return whole, false
		}
	}
	slices.Sort(drawn)
	drawn = slices.Compact(drawn)
	whole.packed = appendPacked(nil, sample.Consistent(nil, drawn, n, sample.All, sample.Classes{}))
	whole.state = repliedKnown
	return whole, true
}
