// This file holds the pages of a view by their UIDs alone, and what the rows change of
// one list.

package delta

import (
	"iter"
	"sort"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// UIDs yields the pages whose UIDs are greater than after, ascending. It takes the time
// of the rows' pages, and of the cell's pages that it yields.
func (v *View) UIDs(after uid.UID) iter.Seq[uid.UID] {
	return func(yield func(uid.UID) bool) {
		added := newPageMerger(v.rows)
		more := added.next()
		for more && added.uid <= after {
			more = added.next()
		}
		n := v.cell.Len()
		for ord := sort.Search(n, func(i int) bool { return v.cell.UID(uint32(i)) > after }); ord < n; ord++ {
			u := v.cell.UID(uint32(ord))
			for more && added.uid <= u {
				if added.uid < u && !yield(added.uid) {
					return
				}
				more = added.next()
			}
			if !yield(u) {
				return
			}
		}
		for more {
			if !yield(added.uid) {
				return
			}
			more = added.next()
		}
	}
}

// Ends returns the lowest and the greatest UID of a page; ok is false where there is
// no page.
func (v *View) Ends() (first, last uid.UID, ok bool) {
	for u := range v.UIDs(0) {
		first, ok = u, true
		break
	}
	if n := v.cell.Len(); n > 0 {
		last = v.cell.UID(uint32(n - 1))
	}
	for added := newPageMerger(v.rows); added.next(); {
		last = max(last, added.uid)
	}
	return first, last, ok
}

// Changes returns what the rows add to the page's list in the cell and delete from it,
// both ascending. ok is false where they put a whole list in its place.
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
