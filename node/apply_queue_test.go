package node

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A change is a group of its own, in its place among the other writes, and so is a
// step of a sweep; deliveries and fills go together, and not with other writes.
func TestGroups(t *testing.T) {
	var q queue
	q.init(1 << 20)
	kinds := []kind{kindAdd, kindDelete, kindApply, kindApply, kindAdd, kindAdd,
		kindStamped, kindStamped, kindSweep, kindSweep, kindStamped, kindAnnotate}
	var requests []*request
	for _, k := range kinds {
		r := newRequest(k, 0)
		requests = append(requests, r)
		if err := q.put(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range [][]*request{requests[:2], requests[2:3], requests[3:4], requests[4:6],
		requests[6:8], requests[8:9], requests[9:10], requests[10:11], requests[11:]} {
		group := q.take(nil, 1<<20)
		if len(group) != len(want) || group[0] != want[0] {
			t.Fatalf("a group of %d, want %d", len(group), len(want))
		}
	}
}

// A change that is larger than the queue does not wait until it is empty.
func TestLargeChangeQueues(t *testing.T) {
	var q queue
	q.init(2 * maxRequestBytes)
	small, large := newRequest(kindAdd, 0), newRequest(kindApply, 0)
	small.size, large.size = maxRequestBytes, 100*maxRequestBytes
	for _, r := range []*request{small, large} {
		if err := q.put(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(q.take(nil, maxGroupBytes)) + len(q.take(nil, maxGroupBytes)); n != 2 || q.bytes != 0 {
		t.Errorf("%d requests, then %d bytes", n, q.bytes)
	}
}

// The timeout is for a committer that does not get on, not for a change that
// takes long.
func TestChangeOutlastsTimeout(t *testing.T) {
	const timeout = 50 * time.Millisecond // of virtual time
	for _, getsOn := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var q queue
			q.init(1 << 20)
			h := newHealth(Options{}.withDefaults())
			r := newRequest(kindApply, 0)
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
			err := q.do(t.Context(), r, &h, timeout)
			if getsOn && err != nil || !getsOn && !errors.Is(err, ErrUnknown) {
				t.Errorf("gets on %v: %v", getsOn, err)
			}
			<-taken
		})
	}
}
