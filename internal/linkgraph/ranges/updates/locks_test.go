// Tests of locks of pages.

package updates

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// seeded returns a random source, and logs how to repeat the test.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("TREFOIL_SEED=%d repeats this", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestLocks makes many calls take random pages concurrently, and some give up. No page may have
// two holders, all calls must end, and nothing must be kept.
func TestLocks(t *testing.T) {
	random := seeded(t)
	synctest.Test(t, func(t *testing.T) {
		var l locks
		var busy [8]atomic.Int32
		var had, gaveUp atomic.Int32
		var all sync.WaitGroup
		for range 100 {
			var pages []string
			for i := range busy {
				if random.IntN(2) == 0 {
					pages = append(pages, fmt.Sprint(i))
				}
			}
			limit, work := time.Duration(random.IntN(200))*time.Millisecond, time.Duration(random.IntN(10))*time.Millisecond
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				release, err := l.take(ctx, pages)
				if err != nil {
					if gaveUp.Add(1); !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					return
				}
				had.Add(1)
				for _, page := range pages {
					if i, _ := strconv.Atoi(page); busy[i].Add(1) > 1 {
						t.Errorf("two have page %s", page)
					}
				}
				time.Sleep(work) // of virtual time
				for _, page := range pages {
					i, _ := strconv.Atoi(page)
					busy[i].Add(-1)
				}
				release()
			})
		}
		all.Wait()
		if had.Load() == 0 || gaveUp.Load() == 0 {
			t.Errorf("%d had pages, %d gave up: that tells nothing", had.Load(), gaveUp.Load())
		}
		if len(l.held) > 0 {
			t.Errorf("%d locks are kept", len(l.held))
		}
	})
}

// TestLocksApart checks that different pages do not block each other, and that a waiting call
// is next.
func TestLocksApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		ctx := t.Context()
		first, err := l.take(ctx, []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		other, err := l.take(ctx, []string{"c"})
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var waiting sync.WaitGroup
		waiting.Go(func() {
			release, err := l.take(ctx, []string{"b", "c"})
			if err != nil {
				t.Error(err)
				return
			}
			order = append(order, "third")
			release()
		})
		synctest.Wait()
		order = append(order, "first")
		first()
		synctest.Wait()
		order = append(order, "second")
		other()
		waiting.Wait()
		if want := []string{"first", "second", "third"}; !slices.Equal(order, want) || len(l.held) > 0 {
			t.Errorf("%v, want %v; %d locks are kept", order, want, len(l.held))
		}
	})
}
