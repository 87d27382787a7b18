// Tests of the watch of followers.

package feed

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// growing is a feed whose end grows by one each second from a start on. It has no batches.
type growing struct{ from time.Time }

func (g growing) Position(context.Context) (Position, error) {
	return at(uint64(time.Since(g.from) / time.Second)), nil
}

func (growing) Changes(context.Context, Request) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) { yield(nil, errors.New("a row is damaged")) }
}

func at(sequence uint64) Position { return Position{Source: 1, Epoch: sequence + 1} }

// TestWatch: a follower that does not advance while the feed moves is stalled after the limit, with its error; it is
// not when it has advanced, and one that keeps up never is.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		woken := 0
		stuck, good, slow := NewFollower("stuck", func() { woken++ }), NewFollower("good", nil), NewFollower("slow", nil)
		w := NewWatch(WatchOptions{Interval: time.Second, Limit: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&out, nil))}, func() []*Follower { return []*Follower{stuck, good, slow} })
		s := growing{time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx, s) }()
		// 1. All read each second; one of them gets nowhere.
		second := func() {
			end, _ := s.Position(ctx)
			_ = stuck.Read(ctx, s, Request{}, nil)
			_ = good.Read(ctx, s, Request{}, nil)
			good.Reached(end)
			_ = slow.Read(ctx, s, Request{}, nil)
			slow.Advanced()         // within a batch
			time.Sleep(time.Second) // of the bubble's clock
			synctest.Wait()
		}
		for range 8 {
			second()
		}
		if err := stuck.Stalled(); err != nil {
			t.Fatalf("before the limit: %v", err)
		}
		for range 8 {
			second()
		}
		err := stuck.Stalled()
		var stalled *StalledError
		if !errors.As(err, &stalled) || !strings.Contains(err.Error(), "a row is damaged") || woken != 1 {
			t.Fatalf("stalled: %v, woken %d times", err, woken)
		}
		if all := w.Stalled(); len(all) != 1 || all[0].Follower != "stuck" {
			t.Errorf("stalled: %v", all)
		}
		if err := good.Stalled(); err != nil || w.Waited()["good"] > 2*time.Second || w.Waited()["stuck"] < 10*time.Second {
			t.Errorf("the other: %v, %v", err, w.Waited())
		}
		if got := strings.Count(out.String(), "level=WARN"); got != 1 || !strings.Contains(out.String(), "follower=stuck") {
			t.Errorf("%d warnings: %s", got, out.String())
		}
		// 2. It advances again.
		end, _ := s.Position(ctx)
		stuck.Reached(end)
		second()
		if err := stuck.Stalled(); err != nil || len(w.Stalled()) > 0 || !strings.Contains(out.String(), "advances again") {
			t.Errorf("after an advance: %v, %s", err, out.String())
		}
		// 3. One that fails before it reads stands still, too.
		for range 12 {
			stuck.Failed(errors.New("its settings are damaged"))
			time.Sleep(time.Second) // of the bubble's clock
		}
		synctest.Wait()
		if err := stuck.Stalled(); err == nil || !strings.Contains(err.Error(), "its settings are damaged") {
			t.Errorf("it fails before it reads: %v", err)
		}
		// 4. One that has left the feed to another does not.
		stuck.Left()
		time.Sleep(12 * time.Second) // of the bubble's clock
		synctest.Wait()
		if err := stuck.Stalled(); err != nil || w.Waited()["stuck"] > 0 {
			t.Errorf("it has left: %v, %v", err, w.Waited())
		}
		cancel()
		<-done
	})
}
