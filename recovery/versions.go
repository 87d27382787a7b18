// A triple's rows in all orders, regenerated from any one of them.

package recovery

import (
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// Version is a triple's row in one order: a key and its value.
type Version struct {
	Order      triple.Order
	Key, Value []byte
}

// Versions returns all rows of a triple, given one of them: those of SPO, POS and OSP and, if
// it is in a named graph, of GSPO. The given row is among them. All rows have the same value,
// because it holds the long terms whole, and every key has their short form. So nothing must
// be decoded. A key is valid until the next step. The error wraps [triple.ErrCorrupt].
func Versions(key, value []byte) (iter.Seq[Version], error) {
	order, terms, err := triple.SplitKey(key)
	if err != nil {
		return nil, err
	}
	if order == triple.GSPO && len(terms[triple.Graph]) == 0 {
		return nil, fmt.Errorf("%w: a key of gspo without a graph", triple.ErrCorrupt)
	}
	return func(yield func(Version) bool) {
		var buffer []byte
		for _, o := range triple.Orders {
			if o == triple.GSPO && len(terms[triple.Graph]) == 0 {
				return
			}
			buffer = appendKey(buffer[:0], o, terms)
			if !yield(Version{o, buffer, value}) {
				return
			}
		}
	}, nil
}

// AppendVersion appends the key of a triple in another order. ok is false if it has none: a
// triple of the default graph is not in GSPO. The error wraps [triple.ErrCorrupt].
func AppendVersion(dst []byte, to triple.Order, key []byte) (_ []byte, ok bool, err error) {
	_, terms, err := triple.SplitKey(key)
	if err != nil || to == triple.GSPO && len(terms[triple.Graph]) == 0 {
		return dst, false, err
	}
	return appendKey(dst, to, terms), true, nil
}

func appendKey(dst []byte, o triple.Order, terms triple.KeyTerms) []byte {
	return triple.AppendKeyOf(dst, o, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
}
