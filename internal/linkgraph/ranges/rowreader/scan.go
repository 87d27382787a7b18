// Scans of pages, links and other rows.

package rowreader

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// checkRows is the number of rows between two checks of a scan's context.
const checkRows = 1 << 12

// Scan calls do with the rows of a range until do returns false.
func (r *Reader) Scan(ctx context.Context, keys triple.Range, reverse bool, do func(row *linkkeys.Row) (bool, error)) error {
	rows, err := r.Source.Scan(ctx, keys, reverse)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err reports every error
	for n := 1; rows.Next(); n++ {
		row, err := linkkeys.DecodeRow(rows.Row())
		if err != nil {
			return err
		}
		more, err := do(&row)
		if err != nil || !more {
			return err
		}
		if n%checkRows == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return rows.Err()
}

// ScanPages calls do with the pages of a range of UIDs' keys until do returns false. The URL is
// valid only during the call.
func (r *Reader) ScanPages(ctx context.Context, keys triple.Range, reverse bool, do func(u uid.UID, url []byte) bool) error {
	err := r.Scan(ctx, keys, reverse, func(row *linkkeys.Row) (bool, error) {
		u, ok := row.UID()
		url, isIRI := row.Iri(triple.Subject)
		if !ok || !isIRI {
			return true, nil // a triple of another application
		}
		return do(u, url), nil
	})
	if err != nil {
		return fmt.Errorf("read pages: %w", err)
	}
	return nil
}

// ScanLinks calls do with the links in a range of POS, by target, until do returns false. URLs
// are valid only during the call.
func (r *Reader) ScanLinks(ctx context.Context, keys triple.Range, do func(src, dst []byte) bool) error {
	var lastSrc, lastDst []byte
	err := r.Scan(ctx, keys, false, func(row *linkkeys.Row) (bool, error) {
		src, isSrc := row.Iri(triple.Subject)
		dst, isDst := row.Iri(triple.Object)
		if !isSrc || !isDst || string(src) == string(lastSrc) && string(dst) == string(lastDst) {
			return true, nil // not a link, or the same link in another graph
		}
		lastSrc, lastDst = append(lastSrc[:0], src...), append(lastDst[:0], dst...)
		return do(src, dst), nil
	})
	if err != nil {
		return fmt.Errorf("read links: %w", err)
	}
	return nil
}

// ScanKeys calls do with the rows of a range and their keys.
func (r *Reader) ScanKeys(ctx context.Context, keys triple.Range, do func(key []byte, row *linkkeys.Row) error) error {
	rows, err := r.Source.Scan(ctx, keys, false)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		key, value := rows.Row()
		row, err := linkkeys.DecodeRow(key, value)
		if err != nil {
			return err
		}
		if err := do(key, &row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ScanTargets calls each with the other ends of links of lists, or parts of lists. url returns
// the URL of an item's page.
func (r *Reader) ScanTargets(ctx context.Context, d links.Direction, all []linkkeys.Wanted, url func(item int) string, each func(item int, end []byte) error) error {
	other := linkkeys.OtherEnd(d)
	last, before := -1, []byte(nil)
	err := r.LookUpLive(ctx, all, func(i int, row *linkkeys.Row) error {
		page, ok := row.Iri(triple.Subject + triple.Object - other)
		if !ok || string(page) != url(i) {
			return nil
		}
		end, ok := row.Iri(other)
		// A link in several graphs counts once: its rows are adjacent.
		if !ok || i == last && string(end) == string(before) {
			return nil
		}
		last, before = i, append(before[:0], end...)
		return each(i, end)
	})
	if err != nil {
		return fmt.Errorf("look links up: %w", err)
	}
	return nil
}

// ErrEnough ends a scan that has enough rows.
var ErrEnough = errors.New("enough at a time")
