// This file holds the batch: changes in the order in which they were made, which
// become a row.

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

// Batch gathers changes of one cell. Where two of them are about the same link the
// later one counts. The zero value is an empty batch. A batch may be used again
// after [Batch.Reset]; it is not safe for concurrent use.
type Batch struct {
	changes [2][]change // by cell.Direction
	labels  []byte      // one after another, each as lists.AppendLabel writes it
	pages   []newPage
	urls    []byte
}

// change is one call. A replace comes before the adds of its list.
type change struct {
	key, target uid.UID // target is 0 for a replace
	label       int     // where its label begins
	labelLen    int32   // 0 for none
	kind        kind
}

type kind uint8

const (
	kindAdd kind = iota
	kindDelete
	kindReplace
)

// newPage is a page whose URL is a part of the batch's.
type newPage struct {
	uid        uid.UID
	start, end int
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.changes[0], b.changes[1] = b.changes[0][:0], b.changes[1][:0]
	b.labels, b.pages, b.urls = b.labels[:0], b.pages[:0], b.urls[:0]
}

// Len returns how many changes of links, in both directions, and new pages the
// batch has.
func (b *Batch) Len() int { return len(b.changes[0]) + len(b.changes[1]) + len(b.pages) }

// Page says that u is the page with this URL. A page that the cell has already may
// be given again. The batch copies url.
func (b *Batch) Page(u uid.UID, url []byte) {
	start := len(b.urls)
	b.urls = append(b.urls, url...)
	b.pages = append(b.pages, newPage{u, start, len(b.urls)})
}

// Replace says that the page from has these links forward, in any order, and no
// others. labels is nil or has one for each. The batch keeps nothing of the slices.
// The deleted-tags that belong to it go to the rows of the targets, see [Difference].
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

// Add says that the link between key and target is there: from key in direction
// Forward, to key in direction Backward. A forward link has no label then.
func (b *Batch) Add(d cell.Direction, key, target uid.UID) {
	b.change(d, change{key: key, target: target, kind: kindAdd})
}

// AddLabelled says that the link from from to to is there with this label.
func (b *Batch) AddLabelled(from, to uid.UID, label cell.Label) {
	c := change{key: from, target: to, kind: kindAdd}
	if label != cell.NoLabel {
		c.label = len(b.labels)
		b.labels = lists.AppendLabel(b.labels, label)
		c.labelLen = int32(len(b.labels) - c.label)
	}
	b.change(cell.Forward, c)
}

// Delete says that the link between key and target is not there.
func (b *Batch) Delete(d cell.Direction, key, target uid.UID) {
	b.change(d, change{key: key, target: target, kind: kindDelete})
}

func (b *Batch) change(d cell.Direction, c change) {
	b.changes[d] = append(b.changes[d], c)
}

// Difference returns what a page's links lack in its old list, the links that are
// new, and what the old list has beyond them, the links that are gone: who replaces
// a list adds the former and deletes the latter backward. Both lists ascend.
func Difference(old, links []uid.UID) (added, gone []uid.UID) {
	for len(old) > 0 || len(links) > 0 {
		switch {
		case len(old) == 0 || len(links) > 0 && links[0] < old[0]:
			added, links = append(added, links[0]), links[1:]
		case len(links) == 0 || old[0] < links[0]:
			gone, old = append(gone, old[0]), old[1:]
		default:
			old, links = old[1:], links[1:]
		}
	}
	return added, gone
}

// place is one change of a batch, for sorting.
type place struct {
	key, target uid.UID
	at          uint32 // its place in the batch
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

// write writes the batch, all but its pages, to w.
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

// entry sets e to what the changes of one key, by target and place, do together.
func (b *Batch) entry(e *entry, changes []change, all []place) {
	e.reset()
	// The last replace comes behind the others, and before all targets.
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

// check says whether every UID of the batch may be there.
func (b *Batch) check(r uid.Range) error {
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

// sortedPages returns the pages by UID, each once, without those that v has. Two
// URLs of one UID, and two UIDs of one URL, are an error.
func (b *Batch) sortedPages(v *View) ([]newPage, error) {
	all := slices.Clone(b.pages)
	slices.SortStableFunc(all, func(x, y newPage) int { return cmp.Compare(x.uid, y.uid) })
	kept := all[:0]
	var known []byte
	for _, p := range all {
		url := b.urls[p.start:p.end]
		var ok bool
		if known, ok = v.AppendURL(known[:0], p.uid); ok && !bytes.Equal(known, url) {
			return nil, fmt.Errorf("delta: %w: UID %s is of %.200q and is given to %.200q", ErrConflict, p.uid, known, url)
		}
		if u, found := v.find(url); found && u != p.uid {
			return nil, fmt.Errorf("delta: %w: %.200q has UID %s and is given %s", ErrConflict, url, u, p.uid)
		}
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
