// The keeper: the goroutine that changes the graph.

package links

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
)

type logger struct{ *slog.Logger }

// wish is something that is to be done between two batches of changes.
type wish struct {
	do   func(k *keeper) error
	done chan error
}

// ask has the keeper do something.
func (g *Graph) ask(ctx context.Context, do func(k *keeper) error) error {
	w := wish{do, make(chan error, 1)}
	select {
	case g.wishes <- w:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
}

// keeper is what the goroutine knows.
type keeper struct {
	*Graph
	parts []*part
	feed  uint64 // the last entry that the deltas have taken in
	saved uint64 // the same of what is on the disk
	// unsaved is about how many bytes the entries of the feed after saved have.
	unsaved int64

	// longs are the pages of links that were added by changes which are not applied yet,
	// by the forms of their IRIs in keys, where these are long.
	longs map[string]string

	rebuilt chan rebuilt // a cell that was built beside; one at a time
	working bool         // one is being built
}

// rebuilt is a cell that was built from a frozen view.
type rebuilt struct {
	part      *part
	cell      *cell.Cell
	collected int
	err       error
}

// retryEvery is how long the keeper waits after a failure.
const retryEvery = time.Second

// keep runs until the graph is closed.
func (g *Graph) keep() {
	k := &keeper{Graph: g, rebuilt: make(chan rebuilt, 1), longs: map[string]string{}}
	for g.ctx.Err() == nil {
		err := k.load(g.ctx)
		if err == nil {
			err = k.follow(g.ctx)
		}
		if g.ctx.Err() != nil {
			break
		}
		if err != nil {
			g.failure.Store(&err)
			g.moved.send()
			g.log.Error("the link graph is behind", "error", err)
			g.pause(retryEvery)
		}
	}
	if k.working {
		<-k.rebuilt
	}
}

func (g *Graph) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.ctx.Done():
	}
}

// load gets the cells from their files, or else builds them, unless they are there.
func (k *keeper) load(ctx context.Context) error {
	if k.parts != nil {
		return nil
	}
	begun := time.Now()
	switch err := k.readFiles(ctx); {
	case err == nil:
		k.tell("the link graph was read", begun)
		k.publish(k.parts, k.feed)
		return nil
	case ctx.Err() != nil:
		return err
	default:
		k.log.Debug("the link graph is built from the store", "because", err)
	}
	return k.rebuildAll(ctx)
}

// rebuildAll builds all cells from the store.
func (k *keeper) rebuildAll(ctx context.Context) error {
	k.finish()
	begun := time.Now()
	cells, feed, err := k.build(ctx)
	if err != nil {
		return fmt.Errorf("build the link graph: %w", err)
	}
	parts := make([]*part, len(cells))
	for i, data := range cells {
		c, err := cell.Open(data)
		if err != nil {
			return fmt.Errorf("open a cell that was built: %w", err)
		}
		d, err := delta.New(c)
		if err != nil {
			return err
		}
		parts[i] = &part{Range: c.Range(), delta: d}
	}
	k.parts, k.feed = parts, feed
	k.publish(parts, feed)
	k.known.Store(newKnown())
	k.tell("the link graph was built", begun)
	return k.save()
}

// tell logs what took a while; what did not is nobody's concern.
func (k *keeper) tell(what string, begun time.Time) {
	level, took := slog.LevelDebug, time.Since(begun)
	if took > time.Second {
		level = slog.LevelInfo
	}
	k.log.Log(k.ctx, level, what, "cells", len(k.parts), "took", took)
}

// finish waits for a cell that is being built beside.
func (k *keeper) finish() {
	if k.working {
		r := <-k.rebuilt
		k.working = false
		if r.err == nil {
			_ = k.take(r)
		}
	}
}

// follow takes in what the feed has, until it fails.
func (k *keeper) follow(ctx context.Context) error {
	for {
		end, more := k.store.FeedEnd()
		behind := end > k.feed
		if !behind {
			k.failure.Store(nil)
		} else if err := k.takeIn(ctx); err != nil {
			return err
		}
		if err := k.tidy(); err != nil {
			return err
		}
		if behind {
			select {
			case r := <-k.rebuilt:
				k.takeRebuilt(r)
			default:
			}
			continue
		}
		select {
		case <-more:
		case w := <-k.wishes:
			w.done <- w.do(k)
		case r := <-k.rebuilt:
			k.takeRebuilt(r)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeRebuilt takes the cell that was built beside.
func (k *keeper) takeRebuilt(r rebuilt) {
	k.working = false
	if err := k.take(r); err != nil {
		k.log.Error("a cell could not be built anew", "error", err)
	}
}
