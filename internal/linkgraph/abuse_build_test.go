// Attacks by failures of other machines and of the disk.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// TestDialTimeoutMayPass: a machine whose host is off refuses nothing: a dial ends by its own
// timeout, which net reports as context.DeadlineExceeded. Another holder must be asked then.
func TestDialTimeoutMayPass(t *testing.T) {
	dialing, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	_, err := (&net.Dialer{}).DialContext(dialing, "tcp", "127.0.0.1:1")
	if !derived.Unreachable(err) {
		t.Fatal(err)
	}
	if err = fmt.Errorf("%w: %w", derived.ErrUnreachable, err); !machine.MayPass(err) {
		t.Errorf("a read fails instead of asking a secondary: %v (deadline: %v)", err, errors.Is(err, context.DeadlineExceeded))
	}
}

// TestFailureEnds: when files can be written again, reads are answered again, without another
// change of the store.
func TestFailureEnds(t *testing.T) {
	seed.Slow(t)
	w := newWorld(t, machine.Options{Workers: 1})
	dir := w.graph.Options.Dir
	away := dir + ".away"
	w.update(links.Change{Source: "http://a.org/1", Targets: []string{"http://a.org/2"}})
	require.NoError(t, os.Rename(dir, away))
	// The next save fails.
	err := w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { k.Dirty = true; return nil })
	require.NoError(t, err)
	for w.graph.Board.Failed() == nil {
		<-w.graph.Board.Moved.Next() // sent with each failure
	}
	require.NoError(t, os.Rename(away, dir))
	for deadline := time.Now().Add(30 * time.Second); ; runtime.Gosched() {
		if _, err = w.graph.UIDs(ctx, []string{"http://a.org/1"}); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("30 s after the cause has gone: %v", err)
		}
	}
}

// TestBuildEnds: a build ends while links of new pages are added by other ways.
func TestBuildEnds(t *testing.T) {
	seed.Long(t)
	if testing.Short() {
		t.Skip("many links, of one goroutine at a time")
	}
	w := newWorld(t, machine.Options{Workers: 1})
	var many []triple.Triple
	for i := range 200_000 {
		many = append(many, links.Link(links.DefaultPredicate, pageURL(i%5000, i), pageURL(i%499, i/3)))
	}
	if _, err := store.Add(ctx, w.store, many); err != nil {
		t.Fatal(err)
	}
	if _, err := w.graph.CurrentEpoch(ctx, 0); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.graph.Close())
	require.NoError(t, os.RemoveAll(w.graph.Options.Dir))
	// 1. Add links of new pages all the time.
	adding, stop := context.WithCancel(ctx)
	added := make(chan int)
	go func() {
		n := 0
		often := time.NewTicker(time.Millisecond)
		defer often.Stop()
		for ; adding.Err() == nil; n++ {
			<-often.C
			if _, err := store.Add(ctx, w.store, []triple.Triple{links.Link(links.DefaultPredicate, pageURL(n%50, 1_000_000+n), pageURL(n%60, 2_000_000+n))}); err != nil {
				t.Error(err)
			}
		}
		added <- n
	}()
	// 2. The graph is there soon.
	graph, err := Open(w.store, w.o)
	require.NoError(t, err)
	w.graph = graph
	loading, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	err = graph.AwaitCells(loading)
	stop()
	n := <-added
	t.Logf("%d links were added meanwhile", n)
	if err != nil {
		t.Fatalf("after 40 s: %v", err)
	}
	// 3. It has all links.
	for i := range n {
		uids, err := graph.UIDs(ctx, []string{pageURL(i%50, 1_000_000+i), pageURL(i%60, 2_000_000+i)})
		require.NoError(t, err)
		forward, err := graph.Links(ctx, links.Forward, uids[:1])
		backward, failed := graph.Links(ctx, links.Backward, uids[1:])
		if err != nil || failed != nil || len(forward.Items) != 1 || forward.Items[0] != uids[1] || len(backward.Items) != 1 || backward.Items[0] != uids[0] {
			t.Fatalf("link %d of %d: %v, %v, %v, %v", i, n, forward, backward, err, failed)
		}
	}
}

func TestWithinNothingHeld(t *testing.T) {
	w := newWorld(t, machine.Options{Workers: 1})
	w.update(links.Change{Source: "http://a.org/1", Targets: []string{"http://a.org/2"}})
	q := &route.Query{Kind: route.QueryWithin, Set: []uid.UID{1, 2}}
	s := &state.State{}
	if holdsPages(s, q) {
		_, _ = w.graph.server.answerHeld(ctx, s, q)
	}
}
