// Tests of the begin of loads: their bound, and no leader.

package loads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/member/membertest"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// still is a cluster of one whose view does not change.
type still struct {
	membertest.Fake
	unreached error
}

var self = member.Process{Machine: 1, Incarnation: 1}

// newLoads returns the loads of a member with a view, and with why it is isolated.
func newLoads(t *testing.T, v *view.View, unreached error) *Loads {
	s := &still{unreached: unreached}
	s.Process = self
	s.Adopt(v, nil)
	return New(nil, s, s, self, Options{Dir: t.TempDir()})
}

func (s *still) Newer(ctx context.Context, than *view.View) error {
	if s.unreached != nil && s.View() == than {
		return s.unreached
	}
	return s.Fake.Newer(ctx, than)
}

func (s *still) Call(context.Context, trie.MachineID, string, []byte) ([]byte, error) {
	return nil, errors.New("nobody else is there")
}
func (s *still) Wish(context.Context, view.Wishes) error { return nil }
func (s *still) Bytes(context.Context) (int64, error)    { return 0, nil }

// A load beyond the bound is refused at once, and the error has advice. If a load has its number,
// it goes on.
func TestLoadsAreBounded(t *testing.T) {
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}}}
	for i := range view.MaxLoads {
		v.Loads = append(v.Loads, view.Load{Number: uint64(i + 1), ID: fmt.Sprint(i), Coordinator: 1, Incarnation: 1, Epoch: 1})
	}
	last := &v.Loads[len(v.Loads)-1]
	last.Epoch = 0
	l := newLoads(t, v, nil)
	defer l.Close()
	if _, err := l.Sink().Begin(t.Context(), "one more"); !errors.Is(err, store.ErrTooLarge) || !strings.Contains(err.Error(), "many files in one load") {
		t.Errorf("%v", err)
	}
	start, err := l.Sink().Begin(t.Context(), last.ID)
	if err != nil || start.Stamp != replica.LoadStamp(last.Number) {
		t.Errorf("%+v, %v", start, err)
	}
	start.Spread.End(last.ID, true)
}

// An isolated member begins no load, with a view and without one. If a load has its number, it
// goes on.
func TestNoLoadBeginsWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := fmt.Errorf("%w: no leader", store.ErrUnavailable)
		begun := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}}}
		begun.Loads = []view.Load{{Number: 1, ID: "begun", Coordinator: 1, Incarnation: 1}}
		for _, v := range []*view.View{nil, begun} {
			l := newLoads(t, v, why)
			defer l.Close()
			if _, err := l.Sink().Begin(t.Context(), "new"); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v", err)
			}
			if synctest.Wait(); len(l.Staging()) > 0 {
				t.Errorf("%q are being made", l.Staging())
			}
		}
		l := newLoads(t, begun, why)
		defer l.Close()
		start, err := l.Sink().Begin(t.Context(), "begun")
		if err != nil || start.Stamp != replica.LoadStamp(1) {
			t.Errorf("%+v, %v", start, err)
		}
		start.Spread.End("begun", true)
	})
}
