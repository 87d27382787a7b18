// Sets of keys, as sorted lists of ranges.

package copies

import (
	"bytes"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// cover is a set of keys. Invariant: ranges ascend, neither overlap nor touch, and have ends.
type cover []triple.Range

// newCover returns the keys of ranges.
func newCover(ranges []triple.Range) cover {
	all := slices.Clone(ranges)
	slices.SortFunc(all, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	var c cover
	for _, r := range all {
		switch n := len(c); {
		case r.Empty():
		case n > 0 && bytes.Compare(r.Lo, c[n-1].Hi) <= 0:
			if bytes.Compare(c[n-1].Hi, r.Hi) < 0 {
				c[n-1].Hi = r.Hi
			}
		default:
			c = append(c, r)
		}
	}
	return c
}

// has reports whether all keys of a range are in c.
func (c cover) has(r triple.Range) bool {
	at, found := slices.BinarySearchFunc(c, r.Lo, func(part triple.Range, lo []byte) int { return bytes.Compare(part.Lo, lo) })
	if !found {
		at--
	}
	return at >= 0 && bytes.Compare(r.Hi, c[at].Hi) <= 0
}

// with returns c and the keys of a range.
func (c cover) with(r triple.Range) cover { return newCover(append(slices.Clone(c), r)) }

// and returns the keys that are in both.
func (c cover) and(other cover) (both cover) {
	for i, j := 0, 0; i < len(c) && j < len(other); {
		if r := c[i].Intersect(other[j]); !r.Empty() {
			both = append(both, r)
		}
		if bytes.Compare(c[i].Hi, other[j].Hi) < 0 {
			i++
		} else {
			j++
		}
	}
	return both
}

// without returns the keys that are not in other.
func (c cover) without(other cover) (rest cover) {
	for _, r := range c {
		for _, o := range other {
			if bytes.Compare(o.Hi, r.Lo) <= 0 {
				continue
			}
			if bytes.Compare(r.Hi, o.Lo) <= 0 {
				break
			}
			if bytes.Compare(r.Lo, o.Lo) < 0 {
				rest = append(rest, triple.Range{Lo: r.Lo, Hi: o.Lo})
			}
			if r.Lo = o.Hi; r.Empty() {
				break
			}
		}
		if !r.Empty() {
			rest = append(rest, r)
		}
	}
	return rest
}

func (c cover) equal(other cover) bool {
	return slices.EqualFunc(c, other, func(a, b triple.Range) bool {
		return bytes.Equal(a.Lo, b.Lo) && bytes.Equal(a.Hi, b.Hi)
	})
}

// at returns the range of c with a key, and false if there is none.
func (c cover) at(key []byte) (triple.Range, bool) {
	i, found := slices.BinarySearchFunc(c, key, func(part triple.Range, key []byte) int { return bytes.Compare(part.Lo, key) })
	if !found {
		i--
	}
	if i < 0 || bytes.Compare(key, c[i].Hi) >= 0 {
		return triple.Range{}, false
	}
	return c[i], true
}

// cutFrom returns a part of whole without lists that are cut at its start. If a range begins
// within a list now, rows of that list may be on the shelf before the range.
func (c cover) cutFrom(whole cover) (part cover) {
	for _, r := range c {
		if from, ok := whole.at(r.Lo); ok && !bytes.Equal(from.Lo, r.Lo) {
			if pair, ok := triple.KeyPair(r.Lo); ok && bytes.Compare(PairRange(pair).Lo, r.Lo) < 0 {
				r.Lo = PairRange(pair).Hi
			}
		}
		if !r.Empty() {
			part = append(part, r)
		}
	}
	return part
}
