// The torture's consumers of the change feed.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// watcher follows the change feed through one machine after the other, and remembers each change.
type watcher struct {
	torture  *torture
	random   *rand.Rand
	begin    feed.Position   // seen has all changes behind it
	seen     map[string]bool // identities of changes
	consumer *consumer
	gone     int // how often the feed did not reach back
	readers  int // how often it began to read
}

func newWatcher(t *torture, random *rand.Rand) *watcher {
	w := &watcher{torture: t, random: random}
	p, err := t.hosts[0].member().Feed().Position(t.t.Context())
	if err != nil {
		t.t.Fatal(err)
	}
	w.goOn(p)
	return w
}

// goOn begins anew at a position.
func (w *watcher) goOn(p feed.Position) {
	w.begin, w.seen, w.consumer = p, map[string]bool{}, newConsumer(w.torture.t, p)
}

func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		if p := w.torture.anyProcess(w.random); p != nil {
			timed, cancel := context.WithTimeout(ctx, time.Duration(50+w.random.IntN(8000))*time.Millisecond)
			w.read(timed, p)
			cancel()
		}
		time.Sleep(time.Duration(w.random.IntN(60)) * time.Millisecond)
	}
}

// read follows the feed through a process until ctx ends or the feed fails.
func (w *watcher) read(ctx context.Context, p *process) {
	n, _ := p.running()
	if n == nil {
		return
	}
	w.readers++
	r := feed.Request{Since: w.consumer.since, Follow: true, Heartbeat: time.Second, MaxBytes: 1 + w.random.IntN(5000)}
	for b, err := range n.Feed().Changes(ctx, r) {
		if p.await(); p.dead.Load() {
			return // its report has no reader
		}
		var reason *feed.GoneError
		switch {
		case errors.As(err, &reason):
			w.gone++
			w.torture.note("the feed is gone: %s", reason.Reason)
			w.goOn(reason.Continue)
			return
		case errors.Is(err, feed.ErrPosition):
			w.torture.fail("position %+v through %s: %v", w.consumer.since, p.host.name, err)
			return
		case err != nil:
			return
		}
		w.take(b)
	}
}

func (w *watcher) take(b *feed.Batch) {
	for i := range b.Changes {
		w.seen[identityOf(&b.Changes[i])] = true
	}
	w.consumer.take(b)
}

func identityOf(c *feed.Change) string {
	return fmt.Sprint(c.Kind, c.Stamp, c.Sequencer, " ", string(c.Key))
}

// end reads up to the end. Then it compares what it has with the store, and with the whole feed read
// again through another machine.
func (w *watcher) end() {
	t := w.torture.t
	hosts := w.torture.wanted()
	read := func(since feed.Position, take func(*feed.Batch)) error {
		n := hosts[w.random.IntN(len(hosts))].member()
		for b, err := range n.Feed().Changes(t.Context(), feed.Request{Since: since}) {
			if err != nil {
				return err
			}
			take(b)
		}
		return nil
	}
	for {
		err := read(w.consumer.since, w.take)
		var reason *feed.GoneError
		if errors.As(err, &reason) {
			w.goOn(reason.Continue)
			continue
		}
		if err != nil {
			t.Fatalf("the rest of the feed: %v", err)
		}
		break
	}
	// 1. The whole feed has exactly the same changes, in an order of its own.
	whole := newConsumer(t, w.begin)
	missing := map[string]bool{}
	for id := range w.seen {
		missing[id] = true
	}
	err := read(w.begin, func(b *feed.Batch) {
		for i := range b.Changes {
			id := identityOf(&b.Changes[i])
			if delete(missing, id); !w.seen[id] {
				t.Errorf("the feed skipped %q", id)
			}
		}
		whole.take(b)
	})
	if err != nil && !errors.Is(err, feed.ErrGone) {
		t.Fatalf("the whole feed: %v", err)
	}
	if err == nil {
		for id := range missing {
			t.Errorf("the feed lost %q", id)
		}
	}
	// 2. The last change of each triple led to what the store has.
	stored := map[triple.Triple]bool{}
	sn, err := hosts[0].member().Reader()
	require.NoError(t, err)
	defer sn.Close()
	for row, err := range sn.Match(t.Context(), triple.Pattern{}, store.ReadOptions{}) {
		require.NoError(t, err)
		tr, err := row.Triple()
		require.NoError(t, err)
		stored[tr] = true
	}
	for i := range w.torture.universe.moving {
		key, _ := triple.AppendKey(nil, triple.SPO, fact(i))
		if _, changed := w.consumer.stamps[string(key)]; (changed || w.gone == 0) && stored[fact(i)] != w.consumer.live[fact(i)] {
			t.Errorf("triple %d: the store has it: %v; by the feed: %v", i, stored[fact(i)], w.consumer.live[fact(i)])
		}
	}
	w.torture.note("a consumer has %d changes of %d triples by %d reads; gone %d times", len(w.seen), len(w.consumer.stamps), w.readers, w.gone)
}
