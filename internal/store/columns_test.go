// Columns of a store under changes.

package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/triple"
)

// columnPredicates are the predicates of the triples of columnTriple.
var columnPredicates = []triple.Term{triple.NewIRI("x:p0"), triple.NewIRI("x:p1"), triple.NewIRI("x:p2")}

func columnTriple(random *rand.Rand) triple.Triple {
	t := triple.Triple{
		Subject: triple.NewIRI(fmt.Sprint("x:s", random.IntN(30))), Predicate: columnPredicates[min(random.IntN(6), 2)],
		Object: triple.NewIRI(fmt.Sprint("x:o", random.IntN(10))),
	}
	if random.IntN(8) == 0 {
		t.Graph = triple.NewIRI("x:g")
	}
	return t
}

// viewOf returns the columns of a snapshot.
func viewOf(ctx context.Context, sn *Snapshot) *columns.View {
	return columns.FromSource(ctx, sn.Source())
}

// untilColumns returns when a new snapshot has the columns of a predicate.
func untilColumns(t *testing.T, s *Store, predicate triple.Term) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		sn, err := s.Snapshot()
		require.NoError(t, err)
		ok := false
		if v := viewOf(t.Context(), sn); v != nil {
			_, ok = v.Column(keyOf(predicate))
		}
		require.NoError(t, sn.Close())
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no columns of %s", predicate)
		}
	}
}

func keyOf(t triple.Term) string {
	b, _ := triple.AppendTerm(nil, t)
	return string(b)
}

// pairs returns the pairs of lists as texts, sorted.
func pairs(d *columns.Dictionary, l *columns.Lists, bySubject bool) (all []string) {
	keys := l.All()
	for {
		i, ok := l.Next(&keys)
		if !ok {
			slices.Sort(all)
			return all
		}
		for lo, hi := l.Bounds(i); lo < hi; lo++ {
			s, o := string(d.Append(nil, l.Key(i))), string(d.Append(nil, l.Value(lo)))
			if !bySubject {
				s, o = o, s
			}
			all = append(all, s+" "+o)
		}
	}
}

// checkColumns compares the columns of a snapshot with its rows, and returns how many predicates have
// one.
func checkColumns(t *testing.T, sn *Snapshot) (n int) {
	t.Helper()
	v := viewOf(t.Context(), sn)
	if v == nil {
		return 0
	}
	for _, p := range columnPredicates {
		c, ok := v.Column(keyOf(p))
		if !ok {
			continue
		}
		n++
		var want []string
		for row, err := range sn.Match(t.Context(), triple.Pattern{Predicate: p}, ReadOptions{}) {
			require.NoError(t, err)
			one, err := row.Triple()
			require.NoError(t, err)
			if one.Graph.IsZero() {
				want = append(want, keyOf(one.Subject)+" "+keyOf(one.Object))
			}
		}
		slices.Sort(want)
		for at, l := range []*columns.Lists{&c.BySubject, &c.ByObject} {
			got := pairs(v.Dictionary(), l, at == 0)
			if !slices.Equal(got, want) {
				t.Fatalf("the column of %s has the pairs %q, the rows %q", p, got, want)
			}
		}
	}
	return n
}

// Whatever changes, and whenever a snapshot was taken, the columns of its predicates are its rows.
func TestColumnsModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	s := openMem(t, Options{ColumnBytes: 1 << 20})
	var old []*Snapshot
	defer func() {
		for _, sn := range old {
			sn.Close()
		}
	}()
	used := 0
	for range 600 {
		// 1. Change something.
		var err error
		batch := []triple.Triple{columnTriple(random), columnTriple(random)}
		switch n := random.IntN(20); {
		case n < 8:
			_, err = Add(t.Context(), s, batch)
		case n < 14:
			_, err = Delete(t.Context(), s, batch)
		case n < 15:
			_, err = DeleteMatch(t.Context(), s, triple.Pattern{Predicate: columnPredicates[0]})
		case n < 16:
			_, err = Apply(t.Context(), s, Steps{ClearDefault: true})
		case n < 17:
			if _, err = Add(t.Context(), s, batch[:1]); err == nil {
				err = Annotate(t.Context(), s, batch[0], "app", []byte("x"))
			}
		default:
			untilColumns(t, s, columnPredicates[random.IntN(3)])
		}
		require.NoError(t, err)
		// 2. Compare new and old snapshots.
		sn, err := s.Snapshot()
		require.NoError(t, err)
		used += checkColumns(t, sn)
		old = append(old, sn)
		if len(old) > 8 {
			i := random.IntN(len(old))
			used += checkColumns(t, old[i])
			require.NoError(t, old[i].Close())
			old = slices.Delete(old, i, i+1)
		}
	}
	t.Logf("%d columns were compared", used)
	if used < 1000 {
		t.Errorf("only %d columns were compared", used)
	}
}

// After a bulk load no column of before is used, and all are there again soon.
func TestColumnsAfterLoad(t *testing.T) {
	s := openDisk(t, Options{ColumnBytes: 1 << 20})
	p := columnPredicates[0]
	if _, err := Add(t.Context(), s, []triple.Triple{{Subject: p, Predicate: p, Object: p}}); err != nil {
		t.Fatal(err)
	}
	untilColumns(t, s, p)
	doc := input.Document("a.nt", bytes.NewReader([]byte("<x:s> <x:p0> <x:o> .\n<x:s> <x:p1> <x:o> .\n")), -1, syntax.NTriples)
	if _, err := rdfload.Load(t.Context(), s.Sink(), []input.Source{doc}, rdfload.Options{}); err != nil {
		t.Fatal(err)
	}
	sn, err := s.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	checkColumns(t, sn)
	untilColumns(t, s, columnPredicates[1])
}

// A store that is too large for its columns has none, and a build that runs does not keep it from
// closing.
func TestColumnsLimits(t *testing.T) {
	s := openMem(t, Options{ColumnBytes: 100})
	random := rand.New(rand.NewPCG(1, 2))
	var all []triple.Triple
	for range 500 {
		all = append(all, columnTriple(random))
	}
	if _, err := Add(t.Context(), s, all); err != nil {
		t.Fatal(err)
	}
	sn, err := s.Snapshot()
	require.NoError(t, err)
	if n := checkColumns(t, sn); n > 0 {
		t.Errorf("%d columns beyond their limit", n)
	}
	require.NoError(t, sn.Close())
	if v := viewOf(t.Context(), sn); v != nil {
		t.Error("columns of a closed snapshot")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A reader does not read many bytes of changes while others wait for it: the set is given up.
func TestColumnsAfterLargeChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	s := openMem(t, Options{ColumnBytes: 1 << 20})
	p := columnPredicates[0]
	if _, err := Add(t.Context(), s, []triple.Triple{{Subject: p, Predicate: p, Object: p}}); err != nil {
		t.Fatal(err)
	}
	untilColumns(t, s, p)
	for i := range 40 {
		long := triple.NewString(strings.Repeat(fmt.Sprintf("%08d", i), 1<<16))
		if _, err := Add(t.Context(), s, []triple.Triple{{Subject: p, Predicate: columnPredicates[1], Object: long}}); err != nil {
			t.Fatal(err)
		}
	}
	sn, err := s.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	if viewOf(t.Context(), sn) != nil {
		t.Error("20 MB of changes were read")
	}
}

// A store that becomes a member of a cluster gives the memory of its columns back, and builds no more.
func TestColumnsOfMember(t *testing.T) {
	s := openMem(t, Options{ColumnBytes: 1 << 20})
	p := columnPredicates[0]
	if _, err := Add(t.Context(), s, []triple.Triple{{Subject: p, Predicate: p, Object: p}}); err != nil {
		t.Fatal(err)
	}
	untilColumns(t, s, p)
	require.NoError(t, s.SetIdentity(Identity{Cluster: "c", ClusterID: "1"}))
	s.columns.Build()
	if bytes, _ := s.columnSize(); bytes > 0 {
		t.Errorf("the columns of a member take %d bytes", bytes)
	}
	sn, err := s.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	if viewOf(t.Context(), sn) != nil {
		t.Error("a member has columns")
	}
}
