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

// Write implements [store.Writer]. The function of an update gets a reader of the readable graphs.
func (g guarded) Write(ctx context.Context, c store.Change) (store.Result, error) {
	var err error
	switch rights := changeOf(ctx); c.Kind {
	case store.KindAdd, store.KindDelete, store.KindAnnotate:
		err = rights.triples(c.Triples)
	case store.KindDeleteMatch:
		if c.Pattern.DefaultGraph || !c.Pattern.Graph.IsZero() {
			err = rights.check(c.Pattern.Graph)
		} else {
			err = rights.checkAll()
		}
	case store.KindApply:
		err = Check(ctx, &c.Steps)
	case store.KindUpdate:
		// The graphs are known only when the function has run.
		update := c.Update
		c.Update = func(r store.Reader) (store.Steps, error) {
			steps, err := update(Filter(ctx, r))
			if err == nil {
				err = Check(ctx, &steps)
			}
			return steps, err
		}
	}
	if err != nil {
		return store.Result{}, err
	}
	return g.Triples.Write(ctx, c)
}

// errAllGraphs is the error of a change of all graphs.
var errAllGraphs = fmt.Errorf("a change of all graphs: %w; name the graphs one by one", ErrForbidden)

// CheckGraph returns [ErrForbidden] if the request of ctx may not write a graph.
func CheckGraph(ctx context.Context, graph triple.Term) error { return changeOf(ctx).check(graph) }

// Check returns an error if a change clears a graph that the request of ctx may not write. The triples are checked
// as the store reads them: if one is rejected, the store finds the error when it has read the rest, and
// changes nothing.
func Check(ctx context.Context, steps *store.Steps) error {
	c := changeOf(ctx)
	if c.isFree() {
		return nil
	}
	if steps.ClearAll {
		if err := c.checkAll(); err != nil {
			return err
		}
	}
	if steps.ClearDefault {
		if err := c.check(triple.Term{}); err != nil {
			return err
		}
	}
	for _, graph := range steps.ClearGraphs {
		if err := c.check(graph); err != nil {
			return err
		}
	}
	// The triples are checked on the way to the store, because there may be too many to keep.
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
	steps.Delete, steps.Add = checked(steps.Delete), checked(steps.Add)
	before := steps.Err
	steps.Err = func() error {
		if failed == nil && before != nil {
			return before()
		}
		return failed
	}
	return nil
}
