// Tests of many subscriptions.

package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

const manySubscriptions = 1000

// countedStore counts the readers of the feed that read up to its end, as workers do.
type countedStore struct {
	*store.Store
	reads atomic.Int64
}

type countedFeed struct {
	feed.Source
	reads *atomic.Int64
}

func (s *countedStore) Feed() feed.Source { return &countedFeed{s.Store.Feed(), &s.reads} }

func (f *countedFeed) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	if !r.Follow {
		f.reads.Add(1)
	}
	return f.Source.Changes(ctx, r)
}

// TestMany stores many subscriptions and delivers changes that concern one or all of them, also while
// nothing runs. The memory of each is bounded, and after a start only those that a change concerns read
// the feed themselves.
func TestMany(t *testing.T) {
	seed.Slow(t)
	for name, filter := range map[string]func(i int) map[string]string{
		"one": func(i int) map[string]string { return map[string]string{"p": fmt.Sprint("p", i)} },
		"all": func(int) map[string]string { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, w *world) { many(t, w, filter, name == "all") })
		})
	}
}

func many(t *testing.T, w *world, filter func(i int) map[string]string, all bool) {
	// 1. Store them, beside a manager that takes each up.
	counted := &countedStore{Store: w.store}
	w.registry.Store = counted
	m := w.start(Options{})
	var tasks sync.WaitGroup
	for worker := range 20 {
		tasks.Go(func() {
			for i := worker; i < manySubscriptions; i += 20 {
				d := Definition{Name: fmt.Sprint("sub", i), Filter: filter(i), URL: fmt.Sprint("https://ex", i%50, "/", i)}
				if _, err := w.registry.Put(t.Context(), Caller{}, d, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	tasks.Wait()
	known := func(m *Manager) func() bool {
		return func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			n := 0
			for _, s := range m.names {
				if s.loaded && !s.running && !s.due {
					n++
				}
			}
			return n == manySubscriptions
		}
	}
	w.until("all are taken up", known(m))
	// 2. A change, then another one while nothing delivers.
	each := 1
	if all {
		each = manySubscriptions
	}
	add := func(n int) {
		w.add(number("p77", n))
		for i := range 100 {
			w.add(number("other", 100*n+i))
		}
	}
	if !all {
		add(0)
		w.until("the first delivery", func() bool { return w.receiver.count() == 1 && known(m)() })
		m.Close()
		before, reads := heap(), counted.reads.Load()
		add(1)
		m = w.start(Options{})
		w.until("the second delivery", func() bool { return w.receiver.count() == 2 && known(m)() })
		if used := heap() - before; used > manySubscriptions*4096 {
			t.Errorf("%d bytes for each subscription", used/manySubscriptions)
		}
		if reads = counted.reads.Load() - reads; reads > 5 {
			t.Errorf("%d workers read the feed", reads)
		}
	}
	for round := range 2 {
		before := w.receiver.count()
		w.add(number("p77", 10+round))
		w.until("the deliveries", func() bool { return w.receiver.count() >= before+each && known(m)() })
		if got := w.receiver.count() - before; got != each {
			t.Errorf("%d messages, want %d", got, each)
		}
	}
	if got := len(m.index.terms); got != manySubscriptions && !all {
		t.Errorf("%d terms are in the index", got)
	}
	// 3. Nothing is kept of deleted ones.
	list, err := w.registry.List(t.Context())
	if err != nil || len(list) != manySubscriptions {
		t.Fatal(len(list), err)
	}
	for _, s := range list {
		require.NoError(t, w.registry.Delete(t.Context(), Caller{}, s.Name))
	}
	w.until("none is left", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.names)+len(m.index.terms)+len(m.index.rest)+len(m.hosts) == 0
	})
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestLimit checks that no more subscriptions are stored than allowed, that existing ones can change,
// and that a deletion makes room.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	const most = 50
	w.registry.Max = most
	put := func(i int) error {
		_, err := w.registry.Put(t.Context(), Caller{}, Definition{Name: fmt.Sprint("sub", i)}, "")
		return err
	}
	// Another registry of the same store, as of another member, is counted, too.
	other := &Registry{Store: w.store, Filter: parseFilter, CheckURL: w.registry.CheckURL, Max: most}
	for i := range most {
		if i%3 == 0 {
			if _, err := other.Put(t.Context(), Caller{}, Definition{Name: fmt.Sprint("sub", i)}, ""); err != nil {
				t.Fatal(i, err)
			}
		} else if err := put(i); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := put(most); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "there are 50, and 50 are the most") {
		t.Fatal(err)
	}
	if err := put(0); err != nil {
		t.Error(err)
	}
	require.NoError(t, w.registry.Delete(t.Context(), Caller{}, "sub7"))
	if err := put(most); err != nil {
		t.Error(err)
	}
	if err := put(most + 1); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}

// stuckStore is a store whose readers answer no range before release is closed.
type stuckStore struct {
	*store.Store
	stuck, release chan struct{} // stuck gets a value for each range
}

type stuckReader struct {
	store.Reader
	of *stuckStore
}

func (s *stuckStore) Reader() (store.Reader, error) {
	r, err := s.Store.Reader()
	return &stuckReader{r, s}, err
}

func (r *stuckReader) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	r.of.stuck <- struct{}{}
	<-r.of.release
	return r.Reader.Range(ctx, b, o)
}

// TestLimitOfSlowStore checks that one count serves all who wait for it, and that each of them waits
// no longer than its context.
func TestLimitOfSlowStore(t *testing.T) {
	w := newWorld(t)
	const callers = 5
	slow := &stuckStore{w.store, make(chan struct{}, callers), make(chan struct{})}
	w.registry.Store = slow
	errs := make(chan error, callers)
	for range callers {
		go func() { errs <- w.registry.reserve(t.Context()) }()
	}
	<-slow.stuck
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.registry.reserve(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(slow.release)
	for range callers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if len(slow.stuck) > 0 {
		t.Errorf("%d more counts", len(slow.stuck))
	}
}
