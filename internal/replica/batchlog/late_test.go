// Tests of the index of late batches.

package batchlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

// TestLateRows compares the index with a list, while batches come, are forgotten, and are read in
// pages.
func TestLateRows(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	l, batch := New(changefeed.Retention{}, nil), batchOf(t)
	var want []late
	for step := range 3000 {
		row := late{uint64(1 + rng.IntN(5)), Stream{trie.MachineID(1 + rng.IntN(3)), 1}, uint64(1 + rng.IntN(200))}
		var err error
		if rng.IntN(3) > 0 {
			err = l.Add(batch, Batch{Stream: row.stream, Number: row.number, Old: []uint64{row.epoch}})
			if !slices.Contains(want, row) {
				want = append(want, row)
			}
		} else {
			err = l.Forgotten(batch, row.stream, row.number)
			want = slices.DeleteFunc(want, func(r late) bool { return r.stream == row.stream && r.number == row.number })
		}
		require.NoError(t, err)
		if step%50 > 0 {
			continue
		}
		slices.SortFunc(want, late.compare)
		for epoch := uint64(0); epoch < 7; epoch++ {
			var expected, got []Start
			for _, r := range want {
				if r.epoch == epoch {
					expected = append(expected, Start{r.stream, r.number})
				}
			}
			most := 1 + rng.IntN(20)
			for after := (Start{}); ; after = got[len(got)-1] {
				page := l.LateStarts(epoch, after, most)
				if got = append(got, page...); len(page) < most {
					break
				}
			}
			if !slices.Equal(got, expected) {
				t.Fatalf("seed %d, step %d, epoch %d: %v, want %v", seed, step, epoch, got, expected)
			}
		}
	}
}

// BenchmarkForgotten forgets many late batches. The time of each must not grow with their number.
func BenchmarkForgotten(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("batches=%d", n), func(b *testing.B) {
			id := Stream{7, 1}
			for b.Loop() {
				b.StopTimer()
				l, batch := New(changefeed.Retention{}, nil), batchOf(b)
				for i := range n {
					if err := l.Add(batch, Batch{Stream: id, Number: uint64(i + 1), Old: []uint64{1}}); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				for i := range n {
					if err := l.Forgotten(batch, id, uint64(i+1)); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/batch")
		})
	}
}

// batchOf returns a batch that is not committed.
func batchOf(t testing.TB) *pebble.Batch {
	t.Helper()
	db, err := pebble.Open("data", &pebble.Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	batch := db.NewBatch()
	t.Cleanup(func() {
		batch.Close()
		db.Close()
	})
	return batch
}
