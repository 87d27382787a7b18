// The bounds by frequency and length, compared with scores of random documents.

package textindex

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestReach checks that no document which scores enough is left out: of terms, of a term that occurs twice in the query, and
// of phrases.
func TestReach(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	left := 0
	for range 200_000 {
		s := &scorer{base: k1 * (1 - b), slope: k1 * b / math.Exp(r.Float64()*7)}
		// 1. A document with some terms, and perhaps other words.
		frequencies, length, most := make([]uint32, 1+r.IntN(4)), uint32(0), uint32(0)
		for i := range frequencies {
			frequencies[i] = 1 + uint32(r.ExpFloat64()*[]float64{0.5, 2, 20}[r.IntN(3)])
			length += frequencies[i]
			if i > 0 {
				most = max(most, frequencies[i])
			}
		}
		length += uint32(r.IntN(2)) * uint32(r.ExpFloat64()*10)
		// 2. Its score, and what the first term knows of the others.
		var operands []operand
		score := 0.0
		for i, f := range frequencies {
			m := &termMatcher{blockBounds: blockBounds{cursor: &cursor{list: list{postings: []byte{byte(i)}}}, scorer: s, weight: math.Exp(r.NormFloat64() * 2)}}
			operands = append(operands, operand{matcher: m, term: m})
			score += m.weight * s.saturate(f, length)
		}
		if len(frequencies) > 1 && r.IntN(4) == 0 { // the last term is the first one
			last := len(frequencies) - 1
			length -= frequencies[last] - min(frequencies[last], 1)
			length = max(length, frequencies[0])
			operands[last].term.list, frequencies[last] = operands[0].term.list, frequencies[0]
			most, score = 0, 0
			for i, f := range frequencies {
				if score += operands[i].term.weight * s.saturate(f, length); i > 0 {
					most = max(most, f)
				}
			}
		}
		shareLengths(operands)
		first := operands[0].term.reach
		need, times := score*[]float64{1, 0.999, 1.001, 1.2}[r.IntN(4)], most+uint32(r.IntN(2))
		has := first.has(first.table(need*tight, times), frequencies[0], length)
		if need <= score && !has {
			t.Fatalf("a document of length %d with frequencies %d scores %g, not less than %g, and is left out", length, frequencies, score, need)
		}
		if !has {
			left++
		}
		// 3. A phrase of as many different words, as often as the document may have it.
		words := uint32(len(frequencies))
		phrase := &reach{scorer: s, weight: 1, each: float64(words)}
		extra := uint32(r.IntN(3))
		times = max(length/words, 1)
		length = max(length, times*words+extra)
		need = phrase.weight * s.saturate(times, length)
		if !phrase.has(phrase.table(need*tight, 0), times+extra, length) {
			t.Fatalf("a document of length %d with %d phrases of %d words is left out", length, times, words)
		}
	}
	if left < 10_000 {
		t.Errorf("only %d documents that score less are left out", left)
	}
}
