// Tests of arrays of every width against plain slices.

package urls

import (
	"encoding/hex"
	"math"
	"testing"
)

func TestPackedEqualsSlice(t *testing.T) {
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
			b := appendPacked([]byte("front"), values)
			a, used, err := openPacked(append(b[5:len(b):len(b)], "behind"...))
			if err != nil || used != len(b)-5 {
				t.Fatalf("%d values of %d bits: used %d of %d, %v", n, width, used, len(b)-5, err)
			}
			if a.len() != n || n > 0 && int(a.width) != width {
				t.Fatalf("%d values of %d bits: Len %d, Width %d", n, width, a.len(), a.width)
			}
			for i, want := range values {
				if got := a.get(i); got != want {
					t.Fatalf("width %d: At(%d) = %d, want %d", width, i, got, want)
				}
			}
		}
	}
}

func TestPackedGolden(t *testing.T) {
	for _, c := range []struct {
		values []uint64
		want   string
	}{
		{nil, "0000000000000000"},
		{[]uint64{0, 0}, "0200000000000000"},
		{[]uint64{1, 2, 5}, "0300000000000003" + "5101000000000000" + "0000000000000000"},
		{[]uint64{math.MaxUint64}, "0100000000000040" + "ffffffffffffffff" + "0000000000000000"},
	} {
		if got := hex.EncodeToString(appendPacked(nil, c.values)); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}

func TestPackedRefuses(t *testing.T) {
	whole := appendPacked(nil, []uint64{1, 2, 5})
	for cut := range whole {
		if _, _, err := openPacked(whole[:cut]); err == nil {
			t.Errorf("cut to %d bytes: no error", cut)
		}
	}
	for name, b := range map[string][]byte{
		"width of 65":        {1, 0, 0, 0, 0, 0, 0, 65, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24},
		"greatest count":     {255, 255, 255, 255, 255, 255, 255, 64, 0, 0, 0, 0, 0, 0, 0, 0},
		"more than the room": {255, 255, 255, 255, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if _, _, err := openPacked(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPackedIndexPanics(t *testing.T) {
	a, _, err := openPacked(appendPacked(nil, []uint64{1, 2, 5}))
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
			a.get(i)
		}()
	}
}

func FuzzOpenPacked(f *testing.F) {
	f.Add(appendPacked(nil, []uint64{1, 2, 5}))
	f.Add(appendPacked(nil, []uint64{math.MaxUint64, 0}))
	f.Add(appendPacked(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, used, err := openPacked(b)
		if err != nil {
			return
		}
		if used > len(b) {
			t.Fatalf("used %d of %d bytes", used, len(b))
		}
		for i := 0; i < a.len(); i += 1 + a.len()/1000 {
			if v := a.get(i); a.width < 64 && v>>a.width != 0 {
				t.Fatalf("At(%d) = %d does not fit %d bits", i, v, a.width)
			}
		}
		if a.len() > 0 {
			a.get(a.len() - 1)
		}
	})
}

func BenchmarkPackedAt(b *testing.B) {
	values := make([]uint64, 10_000)
	for i := range values {
		values[i] = uint64(i) * 37 & (1<<20 - 1)
	}
	a, _, err := openPacked(appendPacked(nil, values))
	if err != nil {
		b.Fatal(err)
	}
	sum, i := uint64(0), 0
	for b.Loop() {
		sum += a.get(i)
		if i += 7; i >= len(values) {
			i -= len(values)
		}
	}
	if sum == 1 {
		b.Log(sum)
	}
}
