// Package linkkeys has the keys of a graph's triples, the decoding of rows, and packed lists.
// It reads and writes nothing: [Keys] makes ranges to look up, and [DecodeRow] decodes the
// rows.
package linkkeys

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// Wanted is a range to look up, for the item with index Item of a request.
type Wanted struct {
	triple.Range
	Item int
}

// SortWanted sorts ranges for a look-up. Ranges of different terms must not overlap. If ranges
// are equal, only one is kept.
func SortWanted(all []Wanted) []Wanted {
	slices.SortFunc(all, func(a, b Wanted) int { return bytes.Compare(a.Lo, b.Lo) })
	return slices.CompactFunc(all, func(a, b Wanted) bool { return bytes.Equal(a.Lo, b.Lo) })
}

// NewIRI returns the term of an IRI, and false if s is no IRI: then it is in no triple.
func NewIRI(s string) (triple.Term, bool) {
	t := triple.NewIRI(s)
	return t, t.Check() == nil
}

// RangeOf returns the range of the rows that match a pattern. Its bound terms must be the first
// ones of the order.
func RangeOf(o triple.Order, p triple.Pattern) (triple.Range, error) {
	scan, err := p.Scan(o)
	return scan.Range, err
}

// UIDRange returns the rows of POS with the UIDs of a range.
func UIDRange(r uid.Range) (triple.Range, error) {
	kr, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(links.UIDPredicate)},
		GE: links.UIDTriple("a:", r.First).Object, LE: links.UIDTriple("a:", r.Last).Object}.KeyRange()
	return kr.Range, err
}

// predicateRange returns the rows of POS with a predicate.
func predicateRange(predicate string) (triple.Range, error) {
	return RangeOf(triple.POS, triple.Pattern{Predicate: triple.NewIRI(predicate)})
}

// Keys has the keys of one graph: of its links, UIDs and grants.
type Keys struct {
	Predicate     string       // of links
	PredicateTerm []byte       // the same as a term of a key
	UIDTerm       []byte       // the predicate of UIDs, likewise
	ClaimTerm     []byte       // the predicate of claims of grants, likewise
	Pages         triple.Range // of POS: all UIDs
	Linked        triple.Range // of POS: all links
}

// NewKeys returns the keys of the graph whose links have the given predicate.
func NewKeys(predicate string) (k Keys, err error) {
	k.Predicate = predicate
	k.PredicateTerm, _ = triple.AppendTerm(nil, triple.NewIRI(predicate))
	k.UIDTerm, _ = triple.AppendTerm(nil, triple.NewIRI(links.UIDPredicate))
	k.ClaimTerm, _ = triple.AppendTerm(nil, triple.NewIRI(ClaimPredicate))
	if k.Pages, err = predicateRange(links.UIDPredicate); err == nil {
		k.Linked, err = predicateRange(predicate)
	}
	return k, err
}

// List returns the rows of a page's list: all keys that begin with two terms, in the format of
// [triple.Pattern.Scan]. It makes one allocation.
func (k *Keys) List(d links.Direction, url string) triple.Range {
	page := triple.NewIRI(url)
	key := make([]byte, 0, 2*(len(url)+len(k.PredicateTerm)+16))
	if d == links.Backward {
		key = append(append(key, byte(triple.POS)), k.PredicateTerm...)
		key, _ = triple.AppendTerm(append(key, 0, 1), page)
	} else {
		key, _ = triple.AppendTerm(append(key, byte(triple.SPO)), page)
		key = append(append(key, 0, 1), k.PredicateTerm...)
	}
	key = append(key, 0, 1)
	n := len(key)
	key = append(key, key...)
	key[2*n-1] = 2
	return triple.Range{Lo: key[:n:n], Hi: key[n:]}
}

const (
	grantPrefix    = "urn:trefoil:grant:"
	ClaimPredicate = "urn:trefoil:claimedBy"
)

// GrantTerm returns the subject of the claims of a grant.
func GrantTerm(grant uid.Grant) triple.Term {
	return triple.NewIRI(grantPrefix + strconv.Itoa(int(grant)))
}

// OtherEnd returns the position of a list's other ends.
func OtherEnd(d links.Direction) int {
	if d == links.Backward {
		return triple.Subject
	}
	return triple.Object
}
