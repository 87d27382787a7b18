// A row of links or UIDs: its terms, its UID and its stamp.

package linkkeys

import (
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// Row is a decoded row. Its terms are whole, and share memory with the row.
type Row struct {
	Terms triple.KeyTerms
	value []byte
}

// DecodeRow decodes a row. The result shares memory with key and value.
func DecodeRow(key, value []byte) (Row, error) {
	_, terms, err := triple.SplitKey(key)
	if err == nil {
		terms, err = triple.WholeTerms(terms, value)
	}
	return Row{terms, value}, err
}

// tagIRI is the first byte of an encoded IRI (package triple); the IRI follows.
const tagIRI = 0x20

// Iri returns the IRI at a position, and false if the term is no IRI.
func (r *Row) Iri(p int) ([]byte, bool) {
	term := r.Terms[p]
	if len(term) < 2 || term[0] != tagIRI {
		return nil, false
	}
	return term[1:], true
}

// codeUnsignedLong is the code of the datatype xsd:unsignedLong, before the digits of a literal
// (package triple).
const codeUnsignedLong = 0x0F

// UID returns the UID in the object, and false if there is none or the graph is not the
// default.
func (r *Row) UID() (uid.UID, bool) {
	term := r.Terms[triple.Object]
	at := len(term)
	for at > 0 && term[at-1] >= '0' && term[at-1] <= '9' {
		at--
	}
	if at == 0 || term[at-1] != codeUnsignedLong || len(r.Terms[triple.Graph]) > 0 {
		return 0, false
	}
	u, err := uid.Parse(string(term[at:]))
	return u, err == nil && u.Valid()
}

// Stamp returns the stamp of the row.
func (r *Row) Stamp() (triple.Stamp, error) {
	v, err := triple.DecodeValue(r.value)
	return v.Stamp, err
}

// ShortIRI returns the IRI in a term of a key, and false if the term is long or no IRI.
func ShortIRI(term []byte) (string, bool) {
	if len(term) < 2 || term[0] != tagIRI || triple.IsLongTerm(term) {
		return "", false
	}
	return string(term[1:]), true
}
