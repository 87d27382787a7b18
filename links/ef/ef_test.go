// Tests of sequences of every kind against plain slices, of golden bytes, and of damaged bytes.

package ef

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files in testdata")

// newRand returns a generator and logs its seed. If TREFOIL_SEED is set, it is the seed.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("TREFOIL_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func repeat(v uint64, n int) []uint64 {
	return slices.Repeat([]uint64{v}, n)
}

func ramp(from, step uint64, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = from + uint64(i)*step
	}
	return out
}

// shapes returns the sequences of every test.
func shapes(rng *rand.Rand) map[string][]uint64 {
	m := map[string][]uint64{
		"empty":             {},
		"zero":              {0},
		"one":               {1},
		"greatest":          {math.MaxUint64},
		"both ends":         {0, math.MaxUint64},
		"all equal":         repeat(7, 1000),
		"all greatest":      repeat(math.MaxUint64, 513),
		"zeros, then end":   append(repeat(0, 700), math.MaxUint64),
		"255":               ramp(3, 1, 255),
		"256":               ramp(3, 1, 256),
		"257":               ramp(3, 1, 257),
		"steps of 18":       ramp(1<<40, 18, 5000),
		"steps of 2^40":     ramp(0, 1<<40, 3000),
		"one gap in middle": append(ramp(0, 1, 300), ramp(1<<60, 1, 300)...),
		"whole values":      ramp(0, 1<<58, 60),
		"steps of 2^59":     ramp(9, 1<<59, 30),
		"steps of 3*2^58":   ramp(9, 3<<58, 20),
		"steps of 2^60":     ramp(9, 1<<60, 15),
		"steps of 3*2^59":   ramp(9, 3<<59, 10),
		"steps of 2^57":     ramp(9, 1<<57, 120),
		"two far values":    {1 << 62, 1<<62 + 1<<61, math.MaxUint64 - 1},
	}
	for width := range 65 {
		values := make([]uint64, 300+rng.IntN(400))
		for i := range values {
			values[i] = rng.Uint64() & lowMask(width)
		}
		slices.Sort(values)
		m["random of "+strconv.Itoa(width)+" bits"] = values
	}
	clustered := []uint64{}
	v := uint64(0)
	for range 4000 {
		v += rng.Uint64N(1 << rng.IntN(30))
		clustered = append(clustered, v)
	}
	m["clustered"] = clustered
	return m
}

func open(t testing.TB, b []byte) Sequence {
	t.Helper()
	s, used, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	if used != len(b) {
		t.Fatalf("Open used %d of %d bytes", used, len(b))
	}
	return s
}

func TestSequenceEqualsSlice(t *testing.T) {
	rng := newRand(t)
	for name, values := range shapes(rng) {
		t.Run(name, func(t *testing.T) {
			s := open(t, Append(nil, values))
			if s.Len() != len(values) {
				t.Fatalf("Len = %d, want %d", s.Len(), len(values))
			}
			for i, want := range values {
				if got := s.At(i); got != want {
					t.Fatalf("At(%d) = %d, want %d", i, got, want)
				}
				if i+1 < len(values) {
					if lo, hi := s.Two(i); lo != want || hi != values[i+1] {
						t.Fatalf("Two(%d) = %d, %d, want %d, %d", i, lo, hi, want, values[i+1])
					}
				}
			}
			if len(values) > 0 && s.Last() != values[len(values)-1] {
				t.Fatalf("Last = %d", s.Last())
			}
			checkIterators(t, s, values, rng)
			checkSearch(t, s, values, rng)
		})
	}
}

func checkIterators(t *testing.T, s Sequence, values []uint64, rng *rand.Rand) {
	t.Helper()
	starts := []int{0, len(values)}
	for range 5 {
		starts = append(starts, rng.IntN(len(values)+1))
	}
	for _, from := range starts {
		next := from
		for i, v := range s.All(from) {
			if i != next || v != values[i] {
				t.Fatalf("All(%d) gives %d at %d, want %d at %d", from, v, i, values[next], next)
			}
			next++
		}
		if next != len(values) {
			t.Fatalf("All(%d) ended at %d of %d", from, next, len(values))
		}
	}
	for range s.All(0) {
		break
	}
}

func checkSearch(t *testing.T, s Sequence, values []uint64, rng *rand.Rand) {
	t.Helper()
	asked := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, rng.Uint64()}
	for i := 0; i < len(values); i += 1 + rng.IntN(3) {
		v := values[i]
		asked = append(asked, v, v+1, v-1, v+rng.Uint64N(1000))
	}
	for _, x := range asked {
		want := sort.Search(len(values), func(i int) bool { return values[i] >= x })
		if got := s.Search(x); got != want {
			t.Fatalf("Search(%d) = %d, want %d", x, got, want)
		}
	}
}

// TestSize checks the size in the package comment, with the directory.
func TestSize(t *testing.T) {
	rng := newRand(t)
	for _, width := range []int{1, 4, 5, 8, 13, 20, 30} {
		const n = 100_000
		values := make([]uint64, n)
		v := uint64(0)
		for i := range values {
			v += rng.Uint64N(2 << width)
			values[i] = v
		}
		got := float64(len(Append(nil, values))*8) / n
		want := 2 + math.Log2(float64(v)/n)
		t.Logf("mean gap 2^%d: %.2f bits a value, 2 + log2(U/n) = %.2f", width, got, want)
		if got > want+0.8 {
			t.Errorf("mean gap 2^%d: %.2f bits a value, want %.2f and 0.8 at most", width, got, want)
		}
	}
}

func TestBuilderResets(t *testing.T) {
	var b Builder
	for v := range uint64(1000) {
		b.Add(v * v)
	}
	if b.Len() != 1000 {
		t.Fatalf("Len = %d", b.Len())
	}
	b.Reset()
	b.Add(5)
	if got, want := b.AppendTo(nil), Append(nil, []uint64{5}); !slices.Equal(got, want) {
		t.Fatalf("after Reset: %x, want %x", got, want)
	}
	if got, want := b.AppendTo([]byte("x")), Append([]byte("x"), []uint64{5}); !slices.Equal(got, want) {
		t.Fatalf("written twice: %x, want %x", got, want)
	}
}

func TestDecreasingValuesPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	Append(nil, []uint64{2, 1})
}

func TestIndexOutOfRangePanics(t *testing.T) {
	s := open(t, Append(nil, ramp(0, 3, 300)))
	for name, call := range map[string]func(){
		"At(-1)":   func() { s.At(-1) },
		"At(300)":  func() { s.At(300) },
		"Two(-1)":  func() { s.Two(-1) },
		"Two(299)": func() { s.Two(299) },
	} {
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

func TestGolden(t *testing.T) {
	for name, values := range map[string][]uint64{
		"empty":   {},
		"primes":  {2, 3, 5, 7, 11, 13, 17, 19},
		"offsets": ramp(1000, 20, 260),
		"wide":    {0, 1 << 61, math.MaxUint64},
	} {
		var text strings.Builder
		b := Append(nil, values)
		for at := 0; at < len(b); at += 8 {
			text.WriteString(hex.EncodeToString(b[at:at+8]) + "\n")
		}
		path := filepath.Join("testdata", name+".hex")
		if *rewrite {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text.String() != string(want) {
			t.Errorf("%s: the format has changed:\n%swant\n%s", name, text.String(), want)
		}
	}
}

// exercise calls every method of a sequence and checks the contract of Open: values must not
// decrease.
func exercise(t *testing.T, s Sequence) {
	t.Helper()
	last := uint64(0)
	for i, v := range s.All(0) {
		if v < last {
			t.Fatalf("value %d is %d after %d", i, v, last)
		}
		last = v
	}
	if last != s.Last() {
		t.Fatalf("Last = %d, want %d", s.Last(), last)
	}
	for i := 0; i < s.Len(); i += 1 + s.Len()/300 {
		v := s.At(i)
		if j := s.Search(v); j > i || s.At(j) != v {
			t.Fatalf("Search(%d) = %d, want %d or an equal one before it", v, j, i)
		}
		s.Search(v + 1)
		s.Search(^v)
		if i+1 < s.Len() {
			if lo, hi := s.Two(i); lo != v || hi != s.At(i+1) {
				t.Fatalf("Two(%d) = %d, %d", i, lo, hi)
			}
		}
	}
}

func TestDamage(t *testing.T) {
	rng := newRand(t)
	for name, values := range shapes(rng) {
		whole := Append(nil, values)
		for cut := 0; cut < len(whole); cut += 1 + rng.IntN(1+len(whole)/50) {
			if _, _, err := Open(whole[:cut]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s cut to %d of %d bytes: %v", name, cut, len(whole), err)
			}
		}
		for range 60 {
			damaged := slices.Clone(whole)
			if bit := rng.IntN(8 * len(damaged)); rng.IntN(2) == 0 {
				bit %= min(8*len(damaged), 8*64)
				damaged[bit/8] ^= 1 << (bit % 8)
			} else {
				damaged[bit/8] ^= 1 << (bit % 8)
			}
			s, used, err := Open(damaged)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if used > len(damaged) {
				t.Fatalf("%s: used %d of %d bytes", name, used, len(damaged))
			}
			exercise(t, s)
		}
	}
}

// Each case breaks one rule of the format.
func TestOpenRefuses(t *testing.T) {
	put := func(b []byte, at int, v uint64) []byte {
		b = slices.Clone(b)
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	small := Append(nil, []uint64{1, 2, 4})          // header, entry at 16, bitmap at 32, zeros at 40
	two := Append(nil, ramp(1000, 20, 257))          // entries at 16 and 32, blocks from 48
	wide := Append(nil, []uint64{5, math.MaxUint64}) // whole values at 32 and 40, bitmap at 48
	place := binary.LittleEndian.Uint64(small[24:])
	// Two values, 0 and 799, of width 0: their bitmap needs 13 words.
	long := make([]byte, 32+13*8+24)
	long[0], long[8] = 2, 13
	long = put(put(put(long, 24, 1<<39|1<<48), 32, 1), 32+12*8, 1<<32)
	for name, b := range map[string][]byte{
		"no header":              {1, 2, 3},
		"more values than room":  put(small, 0, 1<<40),
		"greatest count":         put(small, 0, math.MaxUint64),
		"more words than room":   put(small, 8, 5),
		"greatest words":         put(small, 8, math.MaxUint64),
		"fewer values than ones": put(small, 0, 2),
		"more values than ones":  put(small, 0, 4),
		"words of no block":      append(put(small, 8, 2), 0, 0, 0, 0, 0, 0, 0, 0),
		"no first one":           put(small, 32, 0b110),
		"no zeros at the end":    put(small, 40, 1),
		"one of first group":     put(small, 24, place+1<<39),
		"one of two groups":      put(small, 24, place+1<<48),
		"width of 58":            put(small, 24, place|58<<57),
		"width of 65":            put(small, 24, place|65<<57),
		"block elsewhere":        put(small, 24, place+1),
		"bitmap of 13 words":     long,
		"words of nothing":       put(Append(nil, nil), 8, 1),
		"base too great":         put(small, 16, math.MaxUint64),
		"empty last word":        append(put(put(small, 8, 2), 32, 0b10111), 0, 0, 0, 0, 0, 0, 0, 0),
		"block below the last":   put(two, 32, 900),
		"block far away":         put(two, 40, 1<<38),
		"low parts decrease":     put(wide, 32, 6),
	} {
		if _, _, err := Open(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range [][]byte{small, two, wide} {
		open(t, b)
	}
}

func FuzzOpen(f *testing.F) {
	for _, values := range [][]uint64{{}, {0}, {2, 3, 5}, ramp(9, 17, 600), {0, math.MaxUint64}} {
		f.Add(Append(nil, values))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, used, err := Open(b)
		if err != nil {
			return
		}
		if used > len(b) {
			t.Fatalf("used %d of %d bytes", used, len(b))
		}
		exercise(t, s)
		values := make([]uint64, 0, s.Len())
		for _, v := range s.All(0) {
			values = append(values, v)
		}
		again := open(t, Append(nil, values))
		for i, v := range again.All(0) {
			if v != values[i] {
				t.Fatalf("written again: value %d is %d, want %d", i, v, values[i])
			}
		}
	})
}
