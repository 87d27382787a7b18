// Benchmarks of scans, patterns and additions over HTTP.

package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/response"
)

// benchServer serves n triples of students, courses and departments.
func benchServer(b *testing.B, n int) *testServer {
	store := newStore(b)
	s := serve(b, store, Options{}, ServerOptions{})
	s.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 100
	r, w := io.Pipe()
	go func() {
		for i := range n / 4 {
			student := fmt.Sprintf("<http://www.Department%d.University%d.edu/UndergraduateStudent%d>", i%20, i/400%100, i)
			fmt.Fprintf(w, "%s <%stype> <%sStudent> .\n%s <%sname> \"Student %d\" .\n%s <%stakes> <http://www.Department%d.University%d.edu/Course%d> .\n%s <%sage> \"%d\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n",
				student, exampleIRI, exampleIRI, student, exampleIRI, i, student, exampleIRI, i%20, i/400%100, i%60, student, exampleIRI, i%50)
		}
		w.Close()
	}()
	if got := s.send("POST", "/load", r, "Content-Type", response.NTriples); got.status != 200 {
		b.Fatal(got.body)
	}
	return s
}

// BenchmarkScan streams everything.
func BenchmarkScan(b *testing.B) {
	const n = 400_000
	s := benchServer(b, n)
	for _, accept := range []string{response.NQuads, response.NDJSON} {
		b.Run(strings.TrimPrefix(accept, "application/"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, _ := http.NewRequest(http.MethodGet, s.url+"/range?order=spo", nil)
				r.Header.Set("Accept", accept)
				got, err := s.client.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				bytes, err := io.Copy(io.Discard, got.Body)
				if err != nil || bytes < n*50 {
					b.Fatal(bytes, err)
				}
				b.SetBytes(bytes)
				got.Body.Close()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "triples/s")
		})
	}
}

// BenchmarkPattern asks for all of one subject.
func BenchmarkPattern(b *testing.B) {
	s := benchServer(b, 400_000)
	targets := make([]string, 1000)
	for i := range targets {
		k := i * 97
		targets[i] = target("/triples", "s", fmt.Sprintf("<http://www.Department%d.University%d.edu/UndergraduateStudent%d>", k%20, k/400%100, k), "limit", "100")
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if got := s.get(targets[i%len(targets)]); strings.Count(got.body, "\n") != 4 {
			b.Fatal(got.body)
		}
		i++
	}
}

// BenchmarkAdd adds one triple a request from 64 connections, and batches.
func BenchmarkAdd(b *testing.B) {
	b.Run("one", func(b *testing.B) {
		s := benchServer(b, 0)
		s.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 100
		var mu sync.Mutex
		next := 0
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.Lock()
				next++
				body := fmt.Sprintf("<%ss%d> <%sp> \"%d\" .\n", exampleIRI, next, exampleIRI, next)
				mu.Unlock()
				if got := s.do("POST", "/triples?blank=keep", body, "Content-Type", response.NTriples); got.status != 200 {
					b.Error(got.body)
				}
			}
		})
	})
	b.Run("thousand", func(b *testing.B) {
		s := benchServer(b, 0)
		next := 0
		for b.Loop() {
			var body strings.Builder
			for range 1000 {
				next++
				fmt.Fprintf(&body, "<%ss%d> <%sp> \"%d\" .\n", exampleIRI, next*7919%1000003, exampleIRI, next)
			}
			if got := s.do("POST", "/triples?blank=keep", body.String(), "Content-Type", response.NTriples); got.status != 200 {
				b.Fatal(got.body)
			}
		}
		b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "triples/s")
	})
}

// BenchmarkCompressed streams 100 MB of N-Quads in each coding; the client does not decode them. MB/s
// are those of the text.
func BenchmarkCompressed(b *testing.B) {
	s := benchServer(b, 800_000)
	length := len(s.get("/range?order=spo").body)
	for _, coding := range []string{"identity", "zstd", "gzip", "br"} {
		b.Run(coding, func(b *testing.B) {
			b.SetBytes(int64(length))
			var sent int64
			for b.Loop() {
				r, _ := http.NewRequest(http.MethodGet, s.url+"/range?order=spo", nil)
				r.Header.Set("Accept-Encoding", coding)
				got, err := s.client.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				if sent, err = io.Copy(io.Discard, got.Body); err != nil {
					b.Fatal(err)
				}
				got.Body.Close()
			}
			b.ReportMetric(float64(sent)/1e6, "MB-sent")
		})
	}
}
