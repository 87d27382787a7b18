// Triple terms of documents, level by level.

package results

import (
	"fmt"

	"github.com/trefoildb/trefoil/triple"
)

// levels are the subjects and predicates of the triple terms around a term, from the inside out. A
// triple term is made of them at once, because its size would count at each level otherwise.
type levels struct {
	list  []triple.Triple
	bytes int
	depth int // of the level being read
}

// maxLevels bounds the recursion of the readers, even if [triple.MaxNesting] is raised.
const maxLevels = 1000

// enter must be called before a level is read.
func (l *levels) enter() error {
	l.depth++
	if err := triple.CheckNesting(l.depth); err != nil {
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	if l.depth > maxLevels {
		return fmt.Errorf("%w: triple terms nested more than %d deep", ErrLimit, maxLevels)
	}
	return nil
}

// add adds the next level outside.
func (l *levels) add(s, p triple.Term) error {
	switch {
	case s.IsZero() || p.IsZero():
		return syntaxf("a triple term without subject, predicate or object")
	case s.Kind() == triple.TripleTerm || p.Kind() == triple.TripleTerm:
		return syntaxf("a triple term as the subject or predicate of another one")
	}
	if l.bytes += len(s.Value()) + len(p.Value()); l.bytes > triple.MaxTermBytes {
		return fmt.Errorf("%w: a term longer than %d bytes", ErrLimit, triple.MaxTermBytes)
	}
	l.list = append(l.list, triple.Triple{Subject: s, Predicate: p})
	return nil
}

// wrap returns the term of the levels around t: t itself if there are none.
func (l *levels) wrap(t triple.Term) (triple.Term, error) {
	if len(l.list) == 0 {
		return t, nil
	}
	var b triple.TripleTermBuilder
	for i := len(l.list) - 1; i >= 0; i-- {
		b.Add(l.list[i].Subject, l.list[i].Predicate)
	}
	return checked(b.Term(t))
}

// eachLevel calls level with the subject and predicate of each level of a triple term, from the outside
// in, and returns the innermost object and the number of levels. Of another term it returns the term.
func eachLevel(t triple.Term, level func(s, p triple.Term)) (object triple.Term, depth int) {
	for t.Kind() == triple.TripleTerm {
		inner, ok := t.Triple()
		if !ok {
			break
		}
		level(inner.Subject, inner.Predicate)
		t = inner.Object
		depth++
	}
	return t, depth
}
