// Tests of wishes.

package leader

import (
	"errors"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// Machines that want to join are bounded, and forgotten when they ask no more.
func TestJoiners(t *testing.T) {
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1}}}
	var w wishes
	want := func(id trie.MachineID, now time.Duration) peer.Code {
		err := w.wantJoin(v, view.Member{ID: id, Address: "a:1"}, 0, now)
		var r *peer.Refusal
		errors.As(err, &r)
		if r == nil {
			return ""
		}
		return r.Code
	}
	for id := trie.MachineID(2); id < 2+maxJoiners; id++ {
		if code := want(id, 0); code != "" {
			t.Fatalf("machine %s: %s", id, code)
		}
	}
	if code := want(1000, time.Second); code != peer.CodeBusy {
		t.Errorf("one more: %q", code)
	}
	if code := want(2, joinerAge); code != "" {
		t.Errorf("one that asks again: %q", code)
	}
	if open := w.open(v, joinerAge+time.Second); len(open.Join) != 1 || open.Join[0].ID != 2 {
		t.Errorf("%+v", open.Join)
	}
	if code := want(1000, joinerAge+time.Second); code != "" {
		t.Errorf("when there is room: %q", code)
	}
	v.Members = make([]view.Member, trie.MaxMachines)
	if code := want(2, joinerAge+time.Second); code != peer.CodeUnavailable {
		t.Errorf("the cluster is full: %q", code)
	}
}
