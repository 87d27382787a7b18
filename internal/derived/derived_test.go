// Tests of members and placements.

package derived

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// viewOf returns a view of some machines.
func viewOf(t *testing.T, machines ...trie.MachineID) *view.View {
	p, err := trie.NewPlacement(machines, trie.PlacementOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v := &view.View{Epoch: 1}
	v.Target.Placement, v.Target.Copies = p, 2
	for _, m := range machines {
		v.Members = append(v.Members, view.Member{ID: m, NoLinks: m == 4})
	}
	return v
}

// TestRanked: the machines of a partition are those of all releases, because another ranking would move all partitions.
// A loss moves nothing but the partitions of the lost machine.
func TestRanked(t *testing.T) {
	all := func(*view.Member) bool { return true }
	v := viewOf(t, 1, 2, 3, 4, 5)
	for _, test := range []struct {
		salt string
		keep func(*view.Member) bool
		want string
	}{
		{"", func(m *view.Member) bool { return !m.NoLinks }, "[[2 5 1 3] [1 3 2 5] [1 2 5 3] [1 5 2 3]]"},
		{"text", all, "[[4 1 3 5 2] [5 2 1 3 4] [2 3 5 4 1] [4 2 5 3 1]]"},
	} {
		p := Ranked(v, 4, test.salt, 0, test.keep)
		if got := fmt.Sprintf("%d", p.Ranking); got != test.want || p.Holders != 2 {
			t.Errorf("salt %q: %s with %d holders, want %s", test.salt, got, p.Holders, test.want)
		}
	}
	before, after := Ranked(v, 64, "", 3, all), Ranked(viewOf(t, 1, 2, 4, 5), 64, "", 3, all)
	for _, m := range []trie.MachineID{1, 2, 4, 5} {
		if lost := before.HeldBy(m) &^ after.HeldBy(m); lost != 0 {
			t.Errorf("machine %d loses partitions %b with the loss of machine 3", m, lost)
		}
	}
}

// TestStop: no goroutine begins after Stop.
func TestStop(t *testing.T) {
	m := NewMember(nil, Index{Name: "the index", Logger: slog.New(slog.DiscardHandler)})
	if !m.Go(func() { <-m.Context.Done() }) {
		t.Error("an open member runs nothing")
	}
	m.Stop()
	if m.Go(func() { t.Error("a function runs after Stop") }) || !errors.Is(context.Cause(m.Context), store.ErrClosed) {
		t.Errorf("after Stop: %v", context.Cause(m.Context))
	}
}
