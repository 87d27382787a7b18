// Dividing the links of the store into parts of about the same size, for several
// goroutines.

package build

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// workerParts is the number of parts of links for each goroutine. It is greater than one,
	// because the sizes are estimates.
	workerParts = 8
	// leastPart is the size in bytes of tables from which a part is divided.
	leastPart = 256 << 10
	// cutSteps bounds the search for a key to cut at. cutShare bounds the share of a part on
	// one side of it, in sixteenths.
	cutSteps = 48
	cutShare = 10
)

// DivideLinks implements [buildRows]: the parts are of similar size.
func (b *LoneRows) DivideLinks(ctx context.Context) ([]triple.Range, error) {
	rows, err := b.Snapshot.Rows(ctx, b.Keys)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parts := []triple.Range{b.Keys}
	for want := workerParts * b.Workers; len(parts) < want; {
		var halves []triple.Range
		for _, r := range parts {
			at, err := b.middle(rows, r)
			if err != nil {
				return nil, err
			}
			if at == nil {
				halves = append(halves, r)
				continue
			}
			halves = append(halves, triple.Range{Lo: r.Lo, Hi: at}, triple.Range{Lo: at, Hi: r.Hi})
		}
		if len(halves) == len(parts) {
			break
		}
		parts = halves
	}
	return parts, nil
}

// middle returns a key with about half of a range's rows before it, nil if there is none. It
// bisects the space between two existing keys until the tables' bytes are halved. All rows of
// one link stay together: its rows in several graphs, and the annotations behind these.
func (b *LoneRows) middle(rows *store.Rows, r triple.Range) ([]byte, error) {
	// 1. Find the first and the last key. A small range is not divided.
	_, all, err := b.Snapshot.EstimateRange(r)
	if err != nil || all < 2*leastPart {
		return nil, err
	}
	if !rows.SeekGE(r.Lo) {
		return nil, rows.Err()
	}
	lo := bytes.Clone(rows.Key())
	if !rows.SeekLT(r.Hi) {
		return nil, rows.Err()
	}
	hi := bytes.Clone(rows.Key())
	// 2. Bisect. Only existing keys count, because the middle of two may be far from any row.
	for range cutSteps {
		if !rows.SeekGE(middleKey(lo, hi)) {
			return nil, rows.Err()
		}
		at := bytes.Clone(rows.Key())
		if bytes.Compare(at, hi) >= 0 {
			// There is no row between the middle and hi.
			if !rows.SeekLT(hi) {
				return nil, rows.Err()
			}
			if at = bytes.Clone(rows.Key()); bytes.Compare(at, lo) <= 0 {
				return nil, nil
			}
		}
		_, before, err := b.Snapshot.EstimateRange(triple.Range{Lo: r.Lo, Hi: at})
		switch {
		case err != nil:
			return nil, err
		case before > all*cutShare/16:
			hi = at
		case before < all*(16-cutShare)/16:
			lo = at
		default:
			return WithoutGraph(at)
		}
	}
	return nil, nil
}

// WithoutGraph returns the key of the same triple in the default graph.
func WithoutGraph(key []byte) ([]byte, error) {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return nil, err
	}
	if n := len(terms[triple.Graph]); n > 0 {
		key = key[:len(key)-n-2]
	}
	return key, nil
}

// middleKey returns a key in the middle of two, lo < hi. If there is no short one, it returns lo.
func middleKey(lo, hi []byte) []byte {
	const digits = 7
	same := 0
	for same < len(lo) && lo[same] == hi[same] {
		same++
	}
	number := func(key []byte) (n uint64) {
		for i := range digits {
			n <<= 8
			if same+i < len(key) {
				n |= uint64(key[same+i])
			}
		}
		return n
	}
	middle := (number(lo) + number(hi)) / 2
	key := bytes.Clone(lo[:same])
	for i := range digits {
		key = append(key, byte(middle>>(8*(digits-1-i))))
	}
	return key
}
