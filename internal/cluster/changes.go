// Changes of several steps in a cluster.

package cluster

import (
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// maxChangeBytes bounds a change if it has no bound of its own.
const maxChangeBytes = 256 << 20

// change is a change in memory. It does not depend on the store any more.
type change struct {
	clear       []triple.Pattern
	delete, add []triple.Triple
}

// readChange reads a change whole, before anything of it is done.
func readChange(c store.Steps) (r change, err error) {
	limit := c.MaxBytes
	if limit == 0 {
		limit = maxChangeBytes
	}
	// 1. Read the triples, and stop if they are too many. All must be valid before any step is
	// done, because a cluster cannot undo one.
	size, scratch := int64(0), []byte(nil)
	take := func(dst []triple.Triple, t triple.Triple) ([]triple.Triple, error) {
		if err := t.Check(); err != nil {
			return dst, fmt.Errorf("triple %d: %w", len(dst), err)
		}
		var long bool
		scratch, long = triple.AppendKey(scratch[:0], triple.SPO, t)
		size += int64(len(scratch))
		if long {
			size += int64(len(triple.AppendValue(nil, triple.Stamp{}, t)))
		}
		if size > limit {
			return dst, fmt.Errorf("%w: more than %d bytes", store.ErrTooLarge, limit)
		}
		return append(dst, t), nil
	}
	if c.Delete != nil {
		for t := range c.Delete {
			if r.delete, err = take(r.delete, t); err != nil {
				return r, err
			}
		}
	}
	if c.Add != nil {
		for t := range c.Add {
			if r.add, err = take(r.add, t); err != nil {
				return r, err
			}
		}
	}
	if c.Err != nil {
		if err := c.Err(); err != nil {
			return r, err
		}
	}
	// 2. Graphs to clear are patterns.
	switch {
	case c.ClearAll:
		r.clear = []triple.Pattern{{}}
	default:
		if c.ClearDefault {
			r.clear = append(r.clear, triple.Pattern{DefaultGraph: true})
		}
		for _, g := range c.ClearGraphs {
			r.clear = append(r.clear, triple.Pattern{Graph: g})
		}
	}
	return r, nil
}

// applyAll makes a change as one transaction. If it is too large for one (see [writes.Writes.Transact]), graphs are
// cleared, then triples deleted, then added, and the result has the counts of the steps before a failure.
//
// If it has begun before under the key of ctx, it returns [store.ErrBegun].
func (t *triples) applyAll(ctx context.Context, c change) (result store.Result, err error) {
	// The key is claimed once, before the first write. The steps themselves carry no key,
	// because each would look like a repetition of the one before.
	claim := sync.OnceValue(func() error { return t.writes.Claim(ctx) })
	unkeyed := store.WithRequestKey(ctx, "", true)
	cleared, small, err := t.clearedTriples(ctx, c.clear)
	if err != nil {
		return result, err
	}
	if !small {
		for _, p := range c.clear {
			r, err := t.deleteMatch(unkeyed, store.Change{Kind: store.KindDeleteMatch, Pattern: p}, claim)
			result.Deleted += r.Deleted
			if err != nil {
				return result, err
			}
		}
	}
	if err := claim(); err != nil {
		return result, err
	}
	n, err := t.transact(unkeyed, append(cleared, c.delete...), c.add)
	result.Deleted += n.Removed
	result.Added += n.Changed - n.Removed
	return result, err
}

// clearedTriples returns the triples of graphs to clear. small is false if they are too many for one transaction.
func (t *triples) clearedTriples(ctx context.Context, graphs []triple.Pattern) (all []triple.Triple, small bool, err error) {
	if len(graphs) == 0 {
		return nil, true, nil
	}
	sn, err := t.reads.Snapshot()
	if err != nil {
		return nil, false, err
	}
	defer sn.Close()
	size := 0
	for _, p := range graphs {
		for row, err := range sn.Waiting().Match(ctx, p, store.ReadOptions{}) {
			if err != nil {
				return nil, false, err
			}
			if size += len(row.Key) + len(row.Value); size > writes.MaxTransaction {
				return nil, false, nil
			}
			cleared, err := row.Triple()
			if err != nil {
				return nil, false, err
			}
			all = append(all, cleared)
		}
	}
	return all, true, nil
}
