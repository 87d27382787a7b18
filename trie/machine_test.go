// Tests of machine IDs and of the ring.

package trie

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMachineID(t *testing.T) {
	// Pinned: a disk keeps the UUID, views keep the ID.
	uuid := [16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x41, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	if got, want := MachineIDOf(uuid).String(), "bbe2c62e9b97dbe4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := MachineID(0x2a).String(); got != "000000000000002a" {
		t.Errorf("got %s", got)
	}
}

func TestParseMachineID(t *testing.T) {
	for _, s := range []string{"0000000000000000", "000000000000002a", "ffffffffffffffff"} {
		if id, err := ParseMachineID(s); err != nil || id.String() != s {
			t.Errorf("%q: %s, %v", s, id, err)
		}
	}
	for _, s := range []string{"", "2a", "000000000000002A", "0x0000000000002a", "+00000000000002a",
		"00000000000000002a", "00000000_0000002a", "000000000000002g", strings.Repeat("0", 1<<20)} {
		if id, err := ParseMachineID(s); err == nil {
			t.Errorf("%.20q is %s", s, id)
		} else if len(err.Error()) > 200 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	}
}

func TestMachineIDInJSON(t *testing.T) {
	want := map[MachineID]MachineID{1<<64 - 1: 1<<53 + 1}
	data, err := json.Marshal(want)
	if err != nil || string(data) != `{"ffffffffffffffff":"0020000000000001"}` {
		t.Errorf("%s, %v", data, err)
	}
	var got map[MachineID]MachineID
	if err := json.Unmarshal(data, &got); err != nil || got[1<<64-1] != 1<<53+1 {
		t.Errorf("%v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"01":"02"}`), &got); err == nil {
		t.Error("short IDs parse")
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		from, to MachineID
		want     uint64
	}{
		{5, 5, 0}, {5, 7, 2}, {7, 5, 1<<64 - 2}, {1<<64 - 1, 1, 2},
	} {
		if got := c.from.Distance(c.to); got != c.want {
			t.Errorf("from %s to %s: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}

func TestRing(t *testing.T) {
	ids := []MachineID{30, 10, 20, 10}
	ring := NewRing(ids...)
	if !slices.Equal(ring, Ring{10, 20, 30}) || ids[0] != 30 {
		t.Fatalf("%v of %v", ring, ids)
	}
	for _, c := range []struct {
		ring Ring
		id   MachineID
		want Ring
	}{
		{ring, 10, Ring{20, 30}},
		{ring, 20, Ring{30, 10}},
		{ring, 30, Ring{10, 20}},
		{ring, 5, Ring{10, 20, 30}},
		{ring, 25, Ring{30, 10, 20}},
		{ring, 1<<64 - 1, Ring{10, 20, 30}},
		{Ring{10}, 10, nil},
		{Ring{10}, 11, Ring{10}},
		{nil, 11, nil},
	} {
		got := slices.Collect(c.ring.After(c.id))
		if !slices.Equal(got, c.want) {
			t.Errorf("%v after %s: %v, want %v", c.ring, c.id, got, c.want)
		}
		next := MachineID(0)
		if len(c.want) > 0 {
			next = c.want[0]
		}
		if got := c.ring.Next(c.id); got != next {
			t.Errorf("%v next to %s: %s, want %s", c.ring, c.id, got, next)
		}
	}
	if !ring.Contains(20) || ring.Contains(21) || Ring(nil).Contains(0) {
		t.Error("Contains")
	}
}

// TestRingIsByDistance: clockwise order is the order of the distances.
func TestRingIsByDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Custom(func(t *rapid.T) MachineID { return MachineID(rapid.Uint64().Draw(t, "id")) })
		ring := NewRing(rapid.SliceOf(id).Draw(t, "ring")...)
		from := id.Draw(t, "from")
		got := slices.Collect(ring.After(from))
		for i, next := range got {
			if next == from || i > 0 && from.Distance(got[i-1]) >= from.Distance(next) {
				t.Fatalf("%v after %s: %v", ring, from, got)
			}
		}
		if !slices.Equal(NewRing(append(got, from)...), NewRing(append(ring, from)...)) {
			t.Fatalf("%v after %s: %v", ring, from, got)
		}
	})
}
