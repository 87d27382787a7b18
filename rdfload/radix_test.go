// Tests of the sort of quads.

package rdfload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRadixSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		greatest := rapid.SampledFrom([]uint32{0, 1, 7, radixSize - 1, radixSize, 1 << 22, 1<<32 - 1}).Draw(t, "greatest")
		place := rapid.IntRange(0, 3).Draw(t, "place")
		quads := make([]quad, rapid.IntRange(0, 300).Draw(t, "n"))
		for i := range quads {
			quads[i] = quad{uint32(i), uint32(i), uint32(i), uint32(i)}
			quads[i][place] = rapid.Uint32Range(0, greatest).Draw(t, "number")
		}
		want := slices.Clone(quads)
		slices.SortStableFunc(want, func(a, b quad) int { return int(int64(a[place]) - int64(b[place])) })
		got, other := radixSort(quads, make([]quad, len(quads)), place, greatest, rapid.IntRange(1, 5).Draw(t, "workers"))
		if !slices.Equal(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
		if len(other) != len(got) || len(got) > 0 && &other[0] == &got[0] {
			t.Fatal("the other buffer is not one")
		}
	})
}

// TestCompact tries every combination of how far three workers' last blocks are
// filled, and of which worker took which block.
func TestCompact(t *testing.T) {
	fills := []int{0, 1, quadBlock / 2, quadBlock - 1, quadBlock}
	if testing.Short() {
		fills = []int{0, 1, quadBlock}
	}
	for _, a := range fills {
		for _, b := range fills {
			for _, c := range fills {
				for _, full := range []int{0, 2} { // blocks of each that are full already
					s, err := newQuadStore(16 * quadBlock * 16)
					if err != nil {
						t.Fatal(err)
					}
					writers := []*quadWriter{{store: s}, {store: s}, {store: s}, {store: s}} // the last has none
					want := fillInTurn(t, writers, []int{a + full*quadBlock, b + full*quadBlock, c + full*quadBlock})
					each := make(map[uint32]int)
					for _, w := range writers {
						w.eachBlock(func(quads []quad) {
							for _, q := range quads {
								each[q[0]]++
							}
						})
					}
					got := s.compact(writers)
					if len(got) != want || len(each) != want {
						t.Fatalf("%d, %d, %d after %d: %d quads, by blocks %d, want %d", a, b, c, full, len(got), len(each), want)
					}
					for _, q := range got {
						if each[q[0]]--; each[q[0]] != 0 {
							t.Fatalf("%d, %d, %d after %d: quad %d is lost or twice", a, b, c, full, q[0])
						}
					}
					s.release()
				}
			}
		}
	}
}

// fillInTurn adds so many different quads to each writer, a few at a time, so
// that their blocks lie between each other's.
func fillInTurn(t *testing.T, writers []*quadWriter, counts []int) (total int) {
	for more := true; more; {
		more = false
		for w := range counts {
			for range min(counts[w], 1000+w) {
				if err := writers[w].add(quad{uint32(total)}); err != nil {
					t.Fatal(err)
				}
				total++
				counts[w]--
			}
			more = more || counts[w] > 0
		}
	}
	return total
}

func TestQuadStoreFull(t *testing.T) {
	s, err := newQuadStore(2 * quadBlock * 16)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	w := &quadWriter{store: s}
	for i := range 2 * quadBlock {
		if err := w.add(quad{uint32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := w.add(quad{}); err != errBudget {
			t.Fatalf("a quad beyond the room: %v", err)
		}
	}
	if got := len(s.compact([]*quadWriter{w})); got != 2*quadBlock {
		t.Fatalf("%d quads", got)
	}
	w.reset()
	if err := s.renew(); err != nil {
		t.Fatal(err)
	}
	if err := w.add(quad{1}); err != nil || s.takes() != 2*16*quadBlock {
		t.Fatalf("after renewal: %v, %d bytes", err, s.takes())
	}
}

func BenchmarkRadixSort(b *testing.B) {
	const n = 4 << 20
	from, to := make([]quad, n), make([]quad, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range from {
		from[i] = quad{rng.Uint32N(n), rng.Uint32N(50), rng.Uint32N(n), 0}
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				from, to = radixSort(from, to, 2, n, workers)
				from, to = radixSort(from, to, 0, n, workers)
			}
			b.ReportMetric(2*n*float64(b.N)/b.Elapsed().Seconds(), "quads/s")
		})
	}
}
