package recovery

import (
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// Version is one version of a triple: a key and its value.
type Version struct {
	Order      triple.Order
	Key, Value []byte
}

// Versions returns all versions of the triple that key and value, in any order,
// are one version of: those of SPO, POS and OSP and, for a named graph, of GSPO,
// the given one among them. All have the same value: it holds the long terms
// whole, and these stand in every key in the same short form, so that nothing is
// decoded. The keys are valid until the next step; the value is the one given.
//
// The error wraps [triple.ErrCorrupt].
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

// AppendVersion appends the key that the version has in another order; ok is
// false where it has none: in GSPO, in the default graph. The error wraps
// [triple.ErrCorrupt].
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
