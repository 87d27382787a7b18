// Filters: the known terms of the requested triples, in the form of keys.

package reads

import (
	"bytes"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// filter passes the triples with its terms. A nil term is not bound.
type filter struct {
	terms        triple.KeyTerms
	defaultGraph bool // only triples of the default graph pass
}

// filterOf returns the filter of a pattern.
func filterOf(p triple.Pattern) *filter {
	f := &filter{defaultGraph: p.DefaultGraph}
	for position, t := range [4]triple.Term{p.Subject, p.Predicate, p.Object, p.Graph} {
		if !t.IsZero() {
			f.terms[position], _ = triple.AppendTerm(nil, t)
		}
	}
	return f
}

// binds reports whether a term is bound.
func (f *filter) binds() bool {
	return slices.ContainsFunc(f.terms[:], func(t []byte) bool { return t != nil })
}

// inDefaultGraph returns a filter that also leaves out the triples of named graphs.
func (f *filter) inDefaultGraph() *filter {
	only := &filter{}
	if f != nil {
		*only = *f
	}
	only.defaultGraph = true
	return only
}

// match reports whether the triple of a key, of any order, passes.
func (f *filter) match(key []byte) (bool, error) {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return false, err
	}
	if f.defaultGraph && len(terms[triple.Graph]) > 0 {
		return false, nil
	}
	for position, want := range f.terms {
		if want != nil && !bytes.Equal(want, terms[position]) {
			return false, nil
		}
	}
	return true, nil
}

// extend returns a filter with more terms. A term of f wins.
func (f *filter) extend(terms triple.KeyTerms) *filter {
	both := &filter{terms: terms}
	if f == nil {
		return both
	}
	both.defaultGraph = f.defaultGraph
	for position, t := range f.terms {
		if t != nil {
			both.terms[position] = t
		}
	}
	return both
}

// prefix returns a range of an order with all retryable triples, and the number of its fixed terms.
func (f *filter) prefix(o triple.Order) (r triple.Range, n int) {
	lo := []byte{byte(o)}
	for _, position := range o.Positions() {
		if f.terms[position] == nil {
			break
		}
		lo = appendNext(lo, f.terms[position], n)
		n++
	}
	return prefixRange(o, lo, n), n
}

// appendNext appends a term to the beginning of a key with n terms.
func appendNext(lo, term []byte, n int) []byte {
	if n > 0 {
		lo = append(lo, 0, 1)
	}
	return append(lo, term...)
}

// prefixRange returns the range of all keys of an order beginning with n whole terms. lo is the
// byte of the order and the terms. See package triple: 00 01 separates two terms; the last term
// ends with the key, or with the 00 01 before a graph.
func prefixRange(o triple.Order, lo []byte, n int) triple.Range {
	switch {
	case n == 0:
		return triple.OrderRange(o)
	case n == 4 || n == 3 && o != triple.GSPO:
		return triple.Range{Lo: lo, Hi: append(bytes.Clone(lo), 0, 2)}
	}
	return triple.Range{Lo: append(bytes.Clone(lo), 0, 1), Hi: append(bytes.Clone(lo), 0, 2)}
}

// shared returns the leading terms common to all keys of a range, by its bounds. It returns none
// if the range has several orders.
func shared(r triple.Range) (terms triple.KeyTerms) {
	if !oneOrder(r) {
		return terms
	}
	o, rest, lo := triple.Order(r.Lo[0]), r.Lo[1:], r.Lo[:1:1]
	for place, position := range o.Positions() {
		end := termEnd(rest)
		if end == 0 {
			return terms
		}
		lo = appendNext(lo, rest[:end], place)
		// A bound may end within a term; then the range exceeds the range of the term's
		// beginning.
		all := prefixRange(o, lo, place+1)
		if bytes.Compare(r.Lo, all.Lo) < 0 || bytes.Compare(r.Hi, all.Hi) > 0 {
			return terms
		}
		terms[position] = rest[:end:end]
		if end == len(rest) {
			return terms
		}
		rest = rest[end+2:]
	}
	return terms
}

// termEnd returns the end of the first term of b: at 00 01, or at the end of b.
func termEnd(b []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], 0)
		if i < 0 || at+i+1 >= len(b) {
			return len(b)
		}
		if b[at+i+1] == 1 {
			return at + i
		}
		at += i + 2
	}
}
