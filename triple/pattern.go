// The orders SPO, POS, OSP and GSPO; patterns, and the ranges that answer them.

package triple

import (
	"bytes"
	"fmt"
	"strings"
)

// Order is one of the orders of triples. Its value is the first byte of the keys of that order.
type Order uint8

// The orders. SPO, POS and OSP hold every triple, with the graph last. GSPO holds only triples of
// named graphs, with the graph first.
const (
	SPO  Order = 1
	POS  Order = 2
	OSP  Order = 3
	GSPO Order = 4
)

// Orders lists all orders in the sequence of the ordered space.
var Orders = [...]Order{SPO, POS, OSP, GSPO}

// Positions of a triple's terms, as in [Order.Positions].
const (
	Subject = iota
	Predicate
	Object
	Graph
)

var positions = [...][4]int{
	SPO:  {Subject, Predicate, Object, Graph},
	POS:  {Predicate, Object, Subject, Graph},
	OSP:  {Object, Subject, Predicate, Graph},
	GSPO: {Graph, Subject, Predicate, Object},
}

// Positions returns the position of the term at each place of a key.
func (o Order) Positions() [4]int { return positions[o] }

// Valid reports whether o is one of [Orders].
func (o Order) Valid() bool { return o >= SPO && o <= GSPO }

// String returns "spo", "pos", "osp" or "gspo".
func (o Order) String() string {
	switch o {
	case SPO:
		return "spo"
	case POS:
		return "pos"
	case OSP:
		return "osp"
	case GSPO:
		return "gspo"
	}
	return fmt.Sprintf("order %d", uint8(o))
}

// ParseOrder returns the order with this name, in letters of either case.
func ParseOrder(name string) (Order, error) {
	for _, o := range Orders {
		if strings.EqualFold(name, o.String()) {
			return o, nil
		}
	}
	return 0, fmt.Errorf("unknown order %q: it is spo, pos, osp or gspo", name)
}

// term returns the triple's term at a position.
func (t *Triple) term(position int) *Term {
	switch position {
	case Subject:
		return &t.Subject
	case Predicate:
		return &t.Predicate
	case Object:
		return &t.Object
	}
	return &t.Graph
}

// Pattern is a triple pattern: a zero Term matches any term. A zero Graph matches any graph,
// including the default one; if DefaultGraph is set, it matches only the default graph.
type Pattern struct {
	Subject, Predicate, Object Term
	Graph                      Term
	DefaultGraph               bool
}

// Match reports whether t matches p.
func (p Pattern) Match(t Triple) bool {
	return (p.Subject.IsZero() || p.Subject == t.Subject) &&
		(p.Predicate.IsZero() || p.Predicate == t.Predicate) &&
		(p.Object.IsZero() || p.Object == t.Object) &&
		(p.Graph.IsZero() || p.Graph == t.Graph) &&
		(!p.DefaultGraph || t.Graph.IsZero())
}

// Check returns nil if each term of p is zero or well-formed; see [Term.Check].
func (p Pattern) Check() error {
	for _, t := range [...]Term{p.Subject, p.Predicate, p.Object, p.Graph} {
		if t.IsZero() {
			continue
		}
		if err := t.Check(); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
	}
	return nil
}

// Exact returns the pattern that matches only t.
func Exact(t Triple) Pattern {
	return Pattern{t.Subject, t.Predicate, t.Object, t.Graph, t.Graph.IsZero()}
}

// Scan is the answer of one order to a pattern: the rows with Lo <= key < Hi that Filter accepts.
// If Exact is set, Filter accepts all of them.
type Scan struct {
	Order Order
	Range Range
	Exact bool

	pattern KeyTerms // the bound terms, encoded
	inKey   int      // number of the order's first terms that the range fixes
	noGraph bool
}

// Range is a half-open range of keys: Lo <= key < Hi. A nil Hi is the end of the space.
type Range struct{ Lo, Hi []byte }

// Empty reports whether r cannot contain a key.
func (r Range) Empty() bool { return r.Hi != nil && bytes.Compare(r.Lo, r.Hi) >= 0 }

// Contains reports whether key is in r.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(r.Lo, key) <= 0 && (r.Hi == nil || bytes.Compare(key, r.Hi) < 0)
}

// Intersect returns the range of the keys in both ranges.
func (r Range) Intersect(other Range) Range {
	if bytes.Compare(other.Lo, r.Lo) > 0 {
		r.Lo = other.Lo
	}
	if r.Hi == nil || other.Hi != nil && bytes.Compare(other.Hi, r.Hi) < 0 {
		r.Hi = other.Hi
	}
	return r
}

// OrderRange returns the range of all keys of an order.
func OrderRange(o Order) Range { return Range{[]byte{byte(o)}, []byte{byte(o) + 1}} }

// Best returns the order that answers p with the longest fixed prefix. It reads no unnecessary
// rows, except if a graph is given without its GSPO prefix.
//
//	s p o   SPO       g s p o, g s p, g s, g     GSPO
//	s p     SPO       g p o                      POS, filtered by graph
//	s   o   OSP       g p                        GSPO, filtered
//	  p o   POS       g o, g s o                 OSP, filtered by graph
//	s, p, o SPO, POS, OSP
//	none    SPO
func (p Pattern) Best() Order {
	s, pr, o := !p.Subject.IsZero(), !p.Predicate.IsZero(), !p.Object.IsZero()
	if !p.Graph.IsZero() {
		switch {
		case o && !pr:
			return OSP
		case o && !s:
			return POS
		}
		return GSPO
	}
	switch {
	case s && (pr || !o):
		return SPO
	case o && !pr:
		return OSP
	case pr:
		return POS
	}
	return SPO
}

// Scan returns the scan of order o for p. Every order can answer p, but some read unnecessary rows.
// GSPO can only if p names a graph.
func (p Pattern) Scan(o Order) (Scan, error) {
	if o == GSPO && p.Graph.IsZero() {
		return Scan{}, fmt.Errorf("order gspo cannot answer a pattern without a graph name")
	}
	scan := Scan{Order: o, noGraph: p.DefaultGraph}
	// 1. Encode the bound terms into one buffer, because they live as long as the scan.
	terms := [4]Term{p.Subject, p.Predicate, p.Object, p.Graph}
	bound := 0
	size := 0
	for _, t := range terms {
		size += len(t.Value()) + 16
	}
	encoded := make([]byte, 0, min(size, 1<<10))
	for position, t := range terms {
		if !t.IsZero() {
			begin := len(encoded)
			encoded, _ = AppendTerm(encoded, t)
			scan.pattern[position] = encoded[begin:len(encoded):len(encoded)]
			bound++
		}
	}
	// 2. The range fixes the order's first terms up to the first wildcard.
	lo := append(make([]byte, 0, len(encoded)+16), byte(o))
	for _, position := range positions[o] {
		if scan.pattern[position] == nil {
			break
		}
		if scan.inKey > 0 {
			lo = append(lo, 0, markTermEnd)
		}
		lo = append(lo, scan.pattern[position]...)
		scan.inKey++
	}
	// 3. If the range fixes all bound terms, no filter is necessary. The default graph needs one
	// unless the whole key is fixed.
	scan.Range = prefixRange(lo, o, scan.inKey)
	scan.Exact = scan.inKey == bound
	if p.DefaultGraph {
		if scan.inKey == 3 { // only this key, because keys of named graphs are longer
			scan.Range.Hi = append(bytes.Clone(lo), 0)
		} else {
			scan.Exact = false
		}
	}
	return scan, nil
}

// prefixRange returns the range of the keys that begin with n whole terms. lo must be the order
// byte and the terms.
func prefixRange(lo []byte, o Order, n int) Range {
	if n == 0 {
		return OrderRange(o)
	}
	last := n == 4 || n == 3 && o != GSPO
	if !last {
		lo = append(lo, 0, markTermEnd)
		return Range{lo, append(lo[:len(lo)-1:len(lo)-1], markTermEnd+1)}
	}
	// The last term ends with the key or, before a graph, with 00 01. A long term of the same
	// prefix (00 02) and annotations (00 04) are after the range.
	return Range{lo, append(lo[:len(lo):len(lo)], 0, markTermEnd+1)}
}

// TermsRange returns the range of order o of the keys with terms in the form of [AppendTerm]. A nil
// term is any term. In the sequence of the order, terms behind the first nil one are not looked at.
func TermsRange(o Order, terms KeyTerms) Range {
	lo, n := []byte{byte(o)}, 0
	for ; n < 4; n++ {
		term := terms[positions[o][n]]
		if len(term) == 0 {
			break
		}
		if n > 0 {
			lo = append(lo, 0, markTermEnd)
		}
		lo = append(lo, term...)
	}
	return prefixRange(lo, o, n)
}

// SharedTerms returns the order of a range of keys, and the terms that all its keys share at the
// front of the order. Other terms are nil. It is the inverse of [TermsRange]. The terms alias Lo. The
// order is 0 if the range has keys of several orders.
func (r Range) SharedTerms() (o Order, terms KeyTerms) {
	if len(r.Lo) == 0 || !Order(r.Lo[0]).Valid() || r.Hi == nil {
		return 0, terms
	}
	o = Order(r.Lo[0])
	if bytes.Compare(r.Hi, []byte{byte(o) + 1}) > 0 {
		return 0, terms
	}
	// Invariant: all keys of the range have the terms before at.
	for place, at := 0, 1; place < 4 && at < len(r.Lo); place++ {
		end := at + termEnd(r.Lo[at:])
		// If Lo ends here, the term may go on, unless the key may end behind it.
		last := place == 3 || place == 2 && o != GSPO
		if end == len(r.Lo) && !last {
			break
		}
		// The keys with this prefix end before 00 02. A key of the range has the prefix if Hi is at
		// most that.
		if bytes.Compare(r.Hi, append(r.Lo[:end:end], 0, markTermEnd+1)) > 0 {
			break
		}
		terms[positions[o][place]] = r.Lo[at:end:end]
		at = end + 2
	}
	return o, terms
}

// Filter reports whether a key of the scan's range matches the pattern. Long terms match by prefix
// and hash.
func (s *Scan) Filter(terms KeyTerms) bool {
	if s.Exact {
		return true
	}
	if s.noGraph && len(terms[Graph]) > 0 {
		return false
	}
	for place, position := range positions[s.Order] {
		if place >= s.inKey && s.pattern[position] != nil && !bytes.Equal(s.pattern[position], terms[position]) {
			return false
		}
	}
	return true
}
