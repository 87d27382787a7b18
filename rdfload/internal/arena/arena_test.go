// Tests of arrays outside the heap.

package arena_test

import (
	"testing"

	"github.com/trefoildb/trefoil/rdfload/internal/arena"
)

// TestArray fills an array, empties it and releases it. Its address space does not change until then.
func TestArray(t *testing.T) {
	const limit = 1000
	a, err := arena.New[uint64](limit)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if n := arena.Reserved(); n != limit*8 {
			t.Errorf("round %d: %d bytes are reserved, not %d", round, n, limit*8)
		}
		if len(a.Data) != 0 || cap(a.Data) != limit || a.Resident() != 0 {
			t.Fatalf("round %d: %d of %d values, %d bytes, in an empty array", round, len(a.Data), cap(a.Data), a.Resident())
		}
		for i := range uint64(limit) {
			if a.Data = append(a.Data, i); a.Data[:i+1][i] != i {
				t.Fatalf("value %d is lost", i)
			}
		}
		a.Touch(len(a.Data))
		a.Touch(1) // the greatest number counts
		if n := a.Resident(); n != limit*8 {
			t.Errorf("%d bytes are in use, not %d", n, limit*8)
		}
		if err := a.Renew(); err != nil {
			t.Fatal(err)
		}
		if zero := a.Data[:1][0]; zero != 0 {
			t.Errorf("a renewed array begins with %d", zero)
		}
	}
	a.Release()
	a.Release() // does nothing
	if n := arena.Reserved(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}
