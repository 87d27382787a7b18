// Pages and links in the rows of the store.

package linkgraph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links"
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
func eachPage(ctx context.Context, src sparql.Source, r uid.Range, do func(page) error) (err error) {
	keys, err := uidRange(r)
	if err != nil {
		return err
	}
	rows, err := src.Scan(ctx, keys, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return eachPageOf(rows, r, do)
}

// eachPageOf is eachPage for the rows of these UIDs, or of more.
func eachPageOf(rows sparql.Rows, r uid.Range, do func(page) error) error {
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
func findUIDs(ctx context.Context, t Triples, urls []string) ([]uid.UID, error) {
	found := make([]uid.UID, len(urls))
	var at []int
	var ranges []triple.Range
	for i, url := range urls {
		p := triple.Pattern{Subject: triple.NewIRI(url), Predicate: triple.NewIRI(links.UIDPredicate)}
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
		u, ok := uidOf(terms[triple.Object])
		if of := &found[at[i]]; ok && len(terms[triple.Graph]) == 0 && (*of == 0 || u < *of) {
			*of = u
		}
		return nil
	})
}

// findURLs looks up the pages with UIDs in the store, "" if there is none.
func findURLs(ctx context.Context, t Triples, pages []uid.UID) ([]string, error) {
	found := make([]string, len(pages))
	ranges := make([]triple.Range, len(pages))
	for i, u := range pages {
		var err error
		if ranges[i], err = uidRange(uid.Range{First: u, Last: u}); err != nil {
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
		u, isUID := uidOf(terms[triple.Object])
		if url, isIRI := iriOf(terms[triple.Subject]); isUID && isIRI && u == pages[i] && len(terms[triple.Graph]) == 0 {
			found[i] = string(url)
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
	// 1. The ranges of a look-up must ascend and differ.
	order := make([]int, len(ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(ranges[a].Lo, ranges[b].Lo) })
	var differ []triple.Range
	var first []int // index in order of each of them
	for i, at := range order {
		if i > 0 && bytes.Equal(ranges[at].Lo, ranges[order[i-1]].Lo) {
			continue
		}
		differ, first = append(differ, ranges[at]), append(first, i)
	}
	// 2. Read them, and pass the rows to all with the same range.
	r, err := t.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Source().Lookup(ctx, differ, func(i int, key, value []byte) error {
		end := len(order)
		if i+1 < len(first) {
			end = first[i+1]
		}
		for _, at := range order[first[i]:end] {
			if err := each(at, key, value); err != nil {
				return err
			}
		}
		return nil
	})
}
