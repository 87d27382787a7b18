// Applying the feed: its changes become changes of the deltas.

package keep

import (
	"context"
	"fmt"
	"sort"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// TakeIn applies the next changes of the feed.
func (k *Keeper) TakeIn(ctx context.Context, t *Taken) error {
	// The rows of a load are read first, because they may make all cells void.
	if !t.Void {
		if err := k.readLoads(ctx, t); err != nil {
			return fmt.Errorf("read the links of a bulk load: %w", err)
		}
	}
	if t.Void {
		k.void(t.At)
		return nil
	}
	if t.counted {
		k.Changes++
	}
	k.plain.TakeIn(t.At, t.linked, t.mixed)
	t.mark(k.Parts)
	if len(t.Changes) > 0 {
		k.unsavedChanges += int64(len(t.Changes))
		k.unsaved += int64(t.size)
	}
	if err := k.apply(ctx, t, k.Parts); err != nil {
		k.lose(err)
		return fmt.Errorf("take in changes of the feed up to %s: %w", t.At, err)
	}
	k.At = t.At
	k.Board.KeepFailure.Store(nil)
	// Drop what only these changes needed, before the bound of memory is checked.
	k.unload()
	k.shed() // before readers may see a graph of this position
	k.publish()
	return nil
}

// pageOf is a page of changes.
type pageOf struct {
	part  int // index of its part; -1 if it is in none
	uid   uid.UID
	added bool // it is in no cell and no delta yet
}

// applier applies changes to some parts.
type applier struct {
	*Keeper
	parts   []*state.Part
	views   []*delta.View
	pages   []pageOf // by index in taken.urls
	batches []*delta.Batch
	present []bool             // by change: the link of a deleted triple still exists, in another graph
	labels  map[int]cell.Label // by change: of links that are added although they exist
}

// apply applies changes to the deltas of parts. It skips the changes that lie before the position
// of a part.
func (k *Keeper) apply(ctx context.Context, t *Taken, parts []*state.Part) error {
	if len(t.Changes) == 0 || len(parts) == 0 {
		return nil
	}
	// 1. Find the changes of these parts.
	a := &applier{Keeper: k, parts: parts, views: make([]*delta.View, len(parts)), pages: make([]pageOf, len(t.URLs)), batches: make([]*delta.Batch, len(parts))}
	for i, p := range parts {
		a.views[i] = p.Delta.View()
	}
	for i, url := range t.URLs {
		a.pages[i].part = a.partOf(machine.PartitionOfURL(url), url)
	}
	changes := t.Changes[:0:0]
	for _, c := range t.Changes {
		if a.concerns(c, c.src) || a.concerns(c, c.Dst) {
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	// 2. Resolve UIDs before rows are read, because the rows must have them.
	if err := a.resolve(ctx, changes, t.URLs); err != nil {
		return err
	}
	if err := a.findPresent(ctx, changes, t.URLs); err != nil {
		return err
	}
	if err := a.findLabels(ctx, changes, t.URLs); err != nil {
		return err
	}
	// 3. Divide the changes by part, and append them.
	for i, c := range changes {
		if err := a.add(i, c, t.URLs); err != nil {
			return err
		}
	}
	for i, b := range a.batches {
		if b == nil || b.Len() == 0 {
			continue
		}
		if _, err := parts[i].Delta.Append(b); err != nil {
			return fmt.Errorf("changes do not fit to the cell of %s: %w", parts[i].Range, err)
		}
	}
	return nil
}

// partOf returns the index of the part with a page, -1 if there is none. Most partitions have one
// part.
func (a *applier) partOf(partition int, url string) int {
	first := machine.PartitionRange(partition)
	i := sort.Search(len(a.parts), func(i int) bool { return a.parts[i].Last >= first.First })
	if i == len(a.parts) || !first.Contains(a.parts[i].First) {
		return -1
	}
	if a.parts[i].Last < first.Last { // the partition has several parts
		u := uid.Make(uid.SlotOf(weburl.HostKey(url)), 1, 0)
		for a.parts[i].Last < u {
			i++
		}
	}
	return i
}

// concerns reports whether a change must be applied to the part of one of its ends.
func (a *applier) concerns(c change, page int) bool {
	i := a.pages[page].part
	return i >= 0 && !has(a.parts[i], c)
}

// has reports whether a part has a change already. A link of a load is always taken in: it exists
// now, and the part has it already or must get it.
func has(p *state.Part, c change) bool { return !c.loaded && p.Ahead.Covers(c.sequencer, c.stamp) }

// resolve sets the UIDs of the pages of changes, and assigns one to each page without it.
func (a *applier) resolve(ctx context.Context, changes []change, urls []string) error {
	// 1. List the pages, each once, and take the known UIDs.
	var indexes []int
	var pages []string
	listed := make([]bool, len(urls))
	for _, c := range changes {
		for _, i := range [2]int{c.src, c.Dst} {
			if !listed[i] {
				listed[i] = true
				indexes, pages = append(indexes, i), append(pages, urls[i])
			}
		}
	}
	known := a.Assigner.Known.Load()
	uids := make([]uid.UID, len(pages))
	others := known.Get(pages, uids)
	// 2. Look in the cells. Find the rest in the store, or assign UIDs.
	var unknown []string
	for _, i := range others {
		if at := a.pages[indexes[i]].part; at >= 0 {
			if err := a.use(at, cell.URLStore); err != nil {
				return err
			}
			uids[i], _ = a.views[at].Find(pages[i])
		}
		if uids[i] == 0 {
			unknown = append(unknown, pages[i])
		}
	}
	if len(unknown) > 0 {
		found := map[string]uid.UID{}
		if _, err := a.Assigner.Resolve(ctx, unknown, found); err != nil {
			return err
		}
		for _, i := range others {
			if uids[i] == 0 {
				uids[i] = found[pages[i]]
			}
		}
	}
	known.Add(pages, uids, others)
	// 3. A page that its cell lacks must be added to it.
	for k, i := range indexes {
		p := &a.pages[i]
		p.uid = uids[k]
		p.added = p.uid != 0 && p.part >= 0 && !a.views[p.part].Has(p.uid)
		if p.added {
			// The delta compares the page with the others.
			if err := a.use(p.part, cell.URLStore); err != nil {
				return err
			}
		}
		if p.uid != 0 {
			a.Hosts.Add(p.uid.Extent(), []byte(pages[k]))
		}
	}
	return nil
}

// use loads stores of a part, if they are not in memory.
func (a *applier) use(i int, need cell.Stores) error {
	if a.views[i].Cell().Stores().Has(need) {
		return nil
	}
	c, err := a.Stores.useStores(a.parts[i], need, false)
	if err == nil {
		a.views[i] = a.views[i].WithCell(c)
	}
	return err
}

// findPresent finds the deleted links that are still there. The present state counts, because a
// link may be in several graphs, and a later request may have changed it again.
func (a *applier) findPresent(ctx context.Context, changes []change, urls []string) error {
	var at []int
	var ranges []triple.Range
	for i, c := range changes {
		if c.Kind != feed.Delete {
			continue
		}
		link := links.Link(a.Options.Predicate, urls[c.src], urls[c.Dst])
		scan, err := triple.Pattern{Subject: link.Subject, Predicate: link.Predicate, Object: link.Object}.Scan(triple.SPO)
		if err != nil {
			return err
		}
		at, ranges = append(at, i), append(ranges, scan.Range)
	}
	a.present = make([]bool, len(changes))
	return pagerows.LookUp(ctx, a.Node, ranges, func(i int, _, _ []byte) error {
		a.present[at[i]] = true
		return nil
	})
}

// add adds a change to the batches of its ends. Each link belongs to the part of its source and to
// that of its target.
func (a *applier) add(i int, c change, urls []string) error {
	src, dst := &a.pages[c.src], &a.pages[c.Dst]
	if src.uid == 0 || dst.uid == 0 {
		return nil // an invalid IRI
	}
	if c.Kind == feed.Delete && !a.present[i] {
		// If a page is not in its part, the cell was built of rows without the link.
		if b := a.batch(c, src); b != nil && !src.added {
			b.Delete(cell.Forward, src.uid, dst.uid)
		}
		if b := a.batch(c, dst); b != nil && !dst.added {
			b.Delete(cell.Backward, dst.uid, src.uid)
		}
		return nil
	}
	// 1. A page must be in its part before its links.
	for _, end := range [2]int{c.src, c.Dst} {
		p := &a.pages[end]
		if b := a.batch(c, p); b != nil && p.added {
			b.Page(p.uid, []byte(urls[end]))
			p.added = false // once is enough
		}
	}
	// 2. The link, with its label.
	if b := a.batch(c, dst); b != nil {
		b.Add(cell.Backward, dst.uid, src.uid)
	}
	b := a.batch(c, src)
	if b == nil || c.Kind == feed.Delete {
		return nil // it stays, in another graph
	}
	label, kept := a.labels[i]
	if !kept {
		label = cell.NoLabel
	}
	if len(c.label) > 0 {
		var err error
		if label, err = lists.DecodeLabel(c.label); err != nil {
			a.Log.Warn("a label could not be read", "source", urls[c.src], "target", urls[c.Dst], "error", err)
		}
	}
	if label != cell.NoLabel {
		a.parts[src.part].Labelled = true
	}
	b.AddLabelled(src.uid, dst.uid, label)
	return nil
}

// batch returns the batch of the part of a page; nil if the change is none of the part.
func (a *applier) batch(c change, p *pageOf) *delta.Batch {
	if p.part < 0 || has(a.parts[p.part], c) {
		return nil
	}
	if a.batches[p.part] == nil {
		a.batches[p.part] = &delta.Batch{}
	}
	return a.batches[p.part]
}
