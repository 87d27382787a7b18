// Tests of Update.

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/triple"
)

// tally is the triple with a counter's value.
func tally(n int) triple.Triple {
	return triple.Triple{Subject: iri("counter"), Predicate: iri("value"), Object: triple.NewTyped(strconv.Itoa(n), triple.XSDInteger)}
}

// tallyOf reads the counter; more than one value is an error.
func tallyOf(sn Reader) (int, error) {
	n, values := 0, 0
	for row, err := range sn.Match(ctx, triple.Pattern{Subject: iri("counter")}, ReadOptions{}) {
		if err != nil {
			return 0, err
		}
		tr, err := row.Triple()
		if err != nil {
			return 0, err
		}
		if n, err = strconv.Atoi(tr.Object.Value()); err != nil {
			return 0, err
		}
		values++
	}
	if values != 1 {
		return 0, fmt.Errorf("the counter has %d values", values)
	}
	return n, nil
}

func increment(sn Reader) (Steps, error) {
	n, err := tallyOf(sn)
	return Steps{Delete: slices.Values([]triple.Triple{tally(n)}), Add: slices.Values([]triple.Triple{tally(n + 1)})}, err
}

// No update is lost, and no reader sees half of one, beside writers without turns.
func TestUpdatesAtTheSameTime(t *testing.T) {
	s := openMem(t, Options{MemTableBytes: minMemTableBytes})
	add(t, s, tally(0))
	const writers, each = 8, 25
	var wait, others sync.WaitGroup
	stop := make(chan struct{})
	for range writers {
		wait.Go(func() {
			for range each {
				if r, err := Update(ctx, s, increment); err != nil || r != (Result{Added: 1, Deleted: 1}) {
					t.Errorf("%+v, %v", r, err)
					return
				}
			}
		})
	}
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			sn, err := s.Snapshot()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := tallyOf(sn); err != nil {
				t.Error(err)
			}
			sn.Close()
		}
	})
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			triples := in(iri("g"), students(i%50, i%50+20))
			if _, err := Add(ctx, s, triples); err != nil {
				t.Error(err)
			}
			if _, err := Apply(ctx, s, Steps{ClearGraphs: []triple.Term{iri("g")}, Add: slices.Values(triples[:3])}); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Wait()
	close(stop)
	others.Wait()
	if n, err := tallyOf(snapshot(t, s)); n != writers*each || err != nil {
		t.Errorf("the counter is %d, %v", n, err)
	}
	checked(t, s)
}

// The lock must be free again after every kind of end.
func TestUpdateEnds(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, tally(0))
	broken := errors.New("broken")
	if _, err := Update(ctx, s, func(Reader) (Steps, error) { return Steps{}, broken }); err != broken {
		t.Errorf("%v", err)
	}
	if _, err := Update(ctx, s, func(Reader) (Steps, error) {
		return Steps{Add: numbers(0, 1000), MaxBytes: 1000}, nil
	}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		Update(ctx, s, func(Reader) (Steps, error) { panic("update") })
	}()
	if r, err := Update(ctx, s, func(Reader) (Steps, error) { return Steps{}, nil }); err != nil || r != (Result{}) {
		t.Errorf("%+v, %v", r, err)
	}
	// One that reads the snapshot when its triples are read.
	r, err := Update(ctx, s, func(sn Reader) (Steps, error) {
		return Steps{Delete: func(yield func(triple.Triple) bool) {
			for row, err := range sn.Match(ctx, triple.Pattern{}, ReadOptions{}) {
				if err != nil {
					t.Error(err)
				}
				tr, err := row.Triple()
				if err != nil || !yield(tr) {
					return
				}
			}
		}}, nil
	})
	if err != nil || r.Deleted != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	// A waiting update ends when its context ends, and when the store closes.
	inside, leave := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := Update(ctx, s, func(Reader) (Steps, error) {
			close(inside)
			<-leave
			return Steps{Add: numbers(0, 1)}, nil
		}); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
	<-inside
	ended, cancel := context.WithCancelCause(ctx)
	cancel(broken)
	if _, err := Update(ended, s, increment); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	wait.Go(func() {
		if _, err := Update(ctx, s, increment); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	<-s.db.Stopping()
	close(leave)
	wait.Wait()
	<-closed
	if _, err := Update(ctx, s, increment); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

// If an update's outcome is unknown, it may be done later. So the next one must wait until it is
// known.
func TestUpdateAfterUnknown(t *testing.T) {
	var hang atomic.Bool
	release := make(chan struct{})
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if hang.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			<-release
		}
		return nil
	}))
	s := openMem(t, Options{FS: fs})
	add(t, s, tally(0))
	s.options.WriteTimeout, s.committer.timeout = 20_000_000, 20_000_000 // 20 ms
	hang.Store(true)
	if _, err := Update(ctx, s, increment); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	if _, err := Update(ctx, s, increment); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	s.options.WriteTimeout, s.committer.timeout = defaultWriteExpiry, defaultWriteExpiry
	done := make(chan error)
	go func() {
		_, err := Update(ctx, s, increment)
		done <- err
	}()
	hang.Store(false)
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n, err := tallyOf(snapshot(t, s)); n != 2 || err != nil {
		t.Errorf("the counter is %d, %v", n, err)
	}
}

// A published load and a clear do not mix: readers see all of the load or nothing.
func TestClearBesideLoads(t *testing.T) {
	s := openMem(t, Options{MemTableBytes: minMemTableBytes})
	triples := slices.Concat(students(0, 300), in(iri("g"), students(0, 100)))
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			c := Steps{ClearAll: true}
			if i%2 == 0 {
				c = Steps{ClearDefault: true, ClearGraphs: []triple.Term{iri("g")}}
			}
			if _, err := Apply(ctx, s, c); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			sn, err := s.Snapshot()
			if err != nil {
				t.Error(err)
				return
			}
			n, err := sn.Count(ctx, triple.Pattern{})
			if err != nil || n != 0 && n != int64(len(triples)) {
				t.Errorf("%d triples, %v", n, err)
			}
			sn.Close()
		}
	})
	for i := range race.Fewer(60) {
		loadTriples(t, s, fmt.Sprintf("load%d", i), triples)
	}
	close(stop)
	wait.Wait()
	checked(t, s)
	if r := apply(t, s, Steps{ClearAll: true}); s.committer.counted != (keyspace.Counters{}) {
		t.Errorf("%+v: the counters are %+v", r, s.committer.counted)
	}
	checked(t, s)
}
