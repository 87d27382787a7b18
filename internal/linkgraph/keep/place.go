// The placer: the goroutine that gets the partitions that this machine must hold.

package keep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/build"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/links"
)

const (
	// placeInterval is the time between two looks at what is missing or not needed any more.
	placeInterval = time.Second
	// missingInterval is that time while something is missing.
	missingInterval = 50 * time.Millisecond
)

// Placer gets the partitions that this machine must hold and lacks, and drops those that it need not
// hold.
type Placer struct {
	*machine.Machine
	Hosts   *pagerows.Hosts
	Board   *state.Board
	Router  *route.Router
	Cells   *build.Maker
	Keeper  *Keeper
	Placing notify.Wake // wakes its goroutine
}

// Place runs until the graph is closed.
func (pl *Placer) Place() {
	for pl.Context.Err() == nil {
		v := pl.Node.View()
		// 1. Try, and record why something is missing.
		missing, err := pl.placeOnce(pl.Context, v)
		switch {
		case err == nil:
			pl.Board.PlaceFailure.Store(nil)
			if !missing {
				pl.Board.Full.Store(nil)
			}
		case errors.Is(err, links.ErrMemory):
			_ = pl.Board.Refuse(err)
			pl.Log.Error("the cells of the link graph do not fit", "error", err)
		case errors.Is(err, errVoid), machine.MayPass(err), pl.Context.Err() != nil:
			pl.Log.Debug("the cells of some partitions are not there yet", "error", err)
		default:
			pl.Board.PlaceFailure.Store(&err)
			pl.Board.Moved.Send()
			pl.Log.Error("the cells of the link graph cannot be made", "error", err)
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
			wait = build.MemoryRetry * retryEvery
		}
		pl.WaitFor(v, wait, pl.Placing)
	}
}

// placeOnce gets what is missing, or else drops what is not needed. It reports whether something
// is still missing.
func (pl *Placer) placeOnce(ctx context.Context, v *view.View) (missing bool, err error) {
	s := pl.Board.State.Load()
	if s == nil {
		return true, nil
	}
	// 1. A lone node makes all cells from its rows.
	want := pl.Wanted()
	lacks := want &^ s.Kept
	if pl.Node.Lone() != nil {
		if lacks == 0 {
			return false, nil
		}
		return true, pl.Make(ctx, lacks)
	}
	if v == nil {
		return true, nil
	}
	if lacks == 0 {
		if s.Held&want != want {
			return true, nil // the keeper gets there soon
		}
		return false, pl.dropSpare(ctx, v, s.Kept&^want)
	}
	// 2. Copy what another machine has.
	p := pl.PlacementOf(v)
	pl.Router.Refresh(ctx, v)
	var build derived.Partitions
	for i := range lacks.All() {
		copied, err := pl.CopyFrom(ctx, p, i, s.At)
		switch {
		case copied:
		case err != nil:
			return true, err
		case pl.Router.Builds(p, i):
			build = build.With(i)
		}
	}
	// 3. The primary makes what no machine has, or the next holder if it has no memory.
	if build != 0 {
		return true, pl.Make(ctx, build)
	}
	return true, nil
}

// Make builds the cells of partitions from the rows.
func (pl *Placer) Make(ctx context.Context, set derived.Partitions) error {
	begun := time.Now()
	parts, at, err := pl.Cells.Build(ctx, set)
	if err != nil {
		return fmt.Errorf("build the link graph: %w", err)
	}
	err = pl.Keeper.InKeeper(ctx, func(k *Keeper) error {
		k.Assigner.Forget()
		return k.install(ctx, parts, at)
	})
	if err == nil {
		pl.LogStep("cells of the link graph were built", begun)
	}
	return err
}

// CopyFrom copies a partition from a machine that has it. It returns false if there is none.
func (pl *Placer) CopyFrom(ctx context.Context, p *derived.Placement, partition int, since feed.Position) (bool, error) {
	// 1. Query the holders first, then the other members, which may have held it before.
	candidates := slices.Clone(p.Ranking[partition])
	for _, m := range p.View.Members {
		if !slices.Contains(candidates, m.ID) {
			candidates = append(candidates, m.ID)
		}
	}
	for _, m := range candidates {
		if m == pl.Node.MachineID() {
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
			if !machine.MayPass(err) {
				pl.Log.Warn("the cells of a partition could not be copied", "from", m, "partition", partition, "error", err)
			}
			continue
		}
		// 2. Take in what has changed since.
		err = pl.Keeper.InKeeper(ctx, func(k *Keeper) error { return k.install(ctx, parts, at) })
		if err == nil {
			pl.Log.Debug("the cells of a partition were copied", "from", m, "partition", partition)
			return true, nil
		}
		if !errors.Is(err, errVoid) && !errors.Is(err, feed.ErrGone) {
			return false, err
		}
	}
	return false, nil
}

// dropSpare drops partitions that other machines must hold, when all of these have them.
func (pl *Placer) dropSpare(ctx context.Context, v *view.View, spare derived.Partitions) error {
	drop := pl.Router.Spare(ctx, v, spare, nil)
	if drop == 0 {
		return nil
	}
	return pl.Keeper.InKeeper(ctx, func(k *Keeper) error {
		k.Drop(drop)
		return nil
	})
}
