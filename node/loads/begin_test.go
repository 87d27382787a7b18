package loads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// still is a cluster of one whose view does not change.
type still struct{ view *view.View }

func (s still) Self() trie.MachineID     { return 1 }
func (s still) Incarnation() uint64      { return 1 }
func (s still) View() *view.View         { return s.view }
func (s still) Changed() <-chan struct{} { return nil }
func (s still) Call(context.Context, trie.MachineID, string, []byte) ([]byte, error) {
	return nil, errors.New("nobody else is there")
}
func (s still) Wish(context.Context, view.Wishes) error { return nil }
func (s still) Bytes(context.Context) (int64, error)    { return 0, nil }

// A load beyond the bound is refused at once, and the error says what to do; one that
// has its number goes on.
func TestLoadsAreBounded(t *testing.T) {
	v := &view.View{Epoch: 3, Members: []view.Member{{ID: 1, Incarnation: 1}}}
	for i := range view.MaxLoads {
		v.Loads = append(v.Loads, view.Load{Number: uint64(i + 1), ID: fmt.Sprint(i), Coordinator: 1, Incarnation: 1, Epoch: 1})
	}
	last := &v.Loads[len(v.Loads)-1]
	last.Epoch = 0
	l := New(nil, still{v}, Options{Dir: t.TempDir()})
	defer l.Close()
	if _, err := l.Sink().Begin(t.Context(), "one more"); !errors.Is(err, node.ErrTooLarge) || !strings.Contains(err.Error(), "many files in one load") {
		t.Errorf("%v", err)
	}
	sink := l.Sink()
	if start, err := sink.Begin(t.Context(), last.ID); err != nil || start.Stamp != node.LoadStamp(last.Number) {
		t.Errorf("%+v, %v", start, err)
	}
	sink.End(last.ID, true)
}
