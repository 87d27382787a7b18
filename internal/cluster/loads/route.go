// Routes: the machines with a place of each row, for rows in order.

package loads

import (
	"bytes"
	"slices"
	"sort"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// router returns the machines of a view's base with a place of a row, as indexes of the ring. It
// is immutable.
type router struct {
	layout recovery.Layout
	ring   trie.Ring // of the layout
	bounds [][]byte  // lower bounds of ranges with one owner; the first is empty
	owners []int     // of the ranges, as indexes of the ring
	// first has for each order its first range, and the one after its last.
	first map[triple.Order][2]int
}

func newRouter(v *view.View) *router {
	r := &router{layout: v.Base, ring: v.Base.Placement.Machines(), first: map[triple.Order][2]int{}}
	for s := range v.Base.Trie.All() {
		owner, _ := slices.BinarySearch(r.ring, v.Base.Placement.Owner(s))
		if n := len(r.owners); n > 0 && r.owners[n-1] == owner {
			continue
		}
		r.bounds = append(r.bounds, s.Lo)
		r.owners = append(r.owners, owner)
	}
	for _, o := range triple.Orders {
		all := triple.OrderRange(o)
		from := r.find(all.Lo, 0, len(r.bounds))
		to := sort.Search(len(r.bounds), func(i int) bool { return all.Hi != nil && bytes.Compare(r.bounds[i], all.Hi) >= 0 })
		r.first[o] = [2]int{from, to}
	}
	return r
}

// find returns the range of key, among those from one index to another.
func (r *router) find(key []byte, from, to int) int {
	for to-from > 1 {
		middle := int(uint(from+to) / 2)
		if bytes.Compare(r.bounds[middle], key) <= 0 {
			from = middle
		} else {
			to = middle
		}
	}
	return from
}

// cursor finds the machines of rows one after the other. Their keys must ascend. One goroutine at a
// time may use it.
type cursor struct {
	*router
	at    int    // range of the last key
	hi    []byte // its end; nil is none
	valid bool

	pos, osp [2]int
	key      []byte
	extras   map[[3]int][]int // by the owners of SPO, POS and OSP
}

func (r *router) cursor() *cursor {
	return &cursor{router: r, pos: r.first[triple.POS], osp: r.first[triple.OSP], extras: map[[3]int][]int{}}
}

// owner returns the machine with a row in its storage table.
func (c *cursor) owner(key []byte) int {
	if !c.valid || c.hi != nil && bytes.Compare(key, c.hi) >= 0 {
		c.at, c.valid, c.hi = c.find(key, 0, len(c.bounds)), true, nil
		if c.at+1 < len(c.bounds) {
			c.hi = c.bounds[c.at+1]
		}
	}
	return c.owners[c.at]
}

// ownerOf is owner for a key of any place in the order: an annotation's version may be
// before the last row.
func (c *cursor) ownerOf(key []byte) int { return c.owners[c.find(key, 0, len(c.bounds))] }

// replicas returns the machines with an extra replica of a row of SPO; spo must be its owner. The
// slice must not be modified.
func (c *cursor) replicas(key []byte, spo int) ([]int, error) {
	if len(c.ring) == 1 {
		return nil, nil
	}
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return nil, err
	}
	version := func(o triple.Order) []byte {
		c.key = triple.AppendKeyOf(c.key[:0], o, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
		return c.key
	}
	owners := [3]int{spo}
	owners[1] = c.owners[c.find(version(triple.POS), c.pos[0], c.pos[1])]
	owners[2] = c.owners[c.find(version(triple.OSP), c.osp[0], c.osp[1])]
	out, ok := c.extras[owners]
	if !ok {
		for _, m := range c.layout.Extras(c.ring[owners[0]], c.ring[owners[1]], c.ring[owners[2]]) {
			at, _ := slices.BinarySearch(c.ring, m)
			out = append(out, at)
		}
		c.extras[owners] = out
	}
	return out, nil
}
