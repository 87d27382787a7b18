// Tests of holders that fail or hang: reads go on to other holders, copies to other machines.

package linkgraph

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// talker is the node of machine 1 of three. The test answers its queries to the others.
type talker struct {
	derived.Node
	view   *view.View
	answer func(ctx context.Context, to trie.MachineID, q *route.Query) (*route.Answer, error)

	mu    sync.Mutex
	asked map[trie.MachineID]int // queries by machine, without QueryHeld
}

func (n *talker) View() *view.View { return n.view }

func (n *talker) MachineID() trie.MachineID { return 1 }

func (n *talker) Lone() *store.Store { return nil }

func (n *talker) NoMajority() bool { return false }

func (n *talker) ReadPosition(context.Context) (feed.Position, error) { return feed.Position{}, nil }

func (n *talker) Newer(ctx context.Context, _ *view.View) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (n *talker) Call(ctx context.Context, to trie.MachineID, _ string, body []byte) ([]byte, error) {
	q := &route.Query{}
	if err := peer.Decode(body, q.Fields); err != nil {
		return nil, err
	}
	if q.Kind == route.QueryHeld {
		return peer.Encode(64, (&route.Answer{Number: uint64(machine.AllPartitions)}).Fields), nil
	}
	n.mu.Lock()
	n.asked[to]++
	n.mu.Unlock()
	a, err := n.answer(ctx, to, q)
	if err != nil {
		return nil, err
	}
	return peer.Encode(64, a.Fields), nil
}

// newTalker returns a graph without goroutines of its own, on the node of machine 1.
func newTalker(t *testing.T) (*Graph, *talker) {
	t.Helper()
	machines := []trie.MachineID{1, 2, 3}
	p, err := trie.NewPlacement(machines, trie.PlacementOptions{})
	require.NoError(t, err)
	v := &view.View{Epoch: 5}
	v.Target.Placement = p
	for _, m := range machines {
		v.Members = append(v.Members, view.Member{ID: m})
	}
	n := &talker{view: v, asked: map[trie.MachineID]int{}}
	g := newGraph(machine.NewMachine(n, machine.Options{Copies: 2}.WithDefaults()))
	t.Cleanup(g.Stop)
	g.Board.State.Store(&state.State{})
	return g, n
}

// pageOn returns a page of a partition whose first machine is m.
func (g *Graph) pageOn(m trie.MachineID) uid.UID {
	for i := 0; ; i++ {
		if g.PlacementOf(g.Node.View()).Primary(i) == m {
			return machine.PartitionRange(i).First + 1
		}
	}
}

// oneLink is the answer of a list of one link.
func oneLink() *route.Answer { return &route.Answer{Ends: []int{1}, Items: []uint64{7}} }

// TestOtherHolder checks that a read goes on to another holder if one fails, and does not if the
// query is wrong.
func TestOtherHolder(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		all     bool // all holders fail
		failing bool // the read fails
		asked   int  // queries, at most
	}{
		"loading":     {peer.Refuse(peer.CodeUnavailable, 0, "cells are built"), false, false, 2},
		"broken":      {&peer.RemoteError{Message: "a cell is damaged"}, false, false, 2},
		"all broken":  {&peer.RemoteError{Message: "a cell is damaged"}, true, true, 4},
		"not allowed": {peer.Refuse(peer.CodeStranger, 0, "not of this cluster"), false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, n := newTalker(t)
				n.answer = func(_ context.Context, to trie.MachineID, q *route.Query) (*route.Answer, error) {
					if to == 2 || test.all {
						return nil, test.err
					}
					return oneLink(), nil
				}
				l, err := g.Links(t.Context(), links.Forward, []uid.UID{g.pageOn(2)})
				if failing := err != nil; failing != test.failing || !failing && len(l.At(0)) != 1 {
					t.Errorf("%v, %v", l, err)
				}
				if asked := n.asked[2] + n.asked[3]; asked > test.asked {
					t.Errorf("%d queries, want %d", asked, test.asked)
				}
			})
		})
	}
}

// TestOtherHolderThanSelf checks that other holders answer if the keeper or the placer of this
// machine fails, and that a machine without the partition does not ask itself.
func TestOtherHolderThanSelf(t *testing.T) {
	for name, prepare := range map[string]func(g *Graph){
		"keeper": func(g *Graph) {
			err := errors.New("the disk is full")
			g.Board.KeepFailure.Store(&err)
			g.Board.State.Store(&state.State{Held: machine.AllPartitions})
		},
		"placer": func(g *Graph) {
			err := errors.New("two pages have one UID")
			g.Board.PlaceFailure.Store(&err)
			g.Board.State.Store(&state.State{Held: machine.AllPartitions})
		},
		"memory": func(g *Graph) {
			// The forward lists are relinquished, and do not fit any more.
			g.Board.State.Store(relinquished(t, g, machine.PartitionOf(g.pageOn(1))))
			g.Options.MemoryBytes = 1
		},
		"not held": func(*Graph) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, n := newTalker(t)
				prepare(g)
				n.answer = func(context.Context, trie.MachineID, *route.Query) (*route.Answer, error) { return oneLink(), nil }
				l, err := g.Links(t.Context(), links.Forward, []uid.UID{g.pageOn(1)})
				if err != nil || len(l.At(0)) != 1 || n.asked[2]+n.asked[3] != 1 {
					t.Errorf("%v, %v, %v", l, err, n.asked)
				}
			})
		})
	}
}

// relinquished returns a state of a partition without any store in memory.
func relinquished(t *testing.T, g *Graph, partition int) *state.State {
	t.Helper()
	b, err := cell.NewBuilder(cell.Options{Range: machine.PartitionRange(partition)})
	require.NoError(t, err)
	data, err := b.Build()
	require.NoError(t, err)
	whole, err := cell.Open(data)
	require.NoError(t, err)
	c, err := whole.DropStores(cell.AllStores, "")
	require.NoError(t, err)
	d, err := delta.New(c)
	require.NoError(t, err)
	p := &state.Part{Range: c.Range(), Delta: d}
	return &state.State{Loader: g.loader, Parts: []*state.Part{p}, Views: []*delta.View{d.View()}, Held: derived.Partitions(0).With(partition)}
}

// TestHangingCopy checks that a partition is requested from the next machine if one answers probes
// and never sends the partition.
func TestHangingCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, n := newTalker(t)
		n.answer = func(ctx context.Context, _ trie.MachineID, _ *route.Query) (*route.Answer, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		begun := time.Now()
		copied, err := g.placer.CopyFrom(t.Context(), g.PlacementOf(n.view), 3, feed.Position{})
		if copied || err != nil || n.asked[2] != 1 || n.asked[3] != 1 {
			t.Errorf("%t, %v, %v", copied, err, n.asked)
		}
		if took := time.Since(begun); took > 3*route.CopyTimeout {
			t.Errorf("the copies were waited for for %s", took)
		}
	})
}
