// Patterns of reads, and which subscriptions they concern.

package readcount

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// Pattern is what a scan reads: the terms of its triples in the form of [triple.AppendTerm]. A nil
// term is any term.
type Pattern struct {
	Terms triple.KeyTerms
	// DefaultGraph means that triples of named graphs are not read.
	DefaultGraph bool
}

// PatternOf returns a pattern of the store as a pattern of a read.
func PatternOf(p triple.Pattern) Pattern {
	out := Pattern{DefaultGraph: p.DefaultGraph}
	for position, term := range [...]triple.Term{triple.Subject: p.Subject, triple.Predicate: p.Predicate, triple.Object: p.Object, triple.Graph: p.Graph} {
		if !term.IsZero() {
			out.Terms[position], _ = triple.AppendTerm(nil, term)
		}
	}
	return out
}

// rangePattern returns the narrowest pattern that has all triples of a range of keys.
func rangePattern(r triple.Range) Pattern {
	o, terms := r.SharedTerms()
	p := Pattern{Terms: terms}
	// A whole key without a graph is one triple of the default graph if no key behind it is read.
	if o != 0 && o != triple.GSPO && terms[triple.Subject] != nil && terms[triple.Predicate] != nil && terms[triple.Object] != nil && terms[triple.Graph] == nil {
		p.DefaultGraph = bytes.Compare(r.Hi, append(bytes.Clone(r.Lo), 0, 1)) <= 0
	}
	return p
}

// appendTo appends a form of the pattern that is equal for equal patterns only.
func (p *Pattern) appendTo(dst []byte) []byte {
	flag := byte(0)
	if p.DefaultGraph {
		flag = 1
	}
	dst = append(dst, flag)
	for _, term := range p.Terms {
		dst = append(binary.AppendUvarint(dst, uint64(len(term))), term...)
	}
	return dst
}

// decodePattern is the inverse of appendTo.
func decodePattern(b string) (p Pattern) {
	text := []byte(b)
	p.DefaultGraph, text = text[0] == 1, text[1:]
	for position := range p.Terms {
		n, size := binary.Uvarint(text)
		if text = text[size:]; n > 0 {
			p.Terms[position] = text[:n:n]
		}
		text = text[n:]
	}
	return p
}

// appendJSON appends the members s, p, o and g of the terms that are bound, each with a comma behind
// it. Long terms are unknown: the member long names their positions.
func (p *Pattern) appendJSON(dst []byte) ([]byte, error) {
	// 1. The terms.
	var long []byte
	for position, name := range [...]byte{triple.Subject: 's', triple.Predicate: 'p', triple.Object: 'o', triple.Graph: 'g'} {
		encoded := p.Terms[position]
		if encoded == nil {
			continue
		}
		term, err := triple.DecodeTerm(encoded)
		switch {
		case errors.Is(err, triple.ErrLongTerm):
			if len(long) > 0 {
				long = append(long, ',')
			}
			long = append(long, '"', name, '"')
			continue
		case err != nil:
			return nil, err
		}
		dst = append(triple.AppendJSON(append(dst, '"', name, '"', ':'), term), ',')
	}
	// 2. What terms cannot show.
	if p.DefaultGraph {
		dst = append(dst, `"default":true,`...)
	}
	if len(long) > 0 {
		dst = append(append(append(dst, `"long":[`...), long...), `],`...)
	}
	return dst, nil
}

// selector is the filter of a subscription, ready to be compared with patterns of reads.
type selector struct {
	pattern Pattern
	bounds  *triple.KeyRange
	shared  triple.KeyTerms // terms that all triples in the bounds have
}

func newSelector(f feed.Filter) (selector, error) {
	s := selector{pattern: PatternOf(f.Pattern)}
	if f.Bounds != nil {
		r, err := f.Bounds.KeyRange()
		if err != nil {
			return s, fmt.Errorf("the bounds of a subscription: %w", err)
		}
		s.bounds = &r
		_, s.shared = r.Range.SharedTerms()
	}
	return s, nil
}

// overlaps reports whether the filter and a read can have a triple in common: no position has two
// different terms, and keys of the read's pattern may lie within the bounds. The values that a read
// restricts by a range or a filter are not looked at, so the result may be true although no triple
// is in both.
func (s *selector) overlaps(p *Pattern) bool {
	if p.DefaultGraph && s.pattern.Terms[triple.Graph] != nil || s.pattern.DefaultGraph && p.Terms[triple.Graph] != nil {
		return false
	}
	for position, term := range p.Terms {
		if term == nil {
			continue
		}
		for _, other := range [...][]byte{s.pattern.Terms[position], s.shared[position]} {
			if other != nil && !bytes.Equal(other, term) {
				return false
			}
		}
	}
	if s.bounds == nil {
		return true
	}
	// The bounds, in their order. It has no rows of the default graph if it begins with the graph.
	if s.bounds.Order == triple.GSPO && p.DefaultGraph {
		return false
	}
	return !s.bounds.Range.Intersect(triple.TermsRange(s.bounds.Order, p.Terms)).Empty()
}

// clone returns a pattern that shares no memory.
func (p Pattern) clone() Pattern {
	for position, term := range p.Terms {
		p.Terms[position] = bytes.Clone(term)
	}
	return p
}
