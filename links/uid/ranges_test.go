// Tests of ranges of UIDs and slots.

package uid

import (
	"slices"
	"testing"
)

func TestRange(t *testing.T) {
	r := Range{First: 10, Last: 12}
	for u, want := range map[UID]bool{9: false, 10: true, 11: true, 12: true, 13: false} {
		if r.Contains(u) != want {
			t.Errorf("%v contains %d: %t", r, u, !want)
		}
	}
	if r.Empty() || (Range{5, 5}).Empty() || !(Range{6, 5}).Empty() {
		t.Error("Empty is wrong")
	}
	if r.String() != "10-12" {
		t.Errorf("%s", r)
	}
}

func TestSlotsRange(t *testing.T) {
	all := AllSlots.Range()
	if all.First != 0 || all.Last != ^UID(0) {
		t.Errorf("all slots: %v", all)
	}
	if r := (Slots{3, 4}).Range(); r.First != 3<<50 || r.Last != 5<<50-1 {
		t.Errorf("slots 3-4: %v", r)
	}
	if r := (Slots{4, 3}).Range(); !r.Empty() {
		t.Errorf("no slots: %v", r)
	}
	if s := (Slots{4, 6}); !s.Contains(4) || !s.Contains(6) || s.Contains(3) || s.Contains(7) || s.String() != "4-6" {
		t.Errorf("%v", s)
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		slots Slots
		n     int
		want  []Slots
	}{
		{Slots{0, 16383}, 1, []Slots{{0, 16383}}},
		{Slots{0, 16383}, 3, []Slots{{0, 5461}, {5462, 10922}, {10923, 16383}}},
		{Slots{0, 16383}, 4, []Slots{{0, 4095}, {4096, 8191}, {8192, 12287}, {12288, 16383}}},
		{Slots{7, 7}, 2, []Slots{{7, 7}}},
		{Slots{7, 9}, 2, []Slots{{7, 8}, {9, 9}}},
		{Slots{7, 9}, 0, []Slots{{7, 9}}},
		{Slots{7, 9}, -1, []Slots{{7, 9}}},
		{Slots{7, 9}, 1 << 40, []Slots{{7, 7}, {8, 8}, {9, 9}}},
		{Slots{9, 7}, 2, nil},
	}
	for _, test := range tests {
		if got := test.slots.Split(test.n); !slices.Equal(got, test.want) {
			t.Errorf("%v split in %d: %v, want %v", test.slots, test.n, got, test.want)
		}
	}
}

func TestSplitCovers(t *testing.T) {
	r := random(t)
	for range 2000 {
		first := Slot(r.IntN(NumSlots))
		s := Slots{first, first + Slot(r.IntN(NumSlots-int(first)))}
		n := 1 + r.IntN(1+r.IntN(300))
		parts := s.Split(n)
		if len(parts) != min(n, s.Len()) {
			t.Fatalf("%v split in %d: %d parts", s, n, len(parts))
		}
		next, least, most := s.First, s.Len(), 0
		for _, part := range parts {
			if part.First != next || part.Len() == 0 {
				t.Fatalf("%v split in %d: %v", s, n, parts)
			}
			next = part.Last + 1
			least, most = min(least, part.Len()), max(most, part.Len())
		}
		if next != s.Last+1 || most-least > 1 {
			t.Fatalf("%v split in %d: %v", s, n, parts)
		}
	}
}
