// Tests of arrays of every width against plain slices.

package packed

import (
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var newRand = seed.Rand

func TestArrayEqualsSlice(t *testing.T) {
	rng := newRand(t)
	for width := range 65 {
		for _, n := range []int{0, 1, 2, 7, 8, 9, 63, 64, 65, rng.IntN(2000)} {
			values := make([]uint64, n)
			for i := range values {
				values[i] = rng.Uint64() & (math.MaxUint64 >> (64 - width))
			}
			if n > 0 && width > 0 {
				values[rng.IntN(n)] |= 1 << (width - 1)
			}
			b := Append([]byte("front"), values)
			a, used, err := Open(append(b[5:len(b):len(b)], "behind"...))
			if err != nil || used != len(b)-5 {
				t.Fatalf("%d values of %d bits: used %d of %d, %v", n, width, used, len(b)-5, err)
			}
			if a.Len() != n || n > 0 && a.Width() != width {
				t.Fatalf("%d values of %d bits: Len %d, Width %d", n, width, a.Len(), a.Width())
			}
			for i, want := range values {
				if got := a.At(i); got != want {
					t.Fatalf("width %d: At(%d) = %d, want %d", width, i, got, want)
				}
			}
		}
	}
}

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		values []uint64
		want   string
	}{
		{nil, "0000000000000000"},
		{[]uint64{0, 0}, "0200000000000000"},
		{[]uint64{1, 2, 5}, "0300000000000003" + "5101000000000000" + "0000000000000000"},
		{[]uint64{math.MaxUint64}, "0100000000000040" + "ffffffffffffffff" + "0000000000000000"},
	} {
		if got := hex.EncodeToString(Append(nil, c.values)); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	whole := Append(nil, []uint64{1, 2, 5})
	for cut := range whole {
		if _, _, err := Open(whole[:cut]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", cut, err)
		}
	}
	for name, b := range map[string][]byte{
		"width of 65":        {1, 0, 0, 0, 0, 0, 0, 65, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24},
		"greatest count":     {255, 255, 255, 255, 255, 255, 255, 64, 0, 0, 0, 0, 0, 0, 0, 0},
		"more than the room": {255, 255, 255, 255, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if _, _, err := Open(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIndexOutOfRangePanics(t *testing.T) {
	a, _, err := Open(Append(nil, []uint64{1, 2, 5}))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{-1, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("At(%d) did not panic", i)
				}
			}()
			a.At(i)
		}()
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(Append(nil, []uint64{1, 2, 5}))
	f.Add(Append(nil, []uint64{math.MaxUint64, 0}))
	f.Add(Append(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, used, err := Open(b)
		if err != nil {
			return
		}
		if used > len(b) {
			t.Fatalf("used %d of %d bytes", used, len(b))
		}
		for i := 0; i < a.Len(); i += 1 + a.Len()/1000 {
			if v := a.At(i); a.Width() < 64 && v>>a.Width() != 0 {
				t.Fatalf("At(%d) = %d does not fit %d bits", i, v, a.Width())
			}
		}
		if a.Len() > 0 {
			a.At(a.Len() - 1)
		}
	})
}

func BenchmarkAt(b *testing.B) {
	values := make([]uint64, 10_000)
	for i := range values {
		values[i] = uint64(i) * 37 & (1<<20 - 1)
	}
	a, _, err := Open(Append(nil, values))
	if err != nil {
		b.Fatal(err)
	}
	sum, i := uint64(0), 0
	for b.Loop() {
		sum += a.At(i)
		if i += 7; i >= len(values) {
			i -= len(values)
		}
	}
	if sum == 1 {
		b.Log(sum)
	}
}
