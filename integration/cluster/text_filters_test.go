// Filters with trigrams in a cluster against the literals that it ought to have.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// numberedText returns a literal with a number, of which there are many.
func numberedText(i int) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(fmt.Sprint("http://example.org/n", i%7)), Predicate: triple.NewIRI(labelPredicate), Object: triple.NewString(fmt.Sprintf("Nümber %d of many", i))}
}

// filtered returns the rows of a filter at a machine, sorted, and whether its plan has candidates of the index.
func (l *library) filtered(m *machine, filter string) (rows []string, indexed bool, err error) {
	e, err := engine.New(m.node, engine.Options{Text: l.indexes[m], Timeout: 20 * time.Second})
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
	defer cancel()
	q, err := e.Prepare(ctx, fmt.Sprintf("SELECT ?s ?x { ?s <%s> ?x FILTER %s }", labelPredicate, filter), engine.Params{})
	if err != nil {
		return nil, false, err
	}
	answer, err := q.Run(ctx)
	if err != nil {
		return nil, false, err
	}
	defer answer.Close()
	for row, err := range answer.Rows() {
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, fmt.Sprint(row))
	}
	slices.Sort(rows)
	return rows, strings.Contains(answer.Plan().Text(false), "trigrams of"), nil
}

// checkFilters compares filters at a machine with all literals, and returns how many plans had candidates.
func (l *library) checkFilters(m *machine) (indexed int) {
	l.t.Helper()
	for range 3 {
		// 1. The text of some literal, as several filters look for it.
		text := fmt.Sprintf("NÜMBER %d", l.random.IntN(600))
		if l.random.IntN(3) == 0 {
			text = strings.ToUpper(l.triple().Object.Value())
		}
		quoted := triple.NewString(text).String()
		filter := []string{"CONTAINS(UCASE(?x), " + quoted + ")", "CONTAINS(UCASE(STR(?x)), " + quoted + ")", "REGEX(?x, " + quoted + `, "i")`}[l.random.IntN(3)]
		var want []string
		for t := range l.triples {
			if t.Graph.IsZero() && strings.Contains(strings.ToUpper(t.Object.Value()), text) {
				want = append(want, fmt.Sprint([]triple.Term{t.Subject, t.Object}))
			}
		}
		slices.Sort(want)
		// 2. The answer, if there is one.
		l.until("a query is answered", func() bool {
			got, by, err := l.filtered(m, filter)
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				l.t.Fatalf("%s: %v", filter, err)
			}
			if err == nil && !slices.Equal(got, want) {
				l.t.Fatalf("%s has %d rows (by trigrams: %t)\n%q\nwant %d\n%q", filter, len(got), by, got, len(want), want)
			}
			if by {
				indexed++
			}
			return err == nil
		})
	}
	return indexed
}

// TestTextFilters changes literals through all machines, loses and adds machines, and compares filters at all moments. While
// the index is built, or a machine does not answer, the answers are the same.
func TestTextFilters(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		l := newLibrary(w)
		w.form()
		l.open()
		defer l.end()
		for part := range slices.Chunk(numberedTexts(600), 100) {
			l.mustAdd(l.any(), part...)
			for _, one := range part {
				l.triples[one] = true
			}
		}
		if err := l.indexes[w.any()].AddTrigrams(t.Context(), labelPredicate); err != nil {
			t.Fatal(err)
		}
		l.checkFilters(w.any())
		l.await()
		indexed := 0
		work := func(rounds int) {
			for range rounds {
				l.change()
				indexed += l.checkFilters(w.any())
			}
		}
		work(5)
		if indexed == 0 {
			t.Error("no plan has candidates")
		}
		// A machine is lost, which nobody has noticed yet, and another one joins.
		m := w.any()
		l.end(m)
		m.kill()
		l.checkFilters(w.any())
		w.settle()
		work(2)
		w.add().run(w.up()[0])
		l.open()
		work(2)
		w.settle()
		l.await()
		indexed = 0
		for range 3 {
			for _, m := range w.up() {
				indexed += l.checkFilters(m)
			}
		}
		if indexed == 0 {
			t.Error("no plan has candidates after a machine was lost")
		}
	})
}

// numberedTexts returns the first literals with numbers.
func numberedTexts(n int) (list []triple.Triple) {
	for i := range n {
		list = append(list, numberedText(i))
	}
	return list
}
