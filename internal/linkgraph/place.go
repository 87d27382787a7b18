// The placer: the goroutine that gets the partitions that this machine must hold.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/trie"
)

const (
	// placeInterval is the time between two looks at what is missing or not needed any more.
	placeInterval = time.Second
	// missingInterval is that time while something is missing.
	missingInterval = 50 * time.Millisecond
)

// placer gets the partitions that this machine must hold and lacks, and drops those that it need not
// hold.
type placer struct {
	*machine
	hosts   *hosts
	board   *board
	router  *router
	cells   *cellMaker
	keeper  *keeper
	placing chan struct{} // wakes its goroutine
}

// wakePlacer makes the placer look again.
func (pl *placer) wakePlacer() {
	select {
	case pl.placing <- struct{}{}:
	default:
	}
}

// place runs until the graph is closed.
func (pl *placer) place() {
	for pl.ctx.Err() == nil {
		v := pl.node.View()
		// 1. Try, and record why something is missing.
		missing, err := pl.placeOnce(pl.ctx, v)
		switch {
		case err == nil:
			pl.board.placeFailure.Store(nil)
			if !missing {
				pl.board.full.Store(nil)
			}
		case errors.Is(err, links.ErrMemory):
			_ = pl.board.refuse(err)
			pl.log.Error("the cells of the link graph do not fit", "error", err)
		case errors.Is(err, errVoid), mayPass(err), pl.ctx.Err() != nil:
			pl.log.Debug("the cells of some partitions are not there yet", "error", err)
		default:
			pl.board.placeFailure.Store(&err)
			pl.board.moved.send()
			pl.log.Error("the cells of the link graph cannot be made", "error", err)
		}
		// 2. Wait longer if a retry is not likely to help.
		wait := placeInterval
		if missing {
			wait = missingInterval
		}
		if err != nil && !errors.Is(err, errVoid) {
			wait = retryEvery
		}
		if errors.Is(err, links.ErrMemory) {
			wait = memoryRetry * retryEvery
		}
		pl.waitFor(v, wait, pl.placing)
	}
}

// placeOnce gets what is missing, or else drops what is not needed. It reports whether something
// is still missing.
func (pl *placer) placeOnce(ctx context.Context, v *view.View) (missing bool, err error) {
	s := pl.board.state.Load()
	if s == nil {
		return true, nil
	}
	// 1. A lone node makes all cells from its rows.
	want := pl.wanted()
	lacks := want &^ s.kept
	if pl.node.Lone() != nil {
		if lacks == 0 {
			return false, nil
		}
		return true, pl.make(ctx, lacks)
	}
	if v == nil {
		return true, nil
	}
	if lacks == 0 {
		if s.held&want != want {
			return true, nil // the keeper gets there soon
		}
		return false, pl.dropSpare(ctx, v, s.kept&^want)
	}
	// 2. Copy what another machine has.
	p := pl.placementOf(v)
	pl.router.refresh(ctx, v)
	var build partitionSet
	for i := range lacks.all() {
		copied, err := pl.copyFrom(ctx, p, i, s.at)
		switch {
		case copied:
		case err != nil:
			return true, err
		case pl.router.builds(p, i):
			build = build.with(i)
		}
	}
	// 3. The primary makes what no machine has, or the next holder if it has no memory.
	if build != 0 {
		return true, pl.make(ctx, build)
	}
	return true, nil
}

// make builds the cells of partitions from the rows.
func (pl *placer) make(ctx context.Context, set partitionSet) error {
	begun := time.Now()
	parts, at, err := pl.cells.build(ctx, set)
	if err != nil {
		return fmt.Errorf("build the link graph: %w", err)
	}
	err = pl.keeper.inKeeper(ctx, func(k *keeper) error {
		k.assigner.forget()
		return k.install(ctx, parts, at)
	})
	if err == nil {
		pl.tell("cells of the link graph were built", begun)
	}
	return err
}

// copyFrom copies a partition from a machine that has it. It returns false if there is none.
func (pl *placer) copyFrom(ctx context.Context, p *placement, partition int, since feed.Position) (bool, error) {
	// 1. Ask the holders first, then the other members, which may have held it before.
	candidates := slices.Clone(p.ranking[partition])
	for _, m := range p.view.Members {
		if !slices.Contains(candidates, m.ID) {
			candidates = append(candidates, m.ID)
		}
	}
	for _, m := range candidates {
		if m == pl.node.MachineID() {
			continue
		}
		parts, at, err := pl.fetch(ctx, m, partition, since)
		if err != nil {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			if errors.Is(err, links.ErrMemory) {
				return false, err
			}
			if !mayPass(err) {
				pl.log.Warn("the cells of a partition could not be copied", "from", m, "partition", partition, "error", err)
			}
			continue
		}
		// 2. Take in what has changed since.
		err = pl.keeper.inKeeper(ctx, func(k *keeper) error { return k.install(ctx, parts, at) })
		if err == nil {
			pl.log.Debug("the cells of a partition were copied", "from", m, "partition", partition)
			return true, nil
		}
		if !errors.Is(err, errVoid) && !errors.Is(err, feed.ErrGone) {
			return false, err
		}
	}
	return false, nil
}

// dropSpare drops partitions that other machines must hold, when all of these have them.
func (pl *placer) dropSpare(ctx context.Context, v *view.View, spare partitionSet) error {
	if spare == 0 {
		return nil
	}
	p := pl.placementOf(v)
	pl.router.refresh(ctx, v)
	var drop partitionSet
	for i := range spare.all() {
		if pl.router.directory.haveAll(p.holdersOf(i), i) {
			drop = drop.with(i)
		}
	}
	if drop == 0 {
		return nil
	}
	return pl.keeper.inKeeper(ctx, func(k *keeper) error {
		k.drop(drop)
		return nil
	})
}

// haveAll reports whether all of some machines hold a partition.
func (d *directory) haveAll(machines []trie.MachineID, partition int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range machines {
		if !d.held[m].has(partition) {
			return false
		}
	}
	return true
}
