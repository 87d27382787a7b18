// Nodes of the trie: persistent, shared between versions.

package trie

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
)

// node is the root of a persistent, path-compressed byte trie (a radix tree)
// from keys to segments. A trie uses two of them: by lower bound and by ID.
// A nil *node is the empty tree.
//
// The key of a node is the concatenation of the prefixes from the root to it.
// Nodes are never modified once they are made: with and without copy those on
// one path and share the rest, kids included. A node owns its prefix and labels
// and keeps no part of a key that was passed in.
//
// Invariants, which check verifies:
//
//	seg != nil || len(kids) >= 2              path compression
//	len(prefix) > 0, but for the root
//	labels[i] == kids[i].prefix[0], and labels ascend
//	max == the segment of the greatest key in this subtree
type node struct {
	// prefix and labels are one piece of memory: a lookup reads one after the
	// other, and mostly pays for a single cache miss.
	prefix []byte
	labels []byte
	kids   []*node
	seg    *Segment // the segment of exactly this node's key, or nil
	max    *Segment // so that floor never has to descend a second time
}

// newNode copies prefix and labels, and keeps kids.
func newNode(prefix []byte, seg *Segment, labels []byte, kids []*node) *node {
	both, cut := slices.Concat(prefix, labels), len(prefix)
	n := &node{prefix: both[:cut:cut], labels: both[cut:], kids: kids, seg: seg, max: seg}
	if len(kids) > 0 {
		n.max = kids[len(kids)-1].max
	}
	return n
}

// floor returns the segment of the greatest key <= key, or nil if there is none. It allocates
// nothing and takes O(len(key)) byte comparisons and one scan of labels for each node on the
// path.
func (n *node) floor(key []byte) *Segment {
	// The answer so far is the greatest key of below if below is not nil, else best. below is
	// only followed at the end, because that saves a cache miss.
	var best *Segment
	var below *node
	for n != nil {
		i := commonPrefix(n.prefix, key)
		if i < len(n.prefix) {
			if i < len(key) && key[i] > n.prefix[i] {
				return n.max // all of this subtree is less than key
			}
			break // all of it is greater
		}
		key = key[i:]
		if n.seg != nil {
			best, below = n.seg, nil
		}
		if len(key) == 0 {
			break
		}
		// The kid before the key's has only smaller keys, so its greatest is the best answer so
		// far.
		j, found := search(n.labels, key[0])
		if j > 0 {
			below = n.kids[j-1]
		}
		if !found {
			break
		}
		n = n.kids[j]
	}
	if below != nil {
		return below.max
	}
	return best
}

// get returns the segment of exactly key, or nil.
func (n *node) get(key []byte) *Segment {
	for n != nil {
		i := commonPrefix(n.prefix, key)
		if i < len(n.prefix) {
			return nil
		}
		key = key[i:]
		if len(key) == 0 {
			return n.seg
		}
		j, found := search(n.labels, key[0])
		if !found {
			return nil
		}
		n = n.kids[j]
	}
	return nil
}

// put returns the tree with key mapped to seg. If key was mapped before, seg replaces its
// segment.
func (n *node) put(key []byte, seg *Segment) *node {
	if n == nil {
		return newNode(key, seg, nil, nil)
	}
	// 1. If the key departs within the prefix, the node splits at that byte.
	i := commonPrefix(n.prefix, key)
	if i < len(n.prefix) {
		rest := newNode(n.prefix[i:], n.seg, n.labels, n.kids)
		if i == len(key) {
			return newNode(key, seg, []byte{rest.prefix[0]}, []*node{rest})
		}
		first, second := rest, newNode(key[i:], seg, nil, nil)
		if second.prefix[0] < first.prefix[0] {
			first, second = second, first
		}
		return newNode(key[:i], nil, []byte{first.prefix[0], second.prefix[0]}, []*node{first, second})
	}
	// 2. The key ends here: the node gets the segment.
	key = key[i:]
	if len(key) == 0 {
		return newNode(n.prefix, seg, n.labels, n.kids)
	}
	// 3. Copy the path to the kid. Kids off the path are shared, because nodes never change.
	j, found := search(n.labels, key[0])
	if found {
		kids := slices.Clone(n.kids)
		kids[j] = kids[j].put(key, seg)
		return newNode(n.prefix, n.seg, n.labels, kids)
	}
	// 4. There is no kid for the next byte: add one.
	kid := newNode(key, seg, nil, nil)
	return newNode(n.prefix, n.seg, inserted(n.labels, j, key[0]), inserted(n.kids, j, kid))
}

// remove returns the tree without key, or n itself if key is not in it.
func (n *node) remove(key []byte) *node {
	if n == nil {
		return nil
	}
	// 1. If the key is missing, return the node itself: callers rely on the equal pointer.
	i := commonPrefix(n.prefix, key)
	if i < len(n.prefix) {
		return n
	}
	key = key[i:]
	if len(key) == 0 {
		if n.seg == nil {
			return n
		}
		return compressed(n.prefix, nil, n.labels, n.kids)
	}
	j, found := search(n.labels, key[0])
	if !found {
		return n
	}
	// 2. A removed kid may leave a node to compress; otherwise only the path is copied.
	kid := n.kids[j].remove(key)
	switch kid {
	case n.kids[j]:
		return n
	case nil:
		return compressed(n.prefix, n.seg, deleted(n.labels, j), deleted(n.kids, j))
	default:
		kids := slices.Clone(n.kids)
		kids[j] = kid
		return newNode(n.prefix, n.seg, n.labels, kids)
	}
}

// compressed is newNode if path compression may not hold. A node without segment and kid
// vanishes; if it has no segment and a single kid, it becomes the kid.
func compressed(prefix []byte, seg *Segment, labels []byte, kids []*node) *node {
	if seg != nil || len(kids) > 1 {
		return newNode(prefix, seg, labels, kids)
	}
	if len(kids) == 0 {
		return nil
	}
	kid := kids[0]
	return newNode(slices.Concat(prefix, kid.prefix), kid.seg, kid.labels, kid.kids)
}

// An entry is one key of a tree and its segment.
type entry struct {
	key []byte
	seg *Segment
}

// build returns the tree of entries. There must be one or more; they must ascend, be distinct and
// be equal in their first from bytes. It takes time proportional to their total length, because
// it copies no path, as repeated calls of with would.
func build(entries []entry, from int) *node {
	first, last := entries[0].key, entries[len(entries)-1].key
	to := from + commonPrefix(first[from:], last[from:])
	var seg *Segment
	if len(first) == to {
		seg, entries = entries[0].seg, entries[1:]
	}
	var labels []byte
	var kids []*node
	for len(entries) > 0 {
		label := entries[0].key[to]
		group := sort.Search(len(entries), func(i int) bool { return entries[i].key[to] > label })
		labels = append(labels, label)
		kids = append(kids, build(entries[:group], to))
		entries = entries[group:]
	}
	return newNode(first[from:to], seg, labels, slices.Clip(kids))
}

// inserted returns a copy of s with v at index i; deleted returns one without s[i]. The slices
// package must not be used, because it changes its argument, and the argument may be shared.
func inserted[E any](s []E, i int, v E) []E {
	t := make([]E, 0, len(s)+1)
	t = append(append(t, s[:i]...), v)
	return append(t, s[i:]...)
}

func deleted[E any](s []E, i int) []E {
	return slices.Concat(s[:i], s[i+1:])
}

// commonPrefix returns the number of common leading bytes of a and b.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:])
		if x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// search returns the number of labels below c, and whether c follows them. A scan beats a binary
// search because most nodes have a handful of labels, ten if numbers differ in a digit. The wrong
// guesses of a branch cost more.
func search(labels []byte, c byte) (int, bool) {
	j := 0
	for j < len(labels) && labels[j] < c {
		j++
	}
	return j, j < len(labels) && labels[j] == c
}
