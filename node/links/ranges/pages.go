// All pages, in the order of their UIDs.

package ranges

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// Pages implements links.Graph.
func (g *Graph) Pages(ctx context.Context, after uid.UID, n int) (pages []uid.UID, err error) {
	return pages, g.read(ctx, func(r *reader) error {
		if n <= 0 || after == ^uid.UID(0) {
			return nil
		}
		keys, err := uidRange(uid.Range{First: max(after+1, 1), Last: ^uid.UID(0)})
		if err != nil {
			return err
		}
		return r.eachUID(ctx, keys, n, func(u uid.UID) bool {
			if len(pages) == 0 || pages[len(pages)-1] < u {
				pages = append(pages, u)
			}
			return len(pages) < n
		})
	})
}

// eachUID calls do with the UIDs in a range of their keys until it returns false. They
// ascend, but some may come again. About how many are wanted is what most tells.
func (r *reader) eachUID(ctx context.Context, keys triple.Range, most int, do func(u uid.UID) bool) error {
	more := true
	return r.eachPiece(ctx, keys, func(ctx context.Context, piece triple.Range) (bool, error) {
		err := r.pages(ctx, piece, false, func(u uid.UID, _ []byte) bool {
			more = do(u)
			return more
		})
		return more, err
	}, func(away walked) ([]byte, error) {
		upTo, list, err := r.copiedPages(ctx, away, min(most, walkedMost))
		for _, u := range list {
			if more = do(u); !more {
				return nil, nil
			}
		}
		return upTo, err
	})
}

// copiedPages returns the UIDs in the beginning of a range, about most of them, and where
// that ends.
func (r *reader) copiedPages(ctx context.Context, away walked, most int) (upTo []byte, list []uid.UID, err error) {
	away.kind, away.most = walkedPages, most
	upTo, d, err := r.walkCopies(ctx, away)
	if err != nil {
		return nil, nil, err
	}
	if list, err = unpack(nil, d.Bytes()); err == nil {
		err = d.End()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("copies of pages: %w", err)
	}
	return upTo, list, nil
}
