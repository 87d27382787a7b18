// The fake member keeps the contract.

package membertest

import (
	"context"
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// silent is a fake whose calls all fail.
type silent struct{ *Fake }

func (silent) Call(context.Context, trie.MachineID, string, []byte) ([]byte, error) {
	return nil, errors.New("no other member")
}

func TestFake(t *testing.T) {
	f := &Fake{Process: member.Process{Machine: 1, Incarnation: 2}}
	of := func(epoch uint64) *view.View {
		return &view.View{Epoch: epoch, Members: []view.Member{{ID: 1, Incarnation: 2}}}
	}
	f.Adopt(of(7), nil)
	Test(t, silent{f}, f.Process, func() { f.Adopt(of(8), nil) })
	if f.SetLease(context.Canceled); f.Lease() == nil {
		t.Error("a lease that was taken away")
	}
}
