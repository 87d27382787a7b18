// Tests of subscriptions that are taken up far behind the others.

package subscriptions

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// recordedStore records where readers that follow the feed begin.
type recordedStore struct {
	*store.Store
	mu      sync.Mutex
	follows []feed.Position
	reads   int // of others
}

type recordedFeed struct {
	feed.Source
	of *recordedStore
}

func (s *recordedStore) Feed() feed.Source { return &recordedFeed{s.Store.Feed(), s} }

func (f *recordedFeed) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if r.Follow {
		f.of.follows = append(f.of.follows, r.Since.Clone())
	} else {
		f.of.reads++
	}
	return f.Source.Changes(ctx, r)
}

// TestBehind: a few subscriptions are taken up that are far behind. They get all their changes, and the
// follower, which serves the others, does not go back for them. Of many it does, by one reader.
func TestBehind(t *testing.T) {
	for _, old := range []int{3, 30} {
		t.Run(fmt.Sprint(old), func(t *testing.T) {
			simulate(t, func(t *testing.T, w *world) { behind(t, w, old) })
		})
	}
}

func behind(t *testing.T, w *world, old int) {
	recorded := &recordedStore{Store: w.store}
	w.registry.Store = recorded
	const matching = 3
	for i := range old {
		filter := map[string]string{"p": "p"}
		if i >= matching {
			filter["p"] = "quiet"
		}
		w.put(fmt.Sprint("old", i), filter)
	}
	w.put("new", map[string]string{"p": "q"})
	// 1. Another member owns the old ones.
	var owner atomic.Bool
	own, _ := triple.AppendKey(nil, triple.SPO, entry("new"))
	owns := func(key []byte) bool { return owner.Load() || string(key) == string(own) }
	m := w.start(Options{Owns: owns, MaxBehind: 10, Workers: 16})
	w.add(number("p", 0))
	for n := range 20 {
		w.add(number("other", n))
	}
	w.add(number("q", 0))
	w.until("the new one", func() bool { return slices.Contains(w.receiver.of("new"), "add 0") })
	// 2. They are taken up.
	recorded.mu.Lock()
	recorded.follows, recorded.reads = nil, 0
	recorded.mu.Unlock()
	m.mu.Lock()
	before := m.position.Clone()
	m.mu.Unlock()
	owner.Store(true)
	for i := range old {
		w.until("the old change", func() bool { return i >= matching || slices.Contains(w.receiver.of(fmt.Sprint("old", i)), "add 0") })
		w.until("it is near", m.is(fmt.Sprint("old", i), func(s *subscription) bool { return s.loaded && !s.due && !s.running && !s.behind }))
	}
	recorded.mu.Lock()
	follows, reads := recorded.follows, recorded.reads
	recorded.mu.Unlock()
	back := slices.ContainsFunc(follows, func(p feed.Position) bool { return !p.Reaches(before) })
	if len(follows) == 0 || back != (old > 4) {
		t.Errorf("%d old ones: the follower went back: %v, in %d iterations", old, back, len(follows))
	}
	if reads > 5*matching {
		t.Errorf("%d reads by workers for %d changes", reads, matching)
	}
	// 3. All are served by the follower now.
	w.add(number("p", 1))
	for i := range matching {
		w.until("the next change", func() bool { return slices.Equal(w.receiver.of(fmt.Sprint("old", i)), []string{"add 0", "add 1"}) })
	}
}
