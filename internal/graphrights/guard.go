// Changes of the writable graphs.

package graphrights

import (
	"context"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Guard returns a store that rejects changes of graphs that the request of their context may not write. Its
// bulk loads are not limited, so only users with all graphs may load.
func Guard(s store.Triples) store.Triples { return guarded{s} }

type guarded struct{ store.Triples }

// triples checks the graphs of triples.
func (c change) triples(all []triple.Triple) error {
	if c.isFree() {
		return nil
	}
	for i := range all {
		if err := c.check(all[i].Graph); err != nil {
			return err
		}
	}
	return nil
}

// Add implements [store.Writer].
func (g guarded) Add(ctx context.Context, triples []triple.Triple) (store.AddResult, error) {
	if err := changeOf(ctx).triples(triples); err != nil {
		return store.AddResult{}, err
	}
	return g.Triples.Add(ctx, triples)
}

// Delete implements [store.Writer].
func (g guarded) Delete(ctx context.Context, triples []triple.Triple) (store.DeleteResult, error) {
	if err := changeOf(ctx).triples(triples); err != nil {
		return store.DeleteResult{}, err
	}
	return g.Triples.Delete(ctx, triples)
}

// errAllGraphs is the error of a change of all graphs.
var errAllGraphs = fmt.Errorf("a change of all graphs: %w; name the graphs one by one", ErrForbidden)

// DeleteMatch implements [store.Writer].
func (g guarded) DeleteMatch(ctx context.Context, p triple.Pattern) (store.DeleteResult, error) {
	check := changeOf(ctx).checkAll
	if p.DefaultGraph || !p.Graph.IsZero() {
		check = func() error { return changeOf(ctx).check(p.Graph) }
	}
	if err := check(); err != nil {
		return store.DeleteResult{}, err
	}
	return g.Triples.DeleteMatch(ctx, p)
}

// Annotate implements [store.Writer].
func (g guarded) Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error {
	if err := changeOf(ctx).check(t.Graph); err != nil {
		return err
	}
	return g.Triples.Annotate(ctx, t, applicationID, data)
}

// AnnotateIf implements [store.Annotator].
func (g guarded) AnnotateIf(ctx context.Context, t triple.Triple, applicationID string, data []byte, when store.Condition) (triple.Stamp, error) {
	if err := changeOf(ctx).check(t.Graph); err != nil {
		return triple.Stamp{}, err
	}
	return g.Triples.AnnotateIf(ctx, t, applicationID, data, when)
}

// Apply implements [store.Changer].
func (g guarded) Apply(ctx context.Context, changes store.Changes) (store.ApplyResult, error) {
	if err := Check(ctx, &changes); err != nil {
		return store.ApplyResult{}, err
	}
	return g.Triples.Apply(ctx, changes)
}

// Update implements [store.Changer]. f gets a reader of the readable graphs.
func (g guarded) Update(ctx context.Context, f func(store.Reader) (store.Changes, error)) (store.ApplyResult, error) {
	return g.Triples.Update(ctx, func(r store.Reader) (store.Changes, error) {
		changes, err := f(Filter(ctx, r))
		if err == nil {
			err = Check(ctx, &changes)
		}
		return changes, err
	})
}

// CheckGraph returns [ErrForbidden] if the request of ctx may not write a graph.
func CheckGraph(ctx context.Context, graph triple.Term) error { return changeOf(ctx).check(graph) }

// Check returns an error if a change clears a graph that the request of ctx may not write. The triples are checked
// as the store reads them: if one is rejected, the store finds the error when it has read the rest, and
// changes nothing.
func Check(ctx context.Context, changes *store.Changes) error {
	c := changeOf(ctx)
	if c.isFree() {
		return nil
	}
	// 1. The cleared graphs.
	if changes.ClearAll {
		if err := c.checkAll(); err != nil {
			return err
		}
	}
	if changes.ClearDefault {
		if err := c.check(triple.Term{}); err != nil {
			return err
		}
	}
	for _, graph := range changes.ClearGraphs {
		if err := c.check(graph); err != nil {
			return err
		}
	}
	// 2. The triples.
	var failed error
	checked := func(all iter.Seq[triple.Triple]) iter.Seq[triple.Triple] {
		if all == nil {
			return nil
		}
		return func(yield func(triple.Triple) bool) {
			for t := range all {
				if err := c.check(t.Graph); err != nil {
					failed = err
					return
				}
				if !yield(t) {
					return
				}
			}
		}
	}
	changes.Delete, changes.Add = checked(changes.Delete), checked(changes.Add)
	before := changes.Err
	changes.Err = func() error {
		if failed == nil && before != nil {
			return before()
		}
		return failed
	}
	return nil
}
