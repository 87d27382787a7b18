// Random tests of a trie against its model.

package trie

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// anyKey draws keys which are often equal to, prefixes of, and next to each other, because a
// radix tree can go wrong there.
func anyKey(t *rapid.T, name string) []byte {
	alphabet := rapid.SampledFrom([]byte{0x00, 0x01, 'a', 'b', 0xFE, 0xFF})
	return rapid.SliceOfN(alphabet, 0, 6).Draw(t, name)
}

// walk is a trie and its model. Both take the same random steps. Some of the tries on the way are
// kept, because they must not change.
type walk struct {
	trie  *Trie
	model []Segment
	next  uint64
	old   []version
}

// version is a trie on the way and its segments then.
type version struct {
	trie  *Trie
	model []Segment
}

func (w *walk) pick(t *rapid.T, name string) int {
	return rapid.IntRange(0, len(w.model)-1).Draw(t, name)
}

func (w *walk) split(t *rapid.T) {
	at := anyKey(t, "at")
	i := modelFind(w.model, at)
	s := w.model[i]
	got, err := w.trie.Split(s.ID, at, w.next)
	if bytes.Equal(s.Lo, at) {
		if err == nil {
			t.Fatalf("split %s at its lower bound", s)
		}
		t.Skip("at a bound")
	}
	require.NoError(t, err)
	left, right := s, s
	left.Hi, right.Lo, right.ID = at, at, w.next
	w.model = slices.Replace(slices.Clone(w.model), i, i+1, left, right)
	w.trie, w.next = got, w.next+rapid.SampledFrom([]uint64{1, 1, 255, 1 << 40}).Draw(t, "step")
}

func (w *walk) merge(t *rapid.T) {
	i := w.pick(t, "segment")
	if i == len(w.model)-1 {
		t.Skip("the last one")
	}
	left, right := w.model[i], w.model[i+1]
	got, err := w.trie.Merge(left.ID, right.ID)
	if left.Partition != right.Partition {
		if err == nil {
			t.Fatalf("merge of %s and %s", left, right)
		}
		return
	}
	require.NoError(t, err)
	left.Hi = right.Hi
	w.model = slices.Replace(slices.Clone(w.model), i, i+2, left)
	w.trie = got
}

func (w *walk) assign(t *rapid.T) {
	i := w.pick(t, "segment")
	partition := rapid.Uint32Range(0, 1).Draw(t, "partition")
	got, err := w.trie.Assign(w.model[i].ID, partition)
	require.NoError(t, err)
	w.model = slices.Clone(w.model)
	w.model[i].Partition = partition
	w.trie = got
}

func (w *walk) lookup(t *rapid.T) {
	key := anyKey(t, "key")
	want := w.model[modelFind(w.model, key)]
	if got := w.trie.Lookup(key); !sameSegment(got, want) {
		t.Fatalf("Lookup(%q) = %s, want %s", key, got, want)
	}
}

func (w *walk) ranges(t *rapid.T) {
	lo, hi := anyKey(t, "lo"), anyKey(t, "hi")
	if rapid.Bool().Draw(t, "to the end") {
		hi = nil
	}
	var want []Segment
	for _, s := range w.model {
		aboveLo := s.Hi == nil || bytes.Compare(s.Hi, lo) > 0
		belowHi := hi == nil || bytes.Compare(s.Lo, hi) < 0
		if aboveLo && belowHi && (hi == nil || bytes.Compare(lo, hi) < 0) {
			want = append(want, s)
		}
	}
	if got := slices.Collect(w.trie.Range(lo, hi)); !slices.EqualFunc(got, want, sameSegment) {
		t.Fatalf("Range(%q, %q) = %s, want %s", lo, hi, got, want)
	}
}

// encode goes on with the parsed trie, because built and updated tries must be tested alike.
func (w *walk) encode(t *rapid.T) {
	data, err := w.trie.AppendBinary([]byte("head"))
	require.NoError(t, err)
	got, err := Parse(data[4:])
	require.NoError(t, err)
	if again, _ := got.AppendBinary([]byte("head")); !bytes.Equal(again, data) {
		t.Fatalf("encoded again: %x, was %x", again, data)
	}
	w.trie = got
}

func (w *walk) keep(*rapid.T) {
	if len(w.old) < 10 {
		w.old = append(w.old, version{w.trie, w.model})
	}
}

func (w *walk) check(t *rapid.T) {
	for _, v := range append(slices.Clip(w.old), version{w.trie, w.model}) {
		require.NoError(t, v.trie.Check())
		if !sameSegments(v.trie, v.model) {
			t.Fatalf("the trie is %s, want %s", show(v.trie), v.model)
		}
	}
}

func TestTrieIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Range(0, 1<<50).Draw(t, "first ID")
		w := &walk{trie: New(first, 0), model: []Segment{{ID: first}}, next: first + 1}
		t.Repeat(map[string]func(*rapid.T){
			"split":       w.split,
			"split again": w.split, // twice as often as merge
			"merge":       w.merge,
			"assign":      w.assign,
			"lookup":      w.lookup,
			"range":       w.ranges,
			"encode":      w.encode,
			"keep":        w.keep,
			"":            w.check,
		})
	})
}

// TestShapeIsTheBoundsAlone: updates must lead to the same tree as building it from its bounds at
// once.
func TestShapeIsTheBoundsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := New(0, 0)
		for i := range rapid.Uint64Range(0, 40).Draw(t, "n") {
			at := anyKey(t, "at")
			if s := tr.Lookup(at); !bytes.Equal(s.Lo, at) {
				tr, _ = tr.Split(s.ID, at, i+1)
			} else if previous := predecessor(tr, s); previous != nil && rapid.Bool().Draw(t, "merge") {
				tr, _ = tr.Merge(previous.ID, s.ID)
			}
		}
		var entries []entry
		for s := range tr.All() {
			entries = append(entries, entry{s.Lo, &s})
		}
		if got, want := shape(tr.bounds), shape(build(entries, 0)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

func predecessor(t *Trie, of Segment) *Segment {
	for s := range t.All() {
		if s.Hi != nil && bytes.Equal(s.Hi, of.Lo) {
			return &s
		}
	}
	return nil
}

// shape writes a tree as prefix, ID and kids, in brackets.
func shape(n *node) string {
	s := fmt.Sprintf("(%q", n.prefix)
	if n.seg != nil {
		s += fmt.Sprintf(" %d", n.seg.ID)
	}
	for _, kid := range n.kids {
		s += shape(kid)
	}
	return s + ")"
}
