// Tests of both forms: sequences of every kind against plain slices, golden bytes, damaged bytes.

package ef

import (
	"encoding/hex"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var newRand = seed.Rand

func repeat(v uint64, n int) []uint64 { return slices.Repeat([]uint64{v}, n) }

func ramp(from, step uint64, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = from + uint64(i)*step
	}
	return out
}

// reader is what both forms have.
type reader interface {
	Len() int
	At(i int) uint64
	Search(x uint64) int
}

// form is one of the two forms.
type form struct {
	golden string // prefix of its golden files
	append func(dst []byte, values []uint64) []byte
	open   func(b []byte) (reader, int, error)
	all    func(r reader) iter.Seq2[int, uint64]
	// check checks what the form alone has.
	check func(t *testing.T, r reader, values []uint64, rng *rand.Rand)
	over  float64 // bits a value at most above 2 + log2(U/n)
}

var forms = map[string]form{
	"Sequence": {
		append: Append,
		open:   func(b []byte) (reader, int, error) { s, used, err := Open(b); return &s, used, err },
		all:    func(r reader) iter.Seq2[int, uint64] { return r.(*Sequence).All(0) },
		check:  checkSequence,
		over:   0.8,
	},
	"Parts": {
		golden: "parts-",
		append: AppendParts,
		open:   func(b []byte) (reader, int, error) { s, used, err := OpenParts(b); return &s, used, err },
		all:    func(r reader) iter.Seq2[int, uint64] { return r.(*Parts).All() },
		check:  checkParts,
		over:   2.5,
	},
}

// eachForm runs a test of both forms.
func eachForm(t *testing.T, test func(t *testing.T, f form)) {
	for name, f := range forms {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

func (f form) mustOpen(t testing.TB, b []byte) reader {
	t.Helper()
	r, used, err := f.open(b)
	if err != nil {
		t.Fatal(err)
	}
	if used != len(b) || used%8 != 0 {
		t.Fatalf("used %d of %d bytes", used, len(b))
	}
	return r
}

// shapes returns the sequences of every test.
func shapes(rng *rand.Rand) map[string][]uint64 {
	m := map[string][]uint64{
		"empty":             {},
		"zero":              {0},
		"one":               {1},
		"greatest":          {math.MaxUint64},
		"both ends":         {0, math.MaxUint64},
		"all zero":          repeat(0, 100),
		"all equal":         repeat(7, 1000),
		"all greatest":      repeat(math.MaxUint64, 513),
		"zeros, then end":   append(repeat(0, 700), math.MaxUint64),
		"steps of 2^40":     ramp(0, 1<<40, 3000),
		"one gap in middle": append(ramp(0, 1, 300), ramp(1<<60, 1, 300)...),
		"whole values":      ramp(0, 1<<58, 60),
		"steps of 2^57":     ramp(9, 1<<57, 120),
		"steps of 2^59":     ramp(9, 1<<59, 30),
		"steps of 2^60":     ramp(9, 1<<60, 15),
		"steps of 3*2^58":   ramp(9, 3<<58, 20),
		"steps of 3*2^59":   ramp(9, 3<<59, 10),
		"two far values":    {1 << 62, 1<<62 + 1<<61, math.MaxUint64 - 1},
		"span of 32":        {7, 8, 9, 39},
		"span of 33":        {7, 8, 9, 40},
	}
	for _, n := range []int{31, 32, 33, 255, 256, 257, 513, 5000} {
		m[strconv.Itoa(n)+" steps of 1"] = ramp(3, 1, n)
		m[strconv.Itoa(n)+" steps of 18"] = ramp(1<<40, 18, n)
	}
	for width := range uint(65) {
		values := make([]uint64, 300+rng.IntN(400))
		for i := range values {
			values[i] = rng.Uint64() & lowMask(width)
		}
		slices.Sort(values)
		m["random of "+strconv.Itoa(int(width))+" bits"] = values
	}
	for _, most := range []int{30, 40} {
		clustered := []uint64{}
		v := uint64(0)
		for range 4000 {
			v += rng.Uint64N(1 << rng.IntN(most))
			clustered = append(clustered, v)
		}
		m["clustered "+strconv.Itoa(most)] = clustered
	}
	return m
}

func TestEqualsSlice(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		rng := newRand(t)
		for name, values := range shapes(rng) {
			t.Run(name, func(t *testing.T) {
				r := f.mustOpen(t, f.append([]byte("before"), values)[len("before"):])
				if r.Len() != len(values) {
					t.Fatalf("Len = %d, want %d", r.Len(), len(values))
				}
				for i, want := range values {
					if got := r.At(i); got != want {
						t.Fatalf("At(%d) = %d, want %d", i, got, want)
					}
				}
				next := 0
				for i, v := range f.all(r) {
					if i != next || v != values[i] {
						t.Fatalf("All gives %d at %d, want %d at %d", v, i, values[next], next)
					}
					next++
				}
				if next != len(values) {
					t.Fatalf("All ended at %d of %d", next, len(values))
				}
				checkSearch(t, r, values, rng)
				f.check(t, r, values, rng)
			})
		}
	})
}

func checkSearch(t *testing.T, r reader, values []uint64, rng *rand.Rand) {
	t.Helper()
	asked := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, rng.Uint64()}
	for i := 0; i < len(values); i += 1 + rng.IntN(3) {
		v := values[i]
		asked = append(asked, v, v+1, v-1, v+rng.Uint64N(1000))
	}
	for _, x := range asked {
		want := sort.Search(len(values), func(i int) bool { return values[i] >= x })
		if got := r.Search(x); got != want {
			t.Fatalf("Search(%d) = %d, want %d", x, got, want)
		}
	}
}

// TestSize checks the size in the package comment, with the directory.
func TestSize(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		rng := newRand(t)
		for _, width := range []int{1, 4, 5, 8, 13, 20, 30} {
			const n = 100_000
			values := make([]uint64, n)
			v := uint64(0)
			for i := range values {
				v += rng.Uint64N(2 << width)
				values[i] = v
			}
			got := float64(len(f.append(nil, values))*8) / n
			want := 2 + math.Log2(float64(v)/n)
			t.Logf("mean gap 2^%d: %.2f bits a value, 2 + log2(U/n) = %.2f", width, got, want)
			if got > want+f.over {
				t.Errorf("mean gap 2^%d: %.2f bits a value, want %.2f and %.1f at most", width, got, want, f.over)
			}
		}
	})
}

// panics calls functions that must panic.
func panics(t *testing.T, calls map[string]func()) {
	for name, call := range calls {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			call()
		}()
	}
}

func TestMisusePanics(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		r := f.mustOpen(t, f.append(nil, ramp(0, 3, 300)))
		panics(t, map[string]func(){
			"At(-1)":                   func() { r.At(-1) },
			"At(300)":                  func() { r.At(300) },
			"decreasing":               func() { f.append(nil, []uint64{2, 1}) },
			"decreasing between parts": func() { f.append(nil, append(repeat(5, blockLen), 4)) },
		})
	})
}

func TestGolden(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		for name, values := range map[string][]uint64{
			"empty":   {},
			"primes":  {2, 3, 5, 7, 11, 13, 17, 19},
			"offsets": ramp(1000, 20, 260),
			"wide":    {0, 1 << 61, math.MaxUint64},
		} {
			var text strings.Builder
			b := f.append(nil, values)
			for at := 0; at < len(b); at += 8 {
				text.WriteString(hex.EncodeToString(b[at:at+8]) + "\n")
			}
			path := filepath.Join("testdata", f.golden+name+".hex")
			goldenfile.Check(t, path, text.String())
		}
	})
}

// exercise calls every method and checks the contract of Open: values must not decrease.
func (f form) exercise(t *testing.T, r reader) {
	t.Helper()
	var values []uint64
	for i, v := range f.all(r) {
		if len(values) > 0 && v < values[i-1] {
			t.Fatalf("value %d is %d after %d", i, v, values[i-1])
		}
		values = append(values, v)
	}
	for i := 0; i < r.Len(); i += 1 + r.Len()/300 {
		v := r.At(i)
		if j := r.Search(v); v != values[i] || j > i || r.At(j) != v {
			t.Fatalf("value %d is %d, want %d; Search of it gives %d", i, v, values[i], j)
		}
		r.Search(v + 1)
		r.Search(^v)
	}
	f.check(t, r, values, rand.New(rand.NewPCG(1, 0)))
}

func TestDamage(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		rng := newRand(t)
		for name, values := range shapes(rng) {
			whole := f.append(nil, values)
			for cut := 0; cut < len(whole); cut += 1 + rng.IntN(1+len(whole)/50) {
				if _, _, err := f.open(whole[:cut]); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s cut to %d of %d bytes: %v", name, cut, len(whole), err)
				}
			}
			for range 60 {
				damaged := slices.Clone(whole)
				bit := rng.IntN(8 * len(damaged))
				if rng.IntN(2) == 0 {
					bit %= min(8*len(damaged), 8*64)
				}
				damaged[bit/8] ^= 1 << (bit % 8)
				r, used, err := f.open(damaged)
				if err != nil {
					if !errors.Is(err, ErrCorrupt) {
						t.Fatal(err)
					}
					continue
				}
				if used > len(damaged) {
					t.Fatalf("%s: used %d of %d bytes", name, used, len(damaged))
				}
				f.exercise(t, r)
			}
		}
	})
}

// checkRefused opens bytes that each break one rule of the format, and some that break none.
func (f form) checkRefused(t *testing.T, refused map[string][]byte, accepted ...[]byte) {
	t.Helper()
	for name, b := range refused {
		if _, _, err := f.open(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range accepted {
		f.mustOpen(t, b)
	}
}

func FuzzOpen(f *testing.F)      { fuzzOpen(f, forms["Sequence"]) }
func FuzzOpenParts(f *testing.F) { fuzzOpen(f, forms["Parts"]) }

func fuzzOpen(f *testing.F, of form) {
	for _, values := range [][]uint64{{}, {0}, {2, 3, 5}, ramp(9, 17, 600), {0, math.MaxUint64}} {
		f.Add(of.append(nil, values))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, used, err := of.open(b)
		if err != nil {
			return
		}
		if used > len(b) {
			t.Fatalf("used %d of %d bytes", used, len(b))
		}
		of.exercise(t, r)
		var values []uint64
		for _, v := range of.all(r) {
			values = append(values, v)
		}
		again := of.mustOpen(t, of.append(nil, values))
		for i, v := range of.all(again) {
			if v != values[i] {
				t.Fatalf("written again: value %d is %d, want %d", i, v, values[i])
			}
		}
	})
}
