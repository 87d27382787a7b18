// The tables that translate between primary and secondary UIDs.

package positional

import (
	"cmp"
	"slices"
	"sort"
)

// Row says where a host begins in both placements: the UID of its first page in
// one, and the place of that page in the other.
type Row struct {
	UID UID
	To  uint64
}

// PrimToSec translates primary UIDs to secondary ones. It is immutable.
type PrimToSec struct {
	layout Layout
	rows   []Row // ascending by UID
}

// SecToPrim translates secondary UIDs to primary ones. It is immutable.
type SecToPrim struct {
	layout Layout
	rows   []Row // ascending by secondary partition, then by place there
}

// NewPrimToSec returns the table with a row for each host: the primary UID of
// its first page, and that page's place in its secondary partition. It takes the
// rows over, in any order.
func NewPrimToSec(layout Layout, rows []Row) PrimToSec {
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.UID, b.UID) })
	return PrimToSec{layout, rows}
}

// NewSecToPrim returns the table with a row for each host: the secondary UID of
// its first page, and that page's place in its primary partition. It takes the
// rows over, in any order.
func NewSecToPrim(layout Layout, rows []Row) SecToPrim {
	t := SecToPrim{layout, rows}
	slices.SortFunc(rows, func(a, b Row) int { return t.compare(a.UID, b.UID) })
	return t
}

// Len returns how many rows the table has.
func (t PrimToSec) Len() int { return len(t.rows) }

// Len returns how many rows the table has.
func (t SecToPrim) Len() int { return len(t.rows) }

// Secondary returns the table with the rows of one secondary partition: what a
// machine needs that serves it.
func (t PrimToSec) Secondary(k int) PrimToSec {
	var rows []Row
	for _, row := range t.rows {
		if t.layout.Secondary(row.UID) == uint64(k) {
			rows = append(rows, row)
		}
	}
	return PrimToSec{t.layout, rows}
}

// Translate returns the secondary UID of the page with the primary UID u, by a
// binary search. For a u that no page has the result is false, or a UID whose
// way back is not u.
func (t PrimToSec) Translate(u UID) (UID, bool) {
	above := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].UID > u })
	if above == 0 {
		return 0, false
	}
	return t.layout.move(u, t.rows[above-1])
}

// Translate returns the primary UID of the page with the secondary UID v, by a
// binary search. For a v that no page has the result is false or meaningless.
func (t SecToPrim) Translate(v UID) (UID, bool) {
	above := sort.Search(len(t.rows), func(i int) bool { return t.compare(t.rows[i].UID, v) > 0 })
	if above == 0 {
		return 0, false
	}
	return t.layout.move(v, t.rows[above-1])
}

// compare compares UIDs by secondary partition, then place. The primary
// partition does not matter: a place has one page.
func (t SecToPrim) compare(a, b UID) int {
	return cmp.Or(
		cmp.Compare(t.layout.Secondary(a), t.layout.Secondary(b)),
		cmp.Compare(t.layout.Relative(a), t.layout.Relative(b)),
	)
}

// move returns the UID in the other placement of a page that is as far behind
// the first page of its host as u is behind the row's. It is false if they
// cannot be of one host.
func (l Layout) move(u UID, row Row) (UID, bool) {
	ahead := l.Relative(u) - l.Relative(row.UID)
	if l.withRelative(u, 0) != l.withRelative(row.UID, 0) || ahead > l.maxRelative()-row.To {
		return 0, false
	}
	return l.withRelative(u, row.To+ahead), true
}
