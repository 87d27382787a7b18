// Labels and weights of the links of a view.

package delta

import (
	"slices"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// AppendLabels appends the labels of the page's forward links, in the order of AppendLinks. A
// link without a label gets cell.NoLabel.
func (v *View) AppendLabels(dst []cell.Label, u uid.UID) []cell.Label {
	ord, known := v.cell.Ordinal(u)
	e, s := v.entry(cell.Forward, u)
	if e == nil {
		if known {
			dst = v.cell.AppendLabels(dst, ord)
		}
		return dst
	}
	defer s.release()
	// 1. Read the cell's list with its labels, unless the rows replace it.
	s.list, s.labels = s.list[:0], s.labels[:0]
	if known && !e.whole {
		s.list = v.cell.AppendLinks(s.list, cell.Forward, ord)
		s.labels = v.cell.AppendLabels(s.labels, ord)
	}
	// 2. Merge as merge does. If both have a link, the label of the rows counts, because it is
	// newer.
	added, deletes := 0, e.deletes
	for i, u := range s.list {
		for ; added < len(e.adds) && e.adds[added] < u; added++ {
			dst = append(dst, decodeLabel(e.label(added)))
		}
		for len(deletes) > 0 && deletes[0] < u {
			deletes = deletes[1:]
		}
		switch {
		case added < len(e.adds) && e.adds[added] == u:
			dst = append(dst, decodeLabel(e.label(added)))
			added++
		case len(deletes) == 0 || deletes[0] != u:
			dst = append(dst, s.labels[i])
		}
	}
	for ; added < len(e.adds); added++ {
		dst = append(dst, decodeLabel(e.label(added)))
	}
	return dst
}

// AppendWeights appends the weights of the page's forward links, in the order of AppendLinks. It
// appends nothing if the page has no labels: then each weight is 1.
func (v *View) AppendWeights(dst []float64, u uid.UID) []float64 {
	if len(v.rows) == 0 && !v.cell.HasLabels() {
		return dst
	}
	e, s := v.entry(cell.Forward, u)
	if e == nil {
		if ord, ok := v.cell.Ordinal(u); ok {
			dst = v.cell.AppendWeights(dst, ord)
		}
		return dst
	}
	s.release()
	for _, l := range v.AppendLabels(nil, u) {
		dst = append(dst, l.Weight)
	}
	return dst
}

// EachLabel calls do with the labels of the page's forward links to some targets: i is the index of
// the target. targets must ascend. do is not called for a target without a label.
func (v *View) EachLabel(u uid.UID, targets []uid.UID, do func(i int, l cell.Label)) {
	ord, known := v.cell.Ordinal(u)
	e, s := v.entry(cell.Forward, u)
	if e == nil {
		if known {
			v.cell.EachLabel(ord, targets, do)
		}
		return
	}
	defer s.release()
	// 1. The rows have the labels of the links that they add.
	var rest []int
	var old []uid.UID
	for i, target := range targets {
		if at, found := slices.BinarySearch(e.adds, target); found {
			if l := decodeLabel(e.label(at)); l != cell.NoLabel {
				do(i, l)
			}
		} else if _, deleted := slices.BinarySearch(e.deletes, target); !deleted && !e.whole {
			rest, old = append(rest, i), append(old, target)
		}
	}
	// 2. The cell has the others.
	if known && len(old) > 0 {
		v.cell.EachLabel(ord, old, func(i int, l cell.Label) { do(rest[i], l) })
	}
}
