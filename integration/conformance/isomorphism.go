// Isomorphism of datasets up to the names of blank nodes.

package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/triple"
)

// ErrUndecided says that two datasets are too symmetric to compare within bounds.
var ErrUndecided = errors.New("isomorphism is undecided: too many refinements")

// maxRefinements bounds the search of [Isomorphic].
const maxRefinements = 20000

// Isomorphic reports whether two RDF datasets are equal up to the names of their blank nodes
// (RDF 1.1 Concepts, section 4.1 with blank graph names). A repeated triple counts once.
//
// Blank nodes are distinguished by colours. A node's colour is a hash of its triples and of its
// neighbours' colours. If nodes of one colour remain, one of a's is paired with each of b's in
// turn, and the colours are refined again. Each mapping is checked triple by triple, because a
// collision of hashes must not make two datasets equal.
func Isomorphic(a, b []triple.Triple) (bool, error) {
	left, right := newColoured(a), newColoured(b)
	if len(left.triples) != len(right.triples) || len(left.colours) != len(right.colours) {
		return false, nil
	}
	s := search{left: left, right: right}
	found := s.match(left.colours, right.colours)
	if s.refinements > maxRefinements {
		return false, ErrUndecided
	}
	return found, nil
}

// colouring gives each blank node's label its colour.
type colouring map[string]uint64

// coloured is a dataset whose blank nodes are to be coloured.
type coloured struct {
	triples map[triple.Triple]bool
	blank   []triple.Triple // those with a blank node
	colours colouring
}

func newColoured(triples []triple.Triple) *coloured {
	c := &coloured{triples: make(map[triple.Triple]bool), colours: make(colouring)}
	for _, t := range triples {
		if c.triples[t] {
			continue
		}
		c.triples[t] = true
		found := false
		for _, term := range terms(t) {
			for _, label := range blanks(term) {
				c.colours[label] = 1
				found = true
			}
		}
		if found {
			c.blank = append(c.blank, t)
		}
	}
	return c
}

func terms(t triple.Triple) [4]triple.Term {
	return [4]triple.Term{t.Subject, t.Predicate, t.Object, t.Graph}
}

// blanks returns the labels of the blank nodes in a term: of itself or of those inside a triple term.
func blanks(term triple.Term) (labels []string) {
	_, err := term.MapBlanks(func(node triple.Term) (triple.Term, error) {
		labels = append(labels, node.Value())
		return node, nil
	})
	if err != nil {
		panic(err) // the term is malformed
	}
	return labels
}

// mapBlanks returns term with each blank node replaced.
func mapBlanks(term triple.Term, replace func(label string) triple.Term) triple.Term {
	term, err := term.MapBlanks(func(node triple.Term) (triple.Term, error) { return replace(node.Value()), nil })
	if err != nil {
		panic(err) // the term is malformed
	}
	return term
}

// refine returns the colours refined until they tell no more nodes apart.
func (c *coloured) refine(colours colouring) colouring {
	classes := countClasses(colours)
	for {
		sums := make(colouring, len(colours))
		for _, t := range c.blank {
			c.addTriple(sums, colours, t)
		}
		next := make(colouring, len(colours))
		for label, colour := range colours {
			next[label] = mix(colour, sums[label])
		}
		n := countClasses(next)
		if n == classes {
			return next
		}
		colours, classes = next, n
	}
}

// addTriple adds to the sum of each blank node of t the hash of t as seen from it. A blank node is
// seen as the label of its colour, and the node itself as another label.
func (c *coloured) addTriple(sums, colours colouring, t triple.Triple) {
	parts := terms(t)
	done := make(map[string]bool)
	for _, term := range parts {
		for _, self := range blanks(term) {
			if done[self] {
				continue
			}
			done[self] = true
			seen := func(label string) triple.Term {
				if label == self {
					return triple.NewBlank("self")
				}
				return triple.NewBlank(fmt.Sprintf("c%x", colours[label]))
			}
			h := uint64(0)
			for _, part := range parts {
				h = mix(h, xxhash.Sum64(triple.AppendNT(nil, mapBlanks(part, seen))))
			}
			// The sum does not depend on the order of the triples.
			sums[self] += h
		}
	}
}

// mix hashes two numbers into one.
func mix(a, b uint64) uint64 {
	var buf [16]byte
	for i := range 8 {
		buf[i], buf[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	return xxhash.Sum64(buf[:])
}

// byColour returns the labels of each colour, sorted.
func byColour(colours colouring) map[uint64][]string {
	classes := make(map[uint64][]string)
	for _, label := range slices.Sorted(maps.Keys(colours)) {
		classes[colours[label]] = append(classes[colours[label]], label)
	}
	return classes
}

func countClasses(colours colouring) int {
	seen := make(map[uint64]bool)
	for _, colour := range colours {
		seen[colour] = true
	}
	return len(seen)
}

// search looks for a mapping of left's blank nodes to right's.
type search struct {
	left, right *coloured
	refinements int
}

func (s *search) match(a, b colouring) bool {
	if s.refinements++; s.refinements > maxRefinements {
		return false
	}
	// 1. Refine both. Classes of one colour must have equal sizes.
	a, b = s.left.refine(a), s.right.refine(b)
	classesA, classesB := byColour(a), byColour(b)
	if len(classesA) != len(classesB) {
		return false
	}
	var pick uint64 // the smallest class of more than one node
	smallest := 0
	for _, colour := range slices.Sorted(maps.Keys(classesA)) {
		n := len(classesA[colour])
		if len(classesB[colour]) != n {
			return false
		}
		if n > 1 && (smallest == 0 || n < smallest) {
			pick, smallest = colour, n
		}
	}
	if smallest == 0 {
		return s.verify(classesA, classesB)
	}
	// 2. Pair one node of the smallest class with each candidate, because one of them must match.
	single := mix(pick, 2)
	tryA := maps.Clone(a)
	tryA[classesA[pick][0]] = single
	for _, label := range classesB[pick] {
		tryB := maps.Clone(b)
		tryB[label] = single
		if s.match(tryA, tryB) {
			return true
		}
	}
	return false
}

// verify reports whether the mapping of the only node of each colour maps left's
// triples onto right's.
func (s *search) verify(a, b map[uint64][]string) bool {
	mapping := make(map[string]triple.Term, len(a))
	for colour, labels := range a {
		mapping[labels[0]] = triple.NewBlank(b[colour][0])
	}
	rename := func(t triple.Term) triple.Term {
		return mapBlanks(t, func(label string) triple.Term { return mapping[label] })
	}
	for t := range s.left.triples {
		t.Subject, t.Object, t.Graph = rename(t.Subject), rename(t.Object), rename(t.Graph)
		if !s.right.triples[t] {
			return false
		}
	}
	return true
}
