// Tests of subscriptions of kind read: what counts, who may see it, and how a stream gets it.

package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/wire"
)

// readLine is a line of kind read.
type readLine struct {
	Kind        string
	S, P, O     struct{ Value string }
	G           any
	Caller, App string
	Reads, Rows int
	Run         string
	Batch       int
	Position    string
	Sequence    uint64
}

// startReads returns options with a registry and a counter.
func startReads(t *testing.T, options Options, db *store.Store) Options {
	t.Helper()
	options.Subscriptions = newRegistry(db)
	options.Reads = readcount.Start(readcount.Options{Registry: options.Subscriptions, Every: 5 * time.Millisecond})
	t.Cleanup(options.Reads.Close)
	return options
}

// wantPart checks that a request succeeded, and that the answer has some words.
func (a answer) wantPart(t testing.TB, words string) {
	t.Helper()
	if a.status != http.StatusOK || !strings.Contains(a.body, words) {
		t.Errorf("answered %d %s, want ...%s...", a.status, a.body, words)
	}
}

// reads returns the sums of reads and rows that a subscription has got, by caller and pattern.
func (s *testServer) reads(name string, header ...string) map[string][2]int {
	s.t.Helper()
	all := map[string][2]int{}
	got := s.get("/changes?since=0&follow=false&subscription="+name, header...)
	got.wantPart(s.t, "")
	for text := range strings.Lines(got.body) {
		var l readLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			s.t.Fatal(err)
		}
		if l.Kind != "read" {
			continue
		}
		if l.Run == "" || l.Batch == 0 || l.Sequence == 0 {
			s.t.Error(text)
		}
		terms := []string{l.Caller + l.App}
		for _, value := range []string{l.S.Value, l.P.Value, l.O.Value} {
			if value == "" {
				value = "?"
			}
			terms = append(terms, strings.TrimPrefix(value, "http://ex/"))
		}
		key := strings.Join(terms, " ")
		sum := all[key]
		all[key] = [2]int{sum[0] + l.Reads, sum[1] + l.Rows}
	}
	return all
}

// TestReads checks that each way to read counts once, and that what the system reads does not.
func TestReads(t *testing.T) {
	db := newStore(t)
	addQuads(t, db, "<http://ex/a> <http://ex/p> <http://ex/b> .\n<http://ex/a> <http://ex/q> \"1\" .\n<http://ex/b> <http://ex/p> <http://ex/c> .\n<http://ex/a> <http://ex/p> <http://ex/d> <http://ex/g> .\n")
	options := startReads(t, Options{}, db)
	s := serve(t, db, options, ServerOptions{})
	s.do(http.MethodPut, "/subscriptions/all?kinds=read", "").wantPart(t, `"changes":"/changes?since=`)
	s.do(http.MethodPut, "/subscriptions/some?kinds=read,add&s=%3Chttp://ex/b%3E", "").wantPart(t, `subscription=some`)
	await.Condition(t, "the counter to begin", options.Reads.Active)
	query := func(text string) string { return "/sparql?query=" + url.QueryEscape(text) }
	for _, path := range []string{
		"/triples?p=%3Chttp://ex/p%3E", "/triples?s=%3Chttp://ex/a%3E&limit=1", "/range?order=spo&prefix=%3Chttp://ex/b%3E",
		"/count?o=%3Chttp://ex/c%3E", "/annotations?s=%3Chttp://ex/a%3E&p=%3Chttp://ex/q%3E&o=%221%22", "/data?graph=http://ex/g",
		query("SELECT * { <http://ex/a> <http://ex/q> ?o }"),
		// These are not reads of triples by a client.
		"/status", "/readyz", "/subscriptions", "/subscriptions/all", "/changes?since=0&follow=false", "/count?p=%3Chttp://ex/p%3E&estimate=true",
	} {
		s.get(path).wantPart(t, "")
	}
	s.do(http.MethodPost, "/triples", "<http://ex/b> <http://ex/r> <http://ex/new> .", "Content-Type", "application/n-triples").wantPart(t, "")
	want := map[string][2]int{
		"anonymous ? p ?": {1, 3}, "anonymous a ? ?": {1, 2}, "anonymous b ? ?": {1, 1}, "anonymous ? ? c": {1, 1},
		"anonymous a q 1": {2, 1}, "anonymous ? ? ?": {1, 1}, "anonymous a q ?": {1, 1},
	}
	var got map[string][2]int
	await.Condition(t, "the reads", func() bool {
		got = s.reads("all")
		return len(got) >= len(want)
	})
	for pattern, sum := range want {
		if got[pattern] != sum {
			t.Errorf("%s: %v, want %v", pattern, got[pattern], sum)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	// A line has the form of docs/api/changes.md.
	_, shown, _ := strings.Cut(docsPage(t, "changes.md"), "```json\n{\"kind\":\"read\"")
	shown, _, _ = strings.Cut(shown, "}\n")
	lines := strings.Split(s.get("/changes?since=0&follow=false&subscription=all").body, "\n")
	if !slices.ContainsFunc(lines, func(line string) bool { return matches(`{"kind":"read"`+shown+`...}`, line) }) {
		t.Errorf("no line is as shown: %s\n%s", shown, lines)
	}
	// The other one gets what may concern b, and its changes.
	await.Condition(t, "the reads of b", func() bool { got = s.reads("some"); return len(got) >= 4 })
	if len(got) != 4 || got["anonymous b ? ?"] != [2]int{1, 1} || got["anonymous a ? ?"] != [2]int{} {
		t.Errorf("%v", got)
	}
	if body := s.get("/changes?since=0&follow=false&subscription=some").body; strings.Count(body, `"kind":"add"`) != 2 || strings.Contains(body, "annotate") {
		t.Error(body)
	}
	// Events and RDF Patch have them too, or leave them out.
	s.get("/changes?since=0&follow=false&subscription=all", "Accept", "text/event-stream").wantPart(t, "event: read\n")
	s.get("/changes?since=0&follow=false&subscription=all", "Accept", "application/rdf-patch").wantPart(t, "# position ")
	// Without subscriptions nothing is counted.
	for _, name := range []string{"all", "some"} {
		s.do(http.MethodDelete, "/subscriptions/"+name, "").wantPart(t, "")
	}
	await.Condition(t, "the counter to end", func() bool { return !options.Reads.Active() })
	if list, err := options.Subscriptions.Reads(t.Context()); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

// TestReadsOfAnnotationService checks that SERVICE <urn:trefoil:annotations> counts as a read, in queries
// and in updates.
func TestReadsOfAnnotationService(t *testing.T) {
	db := newStore(t)
	addQuads(t, db, "<http://ex/a> <http://ex/p> <http://ex/b> .\n<http://ex/b> <http://ex/p> <http://ex/c> .\n")
	options := startReads(t, Options{}, db)
	s := serve(t, db, options, ServerOptions{})
	s.do(http.MethodPut, "/subscriptions/all?kinds=read", "").wantPart(t, "")
	await.Condition(t, "the counter to begin", options.Reads.Active)
	service := func(subject string) string {
		return "{ SERVICE <urn:trefoil:annotations> { ?n <urn:trefoil:annotations#subject> <http://ex/" + subject + "> ; <urn:trefoil:annotations#object> ?o } }"
	}
	s.get("/sparql?query="+url.QueryEscape("SELECT * "+service("a"))).wantPart(t, "")
	s.do(http.MethodPost, "/sparql", "INSERT { <http://ex/new> <http://ex/p> ?o } WHERE "+service("b"), "Content-Type", "application/sparql-update").wantPart(t, "")
	var got map[string][2]int
	await.Condition(t, "the reads", func() bool {
		got = s.reads("all")
		return len(got) >= 2
	})
	if len(got) != 2 || got["anonymous a ? ?"] != [2]int{1, 1} || got["anonymous b ? ?"] != [2]int{1, 1} {
		t.Error(got)
	}
}

// TestReadRights checks under which names reads count, and that only operators get them.
func TestReadRights(t *testing.T) {
	db := newStore(t)
	addQuads(t, db, "<http://ex/a> <http://ex/p> <http://ex/b> .\n")
	options := startReads(t, Options{Token: "client", OperatorToken: "operator", Applications: []access.Application{{ID: "shop", Token: "1"}}}, db)
	s := serve(t, db, options, ServerOptions{})
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	for _, token := range []string{"client", "1"} {
		s.do(http.MethodPut, "/subscriptions/mine?kinds=add,read", "", as(token)...).wantError(t, http.StatusForbidden, problem.KindForbidden, "kinds", "operators")
	}
	s.do(http.MethodPut, "/subscriptions/reads?kinds=read&p=%3Chttp://ex/p%3E", "", as("operator")...).wantPart(t, "")
	s.do(http.MethodPut, "/subscriptions/changes?kinds=add", "", as("1")...).wantPart(t, "")
	await.Condition(t, "the counter to begin", options.Reads.Active)
	for _, token := range []string{"client", "1", "operator"} {
		s.get("/triples", as(token)...).wantPart(t, "")
	}
	want := []string{"application" + "shop ? ? ?", "client ? ? ?", "operator ? ? ?"}
	await.Condition(t, "the reads", func() bool { return len(s.reads("reads", as("operator")...)) == len(want) })
	for key := range s.reads("reads", as("operator")...) {
		if !slices.Contains(want, key) {
			t.Error(key)
		}
	}
	for _, token := range []string{"client", "1"} {
		s.get("/changes?subscription=reads", as(token)...).wantError(t, http.StatusForbidden, problem.KindForbidden, "", "")
		// The batches are not in the feed for others, either.
		if body := s.get("/changes?since=0&follow=false&g=%3Curn:trefoil:system%3E", as(token)...).body; strings.Contains(body, `"app":"urn:trefoil:reads"`) {
			t.Error(body)
		}
	}
	s.get("/changes?since=0&follow=false&subscription=changes", as("1")...).wantPart(t, "")
	s.get("/changes?subscription=changes", as("client")...).wantError(t, http.StatusForbidden, problem.KindForbidden, "", "")
	// What is wrong.
	for path, words := range map[string]string{
		"/changes?kinds=read":                       "PUT /subscriptions/NAME?kinds=read",
		"/changes?kinds=add,read&since=0":           "PUT /subscriptions/NAME?kinds=read",
		"/changes?subscription=reads&kinds=add":     "does not go with subscription",
		"/changes?subscription=reads&p=<http://x/>": "does not go with subscription",
		"/changes?subscription=a%20b":               "letters",
	} {
		if a := s.get(strings.NewReplacer("<", "%3C", ">", "%3E").Replace(path), as("operator")...); a.status != http.StatusBadRequest || !strings.Contains(a.body, words) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	s.get("/changes?subscription=none", as("operator")...).wantError(t, http.StatusNotFound, problem.KindNotFound, "", "")
	// Another filter replaces the row by which the machines find it.
	s.do(http.MethodPut, "/subscriptions/reads?kinds=read&p=%3Chttp://ex/other%3E", "", as("operator")...).wantPart(t, "")
	if list, err := options.Subscriptions.Reads(t.Context()); err != nil || len(list) != 1 || list[0].Filter.Pattern.Predicate.Value() != "http://ex/other" {
		t.Error(list, err)
	}
}

// TestReadsOfLinks checks that lists of links count as reads of their triples, in each form.
func TestReadsOfLinks(t *testing.T) {
	const a, b, c = "http://ex/a", "http://ex/b", "http://ex/c"
	graph := linkstest.New()
	if _, err := graph.Update(t.Context(), []links.Change{{Source: a, Targets: []string{b, c}}, {Source: b, Targets: []string{c}}}); err != nil {
		t.Fatal(err)
	}
	uids, err := graph.UIDs(t.Context(), []string{b})
	if err != nil {
		t.Fatal(err)
	}
	db := newStore(t)
	options := startReads(t, Options{Links: graph}, db)
	s := serve(t, db, options, ServerOptions{})
	s.do(http.MethodPut, "/subscriptions/a?kinds=read&s=%3Chttp://ex/a%3E", "").wantPart(t, "")
	s.do(http.MethodPut, "/subscriptions/all?kinds=read&p=%3Curn:trefoil:linksTo%3E", "").wantPart(t, "")
	await.Condition(t, "the counter to begin", options.Reads.Active)
	post := func(path, body string, header ...string) {
		s.do(http.MethodPost, "/links/"+path, body, append(header, "Content-Type", "application/json")...).wantPart(t, "")
	}
	post("get", `{"urls":["http://ex/a","http://ex/unknown"]}`)
	post("get", `{"urls":["http://ex/a"]}`, "Accept", wire.MediaType)
	post("get", `{"urls":["http://ex/a"],"labels":true}`)
	post("get", `{"urls":["http://ex/a"],"as":"urls"}`)
	post("sample", `{"urls":["http://ex/a"],"n":1}`)
	post("get", fmt.Sprintf(`{"uids":["%d"]}`, uids[0]))
	post("degrees", `{"urls":["http://ex/c"],"direction":"backward"}`)
	post("uids", `{"urls":["http://ex/a"]}`)
	want := map[string][2]int{
		"anonymous a urn:trefoil:linksTo ?": {5, 9}, "anonymous b urn:trefoil:linksTo ?": {1, 1}, "anonymous ? urn:trefoil:linksTo c": {1, 2},
	}
	var got map[string][2]int
	await.Condition(t, "the reads", func() bool {
		got = s.reads("all")
		return len(got) >= len(want) && got["anonymous a urn:trefoil:linksTo ?"][0] >= 5
	})
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// The links of others and those to c, which may be of a.
	await.Condition(t, "the reads of a", func() bool { got = s.reads("a"); return len(got) >= 2 })
	delete(want, "anonymous b urn:trefoil:linksTo ?")
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
