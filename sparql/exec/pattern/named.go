// The names of a store's graphs.

package pattern

import (
	"context"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// EachGraphName calls each with the names of the graphs of the store, whole, until it
// returns an error.
func EachGraphName(ctx context.Context, src source.Source, each func(name []byte) error) error {
	rows, err := src.Scan(ctx, triple.OrderRange(triple.GSPO), false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for ok := rows.Next(); ok; {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, value := rows.Row()
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return err
		}
		next := append([]byte{byte(triple.GSPO)}, terms[triple.Graph]...)
		whole, err := triple.WholeTerms(terms, value)
		if err != nil {
			return err
		}
		if err := each(whole[triple.Graph]); err != nil {
			return err
		}
		ok = rows.SeekGE(append(next, 0, 2))
	}
	return rows.Err()
}
