// Benchmarks of the parser.

package turtle

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkParse parses 200,000 triples: prefixed names, IRIs, literals.
func BenchmarkParse(b *testing.B) {
	var doc bytes.Buffer
	doc.WriteString("@prefix ub: <http://example.org/univ-bench.owl#> .\n@prefix d: <http://www.department0.university0.edu/> .\n")
	triples := 0
	for i := 0; triples < 200_000; i++ {
		fmt.Fprintf(&doc, "d:Student%d a ub:GraduateStudent ;\n    ub:name \"Student number %d\" ;\n    ub:age %d ;\n"+
			"    ub:takesCourse d:Course%d , d:Course%d ;\n    ub:advisor <http://www.department0.university0.edu/Professor%d> ;\n"+
			"    ub:about \"Über sich\"@de .\n\n", i, i, 18+i%40, i%100, i%97, i%50)
		triples += 7
	}
	b.SetBytes(int64(doc.Len()))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range Parse(bytes.NewReader(doc.Bytes()), Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != triples {
			b.Fatalf("%d triples, want %d", n, triples)
		}
	}
	b.ReportMetric(float64(triples)*float64(b.N)/b.Elapsed().Seconds(), "triples/s")
}
