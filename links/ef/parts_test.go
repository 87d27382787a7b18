// Tests of what Parts alone has.

package ef

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func openParts(t testing.TB, b []byte) *Parts {
	t.Helper()
	return forms["Parts"].mustOpen(t, b).(*Parts)
}

// checkParts checks reads in steps.
func checkParts(t *testing.T, r reader, values []uint64, rng *rand.Rand) {
	t.Helper()
	s := r.(*Parts)
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
		Gather(s, got, places)
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

// TestEach reads values of several sequences together.
func TestEach(t *testing.T) {
	rng := newRand(t)
	var all [][]uint64
	var sequences []*Parts
	for _, values := range shapes(rng) {
		if len(values) > 0 {
			all, sequences = append(all, values), append(sequences, openParts(t, AppendParts(nil, values)))
		}
	}
	for _, n := range []int{0, 1, 1000} {
		of, owners, want := make([]uint32, n), make([]uint8, n+1), make([]uint64, n)
		for k := range n {
			owner := rng.IntN(len(all))
			owners[k], of[k] = uint8(owner), rng.Uint32N(uint32(len(all[owner])))
			want[k] = all[owner][of[k]]
		}
		got := make([]uint64, n)
		FindEach(sequences, got, owners, of)
		if touched := TouchEach(sequences, got, owners, of); touched&1 == 0 && n > 0 {
			t.Fatalf("the touch of %d values gave %x", n, touched)
		}
		if ValueEach(sequences, got, got, owners, of); !slices.Equal(got, want) {
			t.Fatalf("%d values of %d sequences are %d, want %d", n, len(sequences), got, want)
		}
	}
}

func TestPartsMisusePanics(t *testing.T) {
	s := openParts(t, AppendParts(nil, ramp(0, 3, 300)))
	panics(t, map[string]func(){
		"Gather(300)":              func() { Gather(s, make([]uint64, 2), []uint32{1, 300}) },
		"Find(300)":                func() { s.Find(300) },
		"no place":                 func() { ValueEach([]*Parts{s}, make([]uint64, 1), []uint64{1 << 60}, []uint8{0}, []uint32{3}) },
		"decreasing between parts": func() { AppendParts(nil, append(repeat(5, partLen), 4)) },
	})
}

// Each case breaks one rule of the format.
func TestOpenPartsRefuses(t *testing.T) {
	put := func(b []byte, at int, v byte) []byte {
		b = slices.Clone(b)
		b[at] = v
		return b
	}
	small := AppendParts(nil, []uint64{1, 2, 4})   // entry at 16, base at 32, bitmap at 33, zeros from 41
	two := AppendParts(nil, ramp(1000, 20, 33))    // entry at 16, parts at 32 and 32+2+8+4*5
	wide := AppendParts(nil, []uint64{5, 1 << 63}) // base at 32, bitmap at 33, low parts from 41, zeros at 304
	second := 32 + 2 + 8 + lowUnit*int(two[24])    // of two
	over := put(wide, 41+15, 255)                  // a base of 1 and too large a distance
	binary.LittleEndian.PutUint64(over[49:], math.MaxUint64)
	forms["Parts"].checkRefused(t, map[string][]byte{
		"no header":              {1, 2, 3},
		"more values than room":  put(small, 3, 1),
		"greatest count":         put(small, 7, 255),
		"more bytes than room":   put(small, 8, 32),
		"odd bytes":              put(small, 8, 15),
		"bytes of nothing":       put(AppendParts(nil, nil), 8, 8),
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
		"value past 2^64-1":      over,
	}, small, two, wide)
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
		b := AppendParts(nil, ramp(9, 18, 20))
		s := openParts(t, b)
		change(b)
		for how, read := range map[string]func(){
			"At":     func() { s.At(3) },
			"Gather": func() { Gather(s, make([]uint64, 1), []uint32{3}) },
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
