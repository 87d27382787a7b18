// Pages and links in the rows of the store.

package linkgraph

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/linkgraph/linkrows"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/sparql"
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

// page is a row of the range of UIDs.
type page struct {
	uid uid.UID
	url []byte // valid until the next one
}

// eachPage calls do with the pages whose UIDs are in r, in the order of UIDs. If two pages have
// one UID, it returns an error, because no program assigned it twice. If a page has two UIDs,
// do gets both.
func (f form) eachPage(ctx context.Context, src sparql.Source, r uid.Range, do func(page) error) (err error) {
	keys, err := f.uidRange(r)
	if err != nil {
		return err
	}
	rows, err := src.Scan(ctx, keys, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return f.eachPageOf(rows, r, do)
}

// eachPageOf is eachPage for the rows of these UIDs, or of more.
func (f form) eachPageOf(rows sparql.Rows, r uid.Range, do func(page) error) error {
	var last uid.UID
	var name []byte // the page of last
	for rows.Next() {
		key, value := rows.Row()
		_, terms, err := triple.SplitKey(key)
		if err == nil {
			terms, err = triple.WholeTerms(terms, value)
		}
		if err != nil {
			return err
		}
		p, ok := f.page(terms)
		if !ok || !r.Contains(p.uid) {
			continue
		}
		// Rows ascend by UID, so two pages with one UID are adjacent.
		if p.uid == last {
			return fmt.Errorf("UID %s is that of two pages, %s and %s: delete one of the two triples with predicate %s", p.uid, name, p.url, f.uidTriple("a:", p.uid).Predicate)
		}
		last, name = p.uid, append(name[:0], p.url...)
		if err := do(p); err != nil {
			return err
		}
	}
	return rows.Err()
}

// link is a row of the range of links. Its slices are valid until the next one.
type link struct {
	src, dst []byte
	named    bool // it is in a named graph
}

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
	return link{src, dst, len(terms[triple.Graph]) > 0}, isDst && isSrc, nil
}

// findUIDs looks up the UIDs of pages in the store, 0 if a page has none. If it has two, the
// lower one counts.
func (f form) findUIDs(ctx context.Context, t Triples, urls []string) ([]uid.UID, error) {
	found := make([]uid.UID, len(urls))
	// A URL that no triple can have is in no range, so each range needs its place.
	var at []int
	var ranges []triple.Range
	for i, url := range urls {
		of := f.uidTriple(url, 0)
		p := triple.Pattern{Subject: of.Subject, Predicate: of.Predicate}
		if p.Subject.Check() != nil {
			continue // no triple has it
		}
		scan, err := p.Scan(triple.SPO)
		if err != nil {
			return nil, err
		}
		at, ranges = append(at, i), append(ranges, scan.Range)
	}
	return found, lookUp(ctx, t, ranges, func(i int, key, _ []byte) error {
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return err
		}
		u, ok := f.uid(terms)
		if of := &found[at[i]]; ok && (*of == 0 || u < *of) {
			*of = u
		}
		return nil
	})
}

// findURLs looks up the pages with UIDs in the store, "" if there is none.
func (f form) findURLs(ctx context.Context, t Triples, pages []uid.UID) ([]string, error) {
	found := make([]string, len(pages))
	ranges := make([]triple.Range, len(pages))
	for i, u := range pages {
		var err error
		if ranges[i], err = f.uidRange(uid.Range{First: u, Last: u}); err != nil {
			return nil, err
		}
	}
	return found, lookUp(ctx, t, ranges, func(i int, key, value []byte) error {
		_, terms, err := triple.SplitKey(key)
		if err == nil {
			terms, err = triple.WholeTerms(terms, value)
		}
		if err != nil {
			return err
		}
		if p, ok := f.page(terms); ok && p.uid == pages[i] {
			found[i] = string(p.url)
		}
		return nil
	})
}

// lookUp calls each for the rows in ranges, which may repeat but not overlap otherwise; i is the
// index of the range.
func lookUp(ctx context.Context, t Triples, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	if len(ranges) == 0 {
		return nil
	}
	r, err := t.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	return linkrows.LookUp(ctx, r.Source(), ranges, each)
}
