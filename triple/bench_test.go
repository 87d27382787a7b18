// Benchmarks of terms, keys and the scanner.

package triple

import (
	"bytes"
	"fmt"
	"testing"
)

// benchTriples returns n triples as a university's data has them: IRIs of some
// 50 bytes, and one object in three a literal (strings, integers, dates,
// language strings).
func benchTriples(n int) []Triple {
	const ns = "http://www.example.org/univ-bench.owl#"
	triples := make([]Triple, 0, n)
	for i := range n {
		s := NewIRI(fmt.Sprintf("http://www.Department%d.University%d.edu/GraduateStudent%d", i/977%20, i/19999, i/7))
		var p, o Term
		switch i % 7 {
		case 0:
			p, o = NewIRI(RDFType), NewIRI(ns+"GraduateStudent")
		case 1:
			p, o = NewIRI(ns+"takesCourse"), NewIRI(fmt.Sprintf("http://www.Department%d.University%d.edu/GraduateCourse%d", i/977%20, i/19999, i%61))
		case 2:
			p, o = NewIRI(ns+"name"), NewString(fmt.Sprintf("GraduateStudent%d", i/7))
		case 3:
			p, o = NewIRI(ns+"age"), NewTyped(fmt.Sprint(18+i%50), XSDInteger)
		case 4:
			p, o = NewIRI(ns+"enrolled"), NewTyped(fmt.Sprintf("20%02d-%02d-%02d", i%30, 1+i%12, 1+i%28), XSDDate)
		case 5:
			p, o = NewIRI(ns+"memberOf"), NewIRI(fmt.Sprintf("http://www.Department%d.University%d.edu", i/977%20, i/19999))
		default:
			p, o = NewIRI(ns+"motto"), NewLang(fmt.Sprintf("Übung macht den Meister %d", i), "de")
		}
		triples = append(triples, Triple{Subject: s, Predicate: p, Object: o})
	}
	return triples
}

func benchDocument(n int) []byte {
	var doc []byte
	for _, t := range benchTriples(n) {
		doc = AppendNTriple(doc, t)
	}
	return doc
}

func reportRate(b *testing.B, n int, unit string) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M"+unit+"/s")
}

func BenchmarkScanner(b *testing.B) {
	const n = 100_000
	doc := benchDocument(n)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		sc := NewScanner(bytes.NewReader(doc), ScanOptions{})
		count := 0
		for sc.Scan() {
			count++
		}
		if sc.Err() != nil || count != n {
			b.Fatal(count, sc.Err())
		}
	}
	reportRate(b, n, "triples")
}

// BenchmarkBlockTokens finds the tokens of statements without checking inside them.
func BenchmarkBlockTokens(b *testing.B) {
	const n = 100_000
	doc := benchDocument(n)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		block := NewBlock("", doc, false, DefaultMaxLine)
		var st RawStatement
		count := 0
		for {
			more, err := block.Next(&st)
			if err != nil {
				b.Fatal(err)
			}
			if !more {
				break
			}
			count++
		}
		if count != n {
			b.Fatal(count)
		}
	}
	reportRate(b, n, "triples")
}

func BenchmarkBlockReader(b *testing.B) {
	doc := benchDocument(100_000)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		br := NewBlockReader(bytes.NewReader(doc), ScanOptions{})
		for {
			if _, err := br.Next(); err != nil {
				break
			}
		}
	}
}

func benchKeys(n int) (keys, values [][]byte) {
	for _, t := range benchTriples(n) {
		key, _ := AppendKey(nil, POS, t)
		keys = append(keys, key)
		values = append(values, AppendValue(nil, Stamp{1, 1000}, t))
	}
	return keys, values
}

func BenchmarkAppendKey(b *testing.B) {
	triples := benchTriples(7000)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		for i := range triples {
			buf, _ = AppendKey(buf[:0], SPO, triples[i])
		}
	}
	reportRate(b, len(triples), "keys")
}

func BenchmarkAppendValue(b *testing.B) {
	triples := benchTriples(7000)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		for i := range triples {
			buf = AppendValue(buf[:0], Stamp{1, 1000}, triples[i])
		}
	}
	reportRate(b, len(triples), "values")
}

func BenchmarkSplitKey(b *testing.B) {
	keys, _ := benchKeys(7000)
	b.ReportAllocs()
	for b.Loop() {
		for _, key := range keys {
			if _, _, err := SplitKey(key); err != nil {
				b.Fatal(err)
			}
		}
	}
	reportRate(b, len(keys), "keys")
}

func BenchmarkDecodeKey(b *testing.B) {
	keys, values := benchKeys(7000)
	b.ReportAllocs()
	for b.Loop() {
		for i, key := range keys {
			if _, _, err := DecodeKey(key, values[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
	reportRate(b, len(keys), "keys")
}

func BenchmarkAppendKeyNQuad(b *testing.B) {
	keys, values := benchKeys(7000)
	var buf []byte
	var err error
	b.ReportAllocs()
	for b.Loop() {
		for i, key := range keys {
			if buf, err = AppendKeyNQuad(buf[:0], key, values[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
	reportRate(b, len(keys), "statements")
}

// BenchmarkAppendTerm measures one term of each class.
func BenchmarkAppendTerm(b *testing.B) {
	for _, t := range []Term{
		NewIRI("http://www.Department12.University3.edu/GraduateStudent104"),
		NewString("GraduateStudent104"),
		NewTyped("42", XSDInteger),
		NewTyped("3.14159", XSDDecimal),
		NewTyped("1.0E-7", XSDDouble),
		NewTyped("3.14159265358979323846264338327950288", XSDDecimal),
		NewTyped("2026-11-20T12:00:00Z", XSDDateTime),
		NewLang("Übung macht den Meister", "de"),
		NewString(string(bytes.Repeat([]byte("long text "), 200))),
	} {
		name := t.String()
		if len(name) > 40 {
			name = name[:40]
		}
		b.Run(name, func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = AppendTerm(buf[:0], t)
			}
		})
	}
}
