// The keeper: the goroutine that changes the graph.

package keep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/build"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/cell"
)

// Wish is a function that the keeper must run between two batches of changes.
type Wish struct {
	do   func(k *Keeper) error
	done chan error
}

// InKeeper makes the keeper run do, and waits for the result.
func (k *Keeper) InKeeper(ctx context.Context, do func(k *Keeper) error) error {
	w := Wish{do, make(chan error, 1)}
	select {
	case k.Wishes <- w:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.Context.Done():
		return context.Cause(k.Context)
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.Context.Done():
		return context.Cause(k.Context)
	}
}

// Keeper owns the cells of this machine. Its goroutine alone uses the fields behind Wishes.
//
// The problem: readers must see one state of all cells, at a known position of the feed, without a
// lock. Meanwhile changes arrive, cells are built again, partitions arrive from other machines and
// leave, and stores are dropped from memory and loaded. So one goroutine does all of these, one after
// the other. It publishes the result as an immutable state, which readers load from an atomic pointer.
// What takes long runs elsewhere: decoding the feed (intake), building a cell (Rebuild), copying or
// building a partition (the Placer). These hand over their results: by a channel, or by InKeeper.
//
// Invariants:
//
//  1. A part has exactly the changes of its pages up to its position. That is At, or Ahead if that is
//     later. A change that a part has already is skipped by its stamp. A link of a load is
//     applied in any case, because applying it twice gives the same list.
//  2. A published state has only parts at its position. A part that is ahead is kept, but it is not
//     shown until At has reached its Ahead.
//  3. No state shows a part of a request: intake gives batches up to the end of one.
//  4. If Hold is set, no state before it is published. The rows of a load were read at Hold, so they
//     may have later links, and lack those that were deleted since. Readers keep the older state.
//  5. At most one cell is built in the background. Its delta is frozen meanwhile: later changes go
//     into new rows, which remain when the new cell takes the place of the old one.
//  6. The files of cells have the changes up to saved, and the listing is written last. So a crash
//     leaves either listing, and the feed is followed from its position. Parts that are ahead are
//     left out, because a listing has one position.
//
// The protocol:
//
//	Keep:
//	    load: read the files, if the feed reaches back to them; else begin at its end without cells
//	    loop until the graph is closed:
//	        one of
//	            changes t of the feed:
//	                read the rows of its loads, and set Hold to the end of the feed
//	                if t is void (a clear, a large load, a deleted UID): drop all parts, At = t.At
//	                else: resolve UIDs, read labels, append to the deltas; At = t.At
//	                      drop parts until the rest fits into the memory, publish
//	            a wish: run it (install or drop partitions, lose a cell, load stores, freeze for PageRank)
//	            a cell that was built: put it under its delta, publish, write files
//	        Tidy: start to build the cell with the largest delta, if that is too large
//	              write files, if much has changed since the last ones or a minute has passed
//	    after an error: retry from At. If the feed is gone: drop all parts, begin at its end
//
//	install(parts at position p):
//	    while p is before At: read the feed from p on, and apply it to these parts alone
//	    if p is later than At: Ahead = p
//	    replace the parts of these partitions, publish
//
// Nothing is repaired. If a file of a cell cannot be read, its partition is dropped, and the Placer
// gets it again. So there is one way to become right: a copy or a build, then the feed.
type Keeper struct {
	*machine.Machine
	Hosts    *pagerows.Hosts
	Board    *state.Board
	Assigner *assign.Assigner
	Cells    *build.Maker
	Files    *Files
	Stores   *Stores
	Loader   *Loader // of the states that it publishes
	// WakePlacer must be called if partitions have been dropped.
	WakePlacer func()

	Wishes chan Wish // requests of other goroutines

	Parts   []*state.Part // of the held partitions, by range
	At      feed.Position // the deltas have taken in the feed up to it
	Hold    feed.Position // no state before it is published, see readLoads
	Changes uint64        // the number of batches with changes
	plain   state.Plain   // of the next state
	saved   feed.Position // the files have the feed up to it
	// unsaved is about the size in bytes of the changes of links after saved, and unsavedChanges
	// their number.
	unsaved, unsavedChanges int64
	Dirty                   bool      // the parts are others than those of the files
	savedTime               time.Time // when the files were written or read

	In      *intake      // nil while the feed is not followed
	stop    func()       // ends it
	Rebuilt chan Rebuilt // a cell that was built in the background; one at a time
	working bool         // one is being built
}

// Rebuilt is a cell that was built from a frozen view.
type Rebuilt struct {
	part      *state.Part
	cell      *cell.Cell
	whole     *cell.Cell // the one before it, with all stores
	Collected int
	Err       error
}

// retryEvery is the pause after a failure.
const retryEvery = time.Second

// Keep runs until the graph is closed. After an error it retries.
func (k *Keeper) Keep() {
	for k.Context.Err() == nil {
		err := k.load(k.Context)
		if err == nil {
			err = k.follow(k.Context)
		}
		k.unfollow()
		if k.Context.Err() != nil {
			break
		}
		// A lost cell's partition is dropped, so the next attempt gets further.
		var lost *lostCell
		switch {
		case err == nil, errors.As(err, &lost):
		case machine.MayPass(err) && k.Node.Lone() == nil: // another view or another moment may help
			k.Board.Follower.Failed(err)
			k.Log.Debug("the link graph waits for the cluster", "error", err)
			k.WaitFor(nil, missingInterval, nil)
		default:
			k.Board.KeepFailure.Store(&err)
			k.Board.Follower.Failed(err)
			k.Board.Moved.Send()
			k.Log.Error("the link graph is behind", "error", err)
			k.WaitFor(nil, retryEvery, nil)
		}
	}
	if k.working {
		<-k.Rebuilt
	}
}

// load reads the cells from their files. If these cannot be used, the graph begins without cells
// at the end of the feed, and the placer gets them. If it has begun, load does nothing.
func (k *Keeper) load(ctx context.Context) error {
	if !k.At.IsZero() {
		return nil
	}
	begun := time.Now()
	at, err := k.Node.Feed().Position(ctx)
	if err != nil {
		return err
	}
	switch err := k.readFiles(ctx, at); {
	case err == nil:
		k.LogStep("the link graph was read", begun)
	case ctx.Err() != nil:
		return err
	default:
		k.Log.Debug("the cells of the link graph are not read from files", "because", err)
		k.At, k.Parts = at, nil
	}
	k.plain.Linked = k.At
	k.publish()
	k.WakePlacer()
	return nil
}

// Finish waits for the cell that is being built in the background.
func (k *Keeper) Finish() {
	if k.working {
		k.TakeRebuilt(<-k.Rebuilt)
	}
}

// follow applies the feed until an error.
func (k *Keeper) follow(ctx context.Context) error {
	following, cancel := context.WithCancel(ctx)
	k.stop = cancel
	k.In = k.StartIntake(following, k.At)
	for {
		// 1. Apply the next changes, or wait for changes, wishes or a cell.
		select {
		case <-k.In.More:
			t, err := k.In.Take()
			if t != nil {
				err = k.TakeIn(ctx, t)
			}
			if err != nil {
				return k.handleFeedError(ctx, err)
			}
		case w := <-k.Wishes:
			w.done <- w.do(k)
		case r := <-k.Rebuilt:
			k.TakeRebuilt(r)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		// 2. Upkeep runs in every round, because changes may never cease.
		if err := k.Tidy(); err != nil {
			return err
		}
	}
}

// unfollow ends the intake, if it runs.
func (k *Keeper) unfollow() {
	if k.In != nil {
		k.stop()
		k.In = nil
	}
}

// handleFeedError handles an error of the feed: if the feed no longer reaches back to the position, all
// cells are dropped.
func (k *Keeper) handleFeedError(ctx context.Context, err error) error {
	if !errors.Is(err, feed.ErrGone) && !errors.Is(err, feed.ErrPosition) {
		return err
	}
	k.Log.Warn("the cells of the link graph are made again, because the change feed does not reach back to them", "error", err)
	at, err := k.Node.Feed().Position(ctx)
	if err == nil {
		k.void(at)
	}
	return err
}

// void drops all cells. The graph continues at a position without any, until the placer has got
// others.
func (k *Keeper) void(at feed.Position) {
	k.Finish()
	k.Parts, k.At, k.Hold, k.Dirty = nil, at, feed.Position{}, true
	k.Changes++
	k.plain.End(at)
	k.publish()
	k.Assigner.Forget() // after the state without the UIDs, see there
	k.WakePlacer()
}

// TakeRebuilt takes the cell that was built in the background.
func (k *Keeper) TakeRebuilt(r Rebuilt) {
	k.working = false
	if err := k.take(r); err != nil {
		k.Log.Error("a cell could not be built anew", "error", err)
	}
}

// install adds the parts of partitions that were built or copied with the feed up to a position.
// If the keeper is ahead of it, the feed between both is read again.
func (k *Keeper) install(ctx context.Context, parts []*state.Part, at feed.Position) error {
	// 1. Take in what these parts lack.
	for !at.Reaches(k.At) {
		t := NewTaken(&k.Options)
		err := feed.Each(ctx, k.Node.Feed(), feed.Request{Since: at, Filter: LinkFilter(k.Options.Predicate)}, func(b *feed.Batch) (bool, error) {
			return false, t.Add(b)
		})
		if err != nil {
			return err
		}
		if !t.moved {
			return fmt.Errorf("%w: the feed does not get from one position to a later one", store.ErrUnavailable)
		}
		if !t.Void {
			if err := k.readLoads(ctx, t); err != nil {
				return err
			}
		}
		if t.Void {
			return errVoid
		}
		if err := k.apply(ctx, t, parts); err != nil {
			return err
		}
		t.mark(parts)
		at = t.At
	}
	// 2. Replace the cells of these partitions.
	var set derived.Partitions
	k.Stores.mu.Lock()
	for _, p := range parts {
		p.Unload = k.Stores.relinquished
	}
	k.Stores.mu.Unlock()
	for _, p := range parts {
		set = set.With(machine.PartitionOf(p.First))
		if !k.At.Reaches(at) {
			p.Ahead = at
		}
	}
	k.Parts = slices.DeleteFunc(slices.Clone(k.Parts), func(p *state.Part) bool { return set.Has(machine.PartitionOf(p.First)) })
	k.Parts = append(k.Parts, parts...)
	slices.SortFunc(k.Parts, func(a, b *state.Part) int { return cmp.Compare(a.First, b.First) })
	k.Dirty = true
	k.publish()
	return nil
}

// errVoid reports that cells are of no use, because a bulk load has changed the graph since.
var errVoid = errors.New("a bulk load has changed the graph meanwhile")

// Drop removes partitions.
func (k *Keeper) Drop(set derived.Partitions) {
	k.Finish()
	k.Parts = slices.DeleteFunc(slices.Clone(k.Parts), func(p *state.Part) bool { return set.Has(machine.PartitionOf(p.First)) })
	k.Dirty = true
	k.publish()
}

// publish shows the present deltas to readers, unless the position to hold is ahead.
func (k *Keeper) publish() {
	k.Board.Follower.Reached(k.At)
	// 1. Readers keep the state before until the position to hold.
	if !k.Hold.IsZero() {
		if !k.At.Reaches(k.Hold) {
			return
		}
		k.Hold = feed.Position{}
	}
	k.Stores.mu.Lock()
	defer k.Stores.mu.Unlock()
	// 2. Show the parts that are not ahead of the position.
	s := &state.State{Loader: k.Loader, At: k.At, Changes: k.Changes, Plain: k.plain}
	for _, p := range k.Parts {
		s.Kept = s.Kept.With(machine.PartitionOf(p.First))
		if !p.Ahead.IsZero() {
			if !k.At.Reaches(p.Ahead) {
				continue
			}
			p.Ahead = feed.Position{}
		}
		v := p.Delta.View()
		if c := v.Cell(); c != p.Sketched {
			p.Sketched, p.Sketches = c, state.OpenSketches(c)
		}
		s.Parts, s.Views, s.Sketches = append(s.Parts, p), append(s.Views, v), append(s.Sketches, p.Sketches)
		s.Held = s.Held.With(machine.PartitionOf(p.First))
		s.Mixed = s.Mixed || !p.Plain
	}
	s.Stores = state.StoresOf(s.Views)
	k.Board.State.Store(s)
	k.Board.Moved.Send()
}
