// Limits, metrics, rankings and updates of links.

package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	linksapi "github.com/trefoildb/trefoil/internal/server/links"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

// TestLinksEpoch: who asks for an epoch gets it or an error.
func TestLinksEpoch(t *testing.T) {
	g, urls := aWeb(t, seeded(t), 30)
	graphs := map[string]links.Graph{"at hand": g, "by Stats": plainGraph{g}}
	for name, graph := range graphs {
		s := serveLinks(t, graph, Options{})
		question := `{"urls":` + quoted(urls) + `}`
		for _, q := range []struct{ method, target, body string }{{"POST", "/links/uids", question}, {"POST", "/links/get", question},
			{"POST", "/links/degrees", question}, {"POST", "/links/rank", question}, {"GET", "/links/pages", ""}} {
			plain := s.do(q.method, q.target, q.body)
			if header := plain.header.Get(linksapi.EpochHeader); plain.status != 200 || (header == "") != (name == "by Stats") {
				t.Errorf("%s: %s: %d, epoch %q", name, q.target, plain.status, header)
			}
			right := s.do(q.method, fmt.Sprintf("%s?epoch=%d", q.target, g.Epoch()), q.body)
			if right.status != 200 || right.body != plain.body || right.header.Get(linksapi.EpochHeader) != fmt.Sprint(g.Epoch()) {
				t.Errorf("%s: %s: %d %v, or another answer", name, q.target, right.status, right.header)
			}
			for _, epoch := range []uint64{0, g.Epoch() - 1, g.Epoch() + 1} {
				s.do(q.method, fmt.Sprintf("%s?epoch=%d", q.target, epoch), q.body).
					wantError(t, 409, problem.KindEpoch, "epoch", fmt.Sprintf("at epoch %d, not %d", g.Epoch(), epoch))
			}
		}
	}
	// The graph changes while it is read: before anything is sent it is an error, then
	// the answer breaks off.
	changing := &restless{g, urls[1], 1}
	s := serveLinks(t, changing, Options{})
	s.do("POST", fmt.Sprintf("/links/get?epoch=%d", g.Epoch()), `{"urls":`+quoted(urls)+`}`).wantError(t, 409, problem.KindEpoch, "epoch", "at epoch")
}

// plainGraph is a graph without capabilities.
type plainGraph struct{ links.Graph }

func (plainGraph) Capabilities() links.Capabilities { return links.Capabilities{} }

// fails is a graph whose reads of lists fail from some on.
type fails struct {
	*linkstest.Graph
	after int
}

func (g *fails) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	if g.after--; g.after < 0 {
		return links.Lists{}, errors.New("a disk")
	}
	return g.Graph.Links(ctx, d, pages)
}

// TestLinksBrokenAnswer: an answer that cannot go on does not end as a whole one does.
func TestLinksBrokenAnswer(t *testing.T) {
	g, urls := aWeb(t, seeded(t), 2000)
	question := string(wire.AppendRequest(nil, &wire.Request{UIDs: slices.Repeat(must(g.UIDs(t.Context(), urls)), 40)}))
	for after, sent := range map[int]bool{0: false, 200: true} {
		s := serveLinks(t, &fails{g, after}, Options{})
		s.setPieces(500)
		got := s.do("POST", "/links/get", question, binaryForm...)
		if !sent {
			got.wantError(t, 500, problem.KindInternal, "", "a disk")
		} else if got.status != 200 || got.err == nil {
			t.Errorf("an answer that broke off: %d, %d bytes, %v", got.status, len(got.body), got.err)
		}
		s.idle()
		if held := s.api.shared.Memory.Held.Load(); held != 0 {
			t.Errorf("%d bytes are still held", held)
		}
	}
}

// liar is a graph that answers about fewer pages than it was asked.
type liar struct{ *linkstest.Graph }

func (g liar) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	all, err := g.Graph.Degrees(ctx, d, pages)
	return all[1:], err
}

// TestLinksMemory: lists are counted before they are read, and given back.
func TestLinksMemory(t *testing.T) {
	g := linkstest.New()
	hub := links.Change{Source: "http://hub.example/"}
	for i := range 5000 {
		hub.Targets = append(hub.Targets, fmt.Sprintf("http://spoke.example/%d", i))
	}
	if _, err := g.Update(t.Context(), []links.Change{hub, {Source: hub.Targets[0], Targets: hub.Targets[:3]}}); err != nil {
		t.Fatal(err)
	}
	const memory = 192 << 10
	s := serveLinks(t, g, Options{MemoryBytes: memory})
	lists := func(n string) string { return `{"urls":["http://hub.example/"]` + n + `}` }
	if got := s.do("POST", "/links/get", lists("")); got.status != 200 || strings.Count(got.body, ",") != 4999 {
		t.Errorf("%d %s", got.status, problem.Clip(got.body))
	}
	s.do("POST", "/links/get", lists(`,"labels":true`)).wantError(t, 413, problem.KindTooLarge, "", "a page has 5000 links")
	if got := s.do("POST", "/links/sample", lists(`,"n":100`)); got.status != 200 || strings.Count(got.body, ",") != 99 {
		t.Errorf("%d %s", got.status, problem.Clip(got.body))
	}
	s.do("POST", "/links/rank", lists(`,"a":1000`)).wantError(t, 413, problem.KindTooLarge, "", "ask for less")
	// Others hold it.
	s.api.shared.Memory.Take("others", memory-64<<10, 1)
	s.do("POST", "/links/get", lists("")).wantError(t, 503, problem.KindBusy, "", "try again")
	if got := s.do("POST", "/links/degrees", lists("")); got.body != "{\"degrees\":[5000]}\n" {
		t.Error(got.body)
	}
	s.idle()
	if held := s.api.shared.Memory.Held.Load(); held != memory-64<<10 {
		t.Errorf("%d bytes are held", held)
	}
	serveLinks(t, liar{g}, Options{}).do("POST", "/links/degrees", lists("")).wantError(t, 500, problem.KindInternal, "", "degrees of 0 pages for 1")
}

// TestLinksOfLongURLs reads few of them at a time.
func TestLinksOfLongURLs(t *testing.T) {
	g := linkstest.New()
	hub := links.Change{Source: "http://hub.example/"}
	for i := range 600 {
		hub.Targets = append(hub.Targets, fmt.Sprintf("http://spoke.example/%d/%s", i, strings.Repeat("long", i%2*5000)))
	}
	if _, err := g.Update(t.Context(), []links.Change{hub}); err != nil {
		t.Fatal(err)
	}
	s := serveLinks(t, g, Options{MemoryBytes: 8 << 20}) // all of them have more
	got := into[struct{ Lists [][]string }](t, s.post("/links/get", `{"urls":["http://hub.example/"],"as":"urls"}`)).Lists[0]
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(hub.Targets))) {
		t.Errorf("%d URLs, or others", len(got))
	}
}

// TestLinksMetrics: what was served is counted by endpoint.
func TestLinksMetrics(t *testing.T) {
	g, urls := aWeb(t, seeded(t), 50)
	s := serveLinks(t, g, Options{})
	all := must(g.Links(t.Context(), links.Forward, must(g.UIDs(t.Context(), urls))))
	s.post("/links/get", `{"urls":`+quoted(urls)+`}`)
	s.post("/links/degrees", `{"urls":`+quoted(urls)+`}`)
	s.post("/links/update", `{"op":"add","src":"urn:a","dst":["urn:b","urn:c"]}`)
	shown := s.get("/metrics").body
	for _, want := range []string{fmt.Sprintf(`trefoil_links_lists_total{endpoint="get"} %d`, len(urls)), fmt.Sprintf(`trefoil_links_lists_total{endpoint="degrees"} %d`, len(urls)),
		fmt.Sprintf(`trefoil_links_served_total{endpoint="get"} %d`, len(all.Items)), `trefoil_links_served_total{endpoint="update"} 2`,
		`trefoil_http_requests_total{endpoint="/links/get",method="POST",status="200"} 1`} {
		if !strings.Contains(shown, want+"\n") {
			t.Errorf("/metrics has no %s", want)
		}
	}
}

// TestLinksRank compares rankings with the graph's.
func TestLinksRank(t *testing.T) {
	g, urls := aWeb(t, seeded(t), 200)
	s := serveLinks(t, g, Options{})
	roots := urls[20:60]
	type scored struct {
		UID   string
		URL   *string
		Score float64
	}
	type ranking struct {
		Authorities, Hubs       []scored
		Vertices, Edges, Rounds int
		Converged               bool
	}
	if err := g.StartPageRank(t.Context(), links.PageRankOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body    string
		request links.RankRequest
		uids    bool
	}{
		{`"a":5,"b":4`, links.RankRequest{Algorithm: links.SALSA, In: 5, Out: 4, Mode: sample.ModeConsistent}, false},
		{`"algorithm":"hits","a":5,"b":4,"top":7,"all":true,"as":"uids"`, links.RankRequest{Algorithm: links.HITS, In: 5, Out: 4, Mode: sample.ModeConsistent, Top: 7, All: true}, true},
		{`"a":5,"b":4,"weighted":true`, links.RankRequest{Algorithm: links.SALSA, In: 5, Out: 4, Mode: sample.ModeConsistent, Weighted: true}, false},
		{`"a":2,"b":2,"mode":"random","seed":18446744073709551615,"class":"inter-host","as":"urls"`,
			links.RankRequest{Algorithm: links.SALSA, In: 2, Out: 2, Mode: sample.ModeRandom, Seed: 1<<64 - 1, Class: sample.InterHost}, false},
		{`"algorithm":"pagerank","top":5`, links.RankRequest{Algorithm: links.PageRank, Mode: sample.ModeConsistent, Top: 5}, false},
	} {
		c.request.Pages = must(g.UIDs(t.Context(), roots))
		want := must(g.Rank(t.Context(), c.request))
		got := into[ranking](t, s.post("/links/rank", `{"urls":`+quoted(roots)+`,`+c.body+`}`))
		if got.Vertices != want.Vertices || got.Edges != want.Edges || got.Rounds != want.Rounds || got.Converged != want.Converged ||
			len(got.Authorities) != len(want.Authorities) || len(got.Hubs) != len(want.Hubs) {
			t.Fatalf("%s: %+v\nwant %+v", c.body, got, want)
		}
		for i, one := range append(got.Authorities, got.Hubs...) {
			of := append(want.Authorities, want.Hubs...)[i]
			url := must(g.URLs(t.Context(), []uid.UID{of.UID}))[0]
			if one.UID != of.UID.String() || one.Score != of.Score || (one.URL == nil) != c.uids || one.URL != nil && *one.URL != url {
				t.Errorf("%s: place %d: %s\nwant %+v %s", c.body, i, quoted(one), of, url)
			}
		}
	}
}

// TestPageRankJob: a job is begun, looked at and stopped; one at a time.
func TestPageRankJob(t *testing.T) {
	g, _ := aWeb(t, seeded(t), 20)
	g.HoldJobs = true
	s := serveLinks(t, g, Options{})
	s.get("/links/pagerank").wantError(t, 404, problem.KindNotFound, "", "no such job")
	s.do("DELETE", "/links/pagerank", "").wantError(t, 404, problem.KindNotFound, "", "no such job")
	state := func(a answer) string {
		t.Helper()
		if a.status != 200 || a.header.Get(linksapi.EpochHeader) != fmt.Sprint(g.Epoch()) {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return into[links.PageRankJob](t, a.body).State
	}
	if got := state(s.do("POST", "/links/pagerank", `{"damping":0.9,"tolerance":1e-6,"maxRounds":5,"store":true}`)); got != "running" {
		t.Error(got)
	}
	s.do("POST", "/links/pagerank", "").wantError(t, 409, problem.KindConflict, "", "runs already")
	if got := state(s.do("DELETE", "/links/pagerank", "")); got != "stopped" {
		t.Error(got)
	}
	s.do("POST", "/links/pagerank", "")
	g.FinishJob()
	if got := state(s.get("/links/pagerank")); got != "done" {
		t.Error(got)
	}
	foreign := []string{"Sec-Fetch-Site", "cross-site"}
	for _, target := range []string{"/links/pagerank", "/links/stores", "/links/update"} {
		s.do("POST", target, "", foreign...).wantError(t, 403, problem.KindForbidden, "Origin", "another origin")
	}
	for body, want := range map[string]links.Stores{
		``: links.AllStores, `{}`: links.AllStores,
		`{"relinquish":["urls","backward"]}`:                        links.ForwardStore,
		`{"request":["urls"],"relinquish":["forward"]}`:             links.URLStore | links.BackwardStore,
		`{"request":["urls","backward","forward"],"relinquish":[]}`: links.AllStores,
	} {
		if err := g.Request(t.Context(), links.AllStores); err != nil {
			t.Fatal(err)
		}
		got := into[struct{ Servers []links.ServerStores }](t, s.post("/links/stores", body))
		if g.Loaded() != want || len(got.Servers) != 1 || got.Servers[0].Relinquished != links.AllStores&^want {
			t.Errorf("%s: %+v, %s", body, got, g.Loaded())
		}
		if again := into[struct{ Servers []links.ServerStores }](t, s.get("/links/stores").body); !slices.Equal(again.Servers, got.Servers) {
			t.Errorf("%+v, before %+v", again, got)
		}
	}
	for body, want := range map[string]string{
		`{"request":["sideward"]}`: "sideward", `{"request":["urls"],"relinquish":["urls"]}`: "urls", `{"unload":[]}`: "unload", `{} {}`: "follows",
	} {
		s.do("POST", "/links/stores", body).wantError(t, 400, problem.KindBadRequest, request.BodyName, want)
	}
	readOnly := serveLinks(t, g, Options{ReadOnly: true})
	readOnly.do("POST", "/links/pagerank", `{"store":true}`).wantError(t, 403, problem.KindReadOnly, "", "read-only")
	readOnly.do("POST", "/links/update", `{}`).wantError(t, 403, problem.KindReadOnly, "", "read-only")
	if got := state(readOnly.do("POST", "/links/pagerank", "")); got != "running" {
		t.Error(got)
	}
}

// countsBatches is a graph that tells how changes came.
type countsBatches struct {
	*linkstest.Graph
	batches []int
	failAt  int // fail the n-th batch, from 1, when half of it is done
}

func (g *countsBatches) Update(ctx context.Context, changes []links.Change) (links.UpdateResult, error) {
	g.batches = append(g.batches, len(changes))
	if len(g.batches) == g.failAt {
		r, err := g.Graph.Update(ctx, changes[:len(changes)/2])
		return r, errors.Join(err, links.ErrLoading)
	}
	return g.Graph.Update(ctx, changes)
}

// TestLinksUpdate makes changes of all sorts, and the same once more.
func TestLinksUpdate(t *testing.T) {
	g := &countsBatches{Graph: linkstest.New()}
	s := serveLinks(t, g, Options{})
	body := `{"op":"add","src":"http://a/","dst":["http://b/","http://c/"],"weight":[2.5,null],"anchor":[null,"see"]}

{"op":"replace","src":"http://b/","dst":["http://a/"]}
 {"op":"delete","src":"http://a/","dst":["http://b/","http://unknown/"]}` + "\r\n" +
		`{"op":"replace","src":"http://b/","dst":[]}`
	for _, want := range []linksapi.Updated{{Changes: 4, UpdateResult: links.UpdateResult{Added: 3, Deleted: 2, Pages: 3, Epoch: 4}}, {Changes: 4, UpdateResult: links.UpdateResult{Added: 2, Deleted: 2, Epoch: 8}}} {
		if got := into[linksapi.Updated](t, s.post("/links/update", body, "Content-Type", response.NDJSON)); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	got := s.post("/links/get", `{"urls":["http://a/","http://b/"],"labels":true,"as":"urls"}`)
	if got != `{"lists":[[{"url":"http://c/","weight":1,"anchor":"see"}],[]]}`+"\n" {
		t.Error(got)
	}
	// Many, compressed and not, in batches.
	var text bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&text, `{"op":"add","src":"http://h/%d","dst":["http://h/%d"]}`+"\n", i, i*7%10_000)
	}
	g.batches = nil
	if got := into[linksapi.Updated](t, s.post("/links/update", text.String())); got.Changes != 10_000 || got.Added != 10_000 || got.Pages != 10_000 {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(g.batches, []int{linksapi.UpdateChanges, linksapi.UpdateChanges, 10_000 - 2*linksapi.UpdateChanges}) {
		t.Errorf("batches of %d", g.batches)
	}
	s.idle()
	if held := s.api.shared.Memory.Held.Load(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
}

// TestLinksUpdateErrors: an error names the number of the wrong line. The lines before it have their effect.
func TestLinksUpdateErrors(t *testing.T) {
	const good = `{"op":"add","src":"http://a/","dst":["http://%d/"]}` + "\n"
	for _, c := range []struct {
		line, words string
		kind        problem.Kind
	}{
		{`x`, "invalid character", problem.KindSyntax},
		{"{\"op\":\"\xff\"}", "not UTF-8", problem.KindSyntax},
		{`{"op":"add","src":"http://a/","dst":["http://b/"]} {}`, "something follows", problem.KindSyntax},
		{`{"op":"add","src":"http://a/","dst":["http://b/"],"colour":1}`, "colour", problem.KindSyntax},
		{`{"op":"put","src":"http://a/","dst":[]}`, `op is "put"`, problem.KindBadRequest},
		{`{"op":"add","src":"a","dst":[]}`, "src: relative IRI", problem.KindBadRequest},
		{`{"op":"add","src":"http://a/"}`, "dst is missing", problem.KindBadRequest},
		{`{"op":"add","src":"http://a/","dst":["http://b/","http://<"]}`, "dst 1: character", problem.KindBadRequest},
		{`{"op":"add","src":"http://a/","dst":["http://b/"],"weight":[1,2]}`, "2 weights and 0 anchors; give 1 of each", problem.KindBadRequest},
		{`{"op":"add","src":"http://a/","dst":["http://b/"],"anchor":[]}`, "0 weights and 0 anchors; give 1 of each", problem.KindBadRequest},
		{`{"op":"delete","src":"http://a/","dst":["http://b/"],"weight":[1]}`, "no weight", problem.KindBadRequest},
	} {
		g := linkstest.New()
		s := serveLinks(t, g, Options{})
		got := s.do("POST", "/links/update", fmt.Sprintf(good+"\n"+good, 1, 2)+c.line+"\n"+fmt.Sprintf(good, 3))
		got.wantError(t, 400, c.kind, "body:4", c.words)
		e := got.wireError(t)
		if e.Line != 4 || e.Done != 2 || !strings.Contains(e.Message, "2 links were added and 0 deleted; lines up to 3 are done") {
			t.Errorf("%+v", e)
		}
		if stats := must(g.Stats(t.Context())); stats.Links != 2 {
			t.Errorf("%s: %d links", c.line, stats.Links)
		}
	}
	s := serveLinks(t, linkstest.New(), Options{})
	got := s.do("POST", "/links/update", fmt.Sprintf(good, 1)+`{"op":"add","src":"`+strings.Repeat("x", linksapi.MaxChangeBytes)+`"}`)
	got.wantError(t, 413, problem.KindTooLarge, "body:2", "the rest be added")
	g := &countsBatches{Graph: linkstest.New(), failAt: 2}
	got = serveLinks(t, g, Options{}).do("POST", "/links/update", strings.Repeat(fmt.Sprintf(good, 1), linksapi.UpdateChanges)+fmt.Sprintf(good+good, 2, 3))
	got.wantError(t, 503, problem.KindLoading, "", fmt.Sprintf("2 links were added and 0 deleted; lines up to %d are done", linksapi.UpdateChanges))
	s.do("POST", "/links/update", good, "Content-Encoding", "br").wantError(t, 415, problem.KindUnsupportedMedia, "Content-Encoding", "br")
	s.do("POST", "/links/update", good, "Accept", "text/csv").wantError(t, 406, problem.KindNotAcceptable, "Accept", response.JSON)
	cramped := serveLinks(t, linkstest.New(), Options{MemoryBytes: 1 << 20})
	cramped.do("POST", "/links/update", `{"op":"add","src":"urn:`+strings.Repeat("x", 1<<20)+`","dst":[]}`).wantError(t, 413, problem.KindTooLarge, "body:1", "in several lines")
	cramped.api.shared.Memory.Take("others", 1<<20-64<<10, 1)
	cramped.do("POST", "/links/update", `{"op":"add","src":"urn:`+strings.Repeat("x", 10<<10)+`","dst":[]}`, "Content-Type", "application/x-ndjson; charset=utf-8").
		wantError(t, 503, problem.KindBusy, "", "try again")
}
