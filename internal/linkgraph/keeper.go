// The keeper: the goroutine that changes the graph.

package linkgraph

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/triple"
)

type logger struct{ *slog.Logger }

// wish is a function that the keeper must run between two batches of changes.
type wish struct {
	do   func(k *keeper) error
	done chan error
}

// ask makes the keeper run do, and waits for the result.
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

// keeper is the state of the keeper's goroutine. No other goroutine may use it.
type keeper struct {
	*Graph
	parts []*part
	feed  uint64 // the deltas have taken in the feed up to this sequence
	saved uint64 // the files have it up to this sequence
	// unsaved is about the size in bytes of the changes of links after saved, and unsavedChanges
	// their number.
	unsaved, unsavedChanges int64
	savedAt                 int64     // bytes added to the feed when the files were written
	savedTime               time.Time // when they were written or read
	pattern                 triple.Pattern

	// longs has the long URLs of added links whose changes are not applied yet. Its keys are
	// the forms of their IRIs in keys.
	longs map[string]string

	rebuilt chan rebuilt // a cell that was built in the background; one at a time
	working bool         // one is being built
}

// rebuilt is a cell that was built from a frozen view.
type rebuilt struct {
	part      *part
	cell      *cell.Cell
	collected int
	err       error
}

// retryEvery is the pause of the keeper after a failure.
const retryEvery = time.Second

// keep runs until the graph is closed. After an error it retries.
func (g *Graph) keep() {
	k := &keeper{Graph: g, rebuilt: make(chan rebuilt, 1), longs: map[string]string{},
		pattern: triple.Pattern{Predicate: triple.NewIRI(g.o.Predicate)}}
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

// load reads the cells from their files, or builds them if the files cannot be used. If they
// are loaded, it does nothing.
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

// rebuildAll builds all cells from the store, and publishes and saves them.
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

// tell logs a step, at info if it took more than a second, else at debug.
func (k *keeper) tell(what string, begun time.Time) {
	level, took := slog.LevelDebug, time.Since(begun)
	if took > time.Second {
		level = slog.LevelInfo
	}
	k.log.Log(k.ctx, level, what, "cells", len(k.parts), "took", took)
}

// finish waits for the cell that is being built in the background.
func (k *keeper) finish() {
	if k.working {
		r := <-k.rebuilt
		k.working = false
		if r.err == nil {
			_ = k.take(r)
		}
	}
}

// follow applies the feed until an error.
func (k *keeper) follow(ctx context.Context) error {
	for {
		// 1. Apply the next changes. FeedEnd must come first, because more is closed by the
		// next one.
		end, more := k.store.ChangeFeed().End()
		behind := end > k.feed
		if !behind {
			k.failure.Store(nil)
		} else if err := k.takeIn(ctx); err != nil {
			return err
		}
		// 2. Upkeep runs in every round, because changes may never cease.
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
		// 3. Up to date: wait for changes, wishes, or a cell.
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

// takeRebuilt takes the cell that was built in the background.
func (k *keeper) takeRebuilt(r rebuilt) {
	k.working = false
	if err := k.take(r); err != nil {
		k.log.Error("a cell could not be built anew", "error", err)
	}
}
