// Keys of rows: which ranges are looked up, and what a row says.

package ranges

import (
	"bytes"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// wanted is a range that is looked up, for the item-th of those that were asked about.
type wanted struct {
	triple.Range
	item int
}

// lookedUp sorts ranges as a look-up takes them. Ranges of different terms do not
// overlap; those of equal terms are equal, and only one of them is kept.
func lookedUp(all []wanted) []wanted {
	slices.SortFunc(all, func(a, b wanted) int { return bytes.Compare(a.Lo, b.Lo) })
	return slices.CompactFunc(all, func(a, b wanted) bool { return bytes.Equal(a.Lo, b.Lo) })
}

// iri returns the term of an IRI; false for what is none, of which there is no triple.
func iri(s string) (triple.Term, bool) {
	t := triple.NewIRI(s)
	return t, t.Check() == nil
}

// rangeOf returns the range of the rows that match a pattern, whose bound terms are the
// first ones of an order.
func rangeOf(o triple.Order, p triple.Pattern) (triple.Range, error) {
	scan, err := p.Scan(o)
	return scan.Range, err
}

// uidRange returns the rows of POS with the UIDs of a range.
func uidRange(r uid.Range) (triple.Range, error) {
	kr, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(links.UIDPredicate)},
		GE: links.UIDTriple("a:", r.First).Object, LE: links.UIDTriple("a:", r.Last).Object}.KeyRange()
	return kr.Range, err
}

// predicateRange returns the rows of POS with a predicate.
func predicateRange(predicate string) (triple.Range, error) {
	return rangeOf(triple.POS, triple.Pattern{Predicate: triple.NewIRI(predicate)})
}

// row is what a row says. Its terms are whole, and valid as long as the row.
type row struct {
	terms triple.KeyTerms
	value []byte
}

func rowOf(key, value []byte) (row, error) {
	_, terms, err := triple.SplitKey(key)
	if err == nil {
		terms, err = triple.WholeTerms(terms, value)
	}
	return row{terms, value}, err
}

// tagIRI is the first byte of an encoded IRI (package triple); the IRI follows.
const tagIRI = 0x20

// iri returns the IRI at a position; false where the term is another one.
func (r *row) iri(p int) ([]byte, bool) {
	term := r.terms[p]
	if len(term) < 2 || term[0] != tagIRI {
		return nil, false
	}
	return term[1:], true
}

// codeUnsignedLong is the code of the datatype xsd:unsignedLong, which the digits of a
// literal follow (package triple).
const codeUnsignedLong = 0x0F

// uid returns the UID that the object is, in the default graph; false where it is none.
func (r *row) uid() (uid.UID, bool) {
	term := r.terms[triple.Object]
	at := len(term)
	for at > 0 && term[at-1] >= '0' && term[at-1] <= '9' {
		at--
	}
	if at == 0 || term[at-1] != codeUnsignedLong || len(r.terms[triple.Graph]) > 0 {
		return 0, false
	}
	u, err := uid.Parse(string(term[at:]))
	return u, err == nil && u.Valid()
}

// stamp returns when the version was written.
func (r *row) stamp() (triple.Stamp, error) {
	v, err := triple.DecodeValue(r.value)
	return v.Stamp, err
}
