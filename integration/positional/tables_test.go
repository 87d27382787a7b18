// Tests of the tables of partitions.

package positional

import (
	"slices"
	"testing"
)

// tableHost is a host as the tables know it.
type tableHost struct {
	primary, secondary int
	from, to           uint64 // the place of its first page
	pages              uint64
}

// TestTables is the worked case of two primary and two secondary partitions.
//
//	primary 0:   a (3 pages), b (2), c (4)
//	primary 1:   d (2), e (1)
//	secondary 0: a, d, c    secondary 1: b, e
func TestTables(t *testing.T) {
	hosts := []tableHost{
		{0, 0, 0, 0, 3}, // a
		{0, 1, 3, 0, 2}, // b
		{0, 0, 5, 5, 4}, // c
		{1, 0, 0, 3, 2}, // d
		{1, 1, 2, 2, 1}, // e
	}
	l := Layout{8, 8, 8}
	var in, out []Row
	for _, h := range hosts {
		in = append(in, Row{l.Make(h.primary, h.secondary, h.from), h.to})
		out = append(out, Row{l.Make(h.primary, h.secondary, h.to), h.from})
	}
	slices.Reverse(in)
	slices.Reverse(out)
	primToSec, secToPrim := NewPrimToSec(l, in), NewSecToPrim(l, out)
	if primToSec.Len() != 5 || secToPrim.Len() != 5 {
		t.Fatalf("%d and %d rows", primToSec.Len(), secToPrim.Len())
	}
	for _, h := range hosts {
		for page := range h.pages {
			u, v := l.Make(h.primary, h.secondary, h.from+page), l.Make(h.primary, h.secondary, h.to+page)
			if got, ok := primToSec.Translate(u); !ok || got != v {
				t.Errorf("PrimToSec(%#x) = %#x, %t; want %#x", uint64(u), uint64(got), ok, uint64(v))
			}
			if got, ok := primToSec.Secondary(h.secondary).Translate(u); !ok || got != v {
				t.Errorf("own PrimToSec(%#x) = %#x, %t; want %#x", uint64(u), uint64(got), ok, uint64(v))
			}
			if got, ok := primToSec.Secondary(1 - h.secondary).Translate(u); ok {
				t.Errorf("PrimToSec(%#x) of the other partition = %#x", uint64(u), uint64(got))
			}
			if got, ok := secToPrim.Translate(v); !ok || got != u {
				t.Errorf("SecToPrim(%#x) = %#x, %t; want %#x", uint64(v), uint64(got), ok, uint64(u))
			}
		}
	}
	for _, u := range []UID{
		l.Make(1, 1, 1), // before the first row of its partitions
		l.Make(2, 0, 0), // behind the last row
		l.Make(0, 2, 9), // a secondary partition that there is not
	} {
		if v, ok := primToSec.Translate(u); ok {
			t.Errorf("PrimToSec(%#x) = %#x", uint64(u), uint64(v))
		}
	}
	for _, v := range []UID{l.Make(1, 0, 1), l.Make(0, 1, 2), l.Make(0, 2, 0)} {
		if u, ok := secToPrim.Translate(v); ok {
			t.Errorf("SecToPrim(%#x) = %#x", uint64(v), uint64(u))
		}
	}
	if v, ok := (PrimToSec{}).Translate(3); ok {
		t.Errorf("an empty table translates to %d", v)
	}
	if u, ok := (SecToPrim{}).Translate(3); ok {
		t.Errorf("an empty table translates to %d", u)
	}
	// r - r' + r'' does not run over into the partitions.
	narrow := NewPrimToSec(Layout{8, 8, 4}, []Row{{0, 10}})
	if v, ok := narrow.Translate(5); !ok || v != 15 {
		t.Errorf("%d, %t", v, ok)
	}
	if v, ok := narrow.Translate(6); ok {
		t.Errorf("place 16 of 16: %d", v)
	}
}
