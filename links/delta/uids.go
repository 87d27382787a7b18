// Pages of a view by UIDs alone, and the changes of one list.

package delta

import (
	"iter"
	"sort"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// UIDs yields the UIDs of pages with links above after, ascending. It takes time for all pages of the
// rows, and for the cell's pages that it yields.
func (v *View) UIDs(after uid.UID) iter.Seq[uid.UID] {
	return func(yield func(uid.UID) bool) {
		// 1. Skip the rows' pages up to after. The cell needs no pass, because its UIDs can be
		// searched.
		added := newPageMerger(v.rows)
		more := added.next()
		for more && added.uid <= after {
			more = added.next()
		}
		n := v.cell.Len()
		for ord := sort.Search(n, func(i int) bool { return v.cell.UID(uint32(i)) > after }); ord < n; ord++ {
			u := v.cell.UID(uint32(ord))
			// 2. Merge both by UID. A page of both must come once.
			for more && added.uid <= u {
				if added.uid < u && v.Linked(added.uid) && !yield(added.uid) {
					return
				}
				more = added.next()
			}
			if v.Linked(u) && !yield(u) {
				return
			}
		}
		for more {
			if v.Linked(added.uid) && !yield(added.uid) {
				return
			}
			more = added.next()
		}
	}
}

// Ends returns the least and the greatest UID of a page with links. ok is false if there is none.
func (v *View) Ends() (first, last uid.UID, ok bool) {
	for u := range v.UIDs(0) {
		first, ok = u, true
		break
	}
	for ord := v.cell.Len() - 1; ord >= 0; ord-- {
		if u := v.cell.UID(uint32(ord)); v.Linked(u) {
			last = u
			break
		}
	}
	for u := range v.changedPages() {
		if u > last && v.Linked(u) {
			last = u
		}
	}
	return first, last, ok
}

// Changes returns the rows' additions to the page's list in the cell and their deletions from
// it, both ascending. ok is false if the rows replace the whole list.
func (v *View) Changes(d cell.Direction, u uid.UID) (added, deleted []uid.UID, ok bool) {
	e, s := v.entry(d, u)
	if e == nil {
		return nil, nil, true
	}
	defer s.release()
	if e.whole {
		return nil, nil, false
	}
	return append(added, e.adds...), append(deleted, e.deletes...), true
}
