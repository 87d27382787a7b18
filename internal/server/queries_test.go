// Tests of running and slow queries, and of the log of requests.

package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/testing/await"
)

// queriesOf returns the answer of /queries.
func queriesOf(t testing.TB, s *testServer, headers ...string) (all api.QueryList) {
	t.Helper()
	got := s.get("/queries", headers...)
	if err := json.Unmarshal([]byte(got.body), &all); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	return all
}

// TestStopQueries: queries, updates and streams are listed while they run. If one is stopped, its
// client gets an error or a broken answer, and nothing of it is left.
func TestStopQueries(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{SlowQuery: time.Nanosecond})
	large := newLargeStream(t, s)
	for _, c := range []struct {
		name, method, target, body, contentType string
		kind                                    string
		sent                                    bool // a part of the answer comes before the stop
	}{
		{"query", "POST", "/sparql", counted, "application/sparql-query", "query", false},
		{"streamed query", "POST", "/sparql", bomb, "application/sparql-query", "query", true},
		{"explained query", "POST", "/sparql?explain=run", counted, "application/sparql-query", "query", false},
		{"update", "POST", "/sparql", "INSERT { ?a ?e ?i } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(STRLEN(CONCAT(STR(?a), STR(?d), STR(?g))) < 3) }", "application/sparql-update", "update", false},
		{"stream", "GET", large, "", "", "read", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			// 1. The query runs, and the list has it.
			r, err := http.NewRequestWithContext(t.Context(), c.method, s.url+c.target, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", c.contentType)
			r.Header.Set(logs.Header, "mine-"+c.kind)
			came, stopped := make(chan answer, 1), make(chan struct{})
			go func() {
				got, err := s.client.Do(r)
				if err != nil {
					came <- answer{err: err}
					return
				}
				defer got.Body.Close()
				var text bytes.Buffer
				_, err = io.CopyN(&text, got.Body, 1<<10)
				if c.sent && err == nil {
					<-stopped // until then the connection is full
					_, err = io.Copy(io.Discard, got.Body)
				}
				came <- answer{got.StatusCode, got.Header, text.String(), err}
			}()
			var info api.RunningQuery
			await.Condition(t, "the query to run", func() bool {
				all := queriesOf(t, s).Running
				if len(all) == 1 {
					info = all[0]
				}
				return len(all) == 1 && (!c.sent || info.Rows > 0)
			})
			if text := c.body + strings.TrimSuffix(c.target, "/sparql"); info.Kind != c.kind || !strings.HasPrefix(text, info.Text) || info.User != "anonymous" || info.Request != "mine-"+c.kind {
				t.Errorf("listed as %+v", info)
			}
			// 2. It is stopped.
			path := "/queries/" + info.ID
			if got := s.do("DELETE", path, ""); got.status != http.StatusOK || !strings.Contains(got.body, `"id":"`+info.ID+`"`) {
				t.Errorf("stopped: %d %s", got.status, got.body)
			}
			close(stopped)
			got := <-came
			if c.sent {
				if got.err == nil {
					t.Errorf("the stopped answer looks complete: %d", got.status)
				}
			} else {
				got.wantError(t, http.StatusConflict, problem.KindStopped, "", "an operator of the node has stopped it")
			}
			// 3. Nothing of it runs any more.
			await.Condition(t, "the query to end", func() bool { return len(queriesOf(t, s).Running) == 0 })
			if last := queriesOf(t, s).Slow[0]; last.ID != info.ID || last.Status != http.StatusConflict || c.sent && last.Bytes == 0 {
				t.Errorf("the last slow query is %+v", last)
			}
			s.do("DELETE", path, "").wantError(t, http.StatusNotFound, problem.KindNotFound, info.ID, "no query with this ID")
		})
	}
	for _, outcome := range []string{`form="select",outcome="stopped"} 3`, `form="update",outcome="stopped"} 1`} {
		if text := s.get("/metrics").body; !strings.Contains(text, "trefoil_sparql_operations_total{"+outcome) {
			t.Errorf("no metric %s", outcome)
		}
	}
}

// newLargeStream adds more triples than connections hold, and returns the path that streams them.
func newLargeStream(t *testing.T, s *testServer) string {
	t.Helper()
	var b strings.Builder
	for i := range 300 {
		b.WriteString("<http://ex/long> <http://ex/text> \"" + strings.Repeat("x", 100<<10) + strconv.Itoa(i) + "\" .\n")
	}
	if got := s.do("POST", "/load", b.String(), "Content-Type", "application/n-triples"); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	return target("/triples", "s", "<http://ex/long>")
}

// TestQueriesRights: the list and the stop are for operators, and pages of other origins cannot stop
// anything. A read-only node stops queries, too.
func TestQueriesRights(t *testing.T) {
	s := serve(t, newStore(t), Options{Token: "c", OperatorToken: "o", ReadOnly: true}, ServerOptions{})
	for _, c := range []struct {
		method, token string
		status        int
	}{{"GET", "c", 401}, {"DELETE", "c", 401}, {"GET", "", 401}, {"GET", "o", 200}, {"DELETE", "o", 404}} {
		path := map[string]string{"GET": "/queries", "DELETE": "/queries/7"}[c.method]
		if got := s.do(c.method, path, "", "Authorization", "Bearer "+c.token); got.status != c.status {
			t.Errorf("%+v: %d %s", c, got.status, got.body)
		}
	}
	operator := []string{"Authorization", "Bearer o"}
	s.do("DELETE", "/queries/7", "", append(operator, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")...).
		wantError(t, 403, problem.KindForbidden, "Origin", "another origin")
	for _, path := range []string{"/queries", "/queries/"} {
		s.do("DELETE", path, "", operator...).wantError(t, 400, problem.KindBadRequest, "", "the ID of the query is missing")
	}
	s.do("GET", "/queries/7", "", operator...).wantError(t, 404, problem.KindNotFound, "/queries/7", "takes DELETE only")
}

// logged is a log whose lines a test reads while others are written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take returns the lines since the last call.
func (l *logged) take(t *testing.T) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for text := range strings.Lines(l.text.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		all = append(all, line)
	}
	l.text.Reset()
	return all
}

// TestRequestLog: a request has one line, with its ID, its user and, if it is a query, its figures.
func TestRequestLog(t *testing.T) {
	var log logged
	s, _ := serveTriples(t, many(), Options{Logger: logs.New(&log, true, slog.LevelInfo), LogRequests: true, SlowQuery: -1, Token: "c", OperatorToken: "o"})
	for _, c := range []struct {
		method, target, body string
		headers              []string
		want                 map[string]any
	}{
		{"GET", "/count", "", []string{"X-Request-Id", "r1", "Authorization", "Bearer c"},
			map[string]any{"request": "r1", "method": "GET", "path": "/count", "status": 200.0, "user": "client", "level": "INFO", "msg": "request", "rows": nil, "text": nil}},
		{"GET", target("/sparql", "query", "SELECT * { ?s ?p ?o } LIMIT 7"), "", []string{"Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "Authorization", "Bearer c"},
			map[string]any{"request": "4bf92f3577b34da6a3ce929d0e0e4736", "rows": 7.0, "text": "SELECT * { ?s ?p ?o } LIMIT 7", "kind": "query", "user": "client"}},
		{"POST", "/sparql", url.Values{"update": {"INSERT DATA { <a:b> <a:b> 1, 2 }"}}.Encode(), []string{"Content-Type", "application/x-www-form-urlencoded", "Authorization", "Bearer c", "Idempotency-Key", "k"},
			map[string]any{"rows": 2.0, "text": "INSERT DATA { <a:b> <a:b> 1, 2 }", "kind": "update", "status": 200.0}},
		{"GET", "/triples?limit=0", "", []string{"Authorization", "Bearer c"}, map[string]any{"rows": nil, "status": 400.0}},
		{"GET", target("/triples", "s", "<http://ex/s1>"), "", []string{"Authorization", "Bearer c"}, map[string]any{"rows": 1.0, "kind": "read", "text": target("/triples", "s", "<http://ex/s1>")}},
		{"GET", "/count", "", nil, map[string]any{"status": 401.0, "user": ""}},
		{"GET", "/nowhere", "", []string{"Authorization", "Bearer c"}, map[string]any{"status": 404.0}},
	} {
		got := s.do(c.method, c.target, c.body, c.headers...)
		s.idle()
		all := log.take(t)
		if len(all) != 1 {
			t.Fatalf("%s %s: lines %v", c.method, c.target, all)
		}
		line := all[0]
		for name, want := range c.want {
			if line[name] != want {
				t.Errorf("%s: %s is %v, want %v", c.target, name, line[name], want)
			}
		}
		if id := got.header.Get("X-Request-Id"); id == "" || line["request"] != id {
			t.Errorf("%s: answered with the ID %q, logged with %v", c.target, id, line["request"])
		}
		if ms, _ := line["ms"].(float64); ms <= 0 || line["bytes"] != float64(len(got.body)) {
			t.Errorf("%s: %v ms, %v bytes of %d", c.target, line["ms"], line["bytes"], len(got.body))
		}
	}
}

// TestSlowQueryLog: without the log of requests only slow queries have a line, a warning.
func TestSlowQueryLog(t *testing.T) {
	var log logged
	s, _ := serveTriples(t, many(), Options{Logger: logs.New(&log, true, slog.LevelInfo), SlowQuery: time.Nanosecond})
	s.get("/count")
	s.get(target("/sparql", "query", "SELECT * { ?s ?p ?o }"))
	s.idle()
	all := log.take(t)
	if len(all) != 1 || all[0]["msg"] != "slow query" || all[0]["level"] != "WARN" || all[0]["rows"] != 1000.0 || all[0]["text"] != "SELECT * { ?s ?p ?o }" {
		t.Errorf("lines %v", all)
	}
	if slow := queriesOf(t, s).Slow; len(slow) != 1 || slow[0].Rows != 1000 || slow[0].Request != all[0]["request"] || slow[0].Bytes != int64(all[0]["bytes"].(float64)) {
		t.Errorf("kept %+v", slow)
	}
}

// breakOff sends a query that ends by its time, and returns an answer of which a part was sent. A slow machine takes
// longer until something is sent; before, the answer is 504.
func (s *testServer) breakOff(headers ...string) answer {
	s.t.Helper()
	for timeout := 300 * time.Millisecond; ; timeout *= 2 {
		got := s.get(target("/sparql", "query", bomb, "timeout", timeout.String()), headers...)
		if got.status != http.StatusGatewayTimeout || timeout > 30*time.Second {
			return got
		}
	}
}

// TestFailureLog: the line about a failure has the ID of its request.
func TestFailureLog(t *testing.T) {
	var log logged
	s, _ := serveTriples(t, many(), Options{Logger: logs.New(&log, true, slog.LevelInfo)})
	got := s.get(target("/sparql", "query", counted, "timeout", "1ms"), "X-Request-Id", "late")
	got.wantError(t, 504, problem.KindQueryTimeout, "", "took too long")
	broken := s.breakOff("X-Request-Id", "broken")
	if broken.err == nil {
		t.Fatal("the answer is complete")
	}
	s.idle()
	all := log.take(t)
	if len(all) != 1 || all[0]["request"] != "broken" || all[0]["msg"] != "request failed" {
		t.Errorf("lines %v", all)
	}
}

// TestBuildInfo: the metrics have the version.
func TestBuildInfo(t *testing.T) {
	s := serve(t, newStore(t), Options{}, ServerOptions{})
	if text := s.get("/metrics").body; !strings.Contains(text, `trefoil_build_info{goversion="go1.`) || !strings.Contains(text, `version="test"} 1`) {
		t.Error("no build info")
	}
}
