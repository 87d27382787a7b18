// Which predicates get columns, if not all can.

package columns

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// PredicateSize is about how many bytes the column of a predicate takes, with its terms.
type PredicateSize struct {
	Predicate string // in its key form
	Bytes     int64
}

// Bytes of a triple in a column: the pairs of both directions, and the subject, of which [Sizes] does not see
// how many there are.
const (
	pairBytes    = 8
	subjectBytes = 4
)

// Sizes returns the predicates of a source's default graph.
func Sizes(ctx context.Context, src source.Source) (sizes []PredicateSize, err error) {
	rows, err := src.Scan(ctx, triple.OrderRange(triple.POS), false)
	if err != nil {
		return nil, err
	}
	var object []byte
	for n := 1; err == nil && rows.Next(); n++ {
		if n%checkRows == 0 {
			err = ctx.Err()
		}
		key, _ := rows.Row()
		_, terms, splitErr := triple.SplitKey(key)
		if splitErr != nil || len(terms[triple.Graph]) > 0 {
			err = errors.Join(err, splitErr)
			continue
		}
		// Rows come by predicate, then by object, and the dictionary cuts what neighbours share.
		if last := len(sizes) - 1; last < 0 || sizes[last].Predicate != string(terms[triple.Predicate]) {
			sizes = append(sizes, PredicateSize{string(terms[triple.Predicate]), predicateBytes + int64(len(terms[triple.Predicate]))})
			object = object[:0]
		}
		of := &sizes[len(sizes)-1]
		of.Bytes += pairBytes + subjectBytes
		if !bytes.Equal(object, terms[triple.Object]) {
			of.Bytes += int64(len(terms[triple.Object])-commonPrefix(object, terms[triple.Object])) + 2
			object = append(object[:0], terms[triple.Object]...)
		}
	}
	return sizes, errors.Join(err, rows.Err(), rows.Close())
}

// Choose returns predicates whose columns take at most limit bytes together. First come those that are wanted most
// often, then small ones.
func Choose(sizes []PredicateSize, limit int64, wanted map[string]int) map[string]struct{} {
	sizes = slices.Clone(sizes)
	slices.SortFunc(sizes, func(a, b PredicateSize) int {
		return cmp.Or(cmp.Compare(wanted[b.Predicate], wanted[a.Predicate]), cmp.Compare(a.Bytes, b.Bytes))
	})
	chosen := map[string]struct{}{}
	for _, s := range sizes {
		if s.Bytes <= limit {
			limit -= s.Bytes
			chosen[s.Predicate] = struct{}{}
		}
	}
	return chosen
}
