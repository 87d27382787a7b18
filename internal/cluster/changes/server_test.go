// Tests of a member's part: how long readers keep other views out.

package changes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/member/membertest"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// holds is a member that counts how often readers enter, and may adopt a view when one leaves.
type holds struct {
	membertest.Fake
	entered int
	adopt   *view.View // at the next leave, if it is not nil
}

func (h *holds) Enter(epoch uint64) (func(), error) {
	leave, err := h.Fake.Enter(epoch)
	if err != nil {
		return nil, err
	}
	h.entered++
	return func() {
		leave()
		if v := h.adopt; v != nil {
			h.adopt = nil
			h.Adopt(v, nil)
		}
	}, nil
}

// Call implements [member.Member]. There is no other member.
func (h *holds) Call(context.Context, trie.MachineID, string, []byte) ([]byte, error) {
	return nil, store.ErrUnavailable
}

// TestReadersLetViewsPass: a reader of 100,000 late operations leaves the gate after each page. A
// view that waits is adopted after one page at most, and then the reader is refused.
func TestReadersLetViewsPass(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	const operations, perBatch, pageBytes = 100_000, 50, 256 << 10
	s, err := replica.Open("data", store.Options{FS: vfs.NewMem(), MinFreeBytes: -1, CacheBytes: 8 << 20, MemTableBytes: 8 << 20}, replica.Options{})
	require.NoError(t, err)
	defer s.Close()
	// 1. Machine 7 has stamped the operations in epoch 2, and machine 8 sends them again in epoch 3.
	self := member.Process{Machine: s.MachineID(), Incarnation: 1}
	joint := jointOf(t, self.Machine)
	bytes, n := 0, 0
	for batch := uint64(1); n < operations; batch++ {
		d := replica.Delivery{Origin: replica.Origin{Sequencer: 8, Incarnation: 1, Batch: batch}, Committed: batch - 1, Epoch: 3}
		for range perBatch {
			n++
			key, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{
				Subject: triple.NewIRI(fmt.Sprintf("http://e.x/subject/%d", n)), Predicate: triple.NewIRI("http://e.x/p"), Object: triple.NewIRI("http://e.x/o"),
			})
			bytes += len(key)
			d.Operations = append(d.Operations, replica.Operation{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 2, Sequence: uint64(n)}, Key: key, Stamper: 7})
		}
		require.NoError(t, s.Deliver(t.Context(), &d, joint))
	}
	first := &view.View{Epoch: 5, Members: []view.Member{{ID: self.Machine, Incarnation: 1}}}
	second := &view.View{Epoch: 6, Members: first.Members}
	h := &holds{Fake: membertest.Fake{Process: self}}
	h.Adopt(first, nil)
	f := New(s, h, reconciled{}, self, nil)
	request := readRequest{view: 5, stamper: 7, epoch: 2, late: true, maxBytes: maxPart}
	// 2. Without another view, a scan has at least a hold for each page.
	for name, scan := range map[string]func() error{
		"read":  func() error { _, err := f.read(t.Context(), request); return err },
		"state": func() error { _, err := f.state(stateRequest{5, 2}); return err },
	} {
		h.entered = 0
		if err := scan(); err != nil || h.entered < bytes/(pageBytes+pageBytes/8) {
			t.Errorf("%s: %d holds for %d bytes: %v", name, h.entered, bytes, err)
		}
		if !h.Free() {
			t.Errorf("%s: the gate is held afterwards", name)
		}
	}
	// 3. All operations come, in order, in parts.
	next := uint64(1)
	for r := request; ; {
		p, err := f.read(t.Context(), r)
		require.NoError(t, err)
		for _, o := range p.operations {
			if o.Stamp.Sequence != next {
				t.Fatalf("operation %d, want %d", o.Stamp.Sequence, next)
			}
			next++
		}
		if r.after = p.until; p.until == math.MaxUint64 {
			break
		}
	}
	if next != operations+1 {
		t.Errorf("%d operations", next-1)
	}
	// 4. If a view waits, the first leave lets it in.
	h.entered, h.adopt = 0, second
	var refusal *peer.Refusal
	if _, err := f.read(t.Context(), request); !errors.As(err, &refusal) || refusal.Code != peer.CodeEpoch || refusal.Epoch != 6 || h.entered != 1 {
		t.Errorf("after %d holds: %v", h.entered, err)
	}
	if !h.Free() {
		t.Error("the gate is held after a refusal")
	}
}

// reconciled is a sequencer with nothing in flight.
type reconciled struct{ Sequencer }

func (reconciled) Reconciled() bool { return true }

// jointOf returns a layout of one machine.
func jointOf(t *testing.T, m trie.MachineID) *recovery.Joint {
	t.Helper()
	placement, err := trie.NewPlacement([]trie.MachineID{m}, trie.PlacementOptions{Partitions: 16})
	require.NoError(t, err)
	l := recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, 16)), Placement: placement}
	return &recovery.Joint{Base: l, Target: l, Members: []trie.MachineID{m}, BaseLive: []trie.MachineID{m}}
}
