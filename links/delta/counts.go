// Counts of a view: pages, links, greatest degrees, and the share of changes.

package delta

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// RebuildShare is the share of changes above which a cell should be rebuilt.
const RebuildShare = 0.10

// counts holds the counts of a view.
type counts struct {
	once   sync.Once
	linked int // pages with links
	links  [2]int64
	most   [2]int // greatest degrees
}

// cellCounts holds counts of a cell. All views of the cell share them, because they take a pass over
// all pages.
type cellCounts struct {
	once   sync.Once
	done   atomic.Bool
	linked int    // pages with links
	atMost [2]int // pages that have the cell's greatest degree
}

func (c *cellCounts) count(of *cell.Cell) {
	c.once.Do(func() {
		most := [2]int{of.MaxDegree(cell.Forward), of.MaxDegree(cell.Backward)}
		for ord := range uint32(of.Len()) {
			out, in := of.Degree(cell.Forward, ord), of.Degree(cell.Backward, ord)
			if out+in > 0 {
				c.linked++
			}
			if out == most[cell.Forward] {
				c.atMost[cell.Forward]++
			}
			if in == most[cell.Backward] {
				c.atMost[cell.Backward]++
			}
		}
		c.done.Store(true)
	})
}

// NumLinked returns the number of pages that have a link in any direction. The first call on a view
// takes time for each list that the rows change, and the first one on a cell for all its pages.
func (v *View) NumLinked() int { return v.count().linked }

// NumLinks returns the number of links of the view in direction d. It takes the time of NumLinked.
func (v *View) NumLinks(d cell.Direction) int64 { return v.count().links[d] }

// MaxDegree returns the greatest degree in direction d. It takes the time of NumLinked, and that of a
// pass over the cell if all its pages with the greatest degree have lost links since.
func (v *View) MaxDegree(d cell.Direction) int { return v.count().most[d] }

// count computes the counts on first use.
func (v *View) count() *counts {
	v.counts.once.Do(func() {
		// 1. Replace the cell's counts of each changed page by those of the view.
		v.base.count(v.cell)
		v.counts.linked = v.base.linked
		var lost [2]int // pages that no longer have the cell's greatest degree
		for u := range v.changedPages() {
			was, is := 0, 0
			ord, known := v.cell.Ordinal(u)
			for i := range lost {
				d, before := cell.Direction(i), 0
				if known {
					before = v.cell.Degree(d, ord)
				}
				degree := v.Degree(d, u)
				was, is = was+before, is+degree
				v.counts.links[d] += int64(degree - before)
				v.counts.most[d] = max(v.counts.most[d], degree)
				if known && before == v.cell.MaxDegree(d) && degree < before {
					lost[d]++
				}
			}
			v.counts.linked += min(is, 1) - min(was, 1)
		}
		// 2. The cell's greatest degree counts if an unchanged page has it.
		for i := range lost {
			d := cell.Direction(i)
			v.counts.links[d] += v.cell.NumLinks(d)
			if lost[d] < v.base.atMost[d] {
				v.counts.most[d] = max(v.counts.most[d], v.cell.MaxDegree(d))
			} else {
				v.counts.most[d] = max(v.counts.most[d], v.maxUnchanged(d))
			}
		}
	})
	return v.counts
}

// AllLinked reports whether all pages are known to have links, and the counts are known: then pages
// and counts need no lists in memory. That is so if there are no rows, and the cell was counted and has
// no page without links.
func (v *View) AllLinked() bool {
	return len(v.rows) == 0 && v.base.done.Load() && v.base.linked == v.cell.Len()
}

// maxUnchanged returns the greatest degree of the cell's pages whose lists no row changes.
func (v *View) maxUnchanged(d cell.Direction) (most int) {
	changed := newMerger(v.rows, d)
	more := changed.next()
	for ord := range uint32(v.cell.Len()) {
		u := v.cell.UID(ord)
		for more && changed.key < u {
			more = changed.next()
		}
		if !more || changed.key != u {
			most = max(most, v.cell.Degree(d, ord))
		}
	}
	return most
}

// changedPages yields the pages whose lists the rows change in any direction, ascending.
func (v *View) changedPages() iter.Seq[uid.UID] {
	return func(yield func(uid.UID) bool) {
		forward, backward := newMerger(v.rows, cell.Forward), newMerger(v.rows, cell.Backward)
		more, other := forward.next(), backward.next()
		for more || other {
			var u uid.UID
			if more && (!other || forward.key <= backward.key) {
				u = forward.key
			} else {
				u = backward.key
			}
			if more && forward.key == u {
				more = forward.next()
			}
			if other && backward.key == u {
				other = backward.next()
			}
			if !yield(u) {
				return
			}
		}
	}
}

// Linked reports whether the page u has a link in any direction.
func (v *View) Linked(u uid.UID) bool {
	if v.AllLinked() {
		return v.Has(u)
	}
	return v.hasLinks(cell.Forward, u) || v.hasLinks(cell.Backward, u)
}

// hasLinks reports whether the page u has a link in direction d. It reads a list only up to its first
// link.
func (v *View) hasLinks(d cell.Direction, u uid.UID) bool {
	e, s := v.entry(d, u)
	if e == nil {
		ord, ok := v.cell.Ordinal(u)
		return ok && v.cell.Degree(d, ord) > 0
	}
	defer s.release()
	if len(e.adds) > 0 || e.whole {
		return len(e.adds) > 0
	}
	for range v.keptCellLinks(d, u, e) {
		return true
	}
	return false
}

// Collectable reports whether Build would leave pages out, because they have no links. It takes the
// time of NumLinked.
func (v *View) Collectable() bool { return v.NumLinked() < v.pages }

// Share returns the size of the changes relative to the cell: of links in both directions or of
// pages, whichever is larger. If it exceeds RebuildShare, the cell should be rebuilt.
func (v *View) Share() float64 {
	links := v.cell.NumLinks(cell.Forward) + v.cell.NumLinks(cell.Backward)
	return max(float64(v.changes)/float64(max(links, 1)),
		float64(v.pages-v.cell.Len())/float64(max(v.cell.Len(), 1)))
}

// Bytes returns the length of all rows in bytes.
func (v *View) Bytes() int64 {
	total := int64(0)
	for _, r := range v.rows {
		total += int64(len(r.data))
	}
	return total
}
