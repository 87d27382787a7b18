// Changes and jobs in the queue.

package store

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// A change is a group of its own, in its place among the other writes, and so is a step of a
// sweep. If a change is small and clears nothing, it shares a group. Deliveries and fills share
// groups with each other, but not with other writes.
func TestGroups(t *testing.T) {
	var q queue
	q.init(1 << 20)
	kinds := []Kind{KindAdd, KindDelete, KindApply, KindApply, KindAdd, KindAdd,
		kindJob, kindJob, kindJobAlone, kindJobAlone, kindJob, KindAnnotate, kindEdit, kindEdit, KindAdd, KindApply, kindEdit, kindJob}
	var requests []*request
	for _, k := range kinds {
		r := newRequest(k, 0)
		requests = append(requests, r)
		require.NoError(t, q.put(ctx, r))
	}
	for _, want := range [][]*request{requests[:2], requests[2:3], requests[3:4], requests[4:6],
		requests[6:8], requests[8:9], requests[9:10], requests[10:11], requests[11:15], requests[15:16],
		requests[16:17], requests[17:]} {
		group := q.take(nil, 1<<20)
		if len(group) != len(want) || group[0] != want[0] {
			t.Fatalf("a group of %d, want %d", len(group), len(want))
		}
	}
}

// If a change is larger than the queue, it must not wait until the queue is empty.
func TestLargeChangeQueues(t *testing.T) {
	var q queue
	q.init(2 * maxRequestBytes)
	small, large := newRequest(KindAdd, 0), newRequest(KindApply, 0)
	small.size, large.size = maxRequestBytes, 100*maxRequestBytes
	for _, r := range []*request{small, large} {
		require.NoError(t, q.put(ctx, r))
	}
	if n := len(q.take(nil, maxGroupBytes)) + len(q.take(nil, maxGroupBytes)); n != 2 || q.bytes != 0 {
		t.Errorf("%d requests, then %d bytes", n, q.bytes)
	}
}

// The timeout is for a committer without progress, not for a long change.
func TestChangeOutlastsTimeout(t *testing.T) {
	const timeout = 50 * time.Millisecond // of virtual time
	for _, getsOn := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var q queue
			q.init(1 << 20)
			db := database.New(database.Options{FS: vfs.NewMem()})
			r := newRequest(KindApply, 0)
			taken := make(chan struct{})
			go func() {
				defer close(taken)
				q.take(nil, 1<<20)
				if !getsOn {
					return
				}
				for range 15 {
					time.Sleep(timeout / 3)
					r.steps.Add(1)
				}
				r.finish(nil)
			}()
			err := q.do(t.Context(), r, db, timeout)
			if getsOn && err != nil || !getsOn && !errors.Is(err, ErrUnknown) {
				t.Errorf("gets on %v: %v", getsOn, err)
			}
			<-taken
		})
	}
}

// Small changes share groups with other writes, each in its turn and with its own answer.
func TestChangesInGroup(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, students(0, 3)...)
	plain := func(kind Kind, triples ...triple.Triple) *request {
		t.Helper()
		all, err := newRequests(kind, triples, nil)
		if err != nil || len(all) != 1 {
			t.Fatal(err)
		}
		return all[0]
	}
	change := func(gone, come []triple.Triple) *request {
		t.Helper()
		r, err := s.committer.newChange(ctx, Steps{Delete: slices.Values(gone), Add: slices.Values(come)})
		if err != nil || r.kind != kindEdit {
			t.Fatalf("a request of kind %d, %v", r.kind, err)
		}
		return r
	}
	group := []*request{
		plain(KindAdd, students(2, 5)...),        // 3 and 4 are new
		change(students(4, 6), students(3, 7)),   // 4 goes and comes, 5 and 6 come
		plain(KindDelete, students(6, 8)...),     // 6 goes
		change(students(0, 2), nil),              // both go
		change(students(0, 1), students(0, 1)),   // comes
		plain(KindAdd, student(1), student(1)),   // comes once
		change(nil, []triple.Triple{student(1)}), // is there
		change([]triple.Triple{student(2)}, students(8, 9)),
	}
	want := [][3]int64{{2, 1, 0}, {3, 0, 1}, {1, 1, 0}, {0, 0, 2}, {1, 0, 0}, {1, 1, 0}, {0, 0, 0}, {1, 0, 1}}
	s.committer.mu.Lock()
	s.committer.commitGroup(group)
	s.committer.mu.Unlock()
	for i, r := range group {
		got := [3]int64{r.changed, r.unchanged}
		if r.change != nil {
			got[2] = r.removed
		}
		if r.err != nil || got != want[i] {
			t.Errorf("request %d: %v, %v; want %v", i, got, r.err, want[i])
		}
	}
	if r := checked(t, s); r.Triples != 6 { // 0, 1, 3, 4, 5, 8
		t.Errorf("%d triples", r.Triples)
	}
}
