// Counts of a view: links, greatest degrees, and the share of changes.

package delta

import (
	"github.com/trefoildb/trefoil/links/cell"
)

// RebuildShare is the share of changes above which a cell should be rebuilt.
const RebuildShare = 0.10

// counts holds the counts of one direction.
type counts struct {
	links     int64
	maxDegree int
}

// NumLinks returns the number of links of the view in direction d. The first call on a view
// takes time for each list that the rows change.
func (v *View) NumLinks(d cell.Direction) int64 {
	v.countOnce.Do(v.count)
	return v.counts[d].links
}

// MaxDegree returns an upper bound of the degrees in direction d. It is the greatest degree, or
// the cell's greatest if that is larger: its page may have lost links since. It takes the time
// of NumLinks.
func (v *View) MaxDegree(d cell.Direction) int {
	v.countOnce.Do(v.count)
	return v.counts[d].maxDegree
}

func (v *View) count() {
	for i := range v.counts {
		d := cell.Direction(i)
		c := counts{links: v.cell.NumLinks(d), maxDegree: v.cell.MaxDegree(d)}
		for m := newMerger(v.rows, d); m.next(); {
			if ord, ok := v.cell.Ordinal(m.key); ok {
				c.links -= int64(v.cell.Degree(d, ord))
			}
			degree := v.Degree(d, m.key)
			c.links += int64(degree)
			c.maxDegree = max(c.maxDegree, degree)
		}
		v.counts[d] = c
	}
}

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
