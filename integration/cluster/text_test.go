// The text index of a cluster against one index of all literals.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/triple"
)

// library is the literals that a cluster ought to have, and the indexes of its machines.
type library struct {
	*world
	dir     string
	indexes map[*machine]*textsearch.Index
	triples map[triple.Triple]bool
}

const labelPredicate = "http://example.org/label"

func newLibrary(w *world) *library {
	return &library{world: w, dir: w.t.TempDir(), indexes: map[*machine]*textsearch.Index{}, triples: map[triple.Triple]bool{}}
}

// open opens the indexes of machines that run and have none.
func (l *library) open() {
	l.t.Helper()
	for _, m := range l.up() {
		if l.indexes[m] != nil {
			continue
		}
		x, err := textsearch.OpenNode(m.node, textsearch.Options{Dir: filepath.Join(l.dir, m.name), Workers: 1, Logger: l.log.With("machine", m.name)})
		require.NoError(l.t, err)
		l.indexes[m] = x
	}
}

// end closes the indexes of machines, all if none is named.
func (l *library) end(machines ...*machine) {
	if machines == nil {
		machines = slices.Collect(maps.Keys(l.indexes))
	}
	for _, m := range machines {
		if err := l.indexes[m].Close(); err != nil {
			l.t.Error(err)
		}
		delete(l.indexes, m)
	}
}

// await waits until all machines hold what they must hold.
func (l *library) await() {
	l.t.Helper()
	for _, m := range l.up() {
		l.until("the text index is built", func() bool {
			ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Second)
			defer cancel()
			return l.indexes[m].Await(ctx) == nil
		})
	}
}

var libraryWords = strings.Fields("graph store data base triple node edge link page word")

func (l *library) triple() triple.Triple {
	var text []string
	for range 1 + l.random.IntN(4) {
		text = append(text, libraryWords[l.random.IntN(len(libraryWords))])
	}
	object := triple.NewString(strings.Join(text, " "))
	if l.random.IntN(3) == 0 {
		object = triple.NewLang(strings.Join(text, " ")+"s", "en")
	}
	t := triple.Triple{Subject: triple.NewIRI(fmt.Sprint("http://example.org/", l.random.IntN(20))), Predicate: triple.NewIRI(labelPredicate), Object: object}
	if l.random.IntN(2) == 0 {
		t.Graph = hiddenGraph
	}
	return t
}

// change adds and deletes literals by random machines.
func (l *library) change() {
	l.t.Helper()
	for range 5 {
		t := l.triple()
		m := l.any()
		if l.random.IntN(4) > 0 {
			l.mustAdd(m, t)
			l.triples[t] = true
			continue
		}
		for gone := range l.triples {
			t = gone
			break
		}
		l.mustDelete(m, t)
		delete(l.triples, t)
	}
}

// want returns the hits of one index of all literals.
func (l *library) want(query string) string {
	l.t.Helper()
	a := textindex.NewAnalyzer()
	b := textindex.NewBuilder(a, labelPredicate, 0)
	seen := map[triple.Term]bool{}
	for t := range l.triples {
		if !seen[t.Object] {
			seen[t.Object] = true
			require.NoError(l.t, b.Add(textindex.Document{Key: triple.AppendWholeTerm(nil, t.Object), Text: []byte(t.Object.Value()), Tag: t.Object.Lang()}))
		}
	}
	segment, err := b.Finish()
	require.NoError(l.t, err)
	q, err := textindex.Parse(query)
	require.NoError(l.t, err)
	r, parts, check := &textindex.Request{Query: q}, []*textindex.Part{{Segment: segment}}, func() error { return nil }
	stats, err := textindex.Collect(a, r, parts, check)
	require.NoError(l.t, err)
	hits, err := textindex.Search(a, r, &stats, parts, 1000, nil, check)
	require.NoError(l.t, err)
	var list []string
	for _, h := range hits {
		term, err := triple.DecodeTerm(h.Key)
		require.NoError(l.t, err)
		list = append(list, fmt.Sprint(term, h.Score))
	}
	return strings.Join(list, "\n")
}

// got returns the hits of a machine, in pages.
func (l *library) got(x *textsearch.Index, query string) (string, error) {
	ctx := l.t.Context()
	s, err := x.Search(ctx, textsearch.Request{Query: query})
	if err != nil {
		return "", err
	}
	var list []string
	scores := map[triple.Term]float64{}
	for {
		hits, err := s.Next(ctx, 7)
		if err != nil {
			return "", err
		}
		if len(hits) == 0 {
			return strings.Join(list, "\n"), l.sameScores(s, scores)
		}
		for _, h := range hits {
			list = append(list, fmt.Sprint(h.Literal, h.Score))
			scores[h.Literal] = h.Score
		}
	}
}

// sameScores compares the scores of all literals, and of one that is not there, with those of the hits.
func (l *library) sameScores(s *textsearch.Search, hits map[triple.Term]float64) error {
	literals := []triple.Term{triple.NewString("graph store data of nobody")}
	for t := range l.triples {
		literals = append(literals, t.Object)
	}
	keys := make([][]byte, len(literals))
	for i, literal := range literals {
		keys[i] = triple.AppendWholeTerm(nil, literal)
	}
	scores, err := s.Scores(l.t.Context(), keys)
	if err != nil {
		return err
	}
	for i, literal := range literals {
		if scores[i] != hits[literal] {
			l.t.Fatalf("%v scores %v, and in the hits %v", literal, scores[i], hits[literal])
		}
	}
	return nil
}

// check compares the answers of a machine with those of one index. Before a loss is noticed an answer may be
// ErrUnavailable, but never another one.
func (l *library) check(x *textsearch.Index) {
	l.t.Helper()
	for _, query := range []string{"graph", "graph OR store -data", `"data base"~1 OR link`, "pag* nod*", "trpile~1"} {
		want := l.want(query)
		l.until("a search is answered", func() bool {
			got, err := l.got(x, query)
			if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, textsearch.ErrBuilding) {
				l.t.Fatal(err)
			}
			if err == nil && got != want {
				l.t.Fatalf("%s finds\n%s\nwant\n%s", query, got, want)
			}
			return err == nil
		})
	}
}

// hiddenGraph is the graph that a user with the default graph only may not read.
var hiddenGraph = triple.NewIRI("http://example.org/hidden")

// checkLimited compares what a user with the default graph only finds with the visible ones among all hits.
func (l *library) checkLimited(m *machine) {
	l.t.Helper()
	ctx := graphrights.With(l.t.Context(), graphrights.New([]triple.Term{{}}, nil))
	search := func(r textsearch.Request) (list []string) {
		s, err := l.indexes[m].Search(ctx, r)
		for err == nil {
			var hits []textsearch.Hit
			if hits, err = s.Next(ctx, 7); len(hits) == 0 {
				break
			}
			for _, h := range hits {
				list = append(list, h.Literal.String())
			}
		}
		require.NoError(l.t, err)
		slices.Sort(list)
		return list
	}
	visible := map[string]bool{}
	for t := range l.triples {
		if t.Graph.IsZero() {
			visible[t.Object.String()] = true
		}
	}
	for _, query := range []string{"graph", "graph OR store -data", "pag* OR nod*"} {
		want := slices.DeleteFunc(search(textsearch.Request{Query: query}), func(s string) bool { return !visible[s] })
		got := search(textsearch.Request{Query: query, Reader: func() (store.Reader, error) {
			r, err := m.node.Reader()
			if err != nil {
				return nil, err
			}
			return graphrights.Filter(ctx, r), nil
		}})
		if !slices.Equal(got, want) {
			l.t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
}

// TestText changes literals through all machines, loses one machine and two at once, and compares all searches and their
// scores with those of one index, right after too.
func TestText(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		l := newLibrary(w)
		w.form()
		l.open()
		defer l.end()
		require.NoError(t, l.indexes[w.any()].Add(t.Context(), labelPredicate))
		work := func(rounds int) {
			for range rounds {
				l.change()
			}
			l.check(l.indexes[w.any()])
		}
		work(5)
		l.await()
		work(5)
		for _, losses := range []int{1, 2} {
			for range losses {
				m := w.any()
				l.end(m)
				m.kill()
			}
			l.check(l.indexes[w.any()]) // nobody has noticed yet
			w.settle()
			work(3)
			for range losses {
				w.add().run(w.up()[0])
			}
			l.open()
			work(3)
			w.settle()
			l.await()
		}
		// 1. Each literal is on as many machines as a triple has copies, when spare partitions are dropped.
		distinct := map[triple.Term]bool{}
		for one := range l.triples {
			distinct[one.Object] = true
		}
		w.until("each literal is on three machines", func() bool {
			sum := 0
			for _, m := range w.up() {
				list, err := l.indexes[m].Status(t.Context())
				if err != nil || len(list) != 1 {
					return false
				}
				sum += list[0].Documents
			}
			return sum == 3*len(distinct)
		})
		// 2. All machines have the same answers, and those of a user with some graphs only.
		for _, m := range w.up() {
			l.check(l.indexes[m])
			l.checkLimited(m)
		}
	})
}

// TestTextGrows: a lone node with an index becomes a member of a cluster, and the others join the index.
func TestTextGrows(t *testing.T) {
	simulate(t, 1, func(t *testing.T, w *world) {
		l := newLibrary(w)
		w.machines[0].run()
		l.open()
		defer l.end()
		require.NoError(t, l.indexes[w.any()].Add(t.Context(), labelPredicate))
		for range 4 {
			l.change()
		}
		l.await()
		l.check(l.indexes[w.any()])
		for range 3 {
			w.add().run(w.up()[0])
			l.open()
			l.change()
			l.check(l.indexes[w.any()])
		}
		w.settle()
		l.await()
		for _, m := range w.up() {
			l.check(l.indexes[m])
		}
		// A member that starts again has its files.
		m := w.any()
		l.end(m)
		m.kill()
		m.run()
		l.open()
		w.settle()
		l.change()
		l.await()
		l.check(l.indexes[m])
	})
}
