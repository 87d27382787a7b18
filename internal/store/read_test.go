// Tests of reads: cursors, bounds and contexts.

package store

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// A cursor returns every triple exactly once if it exists all the time, in order, whatever other
// writes do.
func TestCursorUnderWrites(t *testing.T) {
	s := openMem(t, Options{MemTableBytes: minMemTableBytes, MaxSegmentBytes: 64 << 10})
	const stable = 2000
	for i := range stable / 500 {
		var batch []triple.Triple
		for j := range 500 {
			batch = append(batch, student(2*(i*500+j)))
		}
		add(t, s, batch...)
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var batch []triple.Triple
			for j := range 20 {
				batch = append(batch, student(2*((i*20+j)*31%stable)+1))
			}
			add(t, s, batch...)
			if i%2 == 1 {
				if _, err := Delete(ctx, s, batch); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for _, o := range []ReadOptions{{Limit: 37}, {Limit: 37, Reverse: true}} {
		for _, order := range []triple.Order{triple.SPO, triple.POS} {
			seen := map[triple.Triple]int{}
			var last []byte
			for {
				sn := snapshot(t, s)
				n := 0
				for row, err := range sn.Range(ctx, triple.Bounds{Order: order}, o) {
					require.NoError(t, err)
					if c := bytes.Compare(row.Key, last); last != nil && (c <= 0) != o.Reverse {
						t.Fatalf("out of order: %q after %q", row.Key, last)
					}
					last = bytes.Clone(row.Key)
					tr, err := row.Triple()
					require.NoError(t, err)
					seen[tr]++
					n++
				}
				sn.Close()
				if n == 0 {
					break
				}
				o.After = last
			}
			o.After = nil
			for i := range stable {
				if seen[student(2*i)] != 1 {
					t.Errorf("%+v %s: %s was met %d times", o, order, student(2*i), seen[student(2*i)])
				}
			}
		}
	}
	close(stop)
	wait.Wait()
}

func TestRangeWithBounds(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, students(0, 1000)...)
	sn := snapshot(t, s)
	b := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{iri("age")}, GE: triple.NewTyped("30", triple.XSDInteger), LT: triple.NewTyped("40", triple.XSDInteger)}
	n := int64(0)
	for row, err := range sn.Range(ctx, b, ReadOptions{}) {
		require.NoError(t, err)
		tr, err := row.Triple()
		require.NoError(t, err)
		if v, ok := triple.NumericValue(tr.Object); !ok || v < 30 || v >= 40 {
			t.Errorf("%s", tr)
		}
		n++
	}
	if counted, err := sn.CountRange(ctx, b); err != nil || counted != n || n == 0 {
		t.Errorf("%d rows, %d counted, %v", n, counted, err)
	}
	for _, err := range sn.Range(ctx, triple.Bounds{}, ReadOptions{}) {
		if !errors.Is(err, triple.ErrBadBounds) {
			t.Errorf("no order: %v", err)
		}
	}
	for _, err := range sn.Match(ctx, triple.Pattern{}, ReadOptions{Limit: -1}) {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("negative limit: %v", err)
		}
	}
}

func TestEstimates(t *testing.T) {
	if race.Enabled {
		t.Skip("nothing runs at the same time")
	}
	s := openMem(t, Options{})
	within := func(t *testing.T, p triple.Pattern, factor float64) {
		t.Helper()
		sn := snapshot(t, s)
		want, err := sn.Count(ctx, p)
		require.NoError(t, err)
		got, exact, err := sn.Estimate(t.Context(), p)
		if err != nil || exact != (want <= exactRows) || exact && got != want {
			t.Errorf("%v: %d, exact %v, %v, counted %d", p, got, exact, err, want)
		}
		if float64(got) < float64(want)/factor || float64(got) > float64(want)*factor {
			t.Errorf("%v: estimated %d, counted %d", p, got, want)
		}
	}
	patterns := []triple.Pattern{
		{}, {Predicate: iri("takes")}, {Predicate: iri("name")},
		{Predicate: iri("type"), Object: iri("Student")}, {Subject: student(7).Subject},
		{Object: student(7).Object}, {Predicate: iri("nothing")},
	}
	t.Run("tables", func(t *testing.T) {
		loadTriples(t, s, "load", students(0, 100_000))
		for _, p := range patterns {
			within(t, p, 2.5)
		}
	})
	t.Run("and memory", func(t *testing.T) {
		for i := 100_000; i < 150_000; i += 10_000 {
			add(t, s, students(i, i+10_000)...)
		}
		s.density.at = s.density.at.Add(-2 * densityAge)
		for _, p := range patterns {
			within(t, p, 3)
		}
	})
	rows, bytes, err := snapshot(t, s).EstimateRange(triple.OrderRange(triple.POS))
	if err != nil || rows < 75_000 || rows > 300_000 || bytes <= 0 {
		t.Errorf("pos: %d rows, %d bytes, %v", rows, bytes, err)
	}
}

func TestMetrics(t *testing.T) {
	s := openMem(t, Options{})
	reg := prometheus.NewRegistry()
	require.NoError(t, s.RegisterMetrics(reg))
	add(t, s, students(0, 10)...)
	families, err := reg.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		found[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	if found["trefoil_store_triples"] != 10 || found["trefoil_store_triples_added_total"] != 10 || found["trefoil_store_writable"] != 1 {
		t.Errorf("%v", found)
	}
	s.Close()
	if _, err := reg.Gather(); err != nil {
		t.Errorf("of a closed store: %v", err)
	}
}
