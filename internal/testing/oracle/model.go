// The model of a store: its right answers, computed in the simplest way that is fast enough for
// tests.

package oracle

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/dataset"
)

// A Model is a set of statements in sorted slices. It answers searches like a store. If terms are
// spelled differently but mean the same, such as "é" and "\u00E9", they are equal. It supports the
// XSD datatypes of the applications: integer, decimal, boolean, date and dateTime.
//
// An insertion is linear in the number of statements, with a small constant. The
// zero value is empty and ready. A Model is not safe for concurrent use.
type Model struct {
	// Invariant: orders[i] is sorted by orders i of orderNames, without
	// duplicates; the first three hold all statements, GSPO those with a graph.
	orders [4][]*entry
	terms  map[string]*term
}

// An entry is a statement with its parsed terms, in the order S, P, O, G.
type entry struct {
	terms     [4]*term
	statement dataset.Statement
}

// Effect is the effect of an Add or a Delete: Changed statements were added (or deleted). Unchanged
// ones existed before (or were missing).
type Effect struct{ Changed, Unchanged int }

const spo, pos, osp, gspo = 0, 1, 2, 3

var (
	orderNames = [4]string{"spo", "pos", "osp", "gspo"}
	// orderTerms are the positions of a statement in each order.
	orderTerms = [4][4]int{{0, 1, 2, 3}, {1, 2, 0, 3}, {2, 0, 1, 3}, {3, 0, 1, 2}}
)

// Len returns the number of statements.
func (m *Model) Len() int { return len(m.orders[spo]) }

// Apply applies an operation; a Find changes nothing. If it fails, some of the statements may have
// been applied.
func (m *Model) Apply(op dataset.Op) (Effect, error) {
	var effect Effect
	for _, s := range op.Statements {
		changed := false
		e, err := m.entry(s)
		if err != nil {
			return effect, err
		}
		switch op.Kind {
		case dataset.Add:
			changed = m.add(e)
		case dataset.Delete:
			changed = m.remove(e)
		}
		if changed {
			effect.Changed++
		} else {
			effect.Unchanged++
		}
	}
	return effect, nil
}

func (m *Model) add(e *entry) bool {
	for order := range m.orders {
		if order == gspo && e.statement.G == "" {
			continue
		}
		i, found := m.position(order, e)
		if found {
			return false
		}
		m.orders[order] = slices.Insert(m.orders[order], i, e)
	}
	return true
}

func (m *Model) remove(e *entry) bool {
	found := false
	for order := range m.orders {
		var i int
		if i, found = m.position(order, e); found {
			m.orders[order] = slices.Delete(m.orders[order], i, i+1)
		} else if order == spo {
			return false
		}
	}
	return true
}

// has reports whether an entry's statement is in m.
func (m *Model) has(e *entry) bool {
	_, found := m.position(spo, e)
	return found
}

func (m *Model) position(order int, e *entry) (int, bool) {
	return slices.BinarySearchFunc(m.orders[order], e, func(a, b *entry) int {
		return comparePrefix(order, a, &b.terms, 4)
	})
}

// comparePrefix compares the first n positions of an order. terms are in the
// order S, P, O, G.
func comparePrefix(order int, e *entry, terms *[4]*term, n int) int {
	for _, position := range orderTerms[order][:n] {
		if c := compare(e.terms[position], terms[position]); c != 0 {
			return c
		}
	}
	return 0
}

func (m *Model) entry(s dataset.Statement) (e *entry, err error) {
	e = &entry{statement: s}
	for i, text := range [4]string{s.S, s.P, s.O, s.G} {
		if text == "" && i == 3 {
			e.terms[i] = &term{class: absentClass}
			continue
		}
		if e.terms[i], err = m.term(text); err != nil {
			return nil, fmt.Errorf("%w in %v", err, s)
		}
	}
	return e, nil
}

// term parses a term, once for each spelling.
func (m *Model) term(s string) (*term, error) {
	if t, ok := m.terms[s]; ok {
		return t, nil
	}
	t, err := parseTerm(s)
	if err != nil {
		return nil, err
	}
	if m.terms == nil {
		m.terms = make(map[string]*term)
	}
	m.terms[s] = t
	return t, nil
}

// Answer returns what a store has to answer: a sequence, if Order is set, and
// else a set, which is sorted in the order that suits the pattern. The slice is
// the caller's.
func (m *Model) Answer(s dataset.Search) ([]dataset.Statement, error) {
	answer, err := m.answer(s)
	for _, property := range s.Follow {
		var next []dataset.Statement
		seen := make(map[string]bool)
		for _, from := range answer {
			if err != nil || seen[from.S] {
				continue
			}
			seen[from.S] = true
			var some []dataset.Statement
			some, err = m.answer(dataset.Search{Pattern: dataset.Statement{P: property, O: from.S}})
			next = append(next, some...)
		}
		answer = next
	}
	return answer, err
}

// answer returns the statements of a search without Follow.
func (m *Model) answer(s dataset.Search) ([]dataset.Statement, error) {
	all, err := m.each(s)
	if err != nil {
		return nil, err
	}
	var answer []dataset.Statement
	for e := range all {
		if s.Limit > 0 && len(answer) == s.Limit {
			break
		}
		answer = append(answer, e.statement)
	}
	return answer, nil
}

// each returns the entries of a search without Follow, in its order and without
// regard to its limit.
func (m *Model) each(s dataset.Search) (iter.Seq[*entry], error) {
	order, fixed, matches, err := m.compile(s)
	if err != nil {
		return nil, err
	}
	n := 0
	for n < 4 && fixed[orderTerms[order][n]] != nil {
		n++
	}
	all := m.prefixed(order, &fixed, n)
	return func(yield func(*entry) bool) {
		for i := range all {
			if s.Reverse {
				i = len(all) - 1 - i
			}
			if matches(all[i]) && !yield(all[i]) {
				return
			}
		}
	}, nil
}

// compile returns the order for a search, the fixed terms, in the order S, P, O, G, and the test of
// an entry.
func (m *Model) compile(s dataset.Search) (order int, fixed [4]*term, matches func(*entry) bool, err error) {
	// 1. Find the order and the fixed terms.
	pattern := s.Pattern
	if s.Order != "" {
		if order = slices.Index(orderNames[:], s.Order); order < 0 || len(s.Prefix) > 4 {
			return 0, fixed, nil, fmt.Errorf("oracle: no order %q with a prefix of %d terms", s.Order, len(s.Prefix))
		}
		pattern = dataset.Statement{}
		positions := [4]*string{&pattern.S, &pattern.P, &pattern.O, &pattern.G}
		for i, text := range s.Prefix {
			*positions[orderTerms[order][i]] = text
		}
	} else {
		order = bestOrder(pattern)
	}
	for i, text := range [4]string{pattern.S, pattern.P, pattern.O, pattern.G} {
		switch {
		case text == "":
		// The default graph is a term of its own class, because "" means any graph.
		case i == 3 && text == dataset.DefaultGraph:
			fixed[i] = &term{class: absentClass}
		default:
			if fixed[i], err = m.term(text); err != nil {
				return 0, fixed, nil, err
			}
		}
	}

	// 2. Find the bounds of the next term of a range.
	within, err := boundsOf(s)
	// 3. A match has all fixed terms, and its next term is in the range if there is one.
	return order, fixed, func(e *entry) bool {
		for i, t := range fixed {
			if t != nil && compare(t, e.terms[i]) != 0 {
				return false
			}
		}
		if s.Order == "" {
			return true
		}
		next := &term{}
		if len(s.Prefix) < 4 {
			next = e.terms[orderTerms[order][len(s.Prefix)]]
		}
		// GSPO has no rows of the default graph.
		return (order != gspo || e.statement.G != "") && within(next)
	}, err
}

// bestOrder returns the order with the longest prefix fixed by a pattern.
func bestOrder(p dataset.Statement) int {
	switch {
	case p.G != "" && p.G != dataset.DefaultGraph && p.P == "" && p.O == "":
		return gspo
	case p.S == "" && p.P != "":
		return pos
	case p.O != "" && p.P == "":
		return osp
	}
	return spo
}

// prefixed returns the statements with the first n positions of terms.
func (m *Model) prefixed(order int, terms *[4]*term, n int) []*entry {
	all := m.orders[order]
	bound := func(above int) int {
		i, _ := slices.BinarySearchFunc(all, terms, func(e *entry, terms *[4]*term) int {
			if comparePrefix(order, e, terms, n) < above {
				return -1
			}
			return 1
		})
		return i
	}
	return all[bound(0):bound(1)]
}

// boundsOf returns the test of a range's next term.
func boundsOf(s dataset.Search) (func(*term) bool, error) {
	// 1. Bounds by value. A term of another class never matches.
	var tests []func(*term) bool
	for _, b := range []struct {
		text string
		ok   func(c int) bool
	}{
		{s.GE, func(c int) bool { return c >= 0 }},
		{s.GT, func(c int) bool { return c > 0 }},
		{s.LE, func(c int) bool { return c <= 0 }},
		{s.LT, func(c int) bool { return c < 0 }},
	} {
		if b.text == "" {
			continue
		}
		bound, err := parseTerm(b.text)
		if err != nil {
			return nil, err
		}
		tests = append(tests, func(t *term) bool {
			return t.class == bound.class && b.ok(compareValue(t, bound))
		})
	}
	// 2. A common beginning.
	if s.Starts != "" {
		start, err := parseStart(s.Starts)
		if err != nil {
			return nil, err
		}
		tests = append(tests, func(t *term) bool {
			return t.class == start.class && strings.HasPrefix(t.text, start.text) && t.tag == start.tag
		})
	}
	// 3. All tests must hold.
	return func(t *term) bool {
		for _, test := range tests {
			if !test(t) {
				return false
			}
		}
		return true
	}, nil
}

// parseStart parses the beginning of a term: see Search.Starts.
func parseStart(s string) (*term, error) {
	switch {
	case s[0] == '<':
		text, err := unescape(strings.TrimSuffix(s[1:], ">"))
		return &term{class: iriClass, text: text}, err
	case s[0] == '"' && closingQuote(s) < 0:
		text, err := unescape(s[1:])
		return &term{class: stringClass, text: text}, err
	}
	return parseTerm(s)
}
