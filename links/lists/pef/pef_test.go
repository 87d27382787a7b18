// Tests of sequences of every kind against plain slices, of golden bytes, and of damaged bytes.

package pef

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

// random returns a generator and logs its seed. If TREFOIL_SEED is set, it is the seed.
func random(t testing.TB) *rand.Rand {
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

func repeat(v uint64, n int) []uint64 { return slices.Repeat([]uint64{v}, n) }

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
		"all zero":          repeat(0, 100),
		"all greatest":      repeat(math.MaxUint64, 65),
		"zeros, then end":   append(repeat(0, 70), math.MaxUint64),
		"steps of 2^40":     ramp(0, 1<<40, 3000),
		"one gap in middle": append(ramp(0, 1, 300), ramp(1<<60, 1, 300)...),
		"steps of 2^58":     ramp(0, 1<<58, 60),
		"span of 32":        {7, 8, 9, 39},
		"span of 33":        {7, 8, 9, 40},
	}
	for _, n := range []int{31, 32, 33, 255, 256, 257, 513} {
		m[strconv.Itoa(n)+" steps of 18"] = ramp(1000, 18, n)
	}
	for width := range 65 {
		values := make([]uint64, 300+rng.IntN(400))
		for i := range values {
			values[i] = rng.Uint64() & lowMask(uint(width))
		}
		slices.Sort(values)
		m["random of "+strconv.Itoa(width)+" bits"] = values
	}
	clustered := []uint64{}
	v := uint64(0)
	for range 4000 {
		v += rng.Uint64N(1 << rng.IntN(40))
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
	if used != len(b) || used%8 != 0 {
		t.Fatalf("Open used %d of %d bytes", used, len(b))
	}
	return s
}

func TestSequenceEqualsSlice(t *testing.T) {
	rng := random(t)
	for name, values := range shapes(rng) {
		t.Run(name, func(t *testing.T) {
			b := Append([]byte("before"), values)
			s := open(t, b[len("before"):])
			if s.Len() != len(values) {
				t.Fatalf("Len = %d, want %d", s.Len(), len(values))
			}
			for i, want := range values {
				if got := s.At(i); got != want {
					t.Fatalf("At(%d) = %d, want %d", i, got, want)
				}
			}
			if len(values) > 0 && s.Last() != values[len(values)-1] {
				t.Fatalf("Last = %d", s.Last())
			}
			next := 0
			for i, v := range s.All() {
				if i != next || v != values[i] {
					t.Fatalf("All gives %d at %d, want %d at %d", v, i, values[next], next)
				}
				next++
			}
			if next != len(values) {
				t.Fatalf("All ended at %d of %d", next, len(values))
			}
			checkGather(t, s, values, rng)
			checkSearch(t, s, values, rng)
		})
	}
}

func checkGather(t *testing.T, s Sequence, values []uint64, rng *rand.Rand) {
	t.Helper()
	for _, n := range []int{0, 1, 7, 300} {
		if len(values) == 0 {
			n = 0
		}
		places := make([]uint32, n)
		for i := range places {
			places[i] = rng.Uint32N(uint32(len(values)))
		}
		got := make([]uint64, n+1)
		got[n] = 9
		Gather(&s, got, places)
		for i, place := range places {
			if got[i] != values[place] {
				t.Fatalf("Gather of %d gives %d, want %d", place, got[i], values[place])
			}
		}
		if got[n] != 9 {
			t.Fatal("Gather wrote behind its places")
		}
		for _, i := range places {
			p := s.Find(i)
			if touched, v := s.Touch(p, i), s.Value(p, i); touched&1 == 0 || v != values[i] {
				t.Fatalf("value %d in steps is %d, want %d; the touch gave %x", i, v, values[i], touched)
			}
		}
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

// TestEach reads values of several sequences together.
func TestEach(t *testing.T) {
	rng := random(t)
	var all [][]uint64
	var sequences []Sequence
	var from []*Sequence
	for _, values := range shapes(rng) {
		if len(values) > 0 {
			all, sequences = append(all, values), append(sequences, open(t, Append(nil, values)))
		}
	}
	for i := range sequences {
		from = append(from, &sequences[i])
	}
	for _, n := range []int{0, 1, 1000} {
		of, owners, want := make([]uint32, n), make([]uint8, n+1), make([]uint64, n)
		for k := range n {
			owner := rng.IntN(len(all))
			owners[k], of[k] = uint8(owner), rng.Uint32N(uint32(len(all[owner])))
			want[k] = all[owner][of[k]]
		}
		got := make([]uint64, n)
		FindEach(from, got, owners, of)
		if touched := TouchEach(from, got, owners, of); touched&1 == 0 && n > 0 {
			t.Fatalf("the touch of %d values gave %x", n, touched)
		}
		if ValueEach(from, got, got, owners, of); !slices.Equal(got, want) {
			t.Fatalf("%d values of %d sequences are %d, want %d", n, len(from), got, want)
		}
	}
}

// TestSize checks the size in the package comment: 32 values take a base and a word.
func TestSize(t *testing.T) {
	rng := random(t)
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
		if got > want+2.5 {
			t.Errorf("mean gap 2^%d: %.2f bits a value, want %.2f and 2.5 at most", width, got, want)
		}
	}
}

func TestMisusePanics(t *testing.T) {
	s := open(t, Append(nil, ramp(0, 3, 300)))
	for name, call := range map[string]func(){
		"At(-1)":      func() { s.At(-1) },
		"At(300)":     func() { s.At(300) },
		"Gather(300)": func() { Gather(&s, make([]uint64, 2), []uint32{1, 300}) },
		"Find(300)":   func() { s.Find(300) },
		"no place":    func() { ValueEach([]*Sequence{&s}, make([]uint64, 1), []uint64{1 << 60}, []uint8{0}, []uint32{3}) },
		"decreasing":  func() { Append(nil, []uint64{2, 1}) },
		"decreasing between parts": func() {
			Append(nil, append(repeat(5, partLen), 4))
		},
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
	for i, v := range s.All() {
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
		var got [2]uint64
		if Gather(&s, got[:], []uint32{uint32(i), 0}); got[0] != v || got[1] != s.At(0) {
			t.Fatalf("Gather of %d and 0 gives %d", i, got)
		}
	}
}

func TestDamage(t *testing.T) {
	rng := random(t)
	for name, values := range shapes(rng) {
		whole := Append(nil, values)
		for cut := 0; cut < len(whole); cut += 1 + rng.IntN(1+len(whole)/50) {
			if _, _, err := Open(whole[:cut]); !errors.Is(err, ErrCorrupt) {
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
	put := func(b []byte, at int, v byte) []byte {
		b = slices.Clone(b)
		b[at] = v
		return b
	}
	small := Append(nil, []uint64{1, 2, 4})     // entry at 16, base at 32, bitmap at 33, zeros from 41
	two := Append(nil, ramp(1000, 20, 33))      // entry at 16, parts at 32 and 32+2+8+4*5
	wide := Append(nil, []uint64{5, 1 << 63})   // base at 32, bitmap at 33, low parts from 41, zeros at 304
	second := 32 + 2 + 8 + lowUnit*int(two[24]) // of two
	for name, b := range map[string][]byte{
		"no header":              {1, 2, 3},
		"more values than room":  put(small, 3, 1),
		"greatest count":         put(small, 7, 255),
		"more bytes than room":   put(small, 8, 32),
		"odd bytes":              put(small, 8, 15),
		"bytes of nothing":       put(Append(nil, nil), 8, 8),
		"bases of 9 bytes":       put(small, 15, 9),
		"fewer values than ones": put(small, 0, 2),
		"more values than ones":  put(small, 0, 4),
		"part elsewhere":         put(small, 16, 1),
		"part far away":          put(small, 23, 128),
		"width of no part":       put(small, 25, 1),
		"width of 58":            put(wide, 24, 58),
		"width of 65":            put(wide, 24, 65),
		"no room for low parts":  put(small, 24, 40),
		"no first one":           put(small, 33, 0b10110),
		"no zeros at the end":    put(small, len(small)-1, 1),
		"zeros before the end":   put(small, 42, 1),
		"word of no part":        append(put(small, 8, 24), 0, 0, 0, 0, 0, 0, 0, 0),
		"first value not base":   put(wide, 41, 1),
		"low parts decrease":     put(two, second-1, 0),
		"part below the last":    put(two, second, 0),
		"upper part of 64 bits":  put(wide, 33, 0b101),
	} {
		if _, _, err := Open(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	over := put(wide, 41+15, 255) // a base of 1 and too large a distance
	binary.LittleEndian.PutUint64(over[49:], math.MaxUint64)
	if _, _, err := Open(over); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a value past 2^64-1: %v", err)
	}
	for _, b := range [][]byte{small, two, wide} {
		open(t, b)
	}
}

// If bytes change after Open, for example because memory fails, values may be wrong, but no read
// may leave the bytes.
func TestBytesChangedSinceOpen(t *testing.T) {
	for name, change := range map[string]func(b []byte){
		"part behind the end":  func(b []byte) { b[16+2] = 1 },
		"part far away":        func(b []byte) { b[16+6] = 255 },
		"low parts end behind": func(b []byte) { b[16+8] = 64 },
		"width of 255":         func(b []byte) { b[16+8] = 255 },
	} {
		b := Append(nil, ramp(9, 18, 20))
		s := open(t, b)
		change(b)
		for how, read := range map[string]func(){
			"At":     func() { s.At(3) },
			"Gather": func() { Gather(&s, make([]uint64, 1), []uint32{3}) },
			"Touch":  func() { s.Touch(s.Find(3), 3) },
			"Value":  func() { s.Value(s.Find(3), 3) },
		} {
			func() {
				defer func() {
					if message, _ := recover().(string); !strings.Contains(message, "has changed since Open") {
						t.Errorf("%s: %s: %q", name, how, message)
					}
				}()
				read()
			}()
		}
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
		for _, v := range s.All() {
			values = append(values, v)
		}
		again := open(t, Append(nil, values))
		for i, v := range again.All() {
			if v != values[i] {
				t.Fatalf("written again: value %d is %d, want %d", i, v, values[i])
			}
		}
	})
}

// Benchmark of one access, inside and outside of the cache.
func BenchmarkAt(b *testing.B) {
	for _, n := range []int{20_000, 10_000_000} {
		rng := rand.New(rand.NewPCG(1, 0))
		values := make([]uint64, n)
		v := uint64(0)
		for i := range values {
			v += rng.Uint64N(36)
			values[i] = v
		}
		s := open(b, Append(nil, values))
		places := make([]uint32, 1<<16)
		for i := range places {
			places[i] = rng.Uint32N(uint32(n))
		}
		var sum uint64
		b.Run("At/n="+strconv.Itoa(n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				sum += s.At(int(places[i&(1<<16-1)]))
			}
		})
		b.Run("Gather/n="+strconv.Itoa(n), func(b *testing.B) {
			var dst [4]uint64
			for i := 0; b.Loop(); i += 4 {
				Gather(&s, dst[:], places[i&(1<<16-1):][:4])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4*b.N), "ns/value")
		})
	}
}
