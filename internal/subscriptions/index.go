// Which subscriptions a change may concern.

package subscriptions

import (
	"slices"

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
