// Listings: triples of an answer, and which part of it.

package target

import (
	"bytes"
	"context"
	"errors"
	"io"
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

// Listing is an answer: its triples, or its text.
type Listing struct {
	Items iter.Seq2[Statement, error]
	// WriteNQuads writes the items as lines of N-Quads, with annotations if they were requested. It takes less
	// processor time, because it decodes no triples. It is nil if there are only Items.
	WriteNQuads func(io.Writer) error
	// Next is the cursor of a limited answer that has a successor. It is set when Items or WriteNQuads has ended.
	Next string
}

// ListMatches lists a part of the matches of a pattern.
func (s Store) ListMatches(ctx context.Context, p triple.Pattern, page Page) *Listing {
	return list(page, func(o client.PageOptions) (client.Page, error) { return s.MatchPage(ctx, p, o) })
}

// ListRange lists a part of the triples between bounds.
func (s Store) ListRange(ctx context.Context, b triple.Bounds, page Page) *Listing {
	return list(page, func(o client.PageOptions) (client.Page, error) { return s.RangePage(ctx, b, o) })
}

// list makes a listing of the store's pages.
func list(page Page, fetch func(client.PageOptions) (client.Page, error)) *Listing {
	l := &Listing{}
	// Both begin at the first page.
	l.Items = func(yield func(Statement, error) bool) {
		for got, err := range l.pages(page, fetch, nil) {
			if err != nil {
				yield(Statement{}, err)
				return
			}
			for i, t := range got.Triples {
				it := Statement{Triple: t}
				if page.Annotations {
					it.Attached = got.Annotations[i]
				}
				if !yield(it, nil) {
					return
				}
			}
		}
	}
	l.WriteNQuads = func(w io.Writer) error {
		for _, err := range l.pages(page, fetch, &lineCounter{Writer: w}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	return l
}

// lineCounter counts the lines that pass.
type lineCounter struct {
	io.Writer
	lines int64
}

func (c *lineCounter) Write(b []byte) (int, error) {
	c.lines += int64(bytes.Count(b, []byte{'\n'}))
	return c.Writer.Write(b)
}

// pages yields the store's pages up to the limit. They may be shorter than it. If out is not nil, it gets them.
func (l *Listing) pages(page Page, fetch func(client.PageOptions) (client.Page, error), out *lineCounter) iter.Seq2[client.Page, error] {
	return func(yield func(client.Page, error) bool) {
		// 1. Fetch a page. Only a cursor of the user's can be wrong.
		given, cursor, offset := int64(0), page.Cursor, page.Offset
		for {
			limit := 0 // the store's page size
			if page.Limit > 0 {
				limit = int(page.Limit - given)
			}
			options := client.PageOptions{Limit: limit, Cursor: cursor, Offset: offset, Reverse: page.Reverse, Annotations: page.Annotations}
			if out != nil {
				options.NQuads = out
			}
			got, err := fetch(options)
			if err != nil && errors.Is(err, client.ErrBadCursor) && cursor == page.Cursor {
				err = console.Usagef("--cursor: %w", err)
			}
			if !yield(got, err) || err != nil {
				return
			}
			// 2. Stop at the limit. No command has a limit and annotations, so a line is a triple.
			offset = 0 // the next page's cursor is behind the skipped triples
			given += int64(len(got.Triples))
			if out != nil {
				given = out.lines
			}
			if cursor = got.Next; cursor == "" {
				return
			}
			if page.Limit > 0 && given >= page.Limit {
				l.Next = cursor
				return
			}
		}
	}
}
