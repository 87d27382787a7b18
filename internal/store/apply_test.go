// Tests of Apply.

package store

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

func apply(t testing.TB, s *Store, c Steps) Result {
	t.Helper()
	r, err := Apply(ctx, s, c)
	require.NoError(t, err)
	return r
}

func annotate(t testing.TB, s *Store, tr triple.Triple, id string) {
	t.Helper()
	require.NoError(t, Annotate(ctx, s, tr, id, []byte("note")))
}

// Apply changes stores of several kinds in the same way as a model.
func TestApply(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	g, h := iri("g"), iri("h")
	long := longs(3)
	changes := map[string]Steps{
		"nothing":                  {},
		"all":                      {ClearAll: true},
		"all and default":          {ClearAll: true, ClearDefault: true, ClearGraphs: []triple.Term{g}},
		"default":                  {ClearDefault: true},
		"a graph":                  {ClearGraphs: []triple.Term{g}},
		"a graph twice":            {ClearGraphs: []triple.Term{h, g, h}},
		"default and graph":        {ClearDefault: true, ClearGraphs: []triple.Term{g}},
		"a graph with a long name": {ClearGraphs: []triple.Term{long[0].Graph}},
		"no such graph":            {ClearGraphs: []triple.Term{iri("nowhere"), triple.NewBlank("b")}},
		"delete":                   {Delete: slices.Values(slices.Concat(students(0, 50), students(0, 50), students(5000, 5010), long[:1]))},
		"add":                      {Add: slices.Values(slices.Concat(students(100, 400), students(300, 400), in(g, longs(5))))},
		"delete and add": {
			Delete: slices.Values(slices.Concat(students(0, 50), in(g, students(0, 50)), long)),
			Add:    slices.Values(slices.Concat(students(10, 20), long, students(9000, 9010))),
		},
		"clear and add": {
			ClearAll: true,
			Delete:   slices.Values(students(0, 50)),
			Add:      slices.Values(slices.Concat(students(10, 20), long, in(h, students(9000, 9010)))),
		},
		"clear default, add to it": {ClearDefault: true, Add: slices.Values(slices.Concat(students(10, 20), in(g, students(10, 20))))},
		"clear a graph, add to it": {
			ClearGraphs: []triple.Term{g},
			Delete:      slices.Values(in(h, students(0, 5))),
			Add:         slices.Values(slices.Concat(in(g, students(0, 20)), in(h, students(0, 3)))),
		},
	}
	stores := map[string][]triple.Triple{
		"empty":        nil,
		"default only": students(0, 200),
		"mixed":        slices.Concat(students(0, 200), in(g, students(0, 30)), in(h, students(100, 200)), long),
		"large graph":  slices.Concat(students(0, 20), in(g, students(0, 900)), in(h, students(0, 40)), long),
		"large default and graph": slices.Concat(students(0, 1500), in(g, students(0, 300)), in(h, students(0, 10)),
			in(iri("f"), students(0, 10)), in(iri("i"), students(0, 10))),
	}
	for kind, triples := range stores {
		if race.Enabled && kind != "mixed" {
			continue // the same goroutines with the same work
		}
		for name, c := range changes {
			t.Run(kind+"/"+name, func(t *testing.T) {
				s := openMem(t, Options{})
				m := model{}
				add(t, s, triples...)
				m.apply(Steps{Add: slices.Values(triples)})
				for i := 0; i < len(triples); i += 7 {
					annotate(t, s, triples[i], "app")
					m[triples[i]]["app"] = "note"
					if i%2 == 0 {
						annotate(t, s, triples[i], "other")
						m[triples[i]]["other"] = "note"
					}
				}
				for range 2 { // the second time most is done already
					want := m.apply(c)
					if got := apply(t, s, c); got != want {
						t.Errorf("%+v, want %+v", got, want)
					}
					m.holds(t, s)
				}
				require.NoError(t, s.db.Flush())
				m.holds(t, s)
			})
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, students(0, 100)...)
	annotate(t, s, student(0), "app")
	add(t, s, in(iri("g"), students(0, 1000))...)
	bad := triple.Triple{Subject: triple.NewString("x"), Predicate: iri("p"), Object: iri("o")}
	broken := errors.New("broken")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(broken)
	next := s.committer.sequence
	for name, test := range map[string]struct {
		ctx     context.Context
		changes Steps
		want    error
		says    string
	}{
		"bad triple to add":    {ctx, Steps{ClearAll: true, Add: slices.Values([]triple.Triple{student(0), bad})}, triple.ErrBadTerm, "triple to add, number 1"},
		"bad triple to delete": {ctx, Steps{Delete: slices.Values([]triple.Triple{bad})}, triple.ErrBadTerm, "triple to delete, number 0"},
		"graph of no name":     {ctx, Steps{ClearGraphs: []triple.Term{iri("g"), {}}}, triple.ErrBadTerm, "graph to clear, number 1"},
		"literal as graph":     {ctx, Steps{ClearGraphs: []triple.Term{triple.NewString("g")}}, ErrInvalid, "number 0"},
		"adds too large":       {ctx, Steps{ClearAll: true, Add: slices.Values(students(0, 1000)), MaxBytes: 10_000}, ErrTooLarge, "10000 bytes"},
		"deletes too large":    {ctx, Steps{Delete: slices.Values(students(0, 1000)), MaxBytes: 10_000}, ErrTooLarge, "10000 bytes"},
		"MaxBytes":             {ctx, Steps{MaxBytes: -1}, ErrInvalid, "MaxBytes"},
		"MaxBytes too large":   {ctx, Steps{MaxBytes: maxChangeBytes + 1}, ErrInvalid, "MaxBytes"},
		"Err":                  {ctx, Steps{ClearAll: true, Err: func() error { return broken }}, broken, "broken"},
		"ended":                {ended, Steps{ClearAll: true}, broken, "broken"},
		"ended, adds":          {ended, Steps{Add: slices.Values(students(0, 1))}, broken, "broken"},
		"ended, nothing":       {ended, Steps{}, broken, "broken"},
	} {
		if r, err := Apply(test.ctx, s, test.changes); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || r != (Result{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if r := checked(t, s); r.Triples != 1100 || r.Annotations != 1 || s.committer.sequence != next {
		t.Errorf("%+v, sequence %+v, it was %+v", r, s.committer.sequence, next)
	}
	s.Close()
	if _, err := Apply(ctx, s, Steps{ClearAll: true}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// A clear must name its rows one by one, and they are too many.
func TestApplyClearTooLarge(t *testing.T) {
	s := openMem(t, Options{})
	var triples []triple.Triple // graphs alternate in all orders, so that no range is whole
	for i := range 2000 {
		tr := student(i)
		if i/5%2 == 0 {
			tr.Graph = iri("g")
		}
		triples = append(triples, tr)
	}
	add(t, s, triples...)
	before := s.committer.sequence
	for _, c := range []Steps{{ClearDefault: true}, {ClearGraphs: []triple.Term{iri("g")}}} {
		c.MaxBytes = 50_000
		if _, err := Apply(ctx, s, c); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "50000") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if r := checked(t, s); r.Triples != 2000 || s.committer.sequence != before {
		t.Errorf("%+v", r)
	}
	if r := apply(t, s, Steps{ClearAll: true, MaxBytes: 50_000}); r.Deleted != 2000 {
		t.Errorf("%+v", r)
	}
	checked(t, s)
}

// A long change ends when its context does, if nothing is written yet.
func TestApplyCancelledWhileItRuns(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, slices.Concat(students(0, 5000), in(iri("g"), students(0, 5000)))...)
	broken := errors.New("broken")
	asked, cancel := context.WithCancelCause(ctx)
	r, err := s.committer.newChange(asked, Steps{ClearDefault: true})
	require.NoError(t, err)
	cancel(broken)
	s.committer.mu.Lock()
	s.committer.commitGroup([]*request{r})
	s.committer.mu.Unlock()
	if !errors.Is(r.err, broken) || r.removed != 0 || r.steps.Load() == 0 {
		t.Errorf("%v, %d removed, %d steps", r.err, r.removed, r.steps.Load())
	}
	if r := checked(t, s); r.Triples != 10_000 || s.Status().Triples != 10_000 {
		t.Errorf("%+v", r)
	}
}

// A change without adds may use half of the reserved space.
func TestApplyDiskFull(t *testing.T) {
	fs := vfs.NewMem()
	free := func(mib uint64) vfs.DiskUsage {
		return vfs.DiskUsage{AvailBytes: mib << 20, TotalBytes: 20 << 30}
	}
	fs.TestingSetDiskUsage(free(10 << 10))
	s := openMem(t, Options{FS: fs, MinFreeBytes: 100 << 20})
	add(t, s, students(0, 100)...)
	annotate(t, s, student(50), "app")
	some := slices.Values(students(100, 110))
	now := func(mib uint64) {
		fs.TestingSetDiskUsage(free(mib))
		await.Condition(t, "the disk is measured", func() bool { return s.db.Free() == int64(mib<<20) })
	}
	now(80)
	for _, c := range []Steps{{Add: some}, {ClearAll: true, Add: some}} {
		if _, err := Apply(ctx, s, c); !errors.Is(err, ErrDiskFull) {
			t.Errorf("add: %v", err)
		}
	}
	if _, err := Add(ctx, s, students(100, 101)); !errors.Is(err, ErrDiskFull) {
		t.Errorf("add: %v", err)
	}
	if err := Annotate(ctx, s, student(51), "app", []byte{}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("annotate: %v", err)
	}
	if err := Annotate(ctx, s, student(50), "app", nil); err != nil {
		t.Errorf("remove an annotation: %v", err)
	}
	if r, err := Delete(ctx, s, students(0, 1)); err != nil || r.Deleted != 1 {
		t.Errorf("delete: %+v, %v", r, err)
	}
	if r, err := DeleteMatch(ctx, s, triple.Exact(student(1))); err != nil || r.Deleted != 1 {
		t.Errorf("delete match: %+v, %v", r, err)
	}
	if r, err := Apply(ctx, s, Steps{Delete: slices.Values(students(0, 10))}); err != nil || r.Deleted != 8 {
		t.Errorf("apply deletes: %+v, %v", r, err)
	}
	// A group of both: each gets its own answer.
	adds, deletes := newRequest(KindAdd, 1), newRequest(KindDelete, 1)
	adds.add(new(encoder), student(500))
	deletes.add(new(encoder), student(10))
	s.committer.mu.Lock()
	s.committer.commitGroup([]*request{adds, deletes})
	s.committer.mu.Unlock()
	if !errors.Is(adds.err, ErrDiskFull) || deletes.err != nil || adds.changed != 0 || deletes.changed != 1 {
		t.Errorf("group: %v, %v", adds.err, deletes.err)
	}
	now(40)
	if _, err := Apply(ctx, s, Steps{ClearAll: true}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("clear below half the watermark: %v", err)
	}
	now(60)
	if r, err := Apply(ctx, s, Steps{ClearAll: true}); err != nil || r.Deleted != 89 {
		t.Errorf("clear: %+v, %v", r, err)
	}
	if r := checked(t, s); r.Triples != 0 || r.Annotations != 0 {
		t.Errorf("%+v", r)
	}
}

// A snapshot does not see a later clear.
func TestApplyBesideSnapshot(t *testing.T) {
	s := openMem(t, Options{})
	triples := slices.Concat(students(0, 3000), in(iri("g"), students(0, 100)))
	add(t, s, triples...)
	sn := snapshot(t, s)
	apply(t, s, Steps{ClearAll: true})
	require.NoError(t, s.db.Flush())
	require.NoError(t, s.db.Compact(ctx, []byte{keyspace.Storage}, []byte{keyspace.Local + 1}, true))
	if got := len(all(t, sn, triple.Pattern{}, ReadOptions{})); got != len(triples) {
		t.Errorf("the snapshot has %d triples, it had %d", got, len(triples))
	}
	if n, err := snapshot(t, s).Count(ctx, triple.Pattern{}); n != 0 || err != nil {
		t.Errorf("%d triples, %v", n, err)
	}
}

// Estimates soon stop counting the rows under a range deletion.
func TestEstimateAfterClear(t *testing.T) {
	race.Skip(t)
	s := openMem(t, Options{})
	loadTriples(t, s, "load", students(0, 60_000))
	whole := triple.OrderRange(triple.SPO)
	people := triple.Pattern{Predicate: iri("type")}
	estimates := func() (rows, ofPattern int64) {
		sn := snapshot(t, s)
		defer sn.Close()
		rows, _, err := sn.EstimateRange(whole)
		require.NoError(t, err)
		ofPattern, _, err = sn.Estimate(t.Context(), people)
		require.NoError(t, err)
		return rows, ofPattern
	}
	await.Condition(t, "estimates of what was loaded", func() bool {
		s.density.forget()
		rows, ofPattern := estimates()
		return rows == 60_000 && ofPattern >= 4_000 && ofPattern <= 40_000
	})
	apply(t, s, Steps{ClearAll: true})
	if rows, ofPattern := estimates(); rows != 0 || ofPattern != 0 {
		t.Errorf("after the clear: %d rows, %d of a predicate", rows, ofPattern)
	}
	apply(t, s, Steps{ClearAll: true, Add: slices.Values(students(0, 6_000))})
	if rows, ofPattern := estimates(); rows != 6_000 || ofPattern > 6_000 {
		t.Errorf("with 6000 triples: %d rows, %d of a predicate of 1200", rows, ofPattern)
	}
	await.Condition(t, "tables that are cleared go", func() bool {
		s.density.forget()
		_, ofPattern := estimates()
		return s.Status().Bytes < 100_000 && ofPattern >= 300 && ofPattern <= 4_800
	})
}

// If a clear has emptied a segment, the segment is not split.
func TestSplitsAfterClear(t *testing.T) {
	s := openMem(t, Options{MaxSegmentBytes: 64 << 10})
	add(t, s, students(0, 3000)...)
	await.Condition(t, "splits", func() bool { return s.segments.Splits.Load() > 2 })
	apply(t, s, Steps{ClearAll: true})
	await.Condition(t, "there is nothing left to be split", func() bool { return len(s.segments.Oversized(64<<10)) == 0 })
	add(t, s, students(0, 3000)...)
	checked(t, s)
}

// numbers yields students without holding them in memory.
func numbers(from, to int) iter.Seq[triple.Triple] {
	return func(yield func(triple.Triple) bool) {
		for i := from; i < to; i++ {
			if !yield(student(i)) {
				return
			}
		}
	}
}

// A change of several parts is one change: with one stamp, and with memory for its own size.
func TestApplyParts(t *testing.T) {
	if race.Enabled {
		t.Skip("it is of stamps and sizes, and of many triples")
	}
	s := openMem(t, Options{})
	const n = 30_000
	if r := apply(t, s, Steps{Add: numbers(0, n)}); r.Added != n {
		t.Errorf("%+v", r)
	}
	r, err := s.committer.newChange(ctx, Steps{Delete: numbers(0, n), Add: numbers(n/2, n+n/2)})
	require.NoError(t, err)
	if len(r.parts) < 4 {
		t.Errorf("%d parts", len(r.parts))
	}
	if err := s.committer.doChange(ctx, r); err != nil || r.removed != n || r.changed != n {
		t.Errorf("%d removed, %d added, %v", r.removed, r.changed, err)
	}
	if int64(s.committer.sequence.next) != 3 {
		t.Errorf("two changes took stamps up to %d", s.committer.sequence.next)
	}
	if r := checked(t, s); r.Triples != n {
		t.Errorf("%d triples", r.Triples)
	}
	if _, err := Apply(ctx, s, Steps{Add: numbers(0, n), MaxBytes: 8 << 20}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}
