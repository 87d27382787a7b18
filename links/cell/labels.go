// Labels: a column beside the forward lists.

package cell

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// Label is an annotation of a link: a weight and an anchor, see package lists.
type Label = lists.Label

// NoLabel is the label of a link without annotation.
var NoLabel = Label{Weight: 1}

// Labelled reports whether any label differs from NoLabel.
func Labelled(labels []Label) bool {
	for _, l := range labels {
		if l != NoLabel {
			return true
		}
	}
	return false
}

// AppendLabels appends the labels of a page's forward links, one for each, in the order of
// AppendLinks. It appends nothing if ord is not below Len.
func (c *Cell) AppendLabels(dst []Label, ord uint32) []Label {
	degree := c.Degree(Forward, ord)
	before := len(dst)
	if degree > 0 && c.labels != nil {
		var err error
		if dst, err = c.labels.AppendLabels(dst, ord); err != nil {
			c.damaged(err)
		} else if n := len(dst) - before; n != 0 && n != degree {
			c.damaged(fmt.Errorf("%d labels of %d links of ordinal %d", n, degree, ord))
			dst = dst[:before]
		}
	}
	for len(dst)-before < degree {
		dst = append(dst, NoLabel)
	}
	return dst
}

// AppendWeights appends the weights of a page's forward links, one for each, in the order of
// AppendLinks. It appends nothing if the page has no labels: then each weight is 1.
func (c *Cell) AppendWeights(dst []float64, ord uint32) []float64 {
	if c.labelColumn() == nil || ord >= c.header.pages {
		return dst
	}
	out, err := c.labels.AppendWeights(dst, ord)
	if n := len(out) - len(dst); err == nil && n != 0 && n != c.Degree(Forward, ord) {
		err = fmt.Errorf("%d labels of %d links of ordinal %d", n, c.Degree(Forward, ord), ord)
	}
	if err != nil {
		c.damaged(err)
		return dst
	}
	return out
}

// EachLabel calls do with the labels of a page's forward links to some targets: i is the index of the
// target. targets must ascend. do is not called for a target without a label. It needs memory for a
// piece of the list only.
func (c *Cell) EachLabel(ord uint32, targets []uid.UID, do func(i int, l Label)) {
	if c.labelColumn() == nil || ord >= c.header.pages || !c.labels.Has(ord) {
		return
	}
	// 1. Find the places of the targets in the list.
	places := make([]int, len(targets))
	at, place := 0, 0
	for u := range c.Links(Forward, ord) {
		for ; at < len(targets) && targets[at] <= u; at++ {
			if places[at] = place; targets[at] < u {
				places[at] = -1
			}
		}
		if at == len(targets) {
			break
		}
		place++
	}
	targets = targets[:at]
	// 2. Pick the labels at these places.
	at, first := 0, 0 // of the chunk
	for chunk, err := range c.labels.Chunks(ord) {
		if err != nil {
			c.damaged(err)
			return
		}
		for ; at < len(targets) && places[at] < first+len(chunk); at++ {
			if places[at] >= 0 && chunk[places[at]-first] != NoLabel {
				do(at, chunk[places[at]-first])
			}
		}
		if at == len(targets) {
			return
		}
		first += len(chunk)
	}
}

// labelColumn returns the labels, nil if no link has one. The forward store must be in memory.
func (c *Cell) labelColumn() *lists.LabelColumn {
	if !c.stores.Has(ForwardStore) {
		c.missing(ForwardStore)
	}
	return c.labels
}

// openLabels opens the section; it returns nil if the section is empty.
func openLabels(b []byte) (*lists.LabelColumn, error) {
	if len(b) == 0 {
		return nil, nil
	}
	return lists.OpenLabels(b)
}

// verifyLabels checks each page: the number of labels must be 0 or the number of links.
func (c *Cell) verifyLabels() error {
	if c.labels == nil {
		return nil
	}
	keys, count := 0, uint64(0)
	for ord := range c.header.pages {
		n := 0
		for chunk, err := range c.labels.Chunks(ord) {
			if err != nil {
				return err
			}
			n += len(chunk)
		}
		if n == 0 {
			continue
		}
		if n != c.Degree(Forward, ord) {
			return fmt.Errorf("%d labels of %d links of ordinal %d", n, c.Degree(Forward, ord), ord)
		}
		keys++
		count += uint64(n)
	}
	if keys != c.labels.NumKeys() || count != c.labels.NumLabels() {
		return fmt.Errorf("%d labels of %d pages, and the column has %d of %d", count, keys, c.labels.NumLabels(), c.labels.NumKeys())
	}
	return nil
}
