// Conditional changes of graphs.

package server

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// TestGraphConditions: a change under a condition that is not met changes nothing.
func TestGraphConditions(t *testing.T) {
	const nt, here, none = "<http://ex/a> <http://ex/b> \"new\" .\n", "http://ex/here", "http://ex/none"
	for _, test := range []struct {
		method, graph, header, value string
		status                       int
	}{
		{"PUT", here, "If-None-Match", "*", 412},
		{"PUT", none, "If-None-Match", "*", 201},
		{"POST", here, "If-None-Match", "*", 412},
		{"POST", none, "If-None-Match", "*", 201},
		{"DELETE", here, "If-None-Match", "*", 412},
		{"PUT", here, "If-None-Match", `"tag"`, 204}, // there is none that it could be
		{"PUT", here, "If-Match", "*", 204},
		{"PUT", none, "If-Match", "*", 412},
		{"POST", none, "If-Match", "*", 412},
		{"DELETE", here, "If-Match", "*", 200},
		{"PUT", here, "If-Match", `"tag"`, 412},
		{"POST", here, "If-Match", `W/"tag", "other"`, 412},
		{"DELETE", here, "If-Match", `"tag"`, 412},
		{"PUT", here, "Content-Range", "bytes 0-1/2", 400},
	} {
		t.Run(test.method+" "+test.header+" "+test.value+" "+test.graph, func(t *testing.T) {
			s, _ := serveTriples(t, "<http://ex/a> <http://ex/b> \"old\" <"+here+"> .\n", Options{})
			before := s.get("/triples").body
			body := nt
			if test.method == "DELETE" {
				body = ""
			}
			got := s.do(test.method, target("/data", "graph", test.graph), body, "Content-Type", response.NTriples, test.header, test.value)
			if got.status != test.status {
				t.Fatalf("answered %d %s, want %d", got.status, got.body, test.status)
			}
			if changed := s.get("/triples").body != before; changed != (test.status < 300) {
				t.Errorf("%d, and the data changed: %t", got.status, changed)
			}
			if got.status == 412 {
				got.wantError(t, 412, problem.KindPrecondition, test.header, "nothing was changed")
			}
		})
	}
}

// TestMakeGraphOnce: of many requests that each make a graph if it is not there,
// one does.
func TestMakeGraphOnce(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	var made, refused atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			switch got := s.do("PUT", target("/data", "graph", "http://ex/g"), "<http://ex/a> <http://ex/b> \"c\" .\n",
				"Content-Type", response.NTriples, "If-None-Match", "*"); got.status {
			case 201:
				made.Add(1)
			case 412:
				refused.Add(1)
			default:
				t.Errorf("answered %d %s", got.status, got.body)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 || refused.Load() != 15 {
		t.Errorf("%d requests made the graph, %d were refused", made.Load(), refused.Load())
	}
}
