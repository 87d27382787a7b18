// Which subscriptions a change may concern.

package subscriptions

import (
	"slices"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// index finds the subscriptions whose filter may select a change. Each is listed under one term of
// its pattern, the one that selects the fewest triples as a rule, or among those without any term.
// So a change looks at few of 10,000 subscriptions.
type index struct {
	terms map[indexKey][]*subscription
	rest  []*subscription
}

// indexKey is an encoded term at a position of the triple.
type indexKey struct {
	position int
	term     string
}

// keyOf returns where a pattern is listed; false if it has no term.
func keyOf(p triple.Pattern) (indexKey, bool) {
	for _, c := range []struct {
		position int
		term     triple.Term
	}{{int(triple.Subject), p.Subject}, {int(triple.Object), p.Object}, {int(triple.Predicate), p.Predicate}, {int(triple.Graph), p.Graph}} {
		if !c.term.IsZero() {
			encoded, _ := triple.AppendTerm(nil, c.term)
			return indexKey{c.position, string(encoded)}, true
		}
	}
	return indexKey{}, false
}

func (x *index) add(s *subscription) {
	if key, ok := keyOf(s.filter.Pattern); ok {
		x.terms[key] = append(x.terms[key], s)
		return
	}
	x.rest = append(x.rest, s)
}

func (x *index) remove(s *subscription) {
	is := func(other *subscription) bool { return other == s }
	key, ok := keyOf(s.filter.Pattern)
	if !ok {
		x.rest = slices.DeleteFunc(x.rest, is)
		return
	}
	if x.terms[key] = slices.DeleteFunc(x.terms[key], is); len(x.terms[key]) == 0 {
		delete(x.terms, key)
	}
}

// visit calls do for each subscription that may select a change of a triple.
func (x *index) visit(terms triple.KeyTerms, do func(*subscription)) {
	for position, term := range terms {
		// The compiler makes no string of the conversion in a map's key.
		for _, s := range x.terms[indexKey{position, string(term)}] {
			do(s)
		}
	}
	for _, s := range x.rest {
		do(s)
	}
}

// systemTerm is the encoded name of the system graph.
var systemTerm, _ = triple.AppendTerm(nil, systemgraph.Graph)

// hides reports whether a change is not for the subscription's application: an annotation that only
// operators may read, unless one stored the subscription; a change of the system graph, if the pattern
// does not name that graph; or a state or a batch of read counts.
func (s *subscription) hides(c *feed.Change, terms triple.KeyTerms) bool {
	if c.Kind == feed.Annotate && !s.operator && systemgraph.Reserved(c.Annotation.ApplicationID) {
		return true
	}
	if string(terms[triple.Graph]) != string(systemTerm) {
		return false
	}
	return s.filter.Pattern.Graph != systemgraph.Graph || isState(c) || c.IsReads()
}
