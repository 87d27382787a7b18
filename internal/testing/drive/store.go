// Stores for operations.

package drive

import (
	"context"
	"errors"
	"iter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// ErrUnknown is wrapped by errors of changes that may be done, in part or later.
var ErrUnknown = errors.New("it is not known whether the change is done")

// A Store is a store for a Driver.
type Store interface {
	// Change adds or deletes triples, and returns the number changed. Unless the error wraps
	// ErrUnknown, nothing was changed, and nothing will be.
	Change(ctx context.Context, add bool, triples []triple.Triple) (changed int64, err error)
	Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error]
	// Range yields the triples between bounds: at most limit, if it is not 0.
	Range(ctx context.Context, b triple.Bounds, reverse bool, limit int) iter.Seq2[triple.Triple, error]
}

// OverHTTP is a node, reached by package client.
type OverHTTP struct{ Client *client.Client }

// Change implements [Store].
func (o OverHTTP) Change(ctx context.Context, add bool, triples []triple.Triple) (changed int64, err error) {
	if add {
		var r client.AddResult
		r, err = o.Client.Add(ctx, triples)
		changed = r.Added
	} else {
		var r client.DeleteResult
		r, err = o.Client.Delete(ctx, triples)
		changed = r.Deleted
	}
	if err != nil {
		// If a request broke off, it may have arrived.
		err = errors.Join(err, ErrUnknown)
	}
	return changed, err
}

// Match implements [Store].
func (o OverHTTP) Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error] {
	return o.Client.Match(ctx, p)
}

// Range implements [Store]. An answer with a limit is read page by page.
func (o OverHTTP) Range(ctx context.Context, b triple.Bounds, reverse bool, limit int) iter.Seq2[triple.Triple, error] {
	if limit == 0 {
		return o.Client.Range(ctx, b, client.RangeOptions{Reverse: reverse})
	}
	return func(yield func(triple.Triple, error) bool) {
		cursor := ""
		for {
			page, err := o.Client.RangePage(ctx, b, client.PageOptions{Limit: limit, Cursor: cursor, Reverse: reverse})
			if err != nil {
				yield(triple.Triple{}, err)
				return
			}
			for _, t := range page.Triples {
				if !yield(t, nil) {
					return
				}
			}
			if limit -= len(page.Triples); limit == 0 || page.Next == "" {
				return
			}
			cursor = page.Next
		}
	}
}
