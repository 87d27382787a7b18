// The map of segments and partitions.

package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// halves returns a layout on a ring, in which the rows before and from bound on are segments 1 and 2 of
// two owners.
func halves(t *testing.T, bound []byte, first, second trie.MachineID, ring ...trie.MachineID) recovery.Layout {
	t.Helper()
	p, err := trie.NewPlacement(ring, trie.PlacementOptions{Partitions: 64, VirtualNodes: 10, Load: 1.25})
	require.NoError(t, err)
	of := func(owner trie.MachineID) uint32 {
		for partition := range uint32(64) {
			if p.PartitionOwner(partition) == owner {
				return partition
			}
		}
		t.Fatalf("machine %s owns no partition", owner)
		return 0
	}
	segments := trie.New(1, of(first))
	if segments, err = segments.Split(1, bound, 2); err == nil {
		segments, err = segments.Assign(2, of(second))
	}
	require.NoError(t, err)
	return recovery.Layout{Trie: segments, Placement: p}
}

// TestSegmentMap checks owners, successors and states in each phase, and the orders of segments.
func TestSegmentMap(t *testing.T) {
	pos := []byte{byte(triple.POS)}
	inPOS, _ := triple.AppendKey(nil, triple.POS, triple.Triple{Subject: triple.NewIRI("http://ex/s"), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewIRI("http://ex/o")})
	base, target := halves(t, pos, 1, 2, 1, 2, 3), halves(t, pos, 3, 2, 2, 3)
	for _, test := range []struct {
		name     string
		base, to recovery.Layout
		phase    recovery.Phase
		live     trie.Ring
		lost     uint64 // the ID of a lost segment
		want     string // ID, orders, owner, successor and state of each segment
		counts   string // moving, rebuilt, lost
	}{
		{"idle", base, base, recovery.Idle, trie.Ring{1, 2, 3}, 0, "1 spo-spo 1, 2 pos-gspo 2", "0 0 0"},
		{"a machine leaves", base, target, recovery.Fill, trie.Ring{1, 2, 3}, 0, "1 spo-spo 1>3 moving, 2 pos-gspo 2", "1 0 0"},
		{"a machine is gone", base, target, recovery.Fill, trie.Ring{2, 3}, 0, "1 spo-spo 1>3 rebuilt, 2 pos-gspo 2", "0 1 0"},
		{"rows are lost", base, target, recovery.Fill, trie.Ring{2, 3}, 1, "1 spo-spo 1>3 lost, 2 pos-gspo 2", "0 0 1"},
		{"the target answers", base, target, recovery.Serve, trie.Ring{2, 3}, 0, "1 spo-spo 3, 2 pos-gspo 2", "0 0 0"},
		{"a bound within an order", halves(t, inPOS, 1, 2, 1, 2, 3), base, recovery.Ingest, trie.Ring{1, 2, 3}, 0, "1 spo-pos 1, 2 pos-gspo 2", "0 0 0"},
	} {
		j := &recovery.Joint{Base: test.base, Target: test.to, Phase: test.phase, Members: trie.Ring{2, 3}, BaseLive: test.live}
		m, err := new(SegmentMaps).Page(ctx, j, j, func(s trie.Segment) bool { return s.ID == test.lost }, 0, 10)
		require.NoError(t, err)
		var all []string
		for _, s := range m.Segments {
			text := fmt.Sprintf("%d %s-%s %s", s.ID, s.Order, s.Last, strings.TrimLeft(m.Machines[s.Owner].ID, "0"))
			if s.Next != nil {
				text += ">" + strings.TrimLeft(m.Machines[*s.Next].ID, "0")
			}
			all = append(all, strings.TrimSpace(text+" "+s.State))
		}
		if got := strings.Join(all, ", "); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		if got := fmt.Sprint(m.Moving, m.Rebuilt, m.Lost); got != test.counts {
			t.Errorf("%s: moving, rebuilt, lost are %s, want %s", test.name, got, test.counts)
		}
		checkOwners(t, test.name, m)
	}
	for _, test := range []struct {
		cut  int // bytes that are left out at the end
		want string
	}{{0, "<http://ex/p> <http://ex/o> <http://ex/s>"}, {len(" http://ex/s"), "<http://ex/p> <http://ex/o> …"}, {len("/o") + 2 + len(" http://ex/s"), "<http://ex/p> <http://ex…"}} {
		if text := boundText(inPOS[:len(inPOS)-test.cut]); text != test.want {
			t.Errorf("a bound without its last %d bytes is %q, want %q", test.cut, text, test.want)
		}
	}
	long, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{Subject: triple.NewIRI("http://ex/" + strings.Repeat("é", 500)), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewIRI("http://ex/o")})
	if text := boundText(long); len(text) > maxBoundText+len("…") || !strings.HasSuffix(text, "é…") {
		t.Errorf("a long bound: %q", text)
	}
}

// TestSegmentPages checks that pages have the segments of the whole map, that only the first page of a layout reads all segments,
// and that a context ends the reading.
func TestSegmentPages(t *testing.T) {
	// 1. A layout of several strides.
	base := halves(t, []byte{byte(triple.POS)}, 1, 2, 1, 2)
	for i := range uint64(3*mapStride + 7) {
		var err error
		if base.Trie, err = base.Trie.Split(1+min(i, 1)*(i+1), binary.BigEndian.AppendUint32([]byte{byte(triple.SPO)}, uint32(i)), i+3); err != nil {
			t.Fatal(err)
		}
	}
	j := &recovery.Joint{Base: base, Target: base, Members: trie.Ring{1, 2}, BaseLive: trie.Ring{1, 2}}
	counted := 0
	whole := func(trie.Segment) bool { counted++; return false }
	var maps SegmentMaps
	all, err := maps.Page(ctx, j, j, whole, 0, base.Trie.Len())
	if err != nil || len(all.Segments) != base.Trie.Len() || all.Total != len(all.Segments) {
		t.Fatalf("%d of %d segments: %v", len(all.Segments), base.Trie.Len(), err)
	}
	checkOwners(t, "all", all)
	// 2. Pages are parts of it, and cheap.
	for _, offset := range []int{0, 1, mapStride - 1, mapStride, 2*mapStride + 5, all.Total - 1, all.Total, all.Total + mapStride} {
		counted = 0
		page, err := maps.Page(ctx, j, j, whole, offset, 10)
		want := all.Segments[min(offset, all.Total):min(offset+10, all.Total)]
		if err != nil || len(page.Segments) != len(want) || len(want) > 0 && !reflect.DeepEqual(page.Segments, want) || !reflect.DeepEqual(page.Machines, all.Machines) {
			t.Errorf("the page at %d: %+v, %v", offset, page.Segments, err)
		}
		if counted != len(want) {
			t.Errorf("the page at %d looked at %d segments, want %d", offset, counted, len(want))
		}
	}
	// 3. Another layout is counted again, if the context lasts.
	other := *j
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := maps.Page(ended, &other, &other, whole, 0, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
	other.BaseLive = trie.Ring{2}
	if page, err := maps.Page(ctx, &other, &other, whole, 0, 1); err != nil || page.Rebuilt != all.Machines[0].Segments {
		t.Errorf("another layout: %d rebuilt, %v", page.Rebuilt, err)
	}
}

// checkOwners checks that each partition and segment is counted at its owner.
func checkOwners(t *testing.T, name string, m SegmentMap) {
	t.Helper()
	partitions, segments := 0, 0
	for i, machine := range m.Machines {
		owned := 0
		for _, owner := range m.Partitions {
			if owner == i {
				owned++
			}
		}
		if owned != machine.Partitions {
			t.Errorf("%s: machine %s owns %d partitions, not %d", name, machine.ID, owned, machine.Partitions)
		}
		partitions, segments = partitions+machine.Partitions, segments+machine.Segments
	}
	if partitions != 64 || segments != m.Total {
		t.Errorf("%s: machines own %d partitions and %d segments of %d", name, partitions, segments, m.Total)
	}
}

// TestSegmentMapOfStore checks that the segments of a lone store have no gap between them.
func TestSegmentMapOfStore(t *testing.T) {
	s := openMem(t, Options{MaxSegmentBytes: 4 << 10})
	loadTriples(t, s, "a", students(0, 3000))
	await.Condition(t, "splits", func() bool { return s.segments.Trie().Len() > 20 })
	m, err := s.SegmentMap(ctx, 0, 10_000)
	require.NoError(t, err)
	until := ""
	for i, at := range m.Segments {
		if at.From != until || at.State != "" || m.Machines[at.Owner].ID != s.MachineID().String() {
			t.Errorf("segment %d begins at %q, the one before ends at %q: %+v", i, at.From, until, at)
		}
		until = at.Until
	}
	if len(m.Segments) != m.Total || until != "" {
		t.Errorf("%d segments of %d, the last until %q", len(m.Segments), m.Total, until)
	}
}
