// Tests of beats.

package replica

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
)

func TestBeat(t *testing.T) {
	s, err := Open("beat", store.Options{FS: vfs.NewMem()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Seen(); v != (store.Seen{}) || err != nil {
		t.Errorf("nothing was seen: %+v, %v", v, err)
	}
	s.Saw(store.Seen{Generation: 2, Epoch: 300, Digest: 1<<63 + 5})
	if err := s.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Seen(); v != (store.Seen{Generation: 2, Epoch: 300, Digest: 1<<63 + 5}) || err != nil {
		t.Errorf("seen: %+v, %v", v, err)
	}
	// If the disk blocks a beat, the next one waits until its context ends.
	s.beating <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Beat(ctx); !errors.Is(err, store.ErrBusy) {
		t.Errorf("while another beat is written: %v", err)
	}
	<-s.beating
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Beat(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}
