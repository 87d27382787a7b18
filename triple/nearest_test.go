// Tests of the nearest double of an integer.

package triple

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestNearestOf compares the doubles of integers with those of their digits.
func TestNearestOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	numbers := []uint64{1, 1e15, math.MaxUint64, math.MaxUint64 - 1023, math.MaxUint64 - 1024, math.MaxUint64 - 1025, math.MaxUint64 - 2048, 1e19, 1e19 - 1}
	for shift := 50; shift < 64; shift++ {
		for d := -3; d <= 3; d++ {
			numbers = append(numbers, 1<<shift+uint64(d))
		}
	}
	for range 2000 {
		numbers = append(numbers, rng.Uint64()>>rng.IntN(12))
	}
	for _, n := range numbers {
		text := strconv.FormatUint(n, 10)
		v, order := nearestOf(n)
		want, err := strconv.ParseFloat(text, 64)
		if err != nil || v != want || order != compareExact(want, text, "") {
			t.Errorf("%d: %v, %d; want %v, %d", n, v, order, want, compareExact(want, text, ""))
		}
	}
}

// BenchmarkAppendInteger appends numbers beyond a double's, as UIDs are.
func BenchmarkAppendInteger(b *testing.B) {
	var dst []byte
	term := NewTyped("17293822569102704640", XSD+"unsignedLong")
	for b.Loop() {
		dst, _ = AppendTerm(dst[:0], term)
	}
}
