// Batch: changes in the order of the calls, and their conversion into a row.

package delta

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// Batch collects changes of one cell. If two of them concern the same link, the later one wins.
// The zero value is an empty batch. A batch may be reused after [Batch.Reset]. It is not safe
// for concurrent use.
type Batch struct {
	changes [2][]change // by cell.Direction
	labels  []byte      // concatenated, in the format of lists.AppendLabel
	pages   []newPage
	urls    []byte
}

// change is one call. A replace must come before the adds of its list.
type change struct {
	key, target uid.UID // target is 0 for a replace
	label       int     // start of its label in Batch.labels
	labelLen    int32   // 0 for none
	kind        kind
}

type kind uint8

const (
	kindAdd kind = iota
	kindDelete
	kindReplace
)

// newPage is a page with its URL in Batch.urls.
type newPage struct {
	uid        uid.UID
	start, end int
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.changes[0], b.changes[1] = b.changes[0][:0], b.changes[1][:0]
	b.labels, b.pages, b.urls = b.labels[:0], b.pages[:0], b.urls[:0]
}

// Len returns the number of changed links, in both directions, plus the number of new pages.
func (b *Batch) Len() int { return len(b.changes[0]) + len(b.changes[1]) + len(b.pages) }

// Page adds the page u with this URL. A page may be given again if the cell already has it. The
// batch copies url.
func (b *Batch) Page(u uid.UID, url []byte) {
	start := len(b.urls)
	b.urls = append(b.urls, url...)
	b.pages = append(b.pages, newPage{u, start, len(b.urls)})
}

// Replace replaces the forward links of from by to, in any order. labels is nil or has one label
// for each link. The batch keeps neither slice. The caller must add and
// delete the backward links of the targets, see [Difference].
func (b *Batch) Replace(from uid.UID, to []uid.UID, labels []cell.Label) {
	b.change(cell.Forward, change{key: from, kind: kindReplace})
	for i, target := range to {
		label := cell.NoLabel
		if i < len(labels) {
			label = labels[i]
		}
		b.AddLabelled(from, target, label)
	}
}

// Add adds the link between key and target: from key in direction Forward, to key in direction
// Backward. A forward link has no label then.
func (b *Batch) Add(d cell.Direction, key, target uid.UID) {
	b.change(d, change{key: key, target: target, kind: kindAdd})
}

// AddLabelled adds the forward link between from and to with this label.
func (b *Batch) AddLabelled(from, to uid.UID, label cell.Label) {
	c := change{key: from, target: to, kind: kindAdd}
	if label != cell.NoLabel {
		c.label = len(b.labels)
		b.labels = lists.AppendLabel(b.labels, label)
		c.labelLen = int32(len(b.labels) - c.label)
	}
	b.change(cell.Forward, c)
}

// Delete deletes the link between key and target.
func (b *Batch) Delete(d cell.Direction, key, target uid.UID) {
	b.change(d, change{key: key, target: target, kind: kindDelete})
}

func (b *Batch) change(d cell.Direction, c change) {
	b.changes[d] = append(b.changes[d], c)
}

// place is one change of a batch, for sorting.
type place struct {
	key, target uid.UID
	at          uint32 // index in the batch
}

func comparePlaces(a, b place) int {
	switch {
	case a.key < b.key || a.key == b.key && (a.target < b.target || a.target == b.target && a.at < b.at):
		return -1
	case a == b:
		return 0
	}
	return 1
}

// write writes the batch, except for its pages, to w.
func (b *Batch) write(w *rowWriter) error {
	var e entry
	for d, changes := range b.changes {
		all := w.places[:0]
		for i, c := range changes {
			all = append(all, place{c.key, c.target, uint32(i)})
		}
		w.places = all
		slices.SortFunc(all, comparePlaces)
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].key == all[0].key {
				n++
			}
			b.entry(&e, changes, all[:n])
			if err := w.links[d].add(all[0].key, &e); err != nil {
				return err
			}
			all = all[n:]
		}
	}
	return nil
}

// entry sets e to the combined effect of the changes of one key, sorted by target and index.
func (b *Batch) entry(e *entry, changes []change, all []place) {
	e.reset()
	// Replaces sort before all targets, because their target is 0. Only changes after the last
	// replace count.
	since := uint32(0)
	for len(all) > 0 && changes[all[0].at].kind == kindReplace {
		e.whole, since = true, all[0].at
		all = all[1:]
	}
	for i, p := range all {
		if i+1 < len(all) && all[i+1].target == p.target || p.at < since {
			continue
		}
		switch c := changes[p.at]; {
		case c.kind == kindAdd:
			var label rawLabel
			if c.labelLen > 0 {
				label = b.labels[c.label : c.label+int(c.labelLen)]
			}
			e.append(p.target, label)
		case !e.whole:
			e.deletes = append(e.deletes, p.target)
		}
	}
}

// check returns an error unless every UID of the batch may be in a cell of the range.
func (b *Batch) check(r uid.Range) error {
	// A key must be in the range. A target may be any page, because links lead to other cells.
	for d := range b.changes {
		for _, c := range b.changes[d] {
			if err := checkPage(r, c.key); err != nil {
				return err
			}
			if c.kind != kindReplace && !c.target.Valid() {
				return fmt.Errorf("delta: a link between %s and %s: %w: the host number is 0", c.key, c.target, ErrRange)
			}
		}
	}
	for _, p := range b.pages {
		if err := checkPage(r, p.uid); err != nil {
			return err
		}
		if p.end-p.start > MaxURL {
			return fmt.Errorf("delta: the URL of page %s has %d bytes: %w: at most %d", p.uid, p.end-p.start, ErrTooLarge, MaxURL)
		}
	}
	return nil
}

// sortedPages returns the pages by UID, each once, without the pages of v. It returns
// ErrConflict if a UID has two URLs or a URL two UIDs.
func (b *Batch) sortedPages(v *View) ([]newPage, error) {
	// 1. Sort the pages by UID, because equal UIDs are then neighbours.
	all := slices.Clone(b.pages)
	slices.SortStableFunc(all, func(x, y newPage) int { return cmp.Compare(x.uid, y.uid) })
	kept := all[:0]
	var known []byte
	for _, p := range all {
		url := b.urls[p.start:p.end]
		var ok bool
		// 2. Reject a page if v has another URL or another UID for it.
		if known, ok = v.AppendURL(known[:0], p.uid); ok && !bytes.Equal(known, url) {
			return nil, fmt.Errorf("delta: %w: UID %s is of %.200q and is given to %.200q", ErrConflict, p.uid, known, url)
		}
		if u, found := v.find(url); found && u != p.uid {
			return nil, fmt.Errorf("delta: %w: %.200q has UID %s and is given %s", ErrConflict, url, u, p.uid)
		}
		// 3. Drop duplicates. Two new UIDs of one URL are found later, by pagesWriter.
		if n := len(kept); n > 0 && kept[n-1].uid == p.uid {
			if !bytes.Equal(b.urls[kept[n-1].start:kept[n-1].end], url) {
				return nil, fmt.Errorf("delta: %w: UID %s is given to %.200q and %.200q", ErrConflict, p.uid, b.urls[kept[n-1].start:kept[n-1].end], url)
			}
			continue
		}
		if !ok {
			kept = append(kept, p)
		}
	}
	return kept, nil
}
