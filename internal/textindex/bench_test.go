// Benchmarks of building and searching. They print nothing but figures; docs/BENCHMARKS.md has the machine.

package textindex

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"
)

// generated returns texts whose words have frequencies as in natural language, from a fixed seed.
func generated(n, words int) []string {
	r := rand.New(rand.NewSource(1))
	zipf := rand.NewZipf(r, 1.1, 5, 200_000)
	texts := make([]string, n)
	for i := range texts {
		var text strings.Builder
		for range 1 + r.Intn(2*words) {
			v := zipf.Uint64()
			fmt.Fprintf(&text, "%s%s ", syllables(v), []string{"", "s", "ing"}[v%3])
		}
		texts[i] = text.String()
	}
	return texts
}

func syllables(v uint64) string {
	out := []byte{}
	for v += 20; v > 0; v /= 70 {
		s := v % 70
		out = append(out, "bdfgklmnprstvz"[s%14], "aeiou"[s/14])
	}
	return string(out)
}

// BenchmarkBuild measures tokens a second by one builder, and the bytes of the segment for each.
func BenchmarkBuild(b *testing.B) {
	texts := generated(100_000, 10)
	for _, lang := range []string{"", "en"} {
		b.Run("language="+lang, func(b *testing.B) {
			tokens, size, docs := uint64(0), 0, int64(0)
			for range b.N {
				builder := NewBuilder(NewAnalyzer(), "x:p", 0)
				for i, text := range texts {
					if err := builder.Add(Document{Key: fmt.Appendf(nil, "%d %s", i, text), Text: []byte(text), Tag: lang}); err != nil {
						b.Fatal(err)
					}
				}
				s, err := builder.Finish()
				if err != nil {
					b.Fatal(err)
				}
				tokens, size, docs = tokens+s.Tokens(), len(s.body), s.docsSize
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
			b.ReportMetric(float64(size)*float64(b.N)/float64(tokens), "B/token")
			b.ReportMetric(float64(docs)*float64(b.N)/float64(tokens), "documentB/token")
		})
	}
}

// BenchmarkSearch measures queries of a million literals.
func BenchmarkSearch(b *testing.B) {
	a := NewAnalyzer()
	builder := NewBuilder(a, "x:p", 0)
	for i, text := range generated(1_000_000, 5) {
		if err := builder.Add(Document{Key: fmt.Appendf(nil, "%d %s", i, text), Text: []byte(text)}); err != nil {
			b.Fatal(err)
		}
	}
	s, err := builder.Finish()
	if err != nil {
		b.Fatal(err)
	}
	parts := []*Part{{Segment: s}}
	w := func(v uint64) string { return syllables(v) + []string{"", "s", "ing"}[v%3] }
	for _, query := range []string{w(0), w(10), w(1000), w(3) + " OR " + w(40), w(3) + " " + w(40), w(0) + " OR " + w(1), w(0) + " " + w(1), `"` + w(0) + " " + w(1) + `"`, w(10)[:3] + "*", w(1000) + "~1", w(1000) + "~2"} {
		for _, limit := range []int{10, math.MaxInt32} {
			b.Run(fmt.Sprintf("%s/limit=%d", strings.ReplaceAll(query, " ", "_"), limit), func(b *testing.B) {
				hits := 0
				for range b.N {
					q, err := Parse(query)
					if err != nil {
						b.Fatal(err)
					}
					r := &Request{Query: q}
					stats, err := Collect(a, r, parts, noCheck)
					if err != nil {
						b.Fatal(err)
					}
					found, err := Search(a, r, &stats, parts, limit, nil, noCheck)
					if err != nil {
						b.Fatal(err)
					}
					hits = len(found)
				}
				b.ReportMetric(float64(hits), "hits")
			})
		}
	}
}
