// Going through all pages, or all links.

package ranges

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// checkRows is after how many rows a scan looks whether it is still wanted.
const checkRows = 1 << 12

// scan calls do with the rows of a range until it returns false.
func (r *reader) scan(ctx context.Context, keys triple.Range, reverse bool, do func(row *row) (bool, error)) error {
	rows, err := r.source.Scan(ctx, keys, reverse)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err tells what there is to tell
	for n := 1; rows.Next(); n++ {
		row, err := rowOf(rows.Key(), rows.Value())
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

// pages calls do with the pages of a range of UIDs' keys until it returns false. The URL
// is valid during the call.
func (r *reader) pages(ctx context.Context, keys triple.Range, reverse bool, do func(u uid.UID, url []byte) bool) error {
	err := r.scan(ctx, keys, reverse, func(row *row) (bool, error) {
		u, ok := row.uid()
		url, isIRI := row.iri(triple.Subject)
		if !ok || !isIRI {
			return true, nil // somebody else's triple
		}
		return do(u, url), nil
	})
	if err != nil {
		return fmt.Errorf("read pages: %w", err)
	}
	return nil
}

// links calls do with the links in a range of POS, by target, until it returns false.
// URLs are valid during the call.
func (r *reader) links(ctx context.Context, keys triple.Range, do func(src, dst []byte) bool) error {
	var lastSrc, lastDst []byte
	err := r.scan(ctx, keys, false, func(row *row) (bool, error) {
		src, isSrc := row.iri(triple.Subject)
		dst, isDst := row.iri(triple.Object)
		if !isSrc || !isDst || string(src) == string(lastSrc) && string(dst) == string(lastDst) {
			return true, nil // no link, or one of several graphs
		}
		lastSrc, lastDst = append(lastSrc[:0], src...), append(lastDst[:0], dst...)
		return do(src, dst), nil
	})
	if err != nil {
		return fmt.Errorf("read links: %w", err)
	}
	return nil
}
