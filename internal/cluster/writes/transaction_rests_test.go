// Tests of transactions whose triples have other operations in flight, and of what parts wait for.

package writes

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Deletes are counted as such, although one other sequencer has all of them.
func TestDeletesOfOneRemoteSequencer(t *testing.T) {
	_, ms := sequencers(t, 3, 3, Options{})
	add(t, ms[0], piece(1))
	expectCounts(t, ms[0].transacts(ctx, pieces(1), nil), Counts{Changed: 1, Removed: 1})
}

func newestStored(t *testing.T, m *machine, n uint64) {
	fl := m.writes.inFlight
	await.Condition(t, "all holders have the newest", func() bool {
		fl.mu.Lock()
		defer fl.mu.Unlock()
		b := fl.open[fl.last]
		return fl.last == n && (b == nil || b.stored)
	})
}

// A change of one sequencer has a triple that a transaction in flight adds. It is not visible before that one, nor in
// part.
func TestUnchangedRestsOnTransaction(t *testing.T) {
	w, ms := sequencers(t, 3, 6, Options{})
	w.holdsUp(ms[0], ms[2], unsent)
	first := ms[0].transacts(ctx, nil, pieces(0, 1))
	await.Condition(t, "one part has joined", func() bool { return storedParts(ms...) == 1 })
	second := ms[1].transacts(ctx, nil, pieces(1, 4))
	newestStored(t, ms[1], 2)
	expectState(t, ms, pieces(1, 4), "00")
	w.setFate(nil)
	expectCounts(t, first, Counts{Changed: 2})
	expectCounts(t, second, Counts{Changed: 1, Unchanged: 1})
	expectHistory(t, ms, pieces(0, 1, 4), "000", "110", "111")
}

// The same if the change has two sequencers: it may be visible before the other transaction, as a whole.
func TestUnchangedPartRestsOnTransaction(t *testing.T) {
	w, ms := sequencers(t, 3, 6, Options{})
	w.holdsUp(ms[0], ms[2], unsent)
	first := ms[0].transacts(ctx, nil, pieces(0, 1))
	await.Condition(t, "one part has joined", func() bool { return storedParts(ms...) == 1 })
	second := ms[1].transacts(ctx, nil, pieces(1, 2))
	newestStored(t, ms[2], 1)
	w.setFate(nil)
	expectCounts(t, first, Counts{Changed: 2})
	expectCounts(t, second, Counts{Changed: 1, Unchanged: 1})
	expectHistory(t, ms, pieces(1, 2), "00", "11")
}

// If a request to the oracle hangs, readers on the sequencer try again.
func TestOutcomeHangs(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(3, Options{Attempt: 200 * time.Millisecond})
	l := w.apart(ms, 3)
	hung := make(chan struct{}, 1)
	ms[0].intercept(ticks.MethodTransaction, func(ctx context.Context, body []byte, next func(context.Context, []byte) ([]byte, error)) ([]byte, error) {
		if body[1] == 1 {
			select {
			case hung <- struct{}{}:
				<-ctx.Done() // the first one hangs
				return nil, ctx.Err()
			default:
			}
		}
		return next(ctx, body)
	})
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	w.holdsUp(ms[2], ms[0], unsent)
	done := ms[0].transacts(ctx, nil, pieces(1, 2))
	await.Condition(t, "one part has joined", func() bool { return storedParts(ms...) == 1 })
	tick, err := ms[1].writes.Now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if s, err := w.stateAt(limited, ms[1].View(), tick, 0, pieces(1)); err != nil || s != "0" {
		t.Errorf("%s, %v", s, err)
	}
	w.setFate(nil)
	expectCounts(t, done, Counts{Changed: 2})
}

// Submissions that wait for transactions do not take the places of their parts.
func TestPlacesOfParts(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(4, Options{RetryTimeout: 3 * time.Second})
	l := w.apart(ms, 8)
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	b, c := ms[1], ms[2]
	w.setFate(func(from, to trie.MachineID, method string) fate {
		if method == MethodPart && (from == ms[0].id && to == c.id || from == ms[3].id && to == b.id) {
			return unsent
		}
		return arrives
	})
	first := ms[0].transacts(ctx, nil, pieces(1, 2))
	second := ms[3].transacts(ctx, nil, pieces(5, 6))
	await.Condition(t, "one part of each has joined", func() bool { return storedParts(b) == 1 && storedParts(c) == 1 })
	var later []<-chan transacted
	for range waitLimits[waitSubmit] {
		later = append(later, ms[0].transacts(ctx, pieces(1), nil), ms[3].transacts(ctx, pieces(6), nil))
	}
	await.Condition(t, "all wait", func() bool {
		return len(b.writes.waiting[waitSubmit]) == waitLimits[waitSubmit] && len(c.writes.waiting[waitSubmit]) == waitLimits[waitSubmit]
	})
	w.setFate(nil)
	expectCounts(t, first, Counts{Changed: 2})
	expectCounts(t, second, Counts{Changed: 2})
	for _, l := range later {
		<-l // more than the places were refused for a while
	}
}

// A transaction that changes nothing ends when all its parts have joined, because the oracle drops it then.
func TestUnchangedPartsHaveJoined(t *testing.T) {
	w, ms := sequencers(t, 3, 6, Options{})
	add(t, ms[0], pieces(0, 1, 2)...)
	joins := make(chan struct{}, 100)
	silent := ms[2]
	if silent.View().Oracle() == silent.id {
		silent = ms[1]
	}
	w.setFate(func(from, _ trie.MachineID, method string) fate {
		if method == ticks.MethodTransaction && from == silent.id {
			select {
			case joins <- struct{}{}:
			default:
			}
			return unsent
		}
		return arrives
	})
	done := ms[0].transacts(ctx, nil, pieces(0, 1, 2))
	for range 4 {
		<-joins
	}
	select {
	case got := <-done:
		t.Fatalf("it has ended: %+v", got)
	default:
	}
	w.setFate(nil)
	expectCounts(t, done, Counts{Unchanged: 3})
}

// A coordinator that is isolated pauses between the tries of a part.
func TestIsolatedCoordinatorPauses(t *testing.T) {
	w, ms := sequencers(t, 3, 6, Options{RetryTimeout: 200 * time.Millisecond, Attempt: 100 * time.Millisecond})
	var tries atomic.Int64
	w.setFate(func(_, _ trie.MachineID, method string) fate {
		if method != MethodPart {
			return arrives
		}
		if tries.Add(1) > 1000 {
			ms[0].isolated.Store(false)
		}
		return unsent
	})
	ms[0].SetLease(errNoLease)
	ms[0].isolated.Store(true)
	got := <-ms[0].transacts(ctx, nil, pieces(0, 1, 2))
	if got.err == nil || tries.Load() > 200 {
		t.Errorf("%v, after %d tries", got.err, tries.Load())
	}
}
