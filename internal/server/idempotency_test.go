// Changes with idempotency keys: made once, whatever breaks.

package server

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/idempotency"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/triple"
)

// keyedRequest sends a change with a key and returns status and body of the answer.
func (s *testServer) keyedRequest(method, path, contentType, key, body string, first bool) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header["idempotency-key"] = []string{key}
	if first {
		r.Header.Set(idempotency.RepeatHeader, "false")
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Every form of change is made once, whatever happens between two tries, and both
// tries have the same answer.
func TestChangeWithKeyIsMadeOnce(t *testing.T) {
	const spo = "<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n"
	for _, test := range []struct{ name, method, path, contentType, body string }{
		{"add", "POST", "/triples", "application/n-triples", spo},
		{"delete", "DELETE", "/triples", "application/n-triples", spo},
		{"delete by pattern", "DELETE", "/triples?p=%3Chttp://e.x/p%3E", "", ""},
		{"update", "POST", "/sparql", "application/sparql-update", "DELETE WHERE { ?s <http://e.x/p> ?o } ; INSERT DATA { <http://e.x/n> <http://e.x/q> 1 }"},
		{"put", "PUT", "/data?default", "text/turtle", spo},
		{"post", "POST", "/data?default", "text/turtle", spo},
		{"delete a graph", "DELETE", "/data?default", "", ""},
		{"load", "POST", "/load", "application/n-triples", spo},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := newStore(t)
			s := serve(t, db, Options{}, ServerOptions{})
			tr := triple.Triple{Subject: triple.NewIRI("http://e.x/s"), Predicate: triple.NewIRI("http://e.x/p"), Object: triple.NewIRI("http://e.x/o")}
			adds := test.method != "DELETE" && test.name != "update"
			if !adds {
				if _, err := store.Add(t.Context(), db, []triple.Triple{tr}); err != nil {
					t.Fatal(err)
				}
			}
			status, first := s.keyedRequest(test.method, test.path, test.contentType, "k", test.body, false)
			if status/100 != 2 {
				t.Fatal(status, first)
			}
			// Another client undoes it.
			var err error
			if adds {
				_, err = store.Delete(t.Context(), db, []triple.Triple{tr})
			} else {
				_, err = store.Add(t.Context(), db, []triple.Triple{tr})
			}
			if err != nil {
				t.Fatal(err)
			}
			before := db.Status().Triples
			for _, repeat := range []bool{false, true} {
				again, text := s.keyedRequest(test.method, test.path, test.contentType, "k", test.body, repeat)
				if again != status || text != first {
					t.Errorf("the repeat is answered by %d %q, the first was %d %q", again, text, status, first)
				}
			}
			if after := db.Status().Triples; after != before {
				t.Errorf("%d triples, %d after the repeats", before, after)
			}
			other := "POST"
			if test.body == "" {
				if got, text := s.keyedRequest("DELETE", "/triples?s=%3Chttp://other/%3E", "", "k", "", false); got != 422 {
					t.Errorf("the key of another request: %d %s", got, text)
				}
			} else if got, text := s.keyedRequest(other, "/triples", "application/n-triples", "k", spo+spo, false); got != 422 {
				t.Errorf("the key of another request: %d %s", got, text)
			}
		})
	}
}

// A node that does not remember the answer, as after a restart, does what was not done,
// and nothing twice. What was refused before anything was done may be sent again.
func TestKeysAfterARestart(t *testing.T) {
	db := newStore(t)
	const spo, other = "<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n", "<http://e.x/s> <http://e.x/p> <http://e.x/other> .\n"
	var s *testServer
	restart := func() { s = serve(t, db, Options{}, ServerOptions{}) }
	send := func(method, path, contentType, key, body string) (int, string) {
		return s.keyedRequest(method, path, contentType, key, body, false)
	}
	must := func(status int, text string, wantStatus int, want string) {
		t.Helper()
		if status != wantStatus || !strings.Contains(text, want) {
			t.Errorf("%d %s, not %d with %s", status, text, wantStatus, want)
		}
	}
	step := func(method, path, contentType, key, body string, status int, want string) {
		t.Helper()
		got, text := send(method, path, contentType, key, body)
		must(got, text, status, want)
	}
	restart()
	step("POST", "/triples", "application/n-triples", "add", spo, 200, `"added":1`)
	step("DELETE", "/triples", "application/n-triples", "delete", spo, 200, `"deleted":1`)
	step("POST", "/triples", "application/n-triples", "blank", "_:b <http://e.x/p> _:c .\n", 200, `"added":1`)
	step("POST", "/sparql", "application/sparql-update", "update", "INSERT DATA { <http://e.x/s> <http://e.x/q> 1 }", 200, `"added":1`)
	step("DELETE", "/triples?p=%3Chttp://e.x/q%3E", "", "pattern", "", 200, `"deleted":1`)
	const create = "CREATE GRAPH <http://e.x/g> ; INSERT DATA { GRAPH <http://e.x/g> { <http://e.x/s> <http://e.x/p> 2 } }"
	step("POST", "/sparql", "application/sparql-update", "create", create, 200, `"added":1`)
	restart()
	step("POST", "/sparql", "application/sparql-update", "create", create, 200, `"repeated":true`) // no conflict with itself
	step("DELETE", "/data?graph=http://e.x/g", "", "clear", "", 200, `"deleted":1`)
	step("POST", "/triples", "application/n-triples", "add", spo, 200, `"added":0`)
	step("POST", "/triples", "application/n-triples", "blank", "_:b <http://e.x/p> _:c .\n", 200, `"added":0`)
	step("POST", "/sparql", "application/sparql-update", "update", "INSERT DATA { <http://e.x/s> <http://e.x/q> 1 }", 200, `"repeated":true`)
	step("DELETE", "/triples?p=%3Chttp://e.x/q%3E", "", "pattern", "", 504, string(problem.KindUnknownOutcome))
	if n := db.Status().Triples; n != 1 {
		t.Errorf("%d triples", n)
	}
	// Nothing was done: the key is free.
	step("POST", "/triples", "application/n-triples", "wrong", "no triple", 400, "")
	step("POST", "/triples", "application/n-triples", "wrong", other, 200, `"added":1`)
	for _, key := range []string{"", strings.Repeat("k", idempotency.MaxKeyBytes+1)} {
		step("POST", "/triples", "application/n-triples", key, spo, 400, request.KeyHeader)
	}
}

// A load does not claim its key if the upload breaks off or the document has a mistake: a
// second try with the key loads it, once.
func TestLoadAfterABrokenUpload(t *testing.T) {
	const spo = "<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n"
	db := newStore(t)
	s := serve(t, db, Options{}, ServerOptions{})
	load := func(key, body string) (status int, text string) {
		for status = http.StatusConflict; status == http.StatusConflict && t.Context().Err() == nil; { // the first try is under way
			status, text = s.keyedRequest("POST", "/load", "application/n-triples", key, body, false)
		}
		return status, text
	}
	// 1. A client sends a part of its document and closes the connection.
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /load HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/n-triples\r\nIdempotency-Key: broken\r\n"+
		"Content-Length: %d\r\n\r\n%s", 2*len(spo), spo); err != nil {
		t.Fatal(err)
	}
	for entered := false; !entered && t.Context().Err() == nil; runtime.Gosched() {
		entered = s.api.shared.Keys.Count() == 1
	}
	conn.Close()
	if status, text := load("broken", spo); status != 200 || !strings.Contains(text, `"new":1`) {
		t.Errorf("a second try after a broken upload: %d %s", status, text)
	}
	// 2. A document has a mistake at its end, which is corrected.
	if status, text := load("mistake", spo+"no triple\n"); status != 400 {
		t.Errorf("a malformed document: %d %s", status, text)
	}
	if status, text := load("mistake", spo+"<http://e.x/s> <http://e.x/p> 1 .\n"); status != 400 {
		t.Errorf("still malformed: %d %s", status, text)
	}
	if status, text := load("mistake", spo+"<http://e.x/s> <http://e.x/p> <http://e.x/other> .\n"); status != 200 || !strings.Contains(text, `"new":1`) {
		t.Errorf("a second try with the mended document: %d %s", status, text)
	}
	// 3. What was loaded is not loaded again by a node that does not remember the answer.
	if _, err := store.Delete(t.Context(), db, parseQuads(t, spo)); err != nil {
		t.Fatal(err)
	}
	s = serve(t, db, Options{}, ServerOptions{})
	if status, text := load("broken", spo); status != 504 || !strings.Contains(text, string(problem.KindUnknownOutcome)) {
		t.Errorf("a third try, after a restart: %d %s", status, text)
	}
	if n := db.Status().Triples; n != 1 {
		t.Errorf("%d triples", n)
	}
}

// slowStore is a store whose adds wait.
type slowStore struct {
	store.Triples
	begun, end chan struct{}
}

func (s slowStore) Write(ctx context.Context, c store.Change) (store.Result, error) {
	if c.Kind != store.KindAdd {
		return s.Triples.Write(ctx, c)
	}
	close(s.begun)
	select {
	case <-s.end:
		return s.Triples.Write(ctx, c)
	case <-ctx.Done():
		return store.Result{}, fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
	}
}

// A change with a key is completed if its client disconnects. A repeated request gets an error that
// says so while the change runs, and afterwards the answer.
func TestChangeWithKeyOutlivesItsClient(t *testing.T) {
	db := slowStore{newStore(t), make(chan struct{}), make(chan struct{})}
	s := serve(t, db, Options{}, ServerOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/triples", strings.NewReader("<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header["idempotency-key"] = []string{"k"}
	r.Header.Set("Content-Type", "application/n-triples")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if answer, err := s.client.Do(r); err == nil {
			answer.Body.Close()
		}
	}()
	<-db.begun
	cancel()
	<-gone
	again := func() (int, string) {
		return s.keyedRequest("POST", "/triples", "application/n-triples", "k", "<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n", true)
	}
	if status, text := again(); status != 409 || !strings.Contains(text, string(problem.KindUnderWay)) {
		t.Error(status, text)
	}
	close(db.end)
	await.Condition(t, "the answer", func() bool {
		status, text := again()
		return status == 200 && strings.Contains(text, `"added":1`)
	})
}

// Clients add and delete triples, and repeat any of their last changes at any time after;
// each change is made exactly once, as the counts of the next ones show.
func TestRepeatsAtAnyTime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	db := newStore(t)
	s := serve(t, db, Options{}, ServerOptions{})
	const clients, changes = 8, 40
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(c)))
			there := false
			var methods []string
			for i := range changes {
				method := [2]string{"POST", "DELETE"}[random.IntN(2)]
				body := fmt.Sprintf("<http://e.x/s%d> <http://e.x/p> <http://e.x/o> .\n", c)
				key := fmt.Sprintf("%d/%d", c, i)
				status, text := s.keyedRequest(method, "/triples", "application/n-triples", key, body, false)
				want := map[bool]string{true: `":1,`, false: `":0,`}[there != (method == "POST")]
				if status != 200 || !strings.Contains(text, want) {
					t.Errorf("%s while it is there: %t: %d %s", method, there, status, text)
				}
				there = method == "POST"
				methods = append(methods, method)
				for range random.IntN(3) {
					at := max(0, i-random.IntN(4))
					if status, text := s.keyedRequest(methods[at], "/triples", "application/n-triples", fmt.Sprintf("%d/%d", c, at), body, random.IntN(2) == 0); status != 200 {
						t.Errorf("a repeat: %d %s", status, text)
					}
				}
			}
		})
	}
	wait.Wait()
}

// Documents of one form share no blank nodes, even under a key.
func TestBlankNodesOfAFormWithKey(t *testing.T) {
	db := newStore(t)
	s := serve(t, db, Options{}, ServerOptions{})
	part := "--x\r\nContent-Type: text/turtle\r\n\r\n_:b <http://e.x/p> %d . [] <http://e.x/q> %d .\r\n"
	form := fmt.Sprintf(part+part+"--x--\r\n", 1, 1, 2, 2)
	if status, text := s.keyedRequest("POST", "/data?default", "multipart/form-data; boundary=x", "form", form, false); status != 200 || !strings.Contains(text, `"added":4`) {
		t.Fatal(status, text)
	}
	sn, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	// Each of two documents has a label and an anonymous node.
	subjects := map[string]bool{}
	for row, err := range sn.Match(t.Context(), triple.Pattern{}, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		tr, err := row.Triple()
		if err != nil {
			t.Fatal(err)
		}
		subjects[tr.Subject.Value()] = true
	}
	if len(subjects) != 4 {
		t.Errorf("%d blank nodes, not 4: %v", len(subjects), subjects)
	}
}

// The name of a new graph is computed from the key, so that the answer to a repeated request
// has it even if the first answer is lost.
func TestLocationOfARepeat(t *testing.T) {
	db := newStore(t)
	post := func() (int, string) { // through a node that remembers no answers
		s := serve(t, db, Options{PublicURL: "http://graphs.example"}, ServerOptions{})
		r, err := http.NewRequest("POST", s.url+"/data", strings.NewReader("<http://e.x/s> <http://e.x/p> 1 ."))
		if err != nil {
			t.Fatal(err)
		}
		r.Header["idempotency-key"] = []string{"new"}
		r.Header.Set("Content-Type", "text/turtle")
		answer, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode, answer.Header.Get("Location")
	}
	status, first := post()
	if status != 201 || !strings.HasPrefix(first, "http://graphs.example/data/") {
		t.Fatal(status, first)
	}
	if status, again := post(); status != 200 || again != first {
		t.Errorf("%d with the location %q, not %q", status, again, first)
	}
}
