// Pages and links in the rows of the store.

package pagerows

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/linkrows"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// TagIRI is the first byte of an encoded IRI (package triple). The IRI follows, without a byte
// 00.
const TagIRI = 0x20

// IriOf returns the IRI in an encoded whole term. ok is false if the term is no IRI.
func IriOf(term []byte) (iri []byte, ok bool) {
	if len(term) < 2 || term[0] != TagIRI {
		return nil, false
	}
	return term[1:], true
}

// PredicateRange returns the rows of POS with a predicate.
func PredicateRange(predicate string) (triple.Range, error) {
	kr, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(predicate)}}.KeyRange()
	return kr.Range, err
}

// Page is a row of the range of UIDs.
type Page struct {
	UID uid.UID
	URL []byte // valid until the next one
}

// EachPage calls do with the pages whose UIDs are in r, in the order of UIDs. If two pages have
// one UID, it returns an error, because no program assigned it twice. If a page has two UIDs,
// do gets both.
func EachPage(ctx context.Context, src sparql.Source, r uid.Range, do func(Page) error) (err error) {
	keys, err := UIDRange(r)
	if err != nil {
		return err
	}
	rows, err := src.Scan(ctx, keys, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
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
		p, ok := pageOf(terms)
		if !ok || !r.Contains(p.UID) {
			continue
		}
		// Rows ascend by UID, so two pages with one UID are adjacent.
		if p.UID == last {
			return fmt.Errorf("UID %s is that of two pages, %s and %s: delete one of the two triples with predicate %s", p.UID, name, p.URL, links.UIDPredicate)
		}
		last, name = p.UID, append(name[:0], p.URL...)
		if err := do(p); err != nil {
			return err
		}
	}
	return rows.Err()
}

// link is a row of the range of links. Its slices are valid until the next one.
type link struct {
	Src, Dst []byte
	Named    bool // it is in a named graph
}

// LinkOf returns the link in a key of POS. value has its long terms. ok is false if its ends
// are not both IRIs.
func LinkOf(key, value []byte) (l link, ok bool, err error) {
	_, terms, err := triple.SplitKey(key)
	if err == nil {
		terms, err = triple.WholeTerms(terms, value)
	}
	if err != nil {
		return link{}, false, err
	}
	dst, isDst := IriOf(terms[triple.Object])
	src, isSrc := IriOf(terms[triple.Subject])
	return link{src, dst, len(terms[triple.Graph]) > 0}, isDst && isSrc, nil
}

// FindUIDs looks up the UIDs of pages in the store, 0 if a page has none. If it has two, the
// lower one counts.
func FindUIDs(ctx context.Context, t derived.Triples, urls []string) ([]uid.UID, error) {
	found := make([]uid.UID, len(urls))
	// A URL that no triple can have is in no range, so each range needs its place.
	var at []int
	var ranges []triple.Range
	for i, url := range urls {
		of := links.UIDTriple(url, 0)
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
	return found, LookUp(ctx, t, ranges, func(i int, key, _ []byte) error {
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return err
		}
		u, ok := uidOf(terms)
		if of := &found[at[i]]; ok && (*of == 0 || u < *of) {
			*of = u
		}
		return nil
	})
}

// FindURLs looks up the pages with UIDs in the store, "" if there is none.
func FindURLs(ctx context.Context, t derived.Triples, pages []uid.UID) ([]string, error) {
	found := make([]string, len(pages))
	ranges := make([]triple.Range, len(pages))
	for i, u := range pages {
		var err error
		if ranges[i], err = UIDRange(uid.Range{First: u, Last: u}); err != nil {
			return nil, err
		}
	}
	return found, LookUp(ctx, t, ranges, func(i int, key, value []byte) error {
		_, terms, err := triple.SplitKey(key)
		if err == nil {
			terms, err = triple.WholeTerms(terms, value)
		}
		if err != nil {
			return err
		}
		if p, ok := pageOf(terms); ok && p.UID == pages[i] {
			found[i] = string(p.URL)
		}
		return nil
	})
}

// LookUp calls each for the rows in ranges, which may repeat but not overlap otherwise; i is the
// index of the range.
func LookUp(ctx context.Context, t derived.Triples, ranges []triple.Range, each func(i int, key, value []byte) error) error {
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

// ValidPage reports whether a page may have the URL.
func ValidPage(url string) bool {
	return triple.NewIRI(url).Check() == nil && triple.NewIRI(links.PagePrefix+url).Check() == nil
}
