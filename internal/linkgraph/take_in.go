// Applying the store's feed: its changes become changes of the deltas.

package linkgraph

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// takenChanges and takenBytes bound, about, the part of the feed in one batch.
	takenChanges = 1 << 16
	takenBytes   = 16 << 20
)

// change is a change of the feed. Its ends are indexes in taken.urls.
type change struct {
	kind     feed.Kind
	src, dst int
}

// taken is a batch of changes, and their pages, each once.
type taken struct {
	changes []change
	urls    []string
	places  map[string]int
	size    int // bytes of the URLs
}

// page returns the index of a page.
func (t *taken) page(url []byte) int {
	at, ok := t.places[string(url)]
	if !ok {
		at = len(t.urls)
		t.urls = append(t.urls, string(url))
		t.places[t.urls[at]] = at
		t.size += len(url)
	}
	return at
}

// takeIn applies the next changes of the feed.
func (k *keeper) takeIn(ctx context.Context) error {
	// 1. Read a batch of whole requests. Loads, clears and trimmed changes make all cells invalid.
	t := &taken{places: map[string]int{}}
	clear(k.longs)
	log := k.store.ChangeFeed()
	last := k.feed
	for batch, err := range log.Changes(ctx, feed.Request{Since: log.At(k.feed), Filter: feed.Filter{Pattern: k.pattern}}) {
		if errors.Is(err, feed.ErrGone) {
			k.log.Warn("the link graph is built again, because it has fallen behind", "error", err)
			return k.rebuildAll(ctx)
		}
		if err != nil {
			return fmt.Errorf("read the feed: %w", err)
		}
		for i := range batch.Changes {
			c := &batch.Changes[i]
			if c.Key == nil {
				return k.rebuildAll(ctx)
			}
			if err := k.readChange(t, c); err != nil {
				return err
			}
			k.unsaved += int64(len(c.Key) + len(c.Long))
			k.unsavedChanges++
		}
		// A batch may end within a request. Then its position is the one before.
		last = batch.Position.Sequence(0)
		n := len(batch.Changes)
		whole := n == 0 || batch.Position.Covers(0, batch.Changes[n-1].Stamp)
		if whole && (len(t.changes) >= takenChanges || t.size >= takenBytes) {
			break
		}
	}
	// 2. Apply the batch, and publish once: readers see whole requests only.
	if err := k.apply(ctx, t); err != nil {
		return fmt.Errorf("take in changes of the feed up to %d: %w", last, err)
	}
	k.feed = max(k.feed, last)
	k.publish(k.parts, k.feed)
	return nil
}

// readChange reads a change of the feed, and skips it if it is of no link. If its long terms are
// missing, they have only their beginning and hash. Then they are searched among the known
// pages and among those of earlier changes.
func (k *keeper) readChange(t *taken, c *feed.Change) error {
	_, terms, err := triple.SplitKey(c.Key)
	if err != nil {
		return err
	}
	// 1. An added link has its whole terms beside the key.
	inKey := terms
	if c.Long != nil {
		if terms, err = triple.WholeTerms(terms, c.Long); err != nil {
			return err
		}
	}
	read := change{kind: c.Kind}
	// 2. Resolve both ends. A long form is remembered, because a later change may have only
	// that.
	for i, position := range [2]int{triple.Subject, triple.Object} {
		term := terms[position]
		iri, ok := iriOf(term)
		if !ok {
			return nil
		}
		if triple.IsLongTerm(term) && c.Long == nil {
			url, ok := k.longs[string(term)]
			if !ok {
				url, ok = k.long(term)
			}
			if !ok {
				return nil
			}
			iri = []byte(url)
		} else if triple.IsLongTerm(inKey[position]) {
			k.longs[string(inKey[position])] = string(iri)
		}
		*[2]*int{&read.src, &read.dst}[i] = t.page(iri)
	}
	t.changes = append(t.changes, read)
	return nil
}

// apply applies changes to the deltas.
func (k *keeper) apply(ctx context.Context, t *taken) error {
	if len(t.changes) == 0 {
		return nil
	}
	// 1. Resolve UIDs before the snapshot, because the snapshot must have their triples.
	ends, added, err := k.resolve(ctx, t)
	if err != nil {
		return err
	}
	sn, err := k.store.Snapshot()
	if err != nil {
		return err
	}
	defer sn.Close()
	// 2. Divide the changes by part, and append them.
	batches, err := k.batches(ctx, sn, t, ends, added)
	if err != nil {
		return err
	}
	for i, b := range batches {
		if b == nil || b.Len() == 0 {
			continue
		}
		if _, err := k.parts[i].delta.Append(b); err != nil {
			// Whatever the reason, the store's content counts.
			k.log.Error("changes do not fit to a cell", "cell", k.parts[i].Range.String(), "error", err)
			return k.rebuildAll(ctx)
		}
	}
	return nil
}

// batches returns the changes of each part.
func (k *keeper) batches(ctx context.Context, sn *store.Snapshot, t *taken, ends []uid.UID, added []bool) ([]*delta.Batch, error) {
	// 1. Each link belongs to the part of its source and to that of its target.
	s := &state{parts: k.parts}
	batches := make([]*delta.Batch, len(k.parts))
	at := func(u uid.UID) *delta.Batch {
		i := s.find(u)
		if batches[i] == nil {
			batches[i] = &delta.Batch{}
		}
		return batches[i]
	}
	for _, c := range t.changes {
		src, dst := ends[c.src], ends[c.dst]
		if src == 0 || dst == 0 {
			continue // deleted, between pages that never had a link here
		}
		label := cell.NoLabel
		if c.kind != feed.Add {
			// The present state counts, because a link may be in several graphs, and a later
			// request may have changed it again.
			link := links.Link(k.o.Predicate, t.urls[c.src], t.urls[c.dst])
			is, err := k.has(ctx, sn, link)
			if err != nil {
				return nil, err
			}
			if !is {
				at(src).Delete(cell.Forward, src, dst)
				at(dst).Delete(cell.Backward, dst, src)
				continue
			}
			if label, err = k.label(ctx, sn, link); err != nil {
				return nil, err
			}
		}
		// 2. A page must be in its part before its links.
		for _, end := range [2]int{c.src, c.dst} {
			if added[end] {
				at(ends[end]).Page(ends[end], []byte(t.urls[end]))
				added[end] = false // once is enough
			}
		}
		if label == cell.NoLabel {
			at(src).Add(cell.Forward, src, dst)
		} else {
			at(src).AddLabelled(src, dst, label)
		}
		at(dst).Add(cell.Backward, dst, src)
	}
	return batches, nil
}

// resolve returns the UIDs of the pages of changes, and assigns one to each page without it. added
// reports the pages that are in no cell and no delta.
func (k *keeper) resolve(ctx context.Context, t *taken) (ends []uid.UID, added []bool, err error) {
	ends, added = make([]uid.UID, len(t.urls)), make([]bool, len(t.urls))
	// 1. Take known UIDs, and look in the cells.
	s := k.current()
	others := k.known.Load().get(t.urls, ends)
	for i, u := range ends {
		added[i] = u != 0 && !s.view(u).Has(u)
	}
	var unknown []string
	for _, i := range others {
		var ok bool
		if ends[i], ok = s.lookUp(t.urls[i]); !ok {
			unknown = append(unknown, t.urls[i])
			added[i] = true
		}
	}
	// 2. The rest is looked up in the store, or gets new UIDs.
	if len(unknown) > 0 {
		found := map[string]uid.UID{}
		if _, err := k.Graph.resolve(ctx, unknown, found); err != nil {
			return nil, nil, err
		}
		for _, i := range others {
			if added[i] {
				ends[i] = found[t.urls[i]]
			}
		}
	}
	k.known.Load().add(t.urls, ends, others)
	return ends, added, nil
}

// current returns the state of the present deltas.
func (k *keeper) current() *state {
	s := &state{parts: k.parts, views: make([]*delta.View, len(k.parts))}
	for i, p := range k.parts {
		s.views[i] = p.delta.View()
	}
	return s
}

// resolve sets the UIDs of pages that no cell has: the one in the store, or a new one. It returns
// the number of new ones. It overwrites unknown.
func (g *Graph) resolve(ctx context.Context, unknown []string, ends map[string]uid.UID) (given int64, err error) {
	// 1. The lock must be held from the look-up to the assignment, because a page must not get
	// two UIDs.
	g.assigning.Lock()
	defer g.assigning.Unlock()
	sn, err := g.store.Snapshot()
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	rest := unknown[:0]
	for _, url := range unknown {
		u, err := findUID(ctx, sn, url)
		if err != nil {
			return 0, err
		}
		if u == 0 {
			rest = append(rest, url)
			continue
		}
		ends[url] = u
		g.hosts.add(u.Extent(), []byte(url))
	}
	// 2. Assign the rest.
	err = g.assigner.assign(ctx, rest, func(some []assigned) error {
		given += int64(len(some))
		for _, a := range some {
			ends[a.url] = a.uid
			g.hosts.add(a.uid.Extent(), []byte(a.url))
		}
		return nil
	})
	return given, err
}

// has reports whether a link is in the store, in any graph.
func (k *keeper) has(ctx context.Context, sn *store.Snapshot, t triple.Triple) (bool, error) {
	p := triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object}
	for _, err := range sn.Match(ctx, p, store.ReadOptions{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// label returns a link's label. If it cannot be decoded, it is logged and left out.
func (k *keeper) label(ctx context.Context, sn *store.Snapshot, t triple.Triple) (cell.Label, error) {
	a, err := sn.Annotation(ctx, t, application)
	if err != nil || a == nil {
		return cell.NoLabel, err
	}
	label, err := decodeLabel(a.Data)
	if err != nil {
		k.log.Warn("a label could not be read", "source", t.Subject.Value(), "target", t.Object.Value(), "error", err)
		return cell.NoLabel, nil
	}
	return label, nil
}
