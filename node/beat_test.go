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
	if generation, epoch, err := s.Seen(); generation != 0 || epoch != 0 || err != nil {
		t.Errorf("nothing was seen: %d, %d, %v", generation, epoch, err)
	}
	s.Saw(2, 300)
	if err := s.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if generation, epoch, err := s.Seen(); generation != 2 || epoch != 300 || err != nil {
		t.Errorf("seen: %d, %d, %v", generation, epoch, err)
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
