// Tests of trefoil queries, and of the flags of the log.

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// endless is a query that takes too long for any test.
const endless = "SELECT (COUNT(*) AS ?n) {\n ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?a != ?d || ?f != ?l) }"

// TestQueries: a query is listed while it runs, is stopped by its ID, and is then among the slow ones.
func TestQueries(t *testing.T) {
	address, said := serveNode(t, "--slow-query", "1ms", "--log-format", "json")
	to := "http://" + address
	c, err := client.New(to, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var all []triple.Triple
	for i := range 500 {
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://e.x/%d", i)), Predicate: triple.NewIRI("http://e.x/p"), Object: triple.NewString("x")})
	}
	if _, err := c.Add(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		var failed error
		for _, err := range c.Query(t.Context(), endless, client.QueryOptions{}) {
			failed = err
		}
		ended <- failed
	}()
	// 1. It is listed, as a table and as JSON.
	var running []client.RunningQuery
	for deadline := time.Now().Add(time.Minute); len(running) == 0; {
		code, stdout, stderr := run(t, "", "queries", "--json", "--to", to)
		if err := json.Unmarshal([]byte(stdout), &running); code != exitDone || err != nil || time.Now().After(deadline) {
			t.Fatal(code, stdout, stderr, err)
		}
	}
	id := running[0].ID
	code, stdout, _ := run(t, "", "queries", "--to", to)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	want := regexp.MustCompile(`^` + id + ` +` + regexp.QuoteMeta(address) + ` +query +[0-9.]+m?s +0 +[0-9.]+ [KMG]?i?B +anonymous +` + regexp.QuoteMeta(strings.ReplaceAll(endless, "\n", "")) + `$`)
	if code != exitDone || len(lines) != 2 || !want.MatchString(lines[1]) {
		t.Errorf("code %d:\n%s", code, stdout)
	}
	// 2. It is stopped, once.
	if code, _, stderr := run(t, "", "queries", "--stop", id, "--to", to); code != exitDone || !strings.Contains(stderr, "stopped the query "+id) {
		t.Errorf("code %d: %s", code, stderr)
	}
	if err := <-ended; !errors.Is(err, client.ErrStopped) {
		t.Errorf("its client got %v", err)
	}
	said.wait(t, `"level":"WARN","msg":"slow query".*"status":409.*"text":"SELECT \(COUNT`)
	if code, _, stderr := run(t, "", "queries", "--stop", id, "--to", to); code != exitFailed || !strings.Contains(stderr, "no query with this ID") {
		t.Errorf("code %d: %s", code, stderr)
	}
	// 3. It is among the slow ones.
	if code, stdout, _ := run(t, "", "queries", "--slow", "--to", to); code != exitDone || !regexp.MustCompile(`query +[0-9.]+m?s .* 409 +anonymous +SELECT \(COUNT`).MatchString(stdout) {
		t.Errorf("code %d:\n%s", code, stdout)
	}
	if code, _, stderr := run(t, "", "queries", "--stop", "", "--to", to); code != exitUsage || !strings.Contains(stderr, "empty ID") {
		t.Errorf("no ID: code %d: %s", code, stderr)
	}
	if code, _, _ := run(t, "", "queries", "--slow", "--stop", "1", "--to", to); code != exitUsage {
		t.Errorf("--slow --stop: code %d", code)
	}
}

// TestQueriesOfCluster: each member lists and stops the queries of all. One that does not answer is named.
func TestQueriesOfCluster(t *testing.T) {
	seed.Slow(t)
	// 1. A query runs at the second member.
	first, _ := serveNode(t)
	url, stop := serveFor(t, t.TempDir(), "--join", first)
	second := strings.TrimPrefix(url, "http://")
	var all strings.Builder
	for i := range 300 {
		fmt.Fprintf(&all, "<http://e.x/%d> <http://e.x/p> \"x\" .\n", i)
	}
	if code, _, stderr := run(t, all.String(), "add", "--to", first, "--from", "nt", "-"); code != exitDone {
		t.Fatal(code, stderr)
	}
	ended := make(chan string, 1)
	go func() {
		_, _, stderr := run(t, "", "query", "--to", second, endless)
		ended <- stderr
	}()
	// 2. The first one lists it with the address of its node.
	var running []client.RunningQuery
	for deadline := time.Now().Add(time.Minute); len(running) == 0; {
		code, stdout, stderr := run(t, "", "queries", "--json", "--to", first)
		if err := json.Unmarshal([]byte(stdout), &running); code != exitDone || err != nil || time.Now().After(deadline) {
			t.Fatal(code, stdout, stderr, err)
		}
	}
	id := running[0].ID
	if len(running) != 1 || running[0].Node != second || running[0].Machine == "" {
		t.Errorf("listed as %+v", running)
	}
	if code, stdout, _ := run(t, "", "queries", "--to", first); code != exitDone || !regexp.MustCompile(`(?m)^`+id+` +`+regexp.QuoteMeta(second)+` +query`).MatchString(stdout) {
		t.Errorf("code %d:\n%s", code, stdout)
	}
	// 3. It is stopped through the first one, once.
	stopIt := []string{"queries", "--to", first, "--stop", id}
	if code, _, stderr := run(t, "", stopIt...); code != exitDone || !strings.Contains(stderr, "stopped the query "+id) {
		t.Errorf("code %d: %s", code, stderr)
	}
	if stderr := <-ended; !strings.Contains(stderr, "stopped") {
		t.Errorf("its client got %q", stderr)
	}
	if code, _, stderr := run(t, "", stopIt...); code != exitFailed || !strings.Contains(stderr, "no query with this ID") {
		t.Errorf("code %d: %s", code, stderr)
	}
	// 4. When the second one has ended, the list names it, and so does a stop, because the query may run there.
	// The first one alone gives up a member that does not vote yet; of two voters it cannot.
	for deadline := time.Now().Add(time.Minute); ; {
		code, members, stderr := run(t, "", "cluster", "status", "--json", "--to", first)
		if strings.Count(members, `"voter":true`) == 2 {
			break
		}
		if code != exitDone || time.Now().After(deadline) {
			t.Fatal(code, members, stderr)
		}
	}
	stop()
	if code, _, stderr := run(t, "", "queries", "--to", first); code != exitFailed || !strings.Contains(stderr, "the queries of "+second) {
		t.Errorf("code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, "", stopIt...); code != exitFailed || !strings.Contains(stderr, "it may run at "+second) {
		t.Errorf("code %d: %s", code, stderr)
	}
}

// TestLogFlags: every line of a server has the format, also those of its start, and lines below the
// level are left out. Storage, agreement and gossip write at level debug only.
func TestLogFlags(t *testing.T) {
	for _, c := range []struct {
		args      []string
		line, not string
	}{
		{nil, `^time=\S+ level=INFO msg="serving \S+ at http://[^"]+"$`, `level=DEBUG`},
		{[]string{"--log-format", "json"}, `^{"time":"[^"]+","level":"INFO","msg":"serving \S+ at http://[^"]+"}$`, `"DEBUG"`},
		{[]string{"--log-level", "debug"}, `level=DEBUG`, `^trefoil`},
	} {
		said := begin(t, c.args...)
		text := said.wait(t, "(?s)^.*serving .*$")[0]
		found := false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			found = found || regexp.MustCompile(c.line).MatchString(line)
			if regexp.MustCompile(c.not).MatchString(line) || !strings.HasPrefix(line, "time=") && !json.Valid([]byte(line)) {
				t.Errorf("%v: %s", c.args, line)
			}
		}
		if !found {
			t.Errorf("%v: no line like %s in\n%s", c.args, c.line, text)
		}
	}
	for _, args := range [][]string{{"--log-format", "xml"}, {"--log-level", "loud"}} {
		if code, _, stderr := run(t, "", append([]string{"serve", "--data", t.TempDir()}, args...)...); code != exitUsage || !strings.Contains(stderr, args[0]) {
			t.Errorf("%v: code %d: %s", args, code, stderr)
		}
	}
}
