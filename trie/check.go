// Checks of the invariants of a trie.

package trie

import (
	"bytes"
	"fmt"
	"slices"
)

// Check verifies all invariants of the trie and of its trees. The error wraps [ErrCorrupt] and
// names the fault and the node or segment. A trie always passes if it was made by [New], [Parse]
// and its own methods. Check is for tests, and for `trefoil check`. O(total length of the
// bounds).
func (t *Trie) Check() error {
	if err := t.check(); err != nil {
		return fmt.Errorf("trie: check: %w: %w", ErrCorrupt, err)
	}
	return nil
}

func (t *Trie) check() error {
	byBound, err := t.bounds.check(nil, nil)
	if err != nil {
		return fmt.Errorf("tree of bounds: %w", err)
	}
	byID, err := t.ids.check(nil, nil)
	if err != nil {
		return fmt.Errorf("tree of IDs: %w", err)
	}
	if len(byBound) == 0 || len(byBound) != t.len || len(byID) != t.len {
		return fmt.Errorf("%d bounds and %d IDs for %d segments", len(byBound), len(byID), t.len)
	}
	if err := checkCoverage(byBound); err != nil {
		return err
	}
	boundBytes := 0
	for _, e := range byBound {
		// Identity and equal counts make the two trees one set.
		if t.ids.get(appendID(nil, e.seg.ID)) != e.seg {
			return fmt.Errorf("segment %s is not found by its ID", e.seg)
		}
		if len(e.key) > MaxBoundLen {
			return fmt.Errorf("segment %s: bound over %d bytes", e.seg, MaxBoundLen)
		}
		boundBytes += len(e.key)
	}
	if boundBytes != t.boundBytes || boundBytes > MaxBoundBytes {
		return fmt.Errorf("%d bytes of bounds, counted as %d, at most %d", boundBytes, t.boundBytes, MaxBoundBytes)
	}
	return nil
}

// checkCoverage verifies two rules: the segments must tile the space, and each must stand at its
// own lower bound.
func checkCoverage(entries []entry) error {
	for i, e := range entries {
		s := e.seg
		if !bytes.Equal(s.Lo, e.key) {
			return fmt.Errorf("segment %s stands at key %s", s, quoteKey(e.key))
		}
		if i == 0 && len(s.Lo) != 0 {
			return fmt.Errorf("segment %s is the first, and the keys before it are in none", s)
		}
		if i == len(entries)-1 {
			if s.Hi != nil {
				return fmt.Errorf("segment %s is the last, and the keys behind it are in none", s)
			}
			continue
		}
		if s.Hi == nil || !bytes.Equal(s.Hi, entries[i+1].key) {
			return fmt.Errorf("segment %s ends elsewhere than %s begins", s, entries[i+1].seg)
		}
	}
	return nil
}

// check verifies the invariants of the tree and appends its entries. They ascend if it succeeds.
// path is the key of the parent.
func (n *node) check(path []byte, entries []entry) ([]entry, error) {
	if n == nil {
		return entries, nil
	}
	key := slices.Concat(path, n.prefix)
	fail := func(what string) ([]entry, error) {
		return nil, fmt.Errorf("node %s: %s", quoteKey(key), what)
	}
	// 1. The node itself: path compression must hold.
	if n.seg == nil && len(n.kids) < 2 {
		return fail("neither a segment nor two kids")
	}
	if len(n.labels) != len(n.kids) {
		return fail("not one label for each kid")
	}
	greatest := n.seg
	if n.seg != nil {
		entries = append(entries, entry{key, n.seg})
	}
	// 2. The kids in the order of their labels, because the entries must ascend.
	for i, kid := range n.kids {
		if kid == nil || len(kid.prefix) == 0 || kid.prefix[0] != n.labels[i] {
			return fail("a label is not its kid's first byte")
		}
		if i > 0 && n.labels[i-1] >= n.labels[i] {
			return fail("labels do not ascend")
		}
		var err error
		if entries, err = kid.check(key, entries); err != nil {
			return nil, err
		}
		greatest = kid.max
	}
	// 3. The last kid has the greatest key, because labels ascend.
	if n.max != greatest || n.max == nil {
		return fail("max is not the segment of the greatest key")
	}
	return entries, nil
}
