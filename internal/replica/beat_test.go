// Tests of beats.

package replica

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestBeat(t *testing.T) {
	s, err := Open("beat", store.Options{FS: vfs.NewMem()}, Options{})
	require.NoError(t, err)
	require.NoError(t, s.beats.Beat(t.Context()))
	if v, err := s.beats.LastView(); v != (store.AdoptedView{}) || err != nil {
		t.Errorf("nothing was seen: %+v, %v", v, err)
	}
	s.beats.SetView(store.AdoptedView{Generation: 2, Epoch: 300, Digest: 1<<63 + 5})
	require.NoError(t, s.beats.Beat(t.Context()))
	if v, err := s.beats.LastView(); v != (store.AdoptedView{Generation: 2, Epoch: 300, Digest: 1<<63 + 5}) || err != nil {
		t.Errorf("seen: %+v, %v", v, err)
	}
	// If the disk blocks a beat, the next one waits until its context ends.
	s.beats.beating <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.beats.Beat(ctx); !errors.Is(err, store.ErrBusy) {
		t.Errorf("while another beat is written: %v", err)
	}
	<-s.beats.beating
	require.NoError(t, s.Close())
	if err := s.beats.Beat(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}
