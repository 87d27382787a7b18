// Delta: the writer's side, rows that are added, merged and dropped.

package delta

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// Delta is a cell and the changes since it was built. It is safe for concurrent use. Readers
// never wait, because they load an immutable view.
type Delta struct {
	view atomic.Pointer[View]

	writing sync.Mutex
	// frozen is the epoch up to which rows must not be merged with later ones, because a cell
	// built from them will replace them. 0 is none. writing guards it.
	frozen uint64
}

// New returns the delta of a cell with these rows, oldest first, as [View.Rows] returns them. It
// skips a row if the cell already contains it. The error wraps ErrEpoch if epochs are missing
// between rows. A row of another cell is an error, too.
func New(base *cell.Cell, rows ...*Row) (*Delta, error) {
	d := new(Delta)
	d.view.Store(newView(base, new(cellCounts), nil, base.Epoch(), base.Len()))
	for _, r := range rows {
		if r.last <= base.Epoch() {
			continue
		}
		v := d.view.Load()
		if r.first > v.epoch+1 || r.last <= v.epoch {
			return nil, fmt.Errorf("delta: row of epochs %d to %d after epoch %d: %w", r.first, r.last, v.epoch, ErrEpoch)
		}
		if err := v.checkRow(r); err != nil {
			return nil, err
		}
		d.view.Store(newView(base, v.base, append(slices.Clip(v.rows), r), r.last, v.pages+v.newPages(r)))
	}
	return d, nil
}

// View returns the newest view. It is immutable.
func (d *Delta) View() *View { return d.view.Load() }

// Append makes a row of the batch, the next epoch, and merges rows as the package comment
// describes. It returns the batch's own row, to be stored or sent. If it fails, nothing has
// changed; the error wraps ErrRange, ErrUnknownPage, ErrConflict or ErrTooLarge. It only reads
// the batch. If the batch has pages, the cell must have its URLs in memory.
func (d *Delta) Append(b *Batch) (*Row, error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	v := d.view.Load()
	// 1. Check the batch before anything is written.
	if err := b.check(v.cell.Range()); err != nil {
		return nil, err
	}
	pages, err := b.sortedPages(v)
	if err != nil {
		return nil, err
	}
	w := newRowWriter()
	defer w.release()
	// 2. Write the row. Pages come first, because the links' keys must be pages.
	for _, p := range pages {
		if err := w.pages.add(p.uid, b.urls[p.start:p.end]); err != nil {
			return nil, err
		}
	}
	if err := b.write(w); err != nil {
		return nil, err
	}
	row, err := w.row(v.epoch+1, v.epoch+1)
	if err != nil {
		return nil, err
	}
	// 3. Install the row, because the view changes only if all before succeeded.
	return row, d.install(v, row)
}

// AppendRow adds a row that Append of another delta of the same cell returned. If it does not
// begin with the epoch after the view's, the error wraps ErrEpoch.
func (d *Delta) AppendRow(r *Row) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	v := d.view.Load()
	if r.first != v.epoch+1 {
		return fmt.Errorf("delta: row of epochs %d to %d after epoch %d: %w", r.first, r.last, v.epoch, ErrEpoch)
	}
	return d.install(v, r)
}

// install adds a row to v and merges. If the epoch has m trailing zero bits, the rows of the
// last 2^m epochs become one. These are the m+1 newest rows if every epoch was a row. The caller
// must hold writing.
func (d *Delta) install(v *View, r *Row) error {
	if err := v.checkRow(r); err != nil {
		return err
	}
	// 1. Find the first row to merge. Frozen rows must stay alone, and the sum must fit a row.
	pages := v.pages + v.newPages(r)
	since := max(r.last&(r.last-1), d.frozen) // r.last - 2^m
	rows := append(slices.Clip(v.rows), r)
	first := len(rows) - 1
	size := len(r.data)
	for first > 0 && rows[first-1].first > since && size+len(rows[first-1].data) < maxData {
		first--
		size += len(rows[first].data)
	}
	if first < len(rows)-1 {
		// 2. Merge. If the rows are too large together, they stay apart.
		if merged, err := mergeRows(rows[first:]); err == nil {
			rows = append(rows[:first], merged)
		} else if !errors.Is(err, ErrTooLarge) {
			return err
		}
	}
	d.view.Store(newView(v.cell, v.base, rows, r.last, pages))
	return nil
}

// Freeze returns the newest view, to build a cell from it, see [View.Build]. Its rows are not
// merged with later ones until Rebase or Thaw, because Rebase must be able to drop them.
func (d *Delta) Freeze() *View {
	d.writing.Lock()
	defer d.writing.Unlock()
	v := d.view.Load()
	d.frozen = v.epoch
	return v
}

// Thaw undoes Freeze. Call it if no cell was built.
func (d *Delta) Thaw() {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.frozen = 0
}

// Replace replaces the cell by the same cell with other stores in memory.
func (d *Delta) Replace(c *cell.Cell) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	v := d.view.Load()
	if c.Sum() != v.cell.Sum() {
		return fmt.Errorf("delta: the cell %016x for the cell %016x: %w", c.Sum(), v.cell.Sum(), ErrEpoch)
	}
	d.view.Store(v.WithCell(c))
	return nil
}

// Rebase replaces the cell and drops the rows up to the new cell's epoch. The cell must be built
// from a view of this delta, or be equal to such a cell. If a collected page has changed since,
// it stays a page, because a row keeps its URL. So the URLs of the old cell must be in memory. The
// error wraps ErrEpoch or ErrRange.
func (d *Delta) Rebase(base *cell.Cell) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	// 1. Reject a cell of another range, or of an epoch that the rows do not cover.
	old := d.view.Load()
	if base.Epoch() < old.cell.Epoch() || base.Epoch() > old.epoch {
		return fmt.Errorf("delta: a cell of epoch %d for rows of %d to %d: %w", base.Epoch(), old.cell.Epoch(), old.epoch, ErrEpoch)
	}
	if base.Range() != old.cell.Range() {
		return fmt.Errorf("delta: a cell of %s for one of %s: %w", base.Range(), old.cell.Range(), ErrRange)
	}
	var rows []*Row
	for _, r := range old.rows {
		if r.last > base.Epoch() {
			rows = append(rows, r)
		}
	}
	// 2. Add URLs to the oldest row if its pages were collected, because every key must be a
	// page.
	if len(rows) > 0 {
		names, err := old.namesOf(newView(base, nil, rows, old.epoch, 0).unknownPages(), rows[0].first)
		if err != nil {
			return err
		}
		if names.Pages() > 0 {
			if rows[0], err = mergeRows([]*Row{names, rows[0]}); err != nil {
				return err
			}
		}
	}
	// 3. Count the pages again, row by row, because the new cell has other pages.
	v := newView(base, new(cellCounts), nil, base.Epoch(), base.Len())
	for _, r := range rows {
		v = newView(base, v.base, append(slices.Clip(v.rows), r), r.last, v.pages+v.newPages(r))
	}
	d.frozen = 0
	d.view.Store(newView(base, v.base, rows, old.epoch, v.pages))
	return nil
}

// namesOf returns a row of an epoch with only these pages of v, which must ascend.
func (v *View) namesOf(pages []uid.UID, epoch uint64) (*Row, error) {
	w := newRowWriter()
	defer w.release()
	for _, u := range pages {
		url, ok := v.AppendURL(nil, u)
		if !ok {
			return nil, fmt.Errorf("delta: page %s: %w", u, ErrUnknownPage)
		}
		if err := w.pages.add(u, url); err != nil {
			return nil, err
		}
	}
	return w.row(epoch, epoch)
}

// unknownPages returns the keys of v's rows that are no page of v, ascending.
func (v *View) unknownPages() []uid.UID {
	var unknown []uid.UID
	for d := range 2 {
		m := newMerger(v.rows, cell.Direction(d))
		for m.next() {
			if !v.Has(m.key) {
				unknown = append(unknown, m.key)
			}
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// checkRow returns an error unless r may follow v. Its pages and keys must be in the cell's
// range, and its keys must be pages.
func (v *View) checkRow(r *Row) error {
	for p := (pageCursor{pages: &r.pages}); p.next(); {
		if err := checkPage(v.cell.Range(), p.uid); err != nil {
			return err
		}
	}
	for d := range r.links {
		for c := (cursor{links: &r.links[d]}); c.next(); {
			if err := checkPage(v.cell.Range(), c.key); err != nil {
				return err
			}
			if !v.Has(c.key) && !r.pages.has(c.key) {
				return fmt.Errorf("delta: links of page %s: %w: give its URL with them", c.key, ErrUnknownPage)
			}
		}
	}
	return nil
}
