// Tests of adds, deletes and waiting writers.

package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/triple"
)

func second[T any](_ T, err error) error { return err }

// A long list becomes several requests, and so does a list of very long terms.
func TestAddMuch(t *testing.T) {
	race.Skip(t)
	s := openMem(t, Options{QueueBytes: 1 << 20})
	long := strings.Repeat("x", 1<<20)
	var triples []triple.Triple
	for i := range 12 {
		tr := student(i)
		tr.Object = triple.NewString(long[i:])
		triples = append(triples, tr)
	}
	if r := add(t, s, triples...); r.Added != 12 {
		t.Errorf("%+v", r)
	}
	if r := add(t, s, students(0, race.Fewer(30_000))...); r.Added != int64(race.Fewer(30_000)) {
		t.Errorf("%+v", r)
	}
	if s.metrics.requests.Load() < 4 {
		t.Errorf("%d requests", s.metrics.requests.Load())
	}
	sn := snapshot(t, s)
	got := all(t, sn, triple.Pattern{Object: triples[3].Object}, ReadOptions{})
	if len(got) != 1 || got[0] != triples[3] {
		t.Errorf("%d triples with a long object", len(got))
	}
	checked(t, s)
}

// Writers that come during a sync share the next one. If a writer gives up before its turn, it has
// written nothing.
func TestGroupCommit(t *testing.T) {
	var hold atomic.Bool
	syncing, release := make(chan struct{}, 100), make(chan struct{})
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if hold.Load() && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			syncing <- struct{}{}
			<-release
		}
		return nil
	}))
	s := openMem(t, Options{FS: fs})
	hold.Store(true)
	var wait sync.WaitGroup
	wait.Go(func() { add(t, s, student(0)) })
	<-syncing
	before := s.metrics.groups.Load()
	for i := 1; i <= 50; i++ {
		wait.Go(func() { add(t, s, student(i)) })
	}
	impatient, cancel := context.WithCancel(ctx)
	gaveUp := make(chan error)
	go func() { gaveUp <- second(Add(impatient, s, []triple.Triple{student(100)})) }()
	await.Condition(t, "51 writers wait", func() bool {
		s.committer.queue.mu.Lock()
		defer s.committer.queue.mu.Unlock()
		return len(s.committer.queue.waiting) == 51
	})
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up: %v", err)
	}
	hold.Store(false)
	close(release)
	wait.Wait()
	if groups := s.metrics.groups.Load() - before; groups != 2 {
		t.Errorf("%d groups for 51 writes, want 2", groups)
	}
	sn := snapshot(t, s)
	if ok, err := sn.Has(ctx, student(100)); ok || err != nil {
		t.Errorf("what was given up is there: %v, %v", ok, err)
	}
	if n, err := sn.Count(ctx, triple.Pattern{}); n != 51 || err != nil {
		t.Errorf("%d triples, %v", n, err)
	}
	if err := second(Add(impatient, s, students(0, 1))); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// If the queue is full, writers wait until their contexts end.
func TestQueueIsBounded(t *testing.T) {
	var q queue
	q.init(1000)
	one, two := newRequest(KindAdd, 1), newRequest(KindAdd, 1)
	one.size, two.size = 900, 200
	if err := q.put(ctx, one); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := q.put(cancelled, two); !errors.Is(err, context.Canceled) {
		t.Errorf("into a full queue: %v", err)
	}
	put := make(chan error)
	go func() { put <- q.put(ctx, two) }()
	if got := q.take(nil, 1<<20); len(got) == 0 || got[0] != one {
		t.Errorf("took %v", got)
	}
	if err := <-put; err != nil {
		t.Error(err)
	}
	q.close()
	if err := q.put(ctx, one); !errors.Is(err, ErrClosed) {
		t.Errorf("into a closed queue: %v", err)
	}
}
