// Tests of reading bodies beside queries.

package server

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/await"
)

// TestBodiesTakeTurns: large bodies are parsed in turns with queries, and a body whose client
// stops sending holds no slot.
func TestBodiesTakeTurns(t *testing.T) {
	s, _ := serveTriples(t, "<a:s> <a:p> <a:o> .", Options{})
	turns := s.api.options.Engine.Turns()
	line := []byte("<a:x> <a:p> <a:y> .\n")
	// 1. Many large bodies stop in the middle.
	var all sync.WaitGroup
	var writers []*io.PipeWriter
	const bodies = 40
	for range bodies {
		in, out := io.Pipe()
		writers = append(writers, out)
		all.Go(func() {
			r, err := s.client.Post(s.url+"/triples", "application/n-triples", in)
			if err != nil {
				t.Error(err)
				return
			}
			r.Body.Close()
			if r.StatusCode != http.StatusOK {
				t.Errorf("the answer to a large body is %s", r.Status)
			}
		})
		if _, err := out.Write(bytes.Repeat(line, 1000)); err != nil {
			t.Error(err)
		}
	}
	await.Condition(t, "all bodies are let in", func() bool { live, _ := turns.Live(); return live == bodies })
	// 2. A query is answered meanwhile, and then the bodies end.
	r, err := s.client.Get(s.url + "/sparql?query=ASK{<a:s>?p?o}")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("beside bodies that do not go on, a query is answered by %s", r.Status)
	}
	for _, out := range writers {
		out.Close()
	}
	all.Wait()
	if live, _ := turns.Live(); live != 0 {
		t.Errorf("%d turns are left", live)
	}
}
