// Tests of closing while journals are read.

package copies

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// stuck is a member whose read of one machine's journal blocks until it is released, even if
// the call is cancelled.
type stuck struct {
	*member
	with    trie.MachineID
	letGo   chan struct{}
	reading atomic.Int32 // number of journals
}

func (s *stuck) Journal(ctx context.Context, epoch uint64, of trie.MachineID, after replica.JournalMark) ([]replica.JournalEntry, replica.JournalMark, error) {
	s.reading.Add(1)
	defer s.reading.Add(-1)
	if of == s.with {
		<-s.letGo
	}
	return s.member.Journal(ctx, epoch, of, after)
}

// TestCloseWaits checks that a look-up does not wait for a journal that it does not need. Close
// must wait, because the member may be closed when it returns. Nothing may be called after
// that.
func TestCloseWaits(t *testing.T) {
	random := seeded(t)
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, random, 5)
		w.rest()
		s := &stuck{member: &member{world: w, id: w.view.Members[0].ID}, with: w.view.Members[3].ID, letGo: make(chan struct{})}
		c, err := Open(s, w.pull, Options{FS: vfs.NewMem(), Dir: "copies", Copies: MaxCopies, Every: 1e4 * time.Hour,
			Ranges: []triple.Range{triple.OrderRange(triple.SPO), triple.OrderRange(triple.POS)}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // its own first round, without a view, is over
		s.ready = true
		if err := c.round(t.Context(), s.View()); err != nil {
			t.Fatal(err)
		}
		look := func() error {
			begun := time.Now()
			_, err := c.Look(t.Context(), w.view.Epoch, w.asked(true))
			if took := time.Since(begun); took > 0 {
				t.Errorf("a look-up took %s", took)
			}
			return err
		}
		if err := look(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := s.reading.Load(); n == 0 {
			t.Fatal("no journal is being read any more")
		}
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Errorf("closed (%v) while %d journals are read", err, s.reading.Load())
		default:
		}
		if err := look(); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a look-up meanwhile: %v", err)
		}
		close(s.letGo)
		if err := <-closed; err != nil || s.reading.Load() > 0 {
			t.Errorf("closed (%v) while %d journals are read", err, s.reading.Load())
		}
	})
}
