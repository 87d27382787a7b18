package node

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestBeat(t *testing.T) {
	s, err := Open("beat", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Seen(); v != (Seen{}) || err != nil {
		t.Errorf("nothing was seen: %+v, %v", v, err)
	}
	s.Saw(Seen{2, 300, 1<<63 + 5})
	if err := s.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Seen(); v != (Seen{2, 300, 1<<63 + 5}) || err != nil {
		t.Errorf("seen: %+v, %v", v, err)
	}
	// A beat that the disk holds up holds up the next one, until that gives up.
	s.beating <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Beat(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("while another beat is written: %v", err)
	}
	<-s.beating
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Beat(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}
