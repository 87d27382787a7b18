// Tests of the place in the feed.

package functions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// feedOrder draws an order in which the feed may send requests: by epoch, those of a sequencer in
// order, and the changes of a request together.
func feedOrder(r *rand.Rand, requests [][]feed.Change, since feed.Position) (order []feed.Change) {
	rest := map[trie.MachineID][][]feed.Change{}
	for _, of := range requests {
		if c := &of[0]; !since.Covers(c.Sequencer, c.Stamp) {
			rest[c.Sequencer] = append(rest[c.Sequencer], of)
		}
	}
	for len(rest) > 0 {
		// Only a sequencer whose next request is of the least epoch may be next.
		epoch, next := uint64(1<<62), []trie.MachineID(nil)
		for m, of := range rest {
			switch e := of[0][0].Stamp.Epoch; {
			case e < epoch:
				epoch, next = e, []trie.MachineID{m}
			case e == epoch:
				next = append(next, m)
			}
		}
		slices.Sort(next)
		m := next[r.IntN(len(next))]
		order = append(order, rest[m][0]...)
		if rest[m] = rest[m][1:]; len(rest[m]) == 0 {
			delete(rest, m)
		}
	}
	return order
}

// TestProgress saves the place behind any change and resumes there, while the feed sends the requests
// of different sequencers in another order each time. Each change must be processed once.
func TestProgress(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		// 1. Requests of three sequencers in two epochs. The key tells the changes of one apart.
		var requests [][]feed.Change
		for m := range trie.MachineID(3) {
			for epoch := range uint64(2) {
				for sequence := range uint64(r.IntN(4)) {
					stamp := triple.Stamp{Epoch: 1 + epoch, Sequence: 1 + sequence}
					var request []feed.Change
					for i := range 1 + r.IntN(3) {
						request = append(request, feed.Change{Kind: feed.Add, Stamp: stamp, Sequencer: 1 + m, Key: []byte{byte(i)}})
					}
					requests = append(requests, request)
				}
			}
		}
		// 2. Process some changes, save the place, and resume there.
		type id struct {
			sequencer trie.MachineID
			stamp     triple.Stamp
			n         byte
		}
		done := map[id]int{}
		saved := &State{Position: feed.Position{Epoch: 1}.String()}
		for {
			at, err := saved.progress()
			require.NoError(t, err)
			order := feedOrder(r, requests, at.position)
			stop := r.IntN(len(order) + 2)
			for i := range order {
				if c := &order[i]; !at.repeated(c) {
					if i >= stop {
						break
					}
					done[id{c.Sequencer, c.Stamp, c.Key[0]}]++
					at.advance(c)
				}
			}
			at.set(saved)
			if stop > len(order) {
				break
			}
		}
		// 3. None is missing, and none came twice.
		for _, request := range requests {
			for i := range request {
				c := &request[i]
				if n := done[id{c.Sequencer, c.Stamp, c.Key[0]}]; n != 1 {
					t.Fatalf("change %d of request %v of machine %d was processed %d times", i, c.Stamp, c.Sequencer, n)
				}
			}
		}
	}
}

// TestAnotherPattern registers a function again with another pattern, in the middle of a request. The
// new one must get the changes behind the place of the old one, and no others.
func TestAnotherPattern(t *testing.T) {
	for name, c := range map[string]struct {
		again Registration
		last  triple.Triple // a change behind the request that it gets
		want  []int         // numbers of the changes that it gets of the request
	}{
		"the same":      {Registration{Pattern: "? <http://example.org/p0> ?"}, of("end", "p0", "end"), []int{4, 6, 8}},
		"others":        {Registration{Pattern: "? <http://example.org/p1> ?"}, of("end", "p1", "end"), []int{3, 5, 7, 9}},
		"all":           {Registration{Pattern: "? ? <http://example.org/o>"}, of("end", "p2", "o"), []int{3, 4, 5, 6, 7, 8, 9}},
		"other kinds":   {Registration{Pattern: "? <http://example.org/p0> ?", Kinds: []string{"add", "delete"}}, of("end", "p0", "end"), []int{4, 6, 8}},
		"none there":    {Registration{Pattern: "? <http://example.org/p2> ?"}, of("end", "p2", "end"), nil},
		"only the last": {Registration{Pattern: "<http://example.org/s9> ? ?"}, of("s9", "p2", "end"), []int{9}},
	} {
		t.Run(name, func(t *testing.T) {
			// 1. A request of which the function has processed two changes: of s0 and s2.
			var owned atomic.Bool
			b := open(t, nil, Options{Owns: func([]byte) bool { return owned.Load() }})
			defer b.close()
			code := module(t, "inverse")
			old := Registration{Name: "f", Pattern: "? <http://example.org/p0> ?", TimeoutMS: 10_000}
			b.put(old, code)
			var request []triple.Triple
			for i := range 10 {
				request = append(request, of(fmt.Sprint("s", i), fmt.Sprint("p", i%2), "o"))
			}
			b.add(request...)
			state := b.state("f")
			since, err := feed.ParsePosition(state.Position)
			require.NoError(t, err)
			for batch, err := range b.db.Feed().Changes(b.ctx, feed.Request{Since: since, Filter: feed.Filter{Pattern: triple.Pattern{Predicate: iri("p0")}}}) {
				require.NoError(t, err)
				for i := range batch.Changes {
					stamp := batch.Changes[i].Stamp
					state.Partials = []Partial{{Epoch: stamp.Epoch, Sequence: stamp.Sequence, Count: 2}}
				}
			}
			r := old.withDefaults()
			state.Selected = r.selection()
			data, err := state.encode()
			require.NoError(t, err)
			require.NoError(t, store.Annotate(b.ctx, b.db, tripleOf("f"), stateID, data))
			// 2. Register it again, and let it run up to a change behind the request.
			c.again.Name, c.again.TimeoutMS = "f", 10_000
			b.put(c.again, code)
			owned.Store(true)
			b.add(c.last)
			inverse := triple.Triple{Subject: c.last.Object, Predicate: iri("childOf"), Object: c.last.Subject}
			b.eventually("the last change", func() bool { return b.has(inverse) })
			// 3. Compare.
			for i := range 10 {
				got, want := b.has(of("o", "childOf", fmt.Sprint("s", i))), slices.Contains(c.want, i)
				if got != want {
					t.Errorf("change %d was processed: %v, want %v", i, got, want)
				}
			}
		})
	}
}

// TestStalledUntilAnotherOwns: a function that fails stands still where it runs, and no longer when another member owns it.
func TestStalledUntilAnotherOwns(t *testing.T) {
	seed.Slow(t)
	var owned atomic.Bool
	b := open(t, nil, Options{Owns: func([]byte) bool { return owned.Load() }})
	defer b.close()
	b.put(Registration{Name: "f", Pattern: "? <http://example.org/p> ?", TimeoutMS: 10_000}, module(t, "inverse"))
	// 1. It cannot read its state, and the feed has a change for it.
	require.NoError(t, store.Annotate(b.ctx, b.db, tripleOf("f"), stateID, []byte("damaged")))
	b.add(of("s", "p", "o"))
	watch := feed.NewWatch(feed.WatchOptions{Interval: time.Millisecond, Limit: time.Nanosecond}, b.service.Followers)
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan struct{})
	go func() { defer close(done); watch.Run(ctx, b.db.Feed()) }()
	defer func() { cancel(); <-done }()
	owned.Store(true)
	b.eventually("a follower that stands still", func() bool { return len(watch.Stalled()) == 1 })
	// 2. Another member owns it.
	owned.Store(false)
	b.eventually("a follower that has left", func() bool { return len(watch.Stalled()) == 0 })
}
