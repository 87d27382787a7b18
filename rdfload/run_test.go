// Tests of runs.

package rdfload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/rdfload/internal/arena"
	"github.com/trefoildb/trefoil/triple"
	"pgregory.net/rapid"
)

// anyTerm draws a term that may stand at a position of a statement; few enough
// that the same come again.
func anyTerm(position int) *rapid.Generator[triple.Term] {
	return rapid.Custom(func(t *rapid.T) triple.Term {
		n := rapid.IntRange(0, 5).Draw(t, "n")
		kinds := 2 // IRIs, long ones
		switch position {
		case triple.Subject, triple.Graph:
			kinds = 3
		case triple.Object:
			kinds = 9
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 1:
			if rapid.IntRange(0, 3).Draw(t, "long") == 0 {
				return triple.NewIRI("http://long.example/" + strings.Repeat("x", 1100) + fmt.Sprint(n))
			}
		case 2:
			return triple.NewBlank(fmt.Sprintf("b%d", n))
		case 3:
			return triple.NewString(strings.Repeat("a\x00b", n))
		case 4:
			return triple.NewLang("hello", []string{"en", "EN", "de"}[n%3])
		case 5:
			return triple.NewTyped(fmt.Sprintf("%0*d", n, 7), triple.XSDInteger)
		case 6:
			return triple.NewTyped("not a number", triple.XSDInteger)
		case 7:
			return triple.NewTyped(fmt.Sprintf("200%d-01-01T00:00:00Z", n), triple.XSDDateTime)
		case 8:
			if rapid.IntRange(0, 3).Draw(t, "long") == 0 {
				return triple.NewString(strings.Repeat("long ", 500*(1+n)))
			}
		}
		return triple.NewIRI(fmt.Sprintf("http://example.org/%d", n))
	})
}

// anyTriple draws a triple, of a named graph one time in three.
var anyTriple = rapid.Custom(func(t *rapid.T) triple.Triple {
	tr := triple.Triple{Subject: anyTerm(triple.Subject).Draw(t, "s"), Predicate: anyTerm(triple.Predicate).Draw(t, "p"), Object: anyTerm(triple.Object).Draw(t, "o")}
	if rapid.IntRange(0, 2).Draw(t, "named") == 0 {
		tr.Graph = anyTerm(triple.Graph).Draw(t, "g")
	}
	return tr
})

type row struct{ key, value string }

// rowsOf returns the distinct rows of triples in an order, sorted.
func rowsOf(o triple.Order, stamp triple.Stamp, triples []triple.Triple) []row {
	var rows []row
	for _, tr := range triples {
		if key, _ := triple.AppendKey(nil, o, tr); len(key) > 0 {
			rows = append(rows, row{string(key), string(triple.AppendValue(nil, stamp, tr))})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.key, b.key) })
	return slices.Compact(rows)
}

// TestRun compares the rows of runs, one after the other in the same space, with
// those that package triple makes.
func TestRun(t *testing.T) {
	stamp := triple.Stamp{Epoch: 3, Sequence: 1000}
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 4).Draw(t, "workers")
		space, err := newRunSpace(workers, 8<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer space.release()
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			triples := rapid.SliceOfN(anyTriple, 0, 100).Draw(t, "triples")
			for i, tr := range triples {
				w := i * 7 % workers
				if rapid.Bool().Draw(t, "first") {
					w = 0
				}
				w2 := &worker{dictionary: space.dictionaries[w], quads: space.writers[w]}
				if _, err := w2.triples(&unit{triples: []triple.Triple{tr}}); err != nil {
					t.Fatal(err)
				}
			}
			r := space.seal()
			seen := 0
			err := r.eachOrder(func(o triple.Order, quads []quad) error {
				want := rowsOf(o, stamp, triples)
				seen += len(want)
				if len(quads) != len(want) {
					return fmt.Errorf("%v has %d rows, want %d", o, len(quads), len(want))
				}
				// A maker of its own for each share: prefixes are of the share's rows.
				for _, s := range split(len(quads), workers) {
					maker := r.newRowMaker(o, stamp)
					for i := s.lo; i < s.hi; i++ {
						key, value := maker.row(quads[i])
						if string(key) != want[i].key || string(value) != want[i].value {
							return fmt.Errorf("%v, row %d: %q = %.40q, want %q = %.40q", o, i, key, value, want[i].key, want[i].value)
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if int64(seen) != r.rows() {
				t.Fatalf("%d rows, the run says %d", seen, r.rows())
			}
			if err := space.reset(); err != nil || !space.empty() {
				t.Fatal("the space is not empty after reset", err)
			}
		}
	})
}

// TestRunSpaceRenews has runs of different kinds touch more memory together than
// the budget is.
func TestRunSpaceRenews(t *testing.T) {
	const budget = 1 << 20
	before := arena.Reserved()
	s, err := newRunSpace(2, budget)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(f func(i int) (full bool)) {
		for i := 0; !f(i); i++ {
		}
		s.seal()
		if err := s.reset(); err != nil {
			t.Fatal(err)
		}
	}
	quads := func(int) bool {
		if err := s.writers[0].add(quad{}); err != nil {
			t.Fatal(err)
		}
		return s.takes() > budget*9/10
	}
	terms := func(i int) bool {
		d := s.dictionaries[0]
		term := fmt.Appendf(nil, "\x20%d", i)
		if _, err := d.add(d.hash(term[0], term[1:]), term, nil); err != nil {
			t.Fatal(err)
		}
		d.publish()
		return s.takes() > budget*9/10
	}
	w := &worker{dictionary: s.dictionaries[0], quads: s.writers[0]}
	for range 3 {
		if _, err := w.triples(&unit{triples: []triple.Triple{{Subject: triple.NewIRI("x:a"), Predicate: triple.NewIRI("x:a"), Object: triple.NewIRI("x:a")}}}); err != nil {
			t.Fatal(err)
		}
		fill(quads)
		fill(terms)
		resident := s.quads.resident() + s.items.Resident() + s.terms.Resident() + s.ends.Resident()
		for i := range s.dictionaries {
			resident += s.dictionaries[i].resident() + s.ranks[i].Resident()
		}
		if resident > budget {
			t.Errorf("%d bytes stay of a budget of %d", resident, budget)
		}
	}
	s.release()
	if after := arena.Reserved(); after != before {
		t.Errorf("%d bytes are still reserved", after-before)
	}
}

// TestWorkerBlankNodes has one worker read two documents in turn: what it knows
// of the one does not hold for the other.
func TestWorkerBlankNodes(t *testing.T) {
	s, err := newRunSpace(1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	w := &worker{dictionary: s.dictionaries[0], quads: s.writers[0], graph: triple.NewIRI("x:g")}
	for _, prefix := range []string{"d1", "d2", "d1"} {
		b := triple.NewBlock("", []byte("_:a <x:p> _:a .\n_:a <x:q> _:b .\n"), false, 0)
		if n, err := w.block(b, 0, prefix, nil); err != nil || n.read != 2 {
			t.Fatal(n, err)
		}
	}
	var subjects []string
	w.quads.eachBlock(func(quads []quad) {
		for _, q := range quads {
			if got := s.dictionaries[0].term(q[triple.Graph] - 1); !bytes.Equal(got, []byte("\x20x:g")) {
				t.Errorf("the graph is %q", got)
			}
			subjects = append(subjects, string(s.dictionaries[0].term(q[triple.Subject])[1:]))
		}
	})
	if want := []string{"d1-a", "d1-a", "d2-a", "d2-a", "d1-a", "d1-a"}; !slices.Equal(subjects, want) {
		t.Errorf("subjects %q, want %q", subjects, want)
	}
}

// TestUnitGrowth has the text that makes a run grow most.
func TestUnitGrowth(t *testing.T) {
	s, err := newRunSpace(1, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	var text []byte
	const digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	for i := range 6000 {
		for j := range 3 {
			n := 3*i + j
			text = append(text, '<', 'a', ':', digits[n>>12], digits[n>>6&63], digits[n&63], '>')
		}
		text = append(text, ".\n"...)
	}
	w := &worker{dictionary: s.dictionaries[0], quads: s.writers[0]}
	before := s.takes()
	if n, err := w.block(triple.NewBlock("", text, false, 0), 0, "x", nil); err != nil || n.read != 6000 {
		t.Fatal(n, err)
	}
	s.dictionaries[0].publish()
	if grown := s.takes() - before; grown > unitGrowth*int64(len(text)) {
		t.Errorf("%d bytes of text make a run grow by %d, over %d times as many", len(text), grown, unitGrowth)
	}
}
