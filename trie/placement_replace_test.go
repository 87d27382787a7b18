// Tests of Replace.

package trie

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name    string
		by      map[MachineID]MachineID
		want    Ring
		refused bool
	}{
		{"none", nil, Ring{10, 20, 30}, false},
		{"one, in between", map[MachineID]MachineID{10: 25}, Ring{20, 25, 30}, false},
		{"one, behind the last", map[MachineID]MachineID{20: 40}, Ring{10, 30, 40}, false},
		{"all", map[MachineID]MachineID{10: 3, 20: 2, 30: 1}, Ring{1, 2, 3}, false},
		{"two change places", map[MachineID]MachineID{10: 30, 30: 10}, Ring{10, 20, 30}, false},
		{"one takes the place of one that moves on", map[MachineID]MachineID{10: 20, 20: 40}, Ring{20, 30, 40}, false},
		{"one that is not there", map[MachineID]MachineID{11: 40}, nil, true},
		{"by one that is there", map[MachineID]MachineID{10: 20}, nil, true},
		{"two by one", map[MachineID]MachineID{10: 40, 20: 40}, nil, true},
		{"by none", map[MachineID]MachineID{10: 0}, nil, true},
	} {
		p := place(t, []MachineID{10, 20, 30}, PlacementOptions{Partitions: 64})
		before := slices.Clone(p.owners)
		q, err := p.Replace(c.by)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			continue
		}
		if !slices.Equal(q.Machines(), c.want) {
			t.Errorf("%s: machines %v, want %v", c.name, q.Machines(), c.want)
		}
		checkReplaced(t, p, q, c.by)
		if !slices.Equal(p.owners, before) || !slices.Equal(p.machines, Ring{10, 20, 30}) {
			t.Errorf("%s: the old placement has changed", c.name)
		}
	}
}

// checkReplaced: every partition must have its old owner, or the replacement if the owner was
// replaced.
func checkReplaced(t interface {
	Helper()
	Fatalf(string, ...any)
}, p, q *Placement, by map[MachineID]MachineID) {
	t.Helper()
	if p.Partitions() != q.Partitions() {
		t.Fatalf("%d partitions, were %d", q.Partitions(), p.Partitions())
	}
	for i := range uint32(p.Partitions()) {
		want := p.PartitionOwner(i)
		if to, ok := by[want]; ok {
			want = to
		}
		if got := q.PartitionOwner(i); got != want {
			t.Fatalf("partition %d is on %s, want %s", i, got, want)
		}
	}
}

func TestReplaceIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 30), 2, 12, rapid.ID[uint64]).Draw(t, "machines")
		old := rapid.IntRange(1, len(ids)-1).Draw(t, "of which members")
		var ring []MachineID
		for _, id := range ids[:old] {
			ring = append(ring, MachineID(id))
		}
		p, err := NewPlacement(ring, PlacementOptions{Partitions: 40, VirtualNodes: 5, Load: 1.5})
		require.NoError(t, err)
		by, back := map[MachineID]MachineID{}, map[MachineID]MachineID{}
		for i, id := range ids[old:] {
			if i < old {
				by[ring[i]], back[MachineID(id)] = MachineID(id), ring[i]
			}
		}
		q, err := p.Replace(by)
		require.NoError(t, err)
		checkReplaced(t, p, q, by)
		b, _ := q.AppendBinary(nil)
		if _, err := ParsePlacement(b); err != nil {
			t.Fatal(err)
		}
		r, err := q.Replace(back)
		if err != nil || !slices.Equal(r.owners, p.owners) || !slices.Equal(r.machines, p.machines) {
			t.Fatalf("there and back: %v, %v", r, err)
		}
	})
}
