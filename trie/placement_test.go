// Tests of placements: balance, moves, equality.

package trie

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func place(tb testing.TB, ids []MachineID, o PlacementOptions) *Placement {
	tb.Helper()
	p, err := NewPlacement(ids, o)
	require.NoError(tb, err)
	return p
}

// loads returns how many partitions each machine owns.
func loads(p *Placement) map[MachineID]int {
	n := make(map[MachineID]int)
	for i := range p.Partitions() {
		n[p.PartitionOwner(uint32(i))]++
	}
	return n
}

func TestPlacementEqual(t *testing.T) {
	of := func(ids ...MachineID) *Placement {
		p, err := NewPlacement(ids, PlacementOptions{})
		require.NoError(t, err)
		return p
	}
	p := of(1, 2, 3)
	if !p.Equal(p) || !p.Equal(of(3, 2, 1)) || p.Equal(of(1, 2)) || p.Equal(of(1, 2, 4)) {
		t.Error("Equal is wrong")
	}
	moved := &Placement{p.machines, slices.Clone(p.owners)}
	moved.owners[7] = (moved.owners[7] + 1) % 3
	if p.Equal(moved) {
		t.Error("one partition is elsewhere")
	}
}

func TestPlacementOnOneMachine(t *testing.T) {
	p := place(t, machines(1), PlacementOptions{})
	tr := splitAt(t, "b", "d")
	require.NoError(t, p.CheckTrie(tr))
	for s := range tr.All() {
		if got, want := p.Owner(s), machines(1)[0]; got != want {
			t.Errorf("the owner of %s is %s, want %s", s, got, want)
		}
	}
	if p.Partitions() != DefaultPartitions || loads(p)[machines(1)[0]] != DefaultPartitions {
		t.Errorf("%d partitions: %v", p.Partitions(), loads(p))
	}
}

func TestPlacementIsBalanced(t *testing.T) {
	for _, n := range []int{2, 3, 5, 8, 40} {
		p := place(t, machines(n), PlacementOptions{})
		greatest := 0
		for _, load := range loads(p) {
			greatest = max(greatest, load)
		}
		mean := float64(p.Partitions()) / float64(n)
		// One partition more than the load, because the load is rounded up.
		if limit := mean*DefaultLoad + 1; float64(greatest) > limit {
			t.Errorf("%d machines: %d partitions on one, limit %.1f", n, greatest, limit)
		}
		if ratio := float64(greatest) / mean; n == 5 && ratio > 1.06 {
			t.Errorf("5 machines: the fullest has %.3f times the mean", ratio)
		}
	}
}

func TestPlacementMovesLittle(t *testing.T) {
	for _, c := range []struct {
		from, to int
		limit    float64
	}{{5, 6, 0.25}, {5, 4, 0.25}, {2, 3, 0.40}, {10, 11, 0.20}} {
		p, q := place(t, machines(c.from), PlacementOptions{}), place(t, machines(c.to), PlacementOptions{})
		moved := 0
		for i := range p.Partitions() {
			if p.PartitionOwner(uint32(i)) != q.PartitionOwner(uint32(i)) {
				moved++
			}
		}
		part := float64(moved) / float64(p.Partitions())
		t.Logf("from %d to %d machines: %.1f%% of the partitions move", c.from, c.to, 100*part)
		if part >= c.limit {
			t.Errorf("from %d to %d machines: %.3f of the partitions move, limit %.2f", c.from, c.to, part, c.limit)
		}
	}
}

func TestPlacementErrors(t *testing.T) {
	one := machines(1)
	for _, c := range []struct {
		name     string
		machines []MachineID
		o        PlacementOptions
		want     string
	}{
		{"none", nil, PlacementOptions{}, "no machines"},
		{"twice", []MachineID{1, 2, 1}, PlacementOptions{}, "twice"},
		{"zero", []MachineID{1, 0}, PlacementOptions{}, "machine ID 0"},
		{"too many", machines(MaxMachines + 1), PlacementOptions{}, "1025 machines"},
		{"no room", one, PlacementOptions{Load: 0.99}, "load 0.99"},
		{"negative load", one, PlacementOptions{Load: -1}, "load -1"},
		{"no load", one, PlacementOptions{Load: math.NaN()}, "load NaN"},
		{"endless load", one, PlacementOptions{Load: math.Inf(1)}, "load +Inf"},
		{"negative partitions", one, PlacementOptions{Partitions: -1}, "-1 partitions"},
		{"too many partitions", one, PlacementOptions{Partitions: MaxPartitions + 1}, "1048577 partitions"},
		{"negative virtual nodes", one, PlacementOptions{VirtualNodes: -1}, "-1 virtual nodes"},
		{"too many virtual nodes", one, PlacementOptions{VirtualNodes: 1 << 40}, "virtual nodes"},
	} {
		if p, err := NewPlacement(c.machines, c.o); p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestPlacementHasRoom: the least allowed load must leave room for any numbers, and the order of
// the machines must not matter.
func TestPlacementHasRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := machines(rapid.IntRange(1, 30).Draw(t, "machines"))
		o := PlacementOptions{
			Partitions:   rapid.IntRange(1, 300).Draw(t, "partitions"),
			VirtualNodes: rapid.IntRange(1, 20).Draw(t, "factor"),
			Load:         rapid.Float64Range(1, 2).Draw(t, "load"),
		}
		p, err := NewPlacement(ids, o)
		require.NoError(t, err)
		limit := int(math.Ceil(float64(o.Partitions) / float64(len(ids)) * o.Load))
		for id, n := range loads(p) {
			if !slices.Contains(ids, id) || n > limit {
				t.Fatalf("%s has %d partitions, limit %d", id, n, limit)
			}
		}
		data, _ := p.AppendBinary(nil)
		shuffled, err := NewPlacement(rapid.Permutation(ids).Draw(t, "shuffled"), o)
		require.NoError(t, err)
		if other, _ := shuffled.AppendBinary(nil); !bytes.Equal(other, data) {
			t.Fatal("the order of the machines matters")
		}
		parsed, err := ParsePlacement(data)
		require.NoError(t, err)
		if again, _ := parsed.AppendBinary(nil); !bytes.Equal(again, data) {
			t.Fatalf("encoded again: %x, was %x", again, data)
		}
	})
}

func TestOwnerOfNoPartition(t *testing.T) {
	p := place(t, machines(3), PlacementOptions{Partitions: 8})
	for _, partition := range []uint32{8, 1<<32 - 1} {
		s := Segment{ID: 1, Partition: partition}
		if got := p.Owner(s); got != 0 {
			t.Errorf("the owner of %s is %s", s, got)
		}
	}
	tr, _ := splitAt(t, "b").Assign(2, 8)
	if err := p.CheckTrie(tr); err == nil || !strings.Contains(err.Error(), "partition 8 of 8") {
		t.Error(err)
	}
}

func TestHashPartition(t *testing.T) {
	// Pinned, because the partitions of segments are stored.
	for _, c := range []struct {
		id         uint64
		partitions int
		want       uint32
	}{
		{0, 4096, 3003}, {1, 4096, 2010}, {1<<64 - 1, 4096, 1737}, {1, 7, 0},
		{1, 1, 0}, {1, 0, 0}, {1, -1, 0},
	} {
		if got := HashPartition(c.id, c.partitions); got != c.want {
			t.Errorf("HashPartition(%d, %d) = %d, want %d", c.id, c.partitions, got, c.want)
		}
	}
}

// TestGoldenPlacement pins the format, and the library's result for three machines. If a new
// version of it fails here, it must not be used, because the first view after an upgrade would
// move most of the data.
func TestGoldenPlacement(t *testing.T) {
	want := readHex(t, "placement.hex")
	p := place(t, machines(3), PlacementOptions{Partitions: 16})
	if got, err := p.AppendBinary(nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got  %x, %v\nwant %x", got, err, want)
	}
	got, err := ParsePlacement(want)
	require.NoError(t, err)
	if !slices.Equal(got.Machines(), p.Machines()) || got.Partitions() != 16 {
		t.Errorf("%d partitions on %v", got.Partitions(), got.Machines())
	}
	for i := range uint32(16) {
		if got.PartitionOwner(i) != p.PartitionOwner(i) {
			t.Errorf("partition %d: %s, want %s", i, got.PartitionOwner(i), p.PartitionOwner(i))
		}
	}
}

func TestParsePlacementErrors(t *testing.T) {
	id := func(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
	const last = 1<<64 - 1
	for _, c := range []struct {
		name, body, want string
	}{
		{"empty", "", "byte 5: ends inside the number of machines"},
		{"no machines", "\x00", "byte 5: the number of machines is 0"},
		{"too many machines", "\x81\x08", "byte 5: the number of machines is 1025, over 1024"},
		{"machines cut off", "\x02" + id(1), "byte 5: the number of machines is 2, for which 8 bytes are too few"},
		{"machine 0", "\x01" + id(0) + "\x01\x00", "machine 1 of 1: byte 6: machine 0000000000000000 is zero"},
		{"a machine twice", "\x02" + id(5) + id(5) + "\x01\x00", "machine 2 of 2: byte 14: machine 0000000000000005 is"},
		{"behind the last machine", "\x02" + id(last) + id(1) + "\x01\x00", "machine 2 of 2: byte 14: machine 0000000000000001 is"},
		{"no partitions", "\x01" + id(1) + "\x00", "byte 14: the number of partitions is 0"},
		{"too many partitions", "\x01" + id(1) + "\x81\x80\x40", "byte 14: the number of partitions is 1048577, over 1048576"},
		{"partitions cut off", "\x01" + id(1) + "\x03\x00\x00", "byte 14: the number of partitions is 3, for which 2 bytes are too few"},
		{"an owner of none", "\x01" + id(1) + "\x02\x00\x01", "partition 1 of 2: byte 16: the owner is 1, over 0"},
		{"bytes behind the end", "\x01" + id(1) + "\x01\x00zz", "byte 16: 2 bytes behind the last element"},
	} {
		p, err := ParsePlacement(placementFormat.framed(c.body))
		if p != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if p, err := ParsePlacement(placementFormat.framed("\x01" + id(last) + "\x01\x00")); err != nil || p.PartitionOwner(0) != last {
		t.Errorf("the greatest machine ID: %v", err)
	}
}
