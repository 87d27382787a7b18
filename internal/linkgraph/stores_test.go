// Tests of stores that are relinquished and loaded again.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/sample"
)

// newWeb returns a world with links of many hosts, in more than one cell.
func newWeb(t *testing.T, o machine.Options) *world {
	t.Helper()
	w := newWorld(t, o)
	rng := random(t)
	var changes []links.Change
	for range 400 {
		changes = append(changes, links.Change{Source: pageURL(rng.IntN(40), rng.IntN(20)), Targets: []string{pageURL(rng.IntN(40), rng.IntN(20))},
			Labels: []links.Label{{Weight: float64(1 + rng.IntN(3)), Anchor: "text"}}})
	}
	w.update(changes...)
	w.settled()
	return w
}

// settled makes the cells the graph alone, without deltas.
func (w *world) settled() {
	w.t.Helper()
	if _, err := w.graph.Board.CaughtUp(ctx); err != nil {
		w.t.Fatal(err)
	}
	require.NoError(w.t, w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { _, err := k.RebuildAll(); return err }))
}

// relinquish relinquishes stores, and checks that they are out of memory.
func (w *world) relinquish(s links.Stores) {
	w.t.Helper()
	require.NoError(w.t, w.graph.Relinquish(ctx, s))
	w.unloaded(s)
}

// unloaded checks that no cell has these stores in memory, and returns what is there.
func (w *world) unloaded(s links.Stores) links.ServerStores {
	w.t.Helper()
	one := w.inMemory()
	for store, m := range map[links.Stores]links.StoreMemory{links.URLStore: one.URLs, links.ForwardStore: one.Forward, links.BackwardStore: one.Backward} {
		if s.Has(store) && (m.Cells != 0 || m.Bytes != 0 || m.FileBytes == 0) {
			w.t.Errorf("the store %s is relinquished, and %+v is in memory", store, m)
		}
	}
	return one
}

// inMemory returns what is in memory, and compares it with the cells themselves.
func (w *world) inMemory() links.ServerStores {
	w.t.Helper()
	all, err := w.graph.Stores(ctx)
	if err != nil || len(all) != 1 {
		w.t.Fatalf("%+v, %v", all, err)
	}
	bytes := int64(0)
	for _, v := range w.graph.Board.State.Load().Views {
		bytes += int64(v.Cell().Size())
	}
	if one := all[0]; one.Bytes != bytes || w.graph.Board.Memory() != bytes+one.DeltaBytes {
		w.t.Errorf("%d bytes in memory, by the bound %d, in fact %d", one.Bytes, w.graph.Board.Memory(), bytes)
	}
	return all[0]
}

// TestRelinquish relinquishes stores and checks what is in memory after reads, changes, builds of cells
// and requests.
func TestRelinquish(t *testing.T) {
	w := newWeb(t, machine.Options{CellPages: 100})
	full := w.inMemory()
	if full.Backward.Cells != full.Cells || full.Backward.Bytes != full.Backward.FileBytes || full.Relinquished != 0 {
		t.Fatalf("not all is in memory: %+v", full)
	}
	uids, err := w.graph.UIDs(ctx, []string{pageURL(1, 1)})
	require.NoError(t, err)

	// 1. Memory falls by what is relinquished. Forward reads need no more.
	w.relinquish(links.BackwardStore)
	less := w.unloaded(links.BackwardStore)
	if fallen := full.Bytes - less.Bytes; fallen < full.Backward.Bytes || fallen > full.Backward.Bytes+int64(full.Cells)*64 {
		t.Errorf("the memory has fallen by %d, the backward store had %d", fallen, full.Backward.Bytes)
	}
	if _, err := w.graph.Links(ctx, links.Forward, uids); err != nil {
		t.Error(err)
	}
	if stats, err := w.graph.Stats(ctx); err != nil || stats.BackwardBytes != 0 || stats.Bytes != less.Bytes || stats.Links == 0 || stats.Linked != stats.Links {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := w.graph.Pages(ctx, 0, 1000); err != nil {
		t.Error(err)
	}
	w.unloaded(links.BackwardStore)

	// 2. A backward read loads the cells that it needs, and these stay.
	if _, err := w.graph.Links(ctx, links.Backward, uids); err != nil {
		t.Error(err)
	}
	cells := 0
	for range w.graph.Board.State.Load().PartsOf(machine.PartitionOf(uids[0])) {
		cells++
	}
	if one := w.inMemory(); one.Backward.Cells != cells || one.Backward.Bytes == 0 {
		t.Errorf("one page was read, of a partition with %d cells, and %+v is in memory", cells, one.Backward)
	}

	// 3. Changes and new cells do not bring stores back.
	w.relinquish(links.AllStores)
	w.update(links.Change{Source: pageURL(77, 1), Targets: []string{pageURL(1, 1)}})
	if _, err := w.graph.Board.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error {
		for _, p := range k.Parts {
			k.Rebuild(p)
			k.TakeRebuilt(<-k.Rebuilt)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if one := w.unloaded(links.AllStores); one.DeltaBytes != 0 || one.Relinquished != links.AllStores {
		t.Errorf("%+v", one)
	}
	w.compare()

	// 4. PageRank needs the forward store alone.
	w.relinquish(links.AllStores)
	w.settled()
	if one := w.unloaded(links.AllStores &^ links.ForwardStore); one.Forward.Cells != one.Cells {
		t.Errorf("PageRank has %+v", one.Forward)
	}

	// 5. A request loads all cells. After a restart all is there.
	if err := w.graph.Request(ctx, links.BackwardStore|links.ForwardStore); err != nil {
		t.Error(err)
	}
	if one := w.unloaded(links.URLStore); one.Backward.Cells != one.Cells || one.Relinquished != links.URLStore {
		t.Errorf("%+v", one)
	}
	w.reopen()
	if one := w.inMemory(); one.URLs.Cells != one.Cells || one.Relinquished != 0 {
		t.Errorf("after a restart: %+v", one)
	}
	w.compare()
	for _, wrong := range []links.Stores{1 << 3, 255} {
		if err := w.graph.Request(ctx, wrong); !errors.Is(err, links.ErrInvalid) {
			t.Errorf("stores %d: %v", wrong, err)
		}
	}
}

// TestRelinquishedPartition checks that a partition that is built while stores are relinquished does not
// have them.
func TestRelinquishedPartition(t *testing.T) {
	w := newWeb(t, machine.Options{CellPages: 100})
	w.relinquish(links.BackwardStore)
	if err := w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error {
		k.Drop(derived.Partitions(0).With(machine.PartitionOf(w.graph.Board.State.Load().Parts[0].First)))
		k.WakePlacer()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.graph.AwaitCells(ctx))
	require.NoError(t, w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { return k.Tidy() }))
	w.unloaded(links.BackwardStore)
	w.compare()
}

// TestRelinquishConcurrently reads all that can be read, changes links, builds cells and relinquishes
// and requests stores at the same time.
func TestRelinquishConcurrently(t *testing.T) {
	w := newWeb(t, machine.Options{CellPages: 100, Workers: 1})
	// 1. What must be read. The changes below concern other pages.
	var urls []string
	for src := range w.links {
		urls = append(urls, src)
	}
	uids, err := w.graph.UIDs(ctx, urls)
	require.NoError(t, err)
	type answers struct {
		urls              []string
		forward, backward links.Lists
		samples           links.Lists
		degrees           []int
	}
	spec := sample.Spec{N: 3, Mode: sample.ModeConsistent}
	read := func() (a answers, err error) {
		var errs [5]error
		a.urls, errs[0] = w.graph.URLs(ctx, uids)
		a.forward, errs[1] = w.graph.Links(ctx, links.Forward, uids)
		a.backward, errs[2] = w.graph.Links(ctx, links.Backward, uids)
		a.degrees, errs[3] = w.graph.Degrees(ctx, links.Backward, uids)
		a.samples, errs[4] = w.graph.SampleLinks(ctx, links.Backward, uids, spec)
		return a, errors.Join(errs[:]...)
	}
	want, err := read()
	require.NoError(t, err)
	seed := random(t).Uint64()
	var running, relinquishing sync.WaitGroup
	var stop atomic.Bool
	// 2. One goroutine changes the stores, two read.
	relinquishing.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 1))
		for !stop.Load() {
			some := links.Stores(1 + rng.IntN(int(links.AllStores)))
			change := w.graph.Relinquish
			if rng.IntN(3) == 0 {
				change = w.graph.Request
			}
			if err := change(ctx, some); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 2 {
		running.Go(func() {
			for range 40 {
				got, err := read()
				if err != nil {
					t.Error(err)
					return
				}
				if !slices.Equal(got.urls, want.urls) || !slices.Equal(got.degrees, want.degrees) || !slices.Equal(got.forward.Items, want.forward.Items) ||
					!slices.Equal(got.backward.Items, want.backward.Items) || !slices.Equal(got.samples.Items, want.samples.Items) {
					t.Error("an answer has changed")
					return
				}
			}
		})
	}
	// 3. One makes changes, and cells.
	running.Go(func() {
		for i := range 15 {
			_, err := w.graph.Update(ctx, []links.Change{{Source: pageURL(100+i, 1), Targets: []string{pageURL(200+i, 1)}}})
			if err == nil {
				err = w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { _, err := k.RebuildAll(); return err })
			}
			if err == nil {
				_, err = w.graph.Stats(ctx)
			}
			if err != nil {
				t.Error(err)
				return
			}
			w.set(pageURL(100+i, 1), pageURL(200+i, 1), cell.NoLabel)
		}
	})
	running.Wait()
	stop.Store(true)
	relinquishing.Wait()
	w.compare()
}

// TestLoadBound checks that a store is not loaded beyond the bound of memory, and that the error says so.
func TestLoadBound(t *testing.T) {
	w := newWeb(t, machine.Options{CellPages: 100})
	w.compare()
	w.relinquish(links.AllStores)
	w.graph.Options.MemoryBytes = w.graph.Board.Memory() + 10
	if _, err := w.graph.Links(ctx, links.Forward, w.known()); !errors.Is(err, links.ErrMemory) || !strings.Contains(err.Error(), "relinquish") {
		t.Errorf("a read beyond the bound: %v", err)
	}
	if err := w.graph.Request(ctx, links.ForwardStore); !errors.Is(err, links.ErrMemory) {
		t.Errorf("a request beyond the bound: %v", err)
	}
	w.unloaded(links.AllStores)
	w.graph.Options.MemoryBytes = 0
	w.compare()
}

// TestLoadWaits checks that a read that waits for another one's load ends with its context.
func TestLoadWaits(t *testing.T) {
	w := newWeb(t, machine.Options{CellPages: 100})
	w.compare()
	w.relinquish(links.ForwardStore)
	unlock, err := w.graph.loader.Loading.Lock(ctx)
	require.NoError(t, err)
	inner, cancel := context.WithCancelCause(ctx)
	short := waiting{inner, make(chan struct{}, 1)}
	read := make(chan error)
	go func() {
		_, err := w.graph.loader.LoadStores(short, w.graph.Board.State.Load(), links.ForwardStore, machine.AllPartitions, true)
		read <- err
	}()
	<-short.begun
	gone := errors.New("the reader is gone")
	cancel(gone)
	if err := <-read; !errors.Is(err, gone) {
		t.Errorf("a read that waits: %v", err)
	}
	unlock()
	w.compare()
}

// waiting is a context that reports when something begins to wait for its end.
type waiting struct {
	context.Context
	begun chan struct{}
}

func (w waiting) Done() <-chan struct{} {
	select {
	case w.begun <- struct{}{}:
	default:
	}
	return w.Context.Done()
}

// TestRelinquishNothing checks that a graph without cells can be relinquished.
func TestRelinquishNothing(t *testing.T) {
	w := newWorld(t, machine.Options{})
	for _, s := range []links.Stores{0, links.AllStores} {
		if err := errors.Join(w.graph.Relinquish(ctx, s), w.graph.Request(ctx, s)); err != nil {
			t.Error(err)
		}
	}
	w.update(links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 1), fmt.Sprint(pageURL(3, 1), strings.Repeat("long", 500))}})
	w.compare()
}
