// Tests of the radix tree under a trie.

package trie

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestNodeIsAMap: a tree is a map from keys to segments, for any set of keys. In a trie the keys
// always include the empty key or have one length.
func TestNodeIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree *node
		model := make(map[string]*Segment)
		t.Repeat(map[string]func(*rapid.T){
			"with": func(t *rapid.T) {
				key, seg := anyKey(t, "key"), new(Segment)
				tree = tree.put(key, seg)
				model[string(key)] = seg
				clear(key) // the tree has its own copy
			},
			"without": func(t *rapid.T) {
				key := anyKey(t, "key")
				got := tree.remove(key)
				if model[string(key)] == nil && got != tree {
					t.Fatalf("without %q, which is not in it, another tree", key)
				}
				tree = got
				delete(model, string(key))
			},
			"get": func(t *rapid.T) {
				key := anyKey(t, "key")
				if tree.get(key) != model[string(key)] {
					t.Fatalf("get(%q)", key)
				}
			},
			"floor": func(t *rapid.T) {
				key, greatest := anyKey(t, "key"), ""
				for k := range model {
					if k <= string(key) {
						greatest = max(greatest, k)
					}
				}
				if tree.floor(key) != model[greatest] {
					t.Fatalf("floor(%q) is not that of %q", key, greatest)
				}
			},
			"": func(t *rapid.T) {
				entries, err := tree.check(nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					if model[string(e.key)] != e.seg {
						t.Fatalf("another segment at %q", e.key)
					}
				}
				if len(entries) != len(model) {
					t.Fatalf("%d keys, want %d", len(entries), len(model))
				}
			},
		})
	})
}

func TestCommonPrefix(t *testing.T) {
	a := []byte("0123456789abcdefghijk")
	for n := range a {
		b := slices.Clone(a)
		b[n]++
		for _, c := range []struct {
			a, b []byte
			want int
		}{
			{a, b, n}, {b, a, n}, {a, a[:n], n}, {a[:n], a, n}, {a[:n], a[:n], n},
		} {
			if got := commonPrefix(c.a, c.b); got != c.want {
				t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
			}
		}
	}
}
