// Crashes and failed writes during changes.

package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// The disk may lose power before every write and sync of a change. Then all of the change is there
// or nothing, and all earlier changes.
func TestApplyCrashes(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	rng := random(t)
	for _, kind := range []string{"add", "clear all", "clear default", "clear graph", "mixed"} {
		t.Run(kind, func(t *testing.T) {
			fs := memdisk.New()
			var clones []*memdisk.FS
			var watch atomic.Bool
			var mu sync.Mutex // Pebble writes from several goroutines
			faulty := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !watch.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				if len(clones) < race.Fewer(40) {
					clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}))
				}
				return nil
			}))
			// With little memory, a change of this size becomes a table of its own.
			s, err := Open("data", Options{FS: faulty, MemTableBytes: []int64{0, minMemTableBytes}[rng.IntN(2)]})
			require.NoError(t, err)
			m := model{}
			before := Steps{Add: slices.Values(slices.Concat(students(0, 300), in(iri("g"), students(0, 200)), in(iri("h"), students(0, 30)), longs(2)))}
			m.apply(before)
			apply(t, s, before)
			annotate(t, s, student(3), "app")
			m[student(3)]["app"] = "note"
			old := m.clone()
			c := Steps{}
			switch kind {
			case "add":
				c.Add = slices.Values(students(200, 700))
			case "clear all":
				c.ClearAll = true
			case "clear default":
				c.ClearDefault = true
			case "clear graph":
				c.ClearGraphs = []triple.Term{iri("g")}
			default:
				c = Steps{
					ClearGraphs: []triple.Term{iri("h")},
					Delete:      slices.Values(students(0, 150)),
					Add:         slices.Values(slices.Concat(students(100, 400), in(iri("h"), students(0, 10)))),
				}
			}
			m.apply(c)
			watch.Store(true)
			apply(t, s, c)
			watch.Store(false)
			acknowledged := fs.CrashClone(vfs.CrashCloneCfg{})
			require.NoError(t, s.Close())
			clones = append(clones, acknowledged)
			done := 0
			for i, clone := range clones {
				s, err := Open("data", Options{FS: clone})
				require.NoError(t, err)
				if s.committer.counted.Triples == int64(len(old)) {
					old.holds(t, s)
					if i == len(clones)-1 {
						t.Error("what was acknowledged is not there")
					}
				} else {
					m.holds(t, s)
					done++
				}
				require.NoError(t, s.Close())
			}
			t.Logf("%d crashes, after %d of them the change is there", len(clones), done)
			if done == 0 || len(clones) < 3 {
				t.Error("not a test")
			}
		})
	}
}

// Writes fail one after the other during changes. After a restart the store must have the state
// after one of the changes.
func TestApplyWriteErrors(t *testing.T) {
	seed.Slow(t)
	race.Skip(t)
	rng := random(t)
	for stop := 0; stop < 120; stop += 120 / race.Fewer(40) {
		t.Run(fmt.Sprint(stop), func(t *testing.T) {
			fs := memdisk.New()
			openFor(t, fs).Close()
			faulty, _ := memdisk.FailAt(fs, stop, stop%2 == 0)
			s, err := Open("data", Options{FS: faulty, MemTableBytes: minMemTableBytes, WriteTimeout: time.Second / 4})
			states := []model{{}}
			if err == nil {
				s.closeTimeout = time.Second
				for n := range 20 {
					c := randomChanges(rng)
					if n%3 == 0 {
						c.Add = slices.Values(slices.Concat(draws(rng, 10), students(n*40, n*40+300)))
					}
					next := states[len(states)-1].clone()
					next.apply(c)
					states = append(states, next)
					if _, err := Apply(ctx, s, c); err != nil {
						// A failing flush blocks writes.
						if !errors.Is(err, ErrFailed) && !errors.Is(err, ErrUnknown) {
							t.Errorf("%v", err)
						}
						break
					}
					states = states[1:] // acknowledged changes stay for good
				}
				s.Close()
			}
			again := openFor(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rand.New(rand.NewPCG(rng.Uint64(), 0))}))
			defer again.Close()
			found := slices.IndexFunc(states, func(m model) bool { return m.same(t, again) })
			if found < 0 {
				t.Fatalf("what is there is the state of no change")
			}
			states[found].holds(t, again)
		})
	}
}

// same reports whether a store has the triples of the model and no others.
func (m model) same(t *testing.T, s *Store) bool {
	t.Helper()
	sn := snapshot(t, s)
	defer sn.Close()
	triples := all(t, sn, triple.Pattern{}, ReadOptions{})
	for _, tr := range triples {
		if _, ok := m[tr]; !ok {
			return false
		}
	}
	return len(triples) == len(m)
}
