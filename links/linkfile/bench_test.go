// Benchmarks of the readers.

package linkfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// benchURL returns a URL of some 70 bytes.
func benchURL(r *rand.Rand) string {
	return fmt.Sprintf("https://www.example%04d.org/section/directory-%03d/page-about-things-%06d.html", r.IntN(10_000), r.IntN(1000), r.IntN(1_000_000))
}

// benchFile returns a file with this number of links, 18 a page.
func benchFile(f Format, links int) []byte {
	r := rand.New(rand.NewPCG(1, 0))
	var b bytes.Buffer
	for range links / 18 {
		source := benchURL(r)
		targets := make([]string, 18)
		for i := range targets {
			targets[i] = benchURL(r)
		}
		switch f {
		case Edges:
			for _, target := range targets {
				b.WriteString(source + "\t" + target + "\n")
			}
		case Lists, Pages:
			b.WriteString(source + "\t" + strings.Join(targets, "\t") + "\n")
		case NTriples:
			for _, target := range targets {
				b.WriteString("<" + source + "> <" + DefaultPredicate + "> <" + target + "> .\n")
			}
		case WAT:
			for i, target := range targets {
				targets[i] = `{"path":"A@/href","url":"` + target + `","text":"more about it"}`
			}
			b.WriteString(page(source, "", strings.Join(targets, ",")))
		}
	}
	return b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	const links = 180_000
	for _, f := range []Format{Edges, Lists, Pages, NTriples, WAT} {
		doc := benchFile(f, links)
		b.Run(f.String(), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				rd, err := NewReader(bytes.NewReader(doc), Options{Format: f})
				if err != nil {
					b.Fatal(err)
				}
				for rd.Scan() {
				}
				if rd.Err() != nil || rd.Counts().Links != links {
					b.Fatal(rd.Err(), rd.Counts())
				}
			}
			b.ReportMetric(float64(links)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
		})
	}
}
