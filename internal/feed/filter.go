// Filters: which changes a consumer receives.

package feed

import (
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// Filter selects changes by pattern, range and kind. The zero Filter selects all. Loads and clears
// pass every pattern whose graph and predicate they may touch, and every range, because they may
// change its triples.
type Filter struct {
	Pattern triple.Pattern
	// Bounds, if set, selects triples in a range of one order, too.
	Bounds *triple.Bounds
	// Kinds lists the selected kinds; empty is all.
	Kinds []Kind
	// Application, if set, selects annotations of this application only.
	Application string
	// Also, if set, selects further changes.
	Also *Filter
}

// Matcher is a filter made ready. It is safe for concurrent use.
type Matcher struct {
	filter Filter
	all    bool // every triple matches
	scan   triple.Scan
	bounds *triple.KeyRange
	also   *Matcher // nil without Also
}

// NewMatcher checks a filter and makes it ready.
func NewMatcher(f Filter) (*Matcher, error) {
	m := &Matcher{filter: f, all: f.Pattern == triple.Pattern{} && f.Bounds == nil}
	var err error
	if m.scan, err = f.Pattern.Scan(triple.SPO); err != nil {
		return nil, err
	}
	if f.Bounds != nil {
		r, err := f.Bounds.KeyRange()
		if err != nil {
			return nil, err
		}
		m.bounds = &r
	}
	if f.Also != nil {
		m.also, err = NewMatcher(*f.Also)
	}
	return m, err
}

// Match reports whether a change is selected. Its error means that the key is malformed.
func (m *Matcher) Match(c *Change) (bool, error) {
	// 1. What is selected beside the filter, whatever the filter is.
	if m.also != nil {
		if ok, err := m.also.Match(c); ok || err != nil {
			return ok, err
		}
	}
	// 2. The kind, then the triple.
	if len(m.filter.Kinds) > 0 && !slices.Contains(m.filter.Kinds, c.Kind) {
		return false, nil
	}
	if c.Kind == Annotate && m.filter.Application != "" && c.Annotation.ApplicationID != m.filter.Application {
		return false, nil
	}
	switch {
	case c.Kind == Clear:
		return m.cleared(c.Clear), nil
	case c.Kind == Load:
		return c.Load.Predicates.MayHave(m.filter.Pattern.Predicate), nil
	case m.all:
		return true, nil
	case !m.scan.Range.Contains(c.Key):
		return false, nil
	}
	_, terms, err := triple.SplitKey(c.Key)
	if err != nil {
		return false, err
	}
	if !m.scan.Exact && !m.scan.Filter(terms) {
		return false, nil
	}
	return m.inBounds(terms, c.Long)
}

// inBounds reports whether a triple lies in the range of the filter.
func (m *Matcher) inBounds(terms triple.KeyTerms, long []byte) (bool, error) {
	if m.bounds == nil {
		return true, nil
	}
	if m.bounds.Order == triple.GSPO && len(terms[triple.Graph]) == 0 {
		return false, nil // this order has no row of the default graph
	}
	// terms are in order of positions, so the key in another order needs no decoding.
	key := triple.AppendKeyOf(nil, m.bounds.Order, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
	if !m.bounds.Range.Contains(key) {
		return false, nil
	}
	if m.bounds.Exact() {
		return true, nil
	}
	if long == nil {
		long = emptyValue
	}
	return m.bounds.Accept(terms, long)
}

// cleared reports whether cleared graphs may have had triples of the pattern.
func (m *Matcher) cleared(c *ClearInfo) bool {
	p := m.filter.Pattern
	if !c.Predicates.MayHave(p.Predicate) {
		return false
	}
	switch {
	case c.All, p.Graph.IsZero() && !p.DefaultGraph:
		return true
	case p.DefaultGraph:
		return c.Default
	}
	return slices.Contains(c.Graphs, p.Graph)
}
