// Benchmarks of the parser.

package jsonld

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// flatDocument returns a document of many small nodes, each with an ID, a type, a reference, a
// language-tagged string, a number and a typed value.
func flatDocument(nodes int) []byte {
	var doc bytes.Buffer
	doc.WriteString(`{"@context":{"@vocab":"http://example.org/v/","knows":{"@type":"@id"},"xsd":"http://www.w3.org/2001/XMLSchema#"},"@graph":[`)
	for i := range nodes {
		if i > 0 {
			doc.WriteByte(',')
		}
		fmt.Fprintf(&doc, `{"@id":"http://example.org/people/%d","@type":"Person","knows":"http://example.org/people/%d","name":{"@value":"Person %d","@language":"en"},"age":%d,"born":{"@value":"2001-01-%02d","@type":"xsd:date"}}`,
			i, i*7%nodes, i, i%90, i%28+1)
	}
	doc.WriteString(`]}`)
	return doc.Bytes()
}

// BenchmarkFlat parses a large flat document, and BenchmarkContexts one whose nodes have contexts.
func BenchmarkFlat(b *testing.B) { benchmark(b, flatDocument(20_000)) }

func BenchmarkContexts(b *testing.B) {
	node := `{"@context":{"@vocab":"http://example.org/v/","knows":{"@id":"http://example.org/knows","@type":"@id"},"when":{"@type":"http://www.w3.org/2001/XMLSchema#date"}},"@id":"http://example.org/1","knows":"http://example.org/2","when":"2001-01-01"}`
	benchmark(b, []byte("["+strings.Repeat(node+",", 9_999)+node+"]"))
}

func benchmark(b *testing.B, doc []byte) {
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range Parse(bytes.NewReader(doc), Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n == 0 {
			b.Fatal("no triples")
		}
	}
}
