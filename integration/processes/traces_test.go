// Traces and the IDs of requests across processes.

package processes

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/collector"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
)

// send sends a request of a trace, which must succeed.
func (m *machine) send(t *testing.T, method, path, body, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, m.url()+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Traceparent", "00-"+traceID+"-"+spanID+"-01")
	r.Header.Set("X-Request-Id", id)
	r.Header.Set("Content-Type", "application/n-triples")
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	if res.StatusCode/100 != 2 || res.Header.Get("X-Request-Id") != id {
		t.Fatalf("%s %s: %s, request %q", method, path, res.Status, res.Header.Get("X-Request-Id"))
	}
}

// TestTraces: the trace of a client has the spans of its changes and queries on all machines, below that of the client.
// The logs of machines that got messages have the IDs of the requests.
func TestTraces(t *testing.T) {
	t.Parallel()
	to := collector.Start(t)
	c := form(t, 3, "--trace-endpoint", to.URL, "--slow-query", "1us", patiently)
	h := &history{}
	c.fill(h, 600)
	// A machine that owns the rows sends no messages for them, so all of them get the requests.
	query := "/sparql?" + url.Values{"query": {"SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(STRLEN(STR(?o)) > 0) }"}}.Encode()
	var ids []string
	for _, m := range c.machines {
		change, read := fmt.Sprintf("change-%d", m.number), fmt.Sprintf("query-%d", m.number)
		ids = append(ids, change, read)
		m.send(t, http.MethodPost, "/triples", fmt.Sprintf("<http://trace/%d> <http://trace/p> <http://trace/o> .\n", m.number), change)
		m.send(t, http.MethodGet, query, "", read)
	}
	want := []string{
		"POST /triples SERVER", "writes/submit CLIENT", "writes/submit SERVER", "stamp and commit INTERNAL", "writes/deliver CLIENT", "writes/deliver SERVER", "commit INTERNAL",
		"GET /sparql SERVER", "query INTERNAL", "wait for a turn INTERNAL", "plan INTERNAL", "reads/rows CLIENT", "reads/rows SERVER",
	}
	until(t, "a trace with the spans of all machines", func() error {
		names, machines, err := traced(to.Spans())
		if err != nil {
			return err
		}
		for _, name := range want {
			if !names[name] {
				return fmt.Errorf("no span %s: %v", name, names)
			}
		}
		for _, id := range ids {
			if n := len(machines[id]); n == 0 || strings.HasPrefix(id, "change") && n != len(c.machines) {
				return fmt.Errorf("%s has spans of %d machines", id, n)
			}
		}
		return nil
	})
	var logs strings.Builder
	for _, m := range c.machines {
		logs.WriteString(m.process.Said())
	}
	for _, line := range []string{`msg="slow message" method=reads/rows .* request=query-\d\b`, `msg="slow message" method=writes/deliver .* request=change-\d\b`} {
		if !regexp.MustCompile(line).MatchString(logs.String()) {
			t.Errorf("no log has a line %s", line)
		}
	}
}

// traced returns the names and kinds of the spans of the client's trace and, by request, the machines that sent
// them. All must be below the client's span.
func traced(all []collector.Span) (names map[string]bool, machines map[string]map[string]bool, err error) {
	spans := map[string]collector.Span{}
	for _, s := range all {
		if fmt.Sprintf("%x", s.TraceId) != traceID {
			continue
		}
		spans[string(s.SpanId)] = s
	}
	names, machines = map[string]bool{}, map[string]map[string]bool{}
	for _, s := range spans {
		names[s.Name+" "+strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")] = true
		root := s
		for fmt.Sprintf("%x", root.ParentSpanId) != spanID {
			above, ok := spans[string(root.ParentSpanId)]
			if !ok {
				return nil, nil, fmt.Errorf("span %s of %s has no parent", s.Name, s.Instance)
			}
			root = above
		}
		id := root.Text("trefoil.request")
		if machines[id] == nil {
			machines[id] = map[string]bool{}
		}
		machines[id][s.Instance] = true
	}
	return names, machines, nil
}

// TestCollectorAway: with a collector that is not reached, requests are answered, and the server ends in order.
func TestCollectorAway(t *testing.T) {
	t.Parallel()
	m := newCluster(t, 1, "--trace-endpoint", "http://"+freeAddress(t)).machines[0]
	m.start()
	m.ready()
	m.send(t, http.MethodPost, "/triples", "<http://trace/s> <http://trace/p> <http://trace/o> .\n", "r")
	m.process.waitFor(t, `level=WARN msg="the collector of traces takes no spans`)
	m.stop()
}
