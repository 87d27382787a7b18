// Helpers of the tests: servers, requests and answers.

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// Help for the tests: a real store behind a real server.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(t testing.TB) *store.Store {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1, CacheBytes: 8 << 20, MemTableBytes: 8 << 20, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// testServer is a server on a port of its own.
type testServer struct {
	t      testing.TB
	url    string
	addr   string
	api    *API
	server *Server
	client *http.Client
}

func serve(t testing.TB, db store.Triples, options Options, serverOptions ServerOptions) *testServer {
	t.Helper()
	options.Version = "test"
	if local, ok := db.(*store.Store); ok && options.Engine == nil {
		options.Engine = newEngine(t, local, engine.Options{})
	}
	api, err := New(db, options)
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(api, serverOptions)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return &testServer{t: t, url: "http://" + ln.Addr().String(), addr: ln.Addr().String(), api: api, server: server,
		client: &http.Client{Transport: transport}}
}

func newEngine(t testing.TB, db engine.Store, options engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.New(db, options)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// linksOf returns a graph as [engine.Options].Links has it; nil for none.
func linksOf(g links.Graph) func(context.Context) (links.Graph, error) {
	if g == nil {
		return nil
	}
	return func(context.Context) (links.Graph, error) { return g, nil }
}

// serveTriples serves a store that holds N-Quads.
func serveTriples(t testing.TB, nquads string, options Options) (*testServer, *store.Store) {
	t.Helper()
	db := newStore(t)
	addQuads(t, db, nquads)
	return serve(t, db, options, ServerOptions{}), db
}

func addQuads(t testing.TB, db *store.Store, nquads string) {
	t.Helper()
	if _, err := store.Add(context.Background(), db, parseQuads(t, nquads)); err != nil {
		t.Fatal(err)
	}
}

func parseQuads(t testing.TB, nquads string) []triple.Triple {
	t.Helper()
	var all []triple.Triple
	for tr, err := range syntax.Parse(context.Background(), strings.NewReader(nquads), syntax.NQuads, syntax.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tr)
	}
	return all
}

// answer is an answer that has come whole.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// do sends a request; headers are name, value, name, value.
func (s *testServer) do(method, target, body string, headers ...string) answer {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	return s.send(method, target, reader, headers...)
}

// open sends a request. The caller must close the body of the answer.
func (s *testServer) open(method, target string, body io.Reader, headers ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+target, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	got, err := s.client.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
	return got
}

func (s *testServer) send(method, target string, body io.Reader, headers ...string) answer {
	s.t.Helper()
	got := s.open(method, target, body, headers...)
	defer got.Body.Close()
	var text bytes.Buffer
	_, err := text.ReadFrom(got.Body)
	return answer{got.StatusCode, got.Header, text.String(), err}
}

func (s *testServer) get(target string, headers ...string) answer {
	s.t.Helper()
	return s.do(http.MethodGet, target, "", headers...)
}

// wireError is an error as it comes over the wire.
func (a answer) wireError(t testing.TB) *problem.Error {
	t.Helper()
	var wire struct{ Error *problem.Error }
	if err := json.Unmarshal([]byte(a.body), &wire); err != nil || wire.Error == nil {
		t.Fatalf("no error in the answer %d %q (%v)", a.status, a.body, err)
	}
	return wire.Error
}

// wantError checks an error's status, kind and place and that its message holds
// some words.
func (a answer) wantError(t testing.TB, status int, kind problem.Kind, where, words string) {
	t.Helper()
	e := a.wireError(t)
	if a.status != status || e.Kind != kind || e.Where != where || !strings.Contains(e.Message, words) {
		t.Errorf("answered %d %v\nwant %d %s: %s: ...%s...", a.status, e, status, kind, where, words)
	}
	if got := a.header.Get("Content-Type"); got != response.JSON {
		t.Errorf("the error's Content-Type is %q", got)
	}
}

// idle waits until no request runs.
func (s *testServer) idle() {
	s.t.Helper()
	await.Condition(s.t, "the requests to end", func() bool {
		s.server.running.mu.Lock()
		defer s.server.running.mu.Unlock()
		return s.server.running.n == 0
	})
}

// target builds a path with a query; parameters are name, value, name, value.
func target(path string, parameters ...string) string {
	query := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		query.Add(parameters[i], parameters[i+1])
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// next returns the target of the Link to the next page, "" where there is none.
func (a answer) next(t testing.TB) string {
	t.Helper()
	link := a.header.Get("Link")
	if link == "" {
		return ""
	}
	target, rest, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	if !ok || rest != `; rel="next"` {
		t.Fatalf("Link: %s", link)
	}
	return target
}

const exampleIRI = "http://example.org/"
