// Dividing the links of the store into parts of about the same size, for several
// goroutines.

package links

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// workerParts is into how many parts links are divided for each goroutine, which
	// evens out what estimates are wrong by.
	workerParts = 8
	// leastPart is how many bytes of tables are worth a part.
	leastPart = 256 << 10
	// cutSteps bounds the search for a place to cut at, and cutShare says how much of a
	// part may be on one side of it, of 16.
	cutSteps = 48
	cutShare = 10
)

// divideLinks divides the range of links.
func (b *builder) divideLinks(ctx context.Context) ([]triple.Range, error) {
	rows, err := b.snapshot.Rows(ctx, b.keys)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parts := []triple.Range{b.keys}
	for want := workerParts * b.graph.o.Workers; len(parts) < want; {
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

// middle returns a key, where there is one, that has about half of a range's rows
// before it. It halves the space between two keys that are there until the tables'
// bytes are halved. What is known of one link stays together: its versions in several
// graphs, and the annotations behind these.
func (b *builder) middle(rows *node.Rows, r triple.Range) ([]byte, error) {
	_, all, err := b.snapshot.EstimateRange(r)
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
	for range cutSteps {
		if !rows.SeekGE(between(lo, hi)) {
			return nil, rows.Err()
		}
		at := bytes.Clone(rows.Key())
		if bytes.Compare(at, hi) >= 0 {
			// Nothing is between the middle and hi.
			if !rows.SeekLT(hi) {
				return nil, rows.Err()
			}
			if at = bytes.Clone(rows.Key()); bytes.Compare(at, lo) <= 0 {
				return nil, nil
			}
		}
		_, before, err := b.snapshot.EstimateRange(triple.Range{Lo: r.Lo, Hi: at})
		switch {
		case err != nil:
			return nil, err
		case before > all*cutShare/16:
			hi = at
		case before < all*(16-cutShare)/16:
			lo = at
		default:
			return withoutGraph(at)
		}
	}
	return nil, nil
}

// withoutGraph returns the key of the same triple in the default graph.
func withoutGraph(key []byte) ([]byte, error) {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return nil, err
	}
	if n := len(terms[triple.Graph]); n > 0 {
		key = key[:len(key)-n-2]
	}
	return key, nil
}

// between returns a key in the middle of two, lo < hi, or lo where there is none that
// is short.
func between(lo, hi []byte) []byte {
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
