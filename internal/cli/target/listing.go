// Listings: triples of an answer, and which part of it.

package target

import (
	"context"
	"errors"
	"iter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/triple"
)

// Page selects a part of an answer.
type Page struct {
	Limit   int64 // 0: all
	Offset  int64 // triples to skip
	Cursor  string
	Reverse bool
	// Annotations requests the annotations of triples.
	Annotations bool
}

// Statement is a triple with its annotations, if they were requested.
type Statement struct {
	triple.Triple
	Attached []triple.ApplicationData
}

// Listing is an answer. If a limited page has a successor, next is its cursor. It is set when items
// has ended.
type Listing struct {
	Items iter.Seq2[Statement, error]
	Next  string
}

// ListMatches lists a part of the matches of a pattern.
func (s Store) ListMatches(ctx context.Context, p triple.Pattern, page Page) *Listing {
	return pages(page, func(o client.PageOptions) (client.Page, error) { return s.MatchPage(ctx, p, o) })
}

// ListRange lists a part of the triples between bounds.
func (s Store) ListRange(ctx context.Context, b triple.Bounds, page Page) *Listing {
	return pages(page, func(o client.PageOptions) (client.Page, error) { return s.RangePage(ctx, b, o) })
}

// pages makes a listing of the store's pages. They may be shorter than the limit.
func pages(page Page, fetch func(client.PageOptions) (client.Page, error)) *Listing {
	list := &Listing{}
	list.Items = func(yield func(Statement, error) bool) {
		// 1. Fetch a page. Only a cursor of the user's can be wrong.
		given, cursor, offset := int64(0), page.Cursor, page.Offset
		for {
			limit := 0 // the store's page size
			if page.Limit > 0 {
				limit = int(page.Limit - given)
			}
			got, err := fetch(client.PageOptions{Limit: limit, Cursor: cursor, Offset: offset, Reverse: page.Reverse, Annotations: page.Annotations})
			if err != nil {
				if errors.Is(err, client.ErrBadCursor) && cursor == page.Cursor {
					err = console.Usagef("--cursor: %w", err)
				}
				yield(Statement{}, err)
				return
			}
			// 2. Yield its triples, and stop at the limit.
			for i, t := range got.Triples {
				it := Statement{Triple: t}
				if page.Annotations {
					it.Attached = got.Annotations[i]
				}
				if !yield(it, nil) {
					return
				}
			}
			offset = 0 // the next page's cursor is behind the skipped triples
			given += int64(len(got.Triples))
			if cursor = got.Next; cursor == "" {
				return
			}
			if page.Limit > 0 && given >= page.Limit {
				list.Next = cursor
				return
			}
		}
	}
	return list
}
