// How UIDs are triples in the system graph.

package pagerows

import (
	"bytes"
	"strconv"

	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// UIDRange returns the rows of POS with the UIDs of a range.
func UIDRange(r uid.Range) (triple.Range, error) {
	first, last := links.UIDTriple("a:", r.First), links.UIDTriple("a:", r.Last)
	kr, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{first.Predicate}, GE: first.Object, LE: last.Object}.KeyRange()
	return kr.Range, err
}

// pageOf returns the page of a row. Its URL shares memory with the terms, which must be whole. ok is false for a
// triple of another application.
func pageOf(terms triple.KeyTerms) (p Page, ok bool) {
	p.UID, ok = uidOf(terms)
	iri, isIRI := IriOf(terms[triple.Subject])
	var isPage bool
	p.URL, isPage = bytes.CutPrefix(iri, pagePrefix)
	return p, ok && isIRI && isPage
}

// uidOf returns the UID of a row.
func uidOf(terms triple.KeyTerms) (uid.UID, bool) {
	digits, ok := bytes.CutPrefix(terms[triple.Object], uidPrefix)
	if !ok || len(digits) != 20 || !bytes.Equal(terms[triple.Graph], graphTerm) {
		return 0, false
	}
	u, err := strconv.ParseUint(string(digits), 10, 64)
	return uid.UID(u), err == nil && uid.UID(u).Valid()
}

var (
	pagePrefix   = []byte(links.PagePrefix)
	uidPrefix    = append([]byte{TagIRI}, links.UIDPrefix...)
	graphTerm, _ = triple.AppendTerm(nil, systemgraph.Graph)
)
