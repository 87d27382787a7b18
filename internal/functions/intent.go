// Intents: effects that are decided, and how they are written exactly once.

package functions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// freshIntent is the age up to which tokens alone tell which operations are done. The stores
	// keep tokens for at least [store.TokenTime]; the rest is for writes that are under way and for
	// clocks that differ.
	freshIntent = store.TokenTime * 4 / 10
	// writeTimeout bounds the writes of an intent, from its read on.
	writeTimeout = store.TokenTime * 2 / 10
)

// commit writes the pending effects: the intent first, then its operations.
func (r *runner) commit(ctx context.Context) error { return r.commitAt(ctx, r.at) }

// commitAt is commit with a place in the feed.
func (r *runner) commitAt(ctx context.Context, at progress) error {
	if len(r.pending.order) == 0 {
		return nil
	}
	// 1. Write the intent. Since lies behind the reads that decided the effects.
	since, err := r.feed.Position(ctx)
	if err != nil {
		return err
	}
	in := &Intent{ID: randomName(), Time: r.now().UTC(), Since: since.String(), Operations: r.pending.operations()}
	r.state.Intent = in
	r.state.Counts.Effects += int64(len(in.Operations))
	r.f.figures.effects.Add(int64(len(in.Operations)))
	if err := r.saveAt(ctx, at); err != nil {
		return err
	}
	// 2. Write the operations. The next save removes the intent; until then a new runner finds their
	// tokens.
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := r.write(ctx, in.Operations, in.ID, true); err != nil {
		return err
	}
	r.state.Intent, r.dirty, r.pending = nil, true, newOverlay()
	r.closeReader() // it does not show the effects
	return nil
}

// finishIntent writes what is missing of the intent that was found in the state.
func (r *runner) finishIntent(ctx context.Context) error {
	in := r.state.Intent
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	operations := in.Operations
	if age := r.now().Sub(in.Time); age > freshIntent || age < -time.Minute {
		var err error
		if operations, err = r.unchangedSince(ctx, in); err != nil {
			return err
		}
	}
	if err := r.write(ctx, operations, in.ID, false); err != nil {
		return err
	}
	r.state.Intent = nil
	return r.save(ctx)
}

// unchangedSince returns the operations of an old intent whose triples have not changed since it was
// decided. A triple that has changed needs no operation: either the change is the operation, or the
// operation counts as done right before or after that change, where it changes nothing.
func (r *runner) unchangedSince(ctx context.Context, in *Intent) ([]Operation, error) {
	since, err := feed.ParsePosition(in.Since)
	if err != nil {
		return nil, err
	}
	// Name the triples and annotations of the operations.
	left := map[string]Operation{}
	var order []string
	for _, o := range in.Operations {
		t, err := o.triple()
		if err != nil {
			return nil, err
		}
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		if o.Kind == feed.Annotate {
			key = triple.AppendAnnotationKey(nil, key, o.Application)
		}
		left[string(key)] = o
		order = append(order, string(key))
	}
	err = feed.Each(ctx, r.feed, feed.Request{Since: since}, func(batch *feed.Batch) (bool, error) {
		for i := range batch.Changes {
			c := &batch.Changes[i]
			switch c.Kind {
			case feed.Add, feed.Delete:
				delete(left, string(c.Key))
			case feed.Annotate:
				delete(left, string(triple.AppendAnnotationKey(nil, c.Key, c.Annotation.ApplicationID)))
			case feed.Clear:
				if err := dropCleared(left, c.Clear); err != nil {
					return false, err
				}
			}
		}
		return len(left) == 0, nil
	})
	switch {
	case errors.Is(err, feed.ErrGone), errors.Is(err, feed.ErrPosition):
		return nil, r.giveUp(ctx, in)
	case err != nil:
		return nil, err
	}
	var rest []Operation
	for _, key := range order {
		if o, ok := left[key]; ok {
			rest = append(rest, o)
		}
	}
	return rest, nil
}

// dropCleared removes the operations whose graph was cleared.
func dropCleared(left map[string]Operation, c *feed.ClearInfo) error {
	for key, o := range left {
		t, err := o.triple()
		if err != nil {
			return err
		}
		if c.All || t.Graph.IsZero() && c.Default || slices.Contains(c.Graphs, t.Graph) {
			delete(left, key)
		}
	}
	return nil
}

// giveUp stops a function whose intent is older than the feed: nothing shows whether its
// operations were written. A new registration writes them, perhaps for the second time.
func (r *runner) giveUp(ctx context.Context, in *Intent) error {
	r.fail(fmt.Errorf("the effects decided at %s may be written or not, and the change feed no longer reaches back to that time; check them, and register the function again", in.Time.Format(time.RFC3339)), nil)
	r.state.Stopped = true
	return errors.Join(r.save(ctx), errStopped)
}

// write writes operations: deletes, then adds, then annotations. Their tokens depend on the intent
// and the depth, so an operation is made once, even if several runners repeat it within the lifetime of tokens.
func (r *runner) write(ctx context.Context, operations []Operation, id string, first bool) error {
	for _, kind := range []feed.Kind{feed.Delete, feed.Add, feed.Annotate} {
		for depth := uint8(1); depth <= MaxDepth; depth++ {
			var triples []triple.Triple
			key := fmt.Sprintf("urn:trefoil:function:%s:%s:%s", r.f.Name, r.f.Generation, id)
			ctx := store.WithDepth(store.WithRequestKey(ctx, key, first), depth)
			for i := range operations {
				o := &operations[i]
				if o.Kind != kind || o.Depth != depth {
					continue
				}
				t, err := o.triple()
				if err == nil && kind == feed.Annotate {
					err = r.annotate(ctx, t, o)
				}
				if err != nil {
					return err
				}
				triples = append(triples, t)
			}
			if err := r.writeTriples(ctx, kind, triples); err != nil {
				return fmt.Errorf("write the effects: %w", err)
			}
		}
	}
	return nil
}

func (r *runner) writeTriples(ctx context.Context, kind feed.Kind, triples []triple.Triple) (err error) {
	switch {
	case len(triples) == 0:
	case kind == feed.Delete:
		_, err = store.Delete(ctx, r.store, triples)
	case kind == feed.Add:
		_, err = store.Add(ctx, r.store, triples)
	}
	return err
}

// annotate writes an annotation. If its triple does not exist, there is nothing to do.
func (r *runner) annotate(ctx context.Context, t triple.Triple, o *Operation) error {
	data := o.Data
	if o.Removed {
		data = nil
	} else if data == nil {
		data = []byte{}
	}
	err := store.Annotate(ctx, r.store, t, o.Application, data)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// save writes the state. If another runner has written it, the error is [store.ErrConflict].
func (r *runner) save(ctx context.Context) error { return r.saveAt(ctx, r.at) }

func (r *runner) saveIf(ctx context.Context, need bool) error {
	if !need {
		return nil
	}
	return r.save(ctx)
}

func (r *runner) saveAt(ctx context.Context, at progress) error {
	at.set(r.state)
	r.state.Selected = r.f.selection()
	data, err := r.state.encode()
	if err != nil {
		return err
	}
	version, err := store.AnnotateIf(ctx, r.store, r.f.triple, stateID, data, store.Condition{Version: r.version})
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	r.version, r.dirty, r.saved, r.batches = version, false, r.now(), 0
	r.f.follower.Advanced() // the calls of one batch may take long
	return nil
}
