// Test of Check: each invariant is broken in turn.

package trie

import (
	"errors"
	"testing"
)

// TestCheck breaks each invariant in turn, because no method of a trie does.
func TestCheck(t *testing.T) {
	// In the tree of bounds: the root "" has segment 1 and the kids "a" and
	// "b", "a" has no segment and the kids "b" and "c", of segments 2 and 3.
	for _, c := range []struct {
		name    string
		corrupt func(*Trie)
	}{
		{"no tree", func(t *Trie) { *t = Trie{} }},
		{"a wrong count", func(t *Trie) { t.len++ }},
		{"a wrong total", func(t *Trie) { t.boundBytes++ }},
		{"a bound too long", func(t *Trie) {
			long := make([]byte, MaxBoundLen+1)
			first, second := &Segment{Hi: long, ID: 1}, &Segment{Lo: long, ID: 2}
			*t = *(&Trie{}).put(first).put(second)
		}},
		{"a gap", func(t *Trie) { t.bounds.seg.Hi = []byte("a") }},
		{"an overlap", func(t *Trie) { t.bounds.seg.Hi = []byte("abx") }},
		{"an early end", func(t *Trie) { t.bounds.max.Hi = []byte("x") }},
		{"an end in the middle", func(t *Trie) { t.bounds.seg.Hi = nil }},
		{"a late begin", func(t *Trie) { t.bounds, t.ids = t.bounds.remove(nil), t.ids.remove(appendID(nil, 1)); t.len-- }},
		{"a wrong place", func(t *Trie) { t.bounds.max.Lo = []byte("c") }},
		{"an ID twice", func(t *Trie) { t.bounds.seg.ID = 2 }},
		{"a wrong ID", func(t *Trie) { t.bounds.seg.ID = 9 }},
		{"another segment of the ID", func(t *Trie) { s := *t.bounds.seg; t.bounds.seg = &s }},
		{"an ID too few", func(t *Trie) { t.ids = t.ids.remove(appendID(nil, 1)) }},
		{"a needless node", func(t *Trie) {
			a := t.bounds.kids[0]
			a.labels, a.kids = a.labels[:1], a.kids[:1]
			a.max = a.kids[0].max
		}},
		{"an empty prefix", func(t *Trie) { t.bounds.kids[1].prefix = nil }},
		{"a wrong label", func(t *Trie) { t.bounds.labels[1] = 'x' }},
		{"a label too few", func(t *Trie) { t.bounds.labels = t.bounds.labels[:1] }},
		{"labels that descend", func(t *Trie) {
			n := t.bounds
			n.labels[0], n.labels[1] = n.labels[1], n.labels[0]
			n.kids[0], n.kids[1] = n.kids[1], n.kids[0]
		}},
		{"no kid", func(t *Trie) { t.bounds.kids[0] = nil }},
		{"a wrong max", func(t *Trie) { t.bounds.kids[0].max = t.bounds.seg }},
		{"no max", func(t *Trie) { t.bounds.max = nil }},
		{"a wrong max of IDs", func(t *Trie) { t.ids.max = t.bounds.seg }},
	} {
		tr := splitAt(t, "ab", "ac", "b")
		c.corrupt(tr)
		if err := tr.Check(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
