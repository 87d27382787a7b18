// Tests of how many messages queries and patterns take.

package reads

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// people are persons of departments, each with a name, a mail address, a telephone
// number and a class.
func people(n int) []triple.Triple {
	var all []triple.Triple
	for i := range n {
		person := iri("person%04d", i)
		for predicate, object := range map[string]triple.Term{
			"worksFor": iri("department%d", i/30), "class": iri("class%d", i%3), "name": triple.NewString("name of " + person.Value()),
			"mail": triple.NewString(person.Value() + "@example.org"), "telephone": triple.NewString("+" + person.Value()),
		} {
			all = append(all, triple.Triple{Subject: person, Predicate: iri("%s", predicate), Object: object})
		}
	}
	return all
}

// sent returns how many requests a machine has sent, by method.
func (m *machine) sent() map[string]int64 {
	counts := map[string]int64{}
	m.methods.Range(func(method, n any) bool {
		counts[method.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return counts
}

// solutions runs a query and returns how many solutions it has.
func solutions(t testing.TB, src sparql.Source, text string) (n int) {
	q, err := sparql.Prepare(text, sparql.Options{})
	require.NoError(t, err)
	result, err := q.Run(ctx, src)
	require.NoError(t, err)
	defer result.Close()
	for _, err := range result.Rows() {
		require.NoError(t, err)
		n++
	}
	return n
}

// The messages of a small query: each step sends one message to each owner concerned, for any
// number of patterns.
func TestQueryMessages(t *testing.T) {
	w := newWorld(t, 5, Options{})
	w.fill(rand.New(rand.NewPCG(3, 4)), 40, people(600))
	const others = 4 // machines
	for _, q := range []struct {
		name, text string
		solutions  int
		survey     int64 // messages at most
		rows       int64
	}{
		// The plan: a survey, and the subjects of the samples. Then 30 persons, and what
		// they have in two steps.
		{"star of five", `SELECT * { ?x e:worksFor e:department3 ; e:class ?c ; e:name ?n ; e:mail ?m ; e:telephone ?t }`, 30, others, others + 1 + 2*others},
		{"star with values", `SELECT * { ?x e:worksFor e:department3 ; e:class ?c ; e:name ?n ; e:mail ?m ; e:telephone ?t VALUES ?c { e:class0 e:class2 } }`, 20, others, others + 1 + 2*others},
		{"pattern", `SELECT * { e:person0033 ?p ?o }`, 5, 1, 1},
		{"join of two", `SELECT * { ?x e:worksFor e:department3 ; e:class e:class2 }`, 10, 2 * others, 2 * others},
	} {
		for i, m := range w.machines {
			before := m.sent()
			text := "PREFIX e: <http://example.org/> " + q.text
			if n := solutions(t, w.snapshot(i).Source(), text); n != q.solutions {
				t.Errorf("%s: %d solutions, want %d", q.name, n, q.solutions)
			}
			after := m.sent()
			surveys, rows := after[methodSurvey]-before[methodSurvey], after[MethodRows]-before[MethodRows]
			t.Logf("%s by machine %d: %d surveys, %d calls for rows", q.name, i, surveys, rows)
			if surveys > q.survey || rows > q.rows || after[MethodScan] > before[MethodScan] {
				t.Errorf("%s: %v requests before, %v after; want %d surveys and %d calls for rows at most, no streams", q.name, before, after, q.survey, q.rows)
			}
		}
	}
}

// A pattern in one segment is one call. If it has more rows than one answer, it goes on by
// streams.
func TestPatternMessages(t *testing.T) {
	if race.Enabled {
		t.Skip("it counts messages, and has many triples")
	}
	w := newWorld(t, 2, Options{})
	w.fill(random(t), 1, students(calledLooks+500))
	owner, reader := w.machines[0], w.machines[1]
	if !w.reads(owner, triple.Range{}) {
		owner, reader = reader, owner
	}
	sn := w.snapshot(reader.index)
	asked := func(f func() error) int64 {
		t.Helper()
		before := reader.asked.Load()
		require.NoError(t, f())
		return reader.asked.Load() - before
	}
	one := triple.Pattern{Subject: w.triples[17].Subject}
	if n := asked(func() error { _, err := got(sn.Match(ctx, one, store.ReadOptions{})); return err }); n != 1 {
		t.Errorf("a pattern: %d requests", n)
	}
	if n := asked(func() error { _, err := sn.Has(ctx, w.triples[17]); return err }); n != 1 {
		t.Errorf("a triple: %d requests", n)
	}
	if n := asked(func() error { _, _, err := sn.Estimate(ctx, one); return err }); n != 1 {
		t.Errorf("an estimate: %d requests", n)
	}
	few := store.ReadOptions{Limit: 50}
	if n := asked(func() error { _, err := got(sn.Match(ctx, triple.Pattern{}, few)); return err }); n != 1 {
		t.Errorf("50 rows: %d requests", n)
	}
	// Few of the rows pass the filter: the owner says how far it has looked, so that
	// no message is long in coming.
	last := w.triples[len(w.triples)-1]
	n, rows := int64(0), 0
	n = asked(func() error {
		s, err := sn.scan(ctx, triple.OrderRange(triple.SPO), false, filterOf(triple.Pattern{Object: last.Object}), 0)
		if err != nil {
			return err
		}
		defer s.Close()
		for s.Next() {
			rows++
		}
		return s.Err()
	})
	if rows != 1 || n != 2 {
		t.Errorf("a filter: %d rows, %d requests", rows, n)
	}
}
