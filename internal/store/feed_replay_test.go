// Tests that replay the feed: after random operations, and after crashes at any write.

package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// replay is a consumer that derives a model from the feed.
type replay struct {
	m     model
	since feed.Position
	loads map[string][]triple.Triple // by ID
}

func newReplay() *replay { return &replay{m: model{}, loads: map[string][]triple.Triple{}} }

// read applies the changes since the last call. Each must fit to the ones before.
func (r *replay) read(t require.T, s *Store) {
	for b, err := range s.Feed().Changes(ctx, feed.Request{Since: r.since}) {
		require.NoError(t, err)
		for i := range b.Changes {
			require.NoError(t, r.apply(&b.Changes[i]))
		}
		r.since = b.Position
	}
}

func (r *replay) apply(c *feed.Change) error {
	// 1. Changes without a triple.
	switch c.Kind {
	case feed.Load:
		if r.loads[c.Load.ID] == nil {
			return fmt.Errorf("the feed has an unknown load %q", c.Load.ID)
		}
		for _, t := range r.loads[c.Load.ID] {
			if r.m[t] == nil {
				r.m[t] = map[string]string{}
			}
		}
		delete(r.loads, c.Load.ID)
		return nil
	case feed.Clear:
		maps.DeleteFunc(r.m, func(t triple.Triple, _ map[string]string) bool {
			return c.Clear.All || t.Graph.IsZero() && c.Clear.Default || slices.Contains(c.Clear.Graphs, t.Graph)
		})
		return nil
	}
	// 2. Changes of a triple.
	t, err := c.Triple()
	if err != nil {
		return err
	}
	notes, exists := r.m[t]
	if exists == (c.Kind == feed.Add) {
		return fmt.Errorf("%s of %s, which exists: %v", c.Kind, t, exists)
	}
	switch {
	case c.Kind == feed.Add:
		r.m[t] = map[string]string{}
	case c.Kind == feed.Delete:
		delete(r.m, t)
	case c.Annotation.Removed:
		delete(notes, c.Annotation.ApplicationID)
	default:
		notes[c.Annotation.ApplicationID] = string(c.Annotation.Data)
	}
	return nil
}

// same reports a difference to a model.
func (r *replay) same(m model) error {
	if len(r.m) != len(m) {
		return fmt.Errorf("the feed makes %d triples, want %d", len(r.m), len(m))
	}
	for t, notes := range m {
		if got, ok := r.m[t]; !ok || !maps.Equal(got, notes) {
			return fmt.Errorf("the feed makes %s with %q (%v), want %q", t, got, ok, notes)
		}
	}
	return nil
}

// modelOf returns the contents of a store.
func modelOf(t *testing.T, s *Store) model {
	m := model{}
	sn := snapshot(t, s)
	defer sn.Close()
	for row, err := range sn.Match(ctx, triple.Pattern{}, ReadOptions{Annotations: true}) {
		require.NoError(t, err)
		tr, err := row.Triple()
		require.NoError(t, err)
		m[tr] = map[string]string{}
		for _, a := range row.Annotations {
			m[tr][a.ApplicationID] = string(a.Data)
		}
	}
	return m
}

// TestFeedCrashes: the disk may lose power before any write. Then the feed has each acknowledged
// change once, and it has exactly the changes that the store has.
func TestFeedCrashes(t *testing.T) {
	rng := random(t)
	type crash struct {
		fs           *memdisk.FS
		acknowledged int64
	}
	fs := memdisk.New()
	var crashes []crash
	var acknowledged atomic.Int64
	var mu sync.Mutex // Pebble writes from several goroutines
	writes := 0
	faulty := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes%3 == 0 && len(crashes) < race.Fewer(150) {
			done := acknowledged.Load()
			crashes = append(crashes, crash{fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}), done})
		}
		return nil
	}))
	// 1. Make changes. Change n leaves the triple marker(n), so its presence shows the change.
	s, err := Open("data", Options{FS: faulty, MemTableBytes: minMemTableBytes})
	require.NoError(t, err)
	marker := func(n int) triple.Triple { return takes(fmt.Sprint("marker", n)) }
	loads := map[string][]triple.Triple{}
	changes := rand.New(rand.NewPCG(rng.Uint64(), 0))
	for n := 1; n <= 30; n++ {
		c := randomChanges(changes)
		var kept []triple.Triple
		for i := 1; i <= n; i++ { // a clear has removed them
			kept = append(kept, marker(i))
		}
		if n%7 == 0 {
			id := fmt.Sprint("load", n)
			loads[id] = append(students(n, n+20), marker(n))
			loadTriples(t, s, id, loads[id])
		} else {
			add := c.Add
			c.Add = func(yield func(triple.Triple) bool) {
				if add != nil {
					for tr := range add {
						if !yield(tr) {
							return
						}
					}
				}
				for _, tr := range kept {
					if !yield(tr) {
						return
					}
				}
			}
			apply(t, s, c)
			annotate(t, s, marker(n), "app")
		}
		acknowledged.Store(int64(n))
	}
	require.NoError(t, s.Close())
	crashes = append(crashes, crash{fs.CrashClone(vfs.CrashCloneCfg{}), acknowledged.Load()})
	// 2. Open each clone. What the feed makes is what the store has.
	for i, c := range crashes {
		s, err := Open("data", Options{FS: c.fs})
		require.NoError(t, err)
		r := newReplay()
		r.loads = maps.Clone(loads)
		r.read(t, s)
		if err := r.same(modelOf(t, s)); err != nil {
			t.Errorf("crash %d: %v", i, err)
		}
		for n := 1; n <= int(c.acknowledged); n++ {
			if _, ok := r.m[marker(n)]; !ok {
				t.Errorf("crash %d: change %d was acknowledged and is missing", i, n)
			}
		}
		// 3. The feed continues behind the crash.
		add(t, s, takes("after"))
		r.read(t, s)
		if _, ok := r.m[takes("after")]; !ok {
			t.Errorf("crash %d: the next change is missing", i)
		}
		require.NoError(t, s.Close())
	}
	t.Logf("%d crashes in %d writes", len(crashes), writes)
	if len(crashes) < race.Fewer(50) {
		t.Error("not a test")
	}
}

// TestFeedFailedWrites: a change that is rejected is not in the feed.
func TestFeedFailedWrites(t *testing.T) {
	s := openMem(t, Options{})
	r := newReplay()
	for n := range 50 {
		limit := int64(0)
		if n%2 == 1 {
			limit = 4 << 10 // it fails in the middle of the batch
		}
		c := Steps{Add: slices.Values(students(n*50, n*50+100)), Delete: slices.Values(students(max(0, n*50-100), max(0, n*50-70))), MaxBytes: limit}
		if _, err := Apply(ctx, s, c); (limit > 0) != errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
	}
	r.read(t, s)
	if err := r.same(modelOf(t, s)); err != nil {
		t.Error(err)
	}
}
