// Calls side by side, and calls for bulk loads.

package functions

import (
	"context"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/functions/sandbox"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// aheadCalls is the number of calls that are made before their effects are taken.
const aheadCalls = 256

// callAhead makes the first try for changes of a function without arguments. Repeated changes and
// those that do not match get no call, and no call begins a heartbeat later, because the outcomes must
// be saved from time to time. Errors are handled when the change's turn comes.
func (r *runner) callAhead(ctx context.Context, changes []feed.Change, position string) []outcome {
	began, results := r.now(), make([]outcome, len(changes))
	at := r.at
	at.partials = slices.Clone(at.partials) // the counters of repeated changes must not move
	// 1. Each worker takes every n-th change.
	workers := r.ahead
	var running sync.WaitGroup
	skip := make([]bool, len(changes))
	for i := range changes {
		skip[i] = at.repeated(&changes[i]) || changes[i].Depth >= MaxDepth
	}
	for w := range workers {
		running.Go(func() {
			for i := w; i < len(changes) && ctx.Err() == nil && r.now().Sub(began) < heartbeat; i += workers {
				if ok, err := r.f.matches(&changes[i]); skip[i] || err != nil || !ok {
					continue
				}
				in := &sandbox.Input{Change: changes[i], Position: position, Location: r.locate(changes[i].Key)}
				results[i] = r.callWith(ctx, in)
				results[i].made = true
			}
		})
	}
	running.Wait()
	return results
}

// loadRows is the number of rows that are read with one reader, because a snapshot keeps files.
const loadRows = 20_000

// takeLoad calls the function for the triples of a bulk load. A long load is committed in parts.
func (r *runner) takeLoad(ctx context.Context, c *feed.Change) error {
	done := r.at.load(c.Load.ID)
	r.inLoad = c.Load.ID
	defer func() { r.inLoad = "" }()
	for !done.Done {
		if err := r.takeRows(ctx, c, done); err != nil {
			return err
		}
	}
	r.dirty = true
	return nil
}

// takeRows processes the next rows of a load.
func (r *runner) takeRows(ctx context.Context, c *feed.Change, done *LoadProgress) error {
	reader, err := r.store.Reader()
	if err != nil {
		return err
	}
	defer reader.Close()
	n := 0
	for row, err := range reader.Match(ctx, r.f.filter.Pattern, store.ReadOptions{After: done.After}) {
		if err != nil {
			return err
		}
		if n++; n > loadRows {
			return nil
		}
		r.loadRow = append([]byte{}, row.Key...)
		// 1. Skip the rows of others.
		v, err := triple.DecodeValue(row.Value)
		if err != nil {
			return err
		}
		if !c.HasRow(v.Stamp) {
			continue
		}
		t, err := row.Triple()
		if err != nil {
			return err
		}
		if systemgraph.Contains(t) {
			continue
		}
		// 2. Each is an added triple.
		one := feed.Change{Kind: feed.Add, Stamp: c.Stamp, Sequencer: c.Sequencer}
		var long bool
		if one.Key, long = triple.AppendKey(nil, triple.SPO, t); long {
			one.Long = triple.AppendValue(nil, triple.Stamp{}, t)
		}
		if err := r.takeChange(ctx, &one, "", nil); err != nil {
			return err
		}
		// 3. Only now it is done: a function that stops begins again with the row.
		done.After = r.loadRow
	}
	done.Done, done.After = true, nil
	return nil
}
