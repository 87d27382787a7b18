// Pages and links in the rows of the store.

package linkgraph

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// tagIRI is the first byte of an encoded IRI (package triple). The IRI follows, without a byte
// 00.
const tagIRI = 0x20

// iriOf returns the IRI in an encoded whole term. ok is false if the term is no IRI.
func iriOf(term []byte) (iri []byte, ok bool) {
	if len(term) < 2 || term[0] != tagIRI {
		return nil, false
	}
	return term[1:], true
}

// predicateRange returns the rows of POS with a predicate.
func predicateRange(predicate string) (triple.Range, error) {
	kr, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(predicate)}}.KeyRange()
	return kr.Range, err
}

// uidRange returns the rows of POS with the UIDs of a range.
func uidRange(r uid.Range) (triple.Range, error) {
	first := links.UIDTriple("a:", r.First).Object
	last := links.UIDTriple("a:", r.Last).Object
	kr, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(links.UIDPredicate)}, GE: first, LE: last}.KeyRange()
	return kr.Range, err
}

// uidOf returns the UID in an encoded literal: the digits at its end. ok is false if the
// literal has another datatype or leading zeros.
func uidOf(term []byte) (uid.UID, bool) {
	at := len(term)
	for at > 0 && term[at-1] >= '0' && term[at-1] <= '9' {
		at--
	}
	// The byte before the digits must be the datatype's code, 0F.
	if at == 0 || term[at-1] != unsignedLongCode {
		return 0, false
	}
	u, err := uid.Parse(string(term[at:]))
	return u, err == nil && u.Valid()
}

const unsignedLongCode = 0x0F

// page is a row of the range of UIDs.
type page struct {
	uid uid.UID
	url []byte // valid until the next one
}

// eachPage calls do with the pages whose UIDs are in r, in the order of UIDs. If two pages have
// one UID, it returns an error, because no program assigned it twice. If a page has two UIDs,
// do gets both.
func eachPage(ctx context.Context, sn *store.Snapshot, r uid.Range, do func(page) error) error {
	keys, err := uidRange(r)
	if err != nil {
		return err
	}
	rows, err := sn.Rows(ctx, keys)
	if err != nil {
		return err
	}
	defer rows.Close()
	return eachPageOf(rows, r, do)
}

// eachPageOf is eachPage for a caller with an iterator over these rows, or more.
func eachPageOf(rows *store.Rows, r uid.Range, do func(page) error) error {
	keys, err := uidRange(r)
	if err != nil {
		return err
	}
	var last uid.UID
	var name []byte // the page of last
	for ok := rows.SeekGE(keys.Lo); ok && bytes.Compare(rows.Key(), keys.Hi) < 0; ok = rows.Next() {
		_, terms, err := triple.SplitKey(rows.Key())
		if err == nil {
			terms, err = triple.WholeTerms(terms, rows.Value())
		}
		if err != nil {
			return err
		}
		// Only triples of the default graph with an IRI and a valid UID are pages.
		u, isUID := uidOf(terms[triple.Object])
		url, isIRI := iriOf(terms[triple.Subject])
		if !isUID || !isIRI || !r.Contains(u) || len(terms[triple.Graph]) > 0 {
			continue // a triple of another application
		}
		// Rows ascend by UID, so two pages with one UID are adjacent.
		if u == last {
			return fmt.Errorf("UID %s is that of two pages, %s and %s: delete one of the two triples with predicate %s", u, name, url, links.UIDPredicate)
		}
		last, name = u, append(name[:0], url...)
		if err := do(page{u, url}); err != nil {
			return err
		}
	}
	return rows.Err()
}

// link is a row of the range of links. Its slices are valid until the next one.
type link struct{ src, dst []byte }

// linkOf returns the link in a key of POS. value has its long terms. ok is false if its ends
// are not both IRIs.
func linkOf(key, value []byte) (l link, ok bool, err error) {
	_, terms, err := triple.SplitKey(key)
	if err == nil {
		terms, err = triple.WholeTerms(terms, value)
	}
	if err != nil {
		return link{}, false, err
	}
	dst, isDst := iriOf(terms[triple.Object])
	src, isSrc := iriOf(terms[triple.Subject])
	return link{src, dst}, isDst && isSrc, nil
}

// findUID looks up a page's UID in the store, 0 if there is none. If it has two, the lower one
// counts.
func findUID(ctx context.Context, sn *store.Snapshot, url string) (uid.UID, error) {
	p := triple.Pattern{Subject: triple.NewIRI(url), Predicate: triple.NewIRI(links.UIDPredicate)}
	if p.Subject.Check() != nil {
		return 0, nil // no triple has it
	}
	var found uid.UID
	for row, err := range sn.Match(ctx, p, store.ReadOptions{}) {
		if err != nil {
			return 0, err
		}
		t, err := row.Triple()
		if err != nil {
			return 0, err
		}
		if t.Object.Datatype() != links.UIDTriple("a:", 1).Object.Datatype() || !t.Graph.IsZero() {
			continue
		}
		if u, err := uid.Parse(t.Object.Value()); err == nil && u.Valid() && (found == 0 || u < found) {
			found = u
		}
	}
	return found, nil
}

// findURL looks up the page with a UID in the store, "" if there is none.
func findURL(ctx context.Context, sn *store.Snapshot, u uid.UID) (url string, err error) {
	err = eachPage(ctx, sn, uid.Range{First: u, Last: u}, func(p page) error {
		url = string(p.url)
		return nil
	})
	return url, err
}
