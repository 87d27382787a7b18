// The keeper: the goroutine that changes the graph.

package linkgraph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/cell"
)

// wish is a function that the keeper must run between two batches of changes.
type wish struct {
	do   func(k *keeper) error
	done chan error
}

// inKeeper makes the keeper run do, and waits for the result.
func (k *keeper) inKeeper(ctx context.Context, do func(k *keeper) error) error {
	w := wish{do, make(chan error, 1)}
	select {
	case k.wishes <- w:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
}

// keeper owns the cells of this machine. Its goroutine alone uses the fields behind wishes.
type keeper struct {
	*machine
	forms    *forms
	hosts    *hosts
	board    *board
	assigner *assigner
	cells    *cellMaker
	files    *files
	stores   *stores
	loader   *loader // of the states that it publishes
	// wakePlacer must be called if partitions have been dropped.
	wakePlacer func()

	wishes chan wish // requests of other goroutines

	parts   []*part       // of the held partitions, by range
	at      feed.Position // the deltas have taken in the feed up to it
	hold    feed.Position // no state before it is published, see readLoads
	changes uint64        // the number of batches with changes
	plain   plain         // of the next state
	saved   feed.Position // the files have the feed up to it
	// unsaved is about the size in bytes of the changes of links after saved, and unsavedChanges
	// their number.
	unsaved, unsavedChanges int64
	dirty                   bool      // the parts are others than those of the files
	savedTime               time.Time // when the files were written or read

	in      *intake      // nil while the feed is not followed
	stop    func()       // ends it
	rebuilt chan rebuilt // a cell that was built in the background; one at a time
	working bool         // one is being built
}

// rebuilt is a cell that was built from a frozen view.
type rebuilt struct {
	part      *part
	cell      *cell.Cell
	whole     *cell.Cell // the one before it, with all stores
	collected int
	err       error
}

// retryEvery is the pause after a failure.
const retryEvery = time.Second

// keep runs until the graph is closed. After an error it retries.
func (k *keeper) keep() {
	for k.ctx.Err() == nil {
		err := k.load(k.ctx)
		if err == nil {
			err = k.follow(k.ctx)
		}
		k.unfollow()
		if k.ctx.Err() != nil {
			break
		}
		// A lost cell's partition is dropped, so the next attempt gets further.
		var lost *lostCell
		switch {
		case err == nil, errors.As(err, &lost):
		case mayPass(err) && k.node.Lone() == nil: // another view or another moment may help
			k.board.follower.Failed(err)
			k.log.Debug("the link graph waits for the cluster", "error", err)
			k.pause(missingInterval)
		default:
			k.board.keepFailure.Store(&err)
			k.board.follower.Failed(err)
			k.board.moved.send()
			k.log.Error("the link graph is behind", "error", err)
			k.pause(retryEvery)
		}
	}
	if k.working {
		<-k.rebuilt
	}
}

// load reads the cells from their files. If these cannot be used, the graph begins without cells
// at the end of the feed, and the placer gets them. If it has begun, load does nothing.
func (k *keeper) load(ctx context.Context) error {
	if !k.at.IsZero() {
		return nil
	}
	begun := time.Now()
	if _, err := k.forms.form(ctx); err != nil {
		return err
	}
	at, err := k.node.Feed().Position(ctx)
	if err != nil {
		return err
	}
	switch err := k.readFiles(ctx, at); {
	case err == nil:
		k.tell("the link graph was read", begun)
	case ctx.Err() != nil:
		return err
	default:
		k.log.Debug("the cells of the link graph are not read from files", "because", err)
		k.at, k.parts = at, nil
	}
	k.plain.linked = k.at
	k.publish()
	k.wakePlacer()
	return nil
}

// finish waits for the cell that is being built in the background.
func (k *keeper) finish() {
	if k.working {
		k.takeRebuilt(<-k.rebuilt)
	}
}

// follow applies the feed until an error.
func (k *keeper) follow(ctx context.Context) error {
	following, cancel := context.WithCancel(ctx)
	k.stop = cancel
	k.in = k.startIntake(following, k.at)
	for {
		// 1. Apply the next changes, or wait for changes, wishes or a cell.
		select {
		case <-k.in.more:
			t, err := k.in.take()
			if t != nil {
				err = k.takeIn(ctx, t)
			}
			if err != nil {
				return k.behind(ctx, err)
			}
		case w := <-k.wishes:
			w.done <- w.do(k)
		case r := <-k.rebuilt:
			k.takeRebuilt(r)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		// 2. Upkeep runs in every round, because changes may never cease.
		if err := k.tidy(); err != nil {
			return err
		}
	}
}

// unfollow ends the intake, if it runs.
func (k *keeper) unfollow() {
	if k.in != nil {
		k.stop()
		k.in = nil
	}
}

// behind handles an error of the feed: if the feed no longer reaches back to the position, all
// cells are dropped.
func (k *keeper) behind(ctx context.Context, err error) error {
	if !errors.Is(err, feed.ErrGone) && !errors.Is(err, feed.ErrPosition) {
		return err
	}
	k.log.Warn("the cells of the link graph are made again, because the change feed does not reach back to them", "error", err)
	at, err := k.node.Feed().Position(ctx)
	if err == nil {
		k.void(at)
	}
	return err
}

// void drops all cells. The graph continues at a position without any, until the placer has got
// others.
func (k *keeper) void(at feed.Position) {
	k.finish()
	k.parts, k.at, k.hold, k.dirty = nil, at, feed.Position{}, true
	k.changes++
	k.plain.end(at)
	k.publish()
	k.assigner.forget() // after the state without the UIDs, see there
	k.wakePlacer()
}

// takeRebuilt takes the cell that was built in the background.
func (k *keeper) takeRebuilt(r rebuilt) {
	k.working = false
	if err := k.take(r); err != nil {
		k.log.Error("a cell could not be built anew", "error", err)
	}
}

// install adds the parts of partitions that were built or copied with the feed up to a position.
// If the keeper is ahead of it, the feed between both is read again.
func (k *keeper) install(ctx context.Context, parts []*part, at feed.Position) error {
	// 1. Take in what these parts lack.
	for !at.Reaches(k.at) {
		t := newTaken(&k.o)
		t.earlier = k.forms.mayBeEarlier()
		err := feed.Each(ctx, k.node.Feed(), feed.Request{Since: at, Filter: linkFilter(k.o.Predicate)}, func(b *feed.Batch) (bool, error) {
			return false, t.add(b)
		})
		if err != nil {
			return err
		}
		if !t.moved {
			return fmt.Errorf("%w: the feed does not get from one position to a later one", store.ErrUnavailable)
		}
		if !t.void {
			if err := k.readLoads(ctx, t); err != nil {
				return err
			}
		}
		if t.void {
			return errVoid
		}
		if err := k.apply(ctx, t, parts); err != nil {
			return err
		}
		t.mark(parts)
		at = t.at
	}
	// 2. Replace the cells of these partitions.
	var set partitionSet
	k.stores.mu.Lock()
	for _, p := range parts {
		p.unload = k.stores.relinquished
	}
	k.stores.mu.Unlock()
	for _, p := range parts {
		set = set.with(partitionOf(p.First))
		if !k.at.Reaches(at) {
			p.ahead = at
		}
	}
	k.parts = slices.DeleteFunc(slices.Clone(k.parts), func(p *part) bool { return set.has(partitionOf(p.First)) })
	k.parts = append(k.parts, parts...)
	slices.SortFunc(k.parts, func(a, b *part) int { return cmp.Compare(a.First, b.First) })
	k.dirty = true
	k.publish()
	return nil
}

// errVoid reports that cells are of no use, because a bulk load has changed the graph since.
var errVoid = errors.New("a bulk load has changed the graph meanwhile")

// drop removes partitions.
func (k *keeper) drop(set partitionSet) {
	k.finish()
	k.parts = slices.DeleteFunc(slices.Clone(k.parts), func(p *part) bool { return set.has(partitionOf(p.First)) })
	k.dirty = true
	k.publish()
}

// publish shows the present deltas to readers, unless the position to hold is ahead.
func (k *keeper) publish() {
	k.board.follower.Reached(k.at)
	// 1. Readers keep the state before until the position to hold.
	if !k.hold.IsZero() {
		if !k.at.Reaches(k.hold) {
			return
		}
		k.hold = feed.Position{}
	}
	k.stores.mu.Lock()
	defer k.stores.mu.Unlock()
	// 2. Show the parts that are not ahead of the position.
	s := &state{loader: k.loader, at: k.at, changes: k.changes, plain: k.plain}
	for _, p := range k.parts {
		s.kept = s.kept.with(partitionOf(p.First))
		if !p.ahead.IsZero() {
			if !k.at.Reaches(p.ahead) {
				continue
			}
			p.ahead = feed.Position{}
		}
		v := p.delta.View()
		if c := v.Cell(); c != p.sketched {
			p.sketched, p.sketches = c, openSketches(c)
		}
		s.parts, s.views, s.sketches = append(s.parts, p), append(s.views, v), append(s.sketches, p.sketches)
		s.held = s.held.with(partitionOf(p.First))
		s.mixed = s.mixed || !p.plain
	}
	s.stores = storesOf(s.views)
	k.board.state.Store(s)
	k.board.moved.send()
}
