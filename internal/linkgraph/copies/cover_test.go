// Tests of covers against sets of keys.

package copies

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// keySet compares covers with sets of their keys, of one byte each.
type keySet [40]bool

func smallRange(random *rand.Rand) triple.Range {
	lo := byte(random.IntN(len(keySet{}) - 1))
	return triple.Range{Lo: []byte{lo}, Hi: []byte{lo + byte(random.IntN(min(8, len(keySet{})-int(lo))))}}
}

func smallCover(random *rand.Rand) (cover, keySet) {
	var ranges []triple.Range
	var keys keySet
	for range random.IntN(8) {
		r := smallRange(random)
		ranges = append(ranges, r)
		for key := r.Lo[0]; key < r.Hi[0]; key++ {
			keys[key] = true
		}
	}
	return newCover(ranges), keys
}

// isCover fails unless c is in order and has these keys.
func isCover(t *testing.T, what string, c cover, want keySet) {
	t.Helper()
	var got keySet
	for i, r := range c {
		if r.Empty() || r.Hi == nil || i > 0 && bytes.Compare(c[i-1].Hi, r.Lo) >= 0 {
			t.Fatalf("%s: %v is not in order", what, c)
		}
		for key := r.Lo[0]; key < r.Hi[0]; key++ {
			got[key] = true
		}
	}
	if got != want {
		t.Fatalf("%s: %v, want %v", what, c, want)
	}
}

func TestCover(t *testing.T) {
	random := seeded(t)
	for range 5000 {
		a, inA := smallCover(random)
		b, inB := smallCover(random)
		r := smallRange(random)
		isCover(t, "new", a, inA)
		both, rest, more := keySet{}, keySet{}, inA
		inR, all := slices.Clone(inA[:0]), true
		for key := range inA {
			both[key], rest[key] = inA[key] && inB[key], inA[key] && !inB[key]
			if byte(key) >= r.Lo[0] && byte(key) < r.Hi[0] {
				more[key], all = true, all && inA[key]
				inR = append(inR, inA[key])
			}
		}
		before := slices.Clone(a)
		isCover(t, "and", a.and(b), both)
		isCover(t, "without", a.without(b), rest)
		isCover(t, "with", a.with(r), more)
		isCover(t, "a after all that", a, inA)
		if !a.equal(before) || a.equal(b) != (inA == inB) {
			t.Fatalf("%v and %v are equal: %v", a, b, a.equal(b))
		}
		if !r.Empty() && a.has(r) != all {
			t.Fatalf("%v has %v: %v; %v", a, r, a.has(r), inR)
		}
		for key := range inA {
			part, ok := a.at([]byte{byte(key)})
			if ok != inA[key] {
				t.Fatalf("%v at %d: %v", a, key, part)
			}
			if !ok {
				continue
			}
			lo, hi := key, key
			for ; lo > 0 && inA[lo-1]; lo-- {
			}
			for ; hi < len(inA) && inA[hi]; hi++ {
			}
			if int(part.Lo[0]) != lo || int(part.Hi[0]) != hi {
				t.Fatalf("%v at %d: %v, want %d to %d", a, key, part, lo, hi)
			}
		}
	}
}
