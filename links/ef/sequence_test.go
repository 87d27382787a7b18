// Tests of what Sequence alone has.

package ef

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkSequence checks Two, Last, and iterators from any index.
func checkSequence(t *testing.T, r reader, values []uint64, rng *rand.Rand) {
	t.Helper()
	s := r.(*Sequence)
	for i := range max(len(values)-1, 0) {
		if lo, hi := s.Pair(i); lo != values[i] || hi != values[i+1] {
			t.Fatalf("Two(%d) = %d, %d, want %d, %d", i, lo, hi, values[i], values[i+1])
		}
	}
	if len(values) > 0 && s.Last() != values[len(values)-1] {
		t.Fatalf("Last = %d", s.Last())
	}
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

func TestTwoPanics(t *testing.T) {
	s, _, err := Open(Append(nil, ramp(0, 3, 300)))
	if err != nil {
		t.Fatal(err)
	}
	panics(t, map[string]func(){"Two(-1)": func() { s.Pair(-1) }, "Two(299)": func() { s.Pair(299) }})
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
	forms["Sequence"].checkRefused(t, map[string][]byte{
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
	}, small, two, wide)
}
