// The history of changes, and the answers that it allows.

package processes

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

// history is what clients did, by a clock that ticks with every event: what was
// acknowledged before a read began has to be in its answer, and what was not
// asked for before it ended must not.
type history struct {
	mu      sync.Mutex
	clock   int64
	entries []entry // by the triple's number
}

// entry says when the first request of its kind was sent, and when one was
// acknowledged; zero is never. A triple is added once and deleted once.
type entry struct{ adding, added, deleting, deleted int64 }

func (h *history) now() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

// add makes n new triples that are about to be added.
func (h *history) add(n int) (numbers []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	for range n {
		numbers = append(numbers, len(h.entries))
		h.entries = append(h.entries, entry{adding: h.clock})
	}
	return numbers
}

// note marks the entries of triples.
func (h *history) note(numbers []int, mark func(e *entry, now int64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	for _, n := range numbers {
		mark(&h.entries[n], h.clock)
	}
}

func added(e *entry, now int64)    { e.added = now }
func deleting(e *entry, now int64) { e.deleting = now }
func deleted(e *entry, now int64)  { e.deleted = now }

// must reports whether a read has to show the triple, and may whether it can.
func (e *entry) must(begun, ended int64) bool {
	return e.added != 0 && e.added < begun && (e.deleting == 0 || e.deleting > ended)
}

func (e *entry) may(begun, ended int64) bool {
	return e.adding < ended && (e.deleted == 0 || e.deleted > begun)
}

// predicates is how many predicates there are; all stands for all of them.
const (
	predicates = 5
	all        = -1
)

// check says what is wrong with the triples that a read showed.
func (h *history) check(predicate int, begun, ended int64, shown map[int]int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n, times := range shown {
		switch {
		case n < 0 || n >= len(h.entries) || predicate != all && n%predicates != predicate:
			return fmt.Errorf("triple %d was not asked for", n)
		case times > 1:
			return fmt.Errorf("triple %d comes %d times", n, times)
		case !h.entries[n].may(begun, ended):
			return fmt.Errorf("triple %d is shown, and is gone or not yet there: %+v, read from %d to %d", n, h.entries[n], begun, ended)
		}
	}
	missing, example := 0, 0
	for n := range h.entries {
		if (predicate == all || n%predicates == predicate) && shown[n] == 0 && h.entries[n].must(begun, ended) {
			missing++
			example = n
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d triples are missing of %d shown, such as %d: %+v, read from %d to %d", missing, len(shown), example, h.entries[example], begun, ended)
	}
	return nil
}

// checkCount says what is wrong with a count.
func (h *history) checkCount(predicate int, begun, ended, count int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var least, most int64
	for n := range h.entries {
		if predicate != all && n%predicates != predicate {
			continue
		}
		if h.entries[n].must(begun, ended) {
			least++
		}
		if h.entries[n].may(begun, ended) {
			most++
		}
	}
	if count < least || count > most {
		return fmt.Errorf("a count of %d, want %d to %d; read from %d to %d", count, least, most, begun, ended)
	}
	return nil
}

const namespace = "http://example.org/"

func predicateOf(p int) triple.Term {
	return triple.NewIRI(namespace + "p" + strconv.Itoa(p))
}

// tripleOf returns triple number n: subjects, predicates and objects are spread so
// that the versions of a triple are on different machines.
func tripleOf(n int) triple.Triple {
	return triple.Triple{
		Subject:   triple.NewIRI(namespace + "s" + strconv.Itoa(n*7919%1000)),
		Predicate: predicateOf(n % predicates),
		Object:    triple.NewTyped(strconv.Itoa(n), "http://www.w3.org/2001/XMLSchema#integer"),
	}
}

// numberOf is the reverse of tripleOf; -1 for other triples.
func numberOf(t triple.Triple) int {
	n, err := strconv.Atoi(t.Object.Value())
	if err != nil || n < 0 || tripleOf(n).String() != t.String() {
		return -1
	}
	return n
}

func triplesOf(numbers []int) (triples []triple.Triple) {
	for _, n := range numbers {
		triples = append(triples, tripleOf(n))
	}
	return triples
}
