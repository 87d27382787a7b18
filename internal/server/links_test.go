// Reads of links: names, lists, labels, pages and errors.

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	linksapi "github.com/trefoildb/trefoil/internal/server/links"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

var seeded = seed.Rand

// aWeb returns a graph of some pages of some hosts, and their URLs with two that it
// does not know.
func aWeb(t testing.TB, r *rand.Rand, pages int) (*linkstest.Graph, []string) {
	t.Helper()
	urls := make([]string, pages)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://www%d.example%d.org/%d/ü?a=1&b", i%3, i%7, i)
	}
	var changes []links.Change
	for i, url := range urls {
		c := links.Change{Source: url}
		for range r.IntN(12) {
			c.Targets = append(c.Targets, urls[r.IntN(pages)])
			c.Labels = append(c.Labels, links.Label{Weight: float64(r.IntN(3)), Anchor: strings.Repeat("<\"", r.IntN(3))})
		}
		if i == 3 {
			c.Targets, c.Labels = urls, nil
		}
		changes = append(changes, c)
	}
	g := linkstest.New()
	if _, err := g.Update(context.Background(), changes); err != nil {
		t.Fatal(err)
	}
	return g, append(urls, "http://unknown.example/", "urn:unknown")
}

func serveLinks(t testing.TB, g links.Graph, options Options) *testServer {
	t.Helper()
	options.Links = g
	return serve(t, newStore(t), options, ServerOptions{})
}

// must returns what a call returned, which did not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// post posts a question, and returns the answer's text of status 200.
func (s *testServer) post(target, body string, headers ...string) string {
	s.t.Helper()
	got := s.do(http.MethodPost, target, body, headers...)
	if got.status != 200 || got.err != nil {
		s.t.Fatalf("%s %s: %d %v %s", target, problem.Clip(body), got.status, got.err, got.body)
	}
	return got.body
}

// into parses a JSON answer; unknown fields are errors.
func into[T any](t testing.TB, text string) (v T) {
	t.Helper()
	in := json.NewDecoder(strings.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, problem.ClipAt(text, 1000))
	}
	return v
}

func quoted(v any) string { return string(must(json.Marshal(v))) }

// texts returns UIDs as JSON has them.
func texts(uids []uid.UID) []*string {
	all := make([]*string, len(uids))
	for i, u := range uids {
		if text := u.String(); u != 0 {
			all[i] = &text
		}
	}
	return all
}

var binaryForm = []string{"Content-Type", wire.MediaType, "Accept", wire.MediaType}

// binaryLists asks in the binary form and reads lists.
func (s *testServer) binaryLists(target string, q *wire.Request) (lists [][]uid.UID) {
	s.t.Helper()
	count := len(q.UIDs) + len(q.URLs)
	r := wire.NewReader(strings.NewReader(s.post(target, string(wire.AppendRequest(nil, q)), binaryForm...)), wire.Lists, count)
	for range count {
		lists = append(lists, r.List(nil))
	}
	if err := r.Close(); err != nil {
		s.t.Fatal(err)
	}
	return lists
}

func split[T any](l rank.Lists[T]) (all [][]T) {
	for i := range l.Len() {
		all = append(all, l.At(i))
	}
	return all
}

func sameLists(a, b [][]uid.UID) bool { return slices.EqualFunc(a, b, slices.Equal[[]uid.UID]) }

// TestLinksNames: UIDs of URLs and URLs of UIDs, in both forms.
func TestLinksNames(t *testing.T) {
	g, urls := aWeb(t, seeded(t), 300)
	s := serveLinks(t, g, Options{})
	want := must(g.UIDs(t.Context(), urls))
	got := s.do("POST", "/links/uids", `{"urls":`+quoted(urls)+`}`)
	if wantText := `{"uids":` + quoted(texts(want)) + "}\n"; got.body != wantText || got.header.Get("Content-Type") != response.JSON ||
		got.header.Get(linksapi.EpochHeader) != fmt.Sprint(g.Epoch()) || got.header.Get("Vary") != "Accept" {
		t.Errorf("%v %s\nwant %s", got.header, got.body, wantText)
	}
	back := into[struct{ URLs []*string }](t, s.post("/links/urls", strings.TrimSpace(got.body))).URLs
	for i, url := range urls {
		if known := i < len(urls)-2; known != (back[i] != nil) || known && *back[i] != url {
			t.Errorf("URL %d: %s is not %q", i, quoted(back[i]), url)
		}
	}
	text := s.post("/links/uids", string(wire.AppendRequest(nil, &wire.Request{URLs: urls})), binaryForm...)
	r := wire.NewReader(strings.NewReader(text), wire.UIDs, len(urls))
	for i := range urls {
		if u := r.UID(); u != want[i] {
			t.Fatalf("UID %d is %d, want %d", i, u, want[i])
		}
	}
	// The forms of question and answer are independent.
	text = s.post("/links/urls", `{"uids":`+quoted(texts(want))+`}`, "Accept", wire.MediaType)
	r2 := wire.NewReader(strings.NewReader(text), wire.URLs, len(urls))
	for i, url := range urls[:len(urls)-2] {
		if got := r2.URL(); got != url {
			t.Fatalf("URL %d is %q", i, got)
		}
	}
	if a, b := r2.URL(), r2.URL(); a+b != "" || errors.Join(r.Close(), r2.Close()) != nil {
		t.Errorf("unknown pages are %q and %q, %v, %v", a, b, r.Close(), r2.Close())
	}
	for _, none := range []string{`{"urls":[]}`, string(wire.AppendRequest(nil, &wire.Request{}))} {
		contentType := response.JSON
		if none[0] == 't' {
			contentType = wire.MediaType
		}
		if got := s.post("/links/uids", none, "Content-Type", contentType); got != "{\"uids\":[]}\n" {
			t.Errorf("no URLs: %s", got)
		}
	}
}

// TestLinksLists: links, samples and degrees, by UIDs and URLs, in both forms and both
// directions, compared with the graph itself; in pieces too.
func TestLinksLists(t *testing.T) {
	r := seeded(t)
	g, urls := aWeb(t, r, 400)
	s := serveLinks(t, g, Options{})
	pages := must(g.UIDs(t.Context(), urls))
	ctx := t.Context()
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		d := links.Direction(round % 2)
		if round == rounds/2 {
			s.setPieces(50)
		}
		spec := sample.Spec{N: r.IntN(8), Mode: sample.Mode(r.IntN(2)), Class: sample.Class(r.IntN(3)), Seed: r.Uint64()}
		whole, some := split(must(g.Links(ctx, d, pages))), split(must(g.SampleLinks(ctx, d, pages, spec)))
		degrees := must(g.Degrees(ctx, d, pages))
		for _, who := range []string{`"uids":` + quoted(texts(pages)), `"urls":` + quoted(urls)} {
			question := fmt.Sprintf(`{%s,"direction":%q`, who, directionName(d))
			if got := s.post("/links/get", question+"}"); got != listsText(whole, func(u uid.UID) string { return quoted(u.String()) }) {
				t.Fatalf("round %d: get: %s", round, problem.ClipAt(got, 2000))
			}
			if got := s.post("/links/degrees", question+"}"); got != `{"degrees":`+quoted(degrees)+"}\n" {
				t.Fatalf("round %d: degrees: %s", round, got)
			}
			sampled := fmt.Sprintf(`%s,"n":%d,"mode":%q,"class":%q,"seed":%d,"as":"urls"}`, question, spec.N, spec.Mode, spec.Class, spec.Seed)
			if got := s.post("/links/sample", sampled); got != listsText(some, func(u uid.UID) string {
				return `"` + must(g.URLs(ctx, []uid.UID{u}))[0] + `"`
			}) {
				t.Fatalf("round %d: sample: %s", round, problem.ClipAt(got, 2000))
			}
		}
		for _, q := range []wire.Request{{UIDs: pages, Direction: d, Sample: spec}, {URLs: urls, Direction: d, Sample: spec}} {
			if got := s.binaryLists("/links/get", &q); !sameLists(got, whole) {
				t.Fatalf("round %d: get in the binary form differs", round)
			}
			if got := s.binaryLists("/links/sample", &q); !sameLists(got, some) {
				t.Fatalf("round %d: sample in the binary form differs", round)
			}
		}
	}
	s.idle()
	if held := s.api.shared.Memory.Held.Load(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
}

func directionName(d links.Direction) string {
	if d == links.Backward {
		return "backward"
	}
	return "forward"
}

// setPieces has answers be read in pieces of so many links.
func (s *testServer) setPieces(most int) { s.api.links.PieceLinks = most }

// listsText returns lists as JSON has them.
func listsText(lists [][]uid.UID, text func(uid.UID) string) string {
	var out bytes.Buffer
	for i, list := range lists {
		if i > 0 {
			out.WriteByte(',')
		}
		var items []string
		for _, u := range list {
			items = append(items, text(u))
		}
		fmt.Fprintf(&out, "[%s]", strings.Join(items, ","))
	}
	return `{"lists":[` + out.String() + "]}\n"
}

// TestLinksLabels compares labels with the graph's, in both forms.
func TestLinksLabels(t *testing.T) {
	g, urls := aWeb(t, seeded(t), 100)
	if _, err := g.Update(t.Context(), []links.Change{{Source: urls[0], Targets: urls[1:2], Labels: []links.Label{{Weight: math.Inf(1), Anchor: "\xff"}}}}); err != nil {
		t.Fatal(err)
	}
	s := serveLinks(t, g, Options{})
	s.setPieces(40 * linksapi.LabelledShare)
	pages := must(g.UIDs(t.Context(), urls))
	lists, labels := split(must(g.Links(t.Context(), links.Forward, pages))), split(must(g.Labels(t.Context(), links.Forward, pages)))
	for _, as := range []string{"uids", "urls"} {
		got := into[struct {
			Lists [][]struct {
				UID, URL, Anchor string
				Weight           *float64
			}
		}](t, s.post("/links/get", `{"urls":`+quoted(urls)+`,"labels":true,"as":"`+as+`"}`)).Lists
		for i := range urls {
			if len(got[i]) != len(lists[i]) {
				t.Fatalf("page %d has %d links, want %d", i, len(got[i]), len(lists[i]))
			}
			for k, link := range got[i] {
				want := labels[i][k]
				weighs := math.IsInf(want.Weight, 0) && link.Weight == nil || link.Weight != nil && *link.Weight == want.Weight
				url := must(g.URLs(t.Context(), lists[i][k:k+1]))[0]
				if !weighs || link.Anchor != strings.ToValidUTF8(want.Anchor, "\uFFFD") ||
					as == "uids" && link.UID != lists[i][k].String() || as == "urls" && link.URL != url {
					t.Errorf("link %d of page %d is %+v, want %d %q %+v", k, i, link, lists[i][k], url, want)
				}
			}
		}
	}
	// Backward links in binary.
	lists, labels = split(must(g.Links(t.Context(), links.Backward, pages))), split(must(g.Labels(t.Context(), links.Backward, pages)))
	r := wire.NewReader(strings.NewReader(s.post("/links/get", string(wire.AppendRequest(nil, &wire.Request{Direction: links.Backward, UIDs: pages, Labels: true})), binaryForm...)),
		wire.LabelledLists, len(pages))
	for i := range pages {
		list, noted := r.LabelledList(nil, nil)
		if !slices.Equal(list, lists[i]) || !slices.Equal(noted, labels[i]) {
			t.Errorf("page %d: %v %v\nwant %v %v", i, list, noted, lists[i], labels[i])
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// restless is a graph that changes when it is read.
type restless struct {
	*linkstest.Graph
	url   string
	reads int // that change something: the rest do not
}

func (g *restless) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	l, err := g.Graph.Links(ctx, d, pages)
	if g.reads == 0 || err != nil {
		return l, err
	}
	g.reads--
	// One link is deleted and one added, so the page has the same number of links.
	page, err := g.Graph.UIDs(ctx, []string{g.url})
	if err != nil {
		return l, err
	}
	old, err := g.Graph.Links(ctx, links.Forward, page)
	if err != nil {
		return l, err
	}
	gone, err := g.Graph.URLs(ctx, old.Items[:min(1, len(old.Items))])
	if err != nil {
		return l, err
	}
	_, err = g.Update(ctx, []links.Change{{Kind: links.DeleteLinks, Source: g.url, Targets: gone},
		{Source: g.url, Targets: []string{fmt.Sprintf("http://new.example/%d", g.reads)}, Labels: []links.Label{{Weight: 5}}}})
	return l, err
}

// TestLinksLabelsOfChanges: labels are never those of other links.
func TestLinksLabelsOfChanges(t *testing.T) {
	for _, reads := range []int{1, 2, 7, 1000} {
		g, urls := aWeb(t, seeded(t), 20)
		s := serveLinks(t, &restless{g, urls[5], reads}, Options{})
		got := s.do("POST", "/links/get", `{"urls":`+quoted(urls)+`,"labels":true}`)
		if reads == 1000 {
			got.wantError(t, 503, problem.KindUnavailable, "", "change faster")
			continue
		}
		lists := into[struct {
			Lists [][]struct {
				UID, Anchor string
				Weight      float64
			}
		}](t, got.body).Lists
		page := must(g.UIDs(t.Context(), urls[5:6]))
		list, labels := must(g.Links(t.Context(), links.Forward, page)).Items, must(g.Labels(t.Context(), links.Forward, page)).Items
		if len(lists[5]) != len(list) {
			t.Fatalf("%d changes: %d links, want %d", reads, len(lists[5]), len(list))
		}
		for i, link := range lists[5] {
			if link.UID != list[i].String() || link.Weight != labels[i].Weight {
				t.Errorf("%d changes: link %d is %+v, want %d %+v", reads, i, link, list[i], labels[i])
			}
		}
	}
}

// TestLinksPages: all pages, page by page.
func TestLinksPages(t *testing.T) {
	g, _ := aWeb(t, seeded(t), 150)
	s := serveLinks(t, g, Options{})
	all := must(g.Pages(t.Context(), 0, 1000))
	for _, limit := range []int{1, 7, 75, 150, 151, 1 << 40} {
		var got []uid.UID
		target := fmt.Sprintf("/links/pages?limit=%d", limit)
		for next := target; next != ""; {
			page := into[struct {
				UIDs []string
				Next *string
			}](t, s.get(next).body)
			for _, text := range page.UIDs {
				got = append(got, must(uid.Parse(text)))
			}
			if len(page.UIDs) > limit || page.Next == nil != (len(page.UIDs) < limit) {
				t.Fatalf("%d pages, next %v", len(page.UIDs), page.Next)
			}
			if next = ""; page.Next != nil {
				next = target + "&after=" + *page.Next
			}
		}
		if !slices.Equal(got, all) {
			t.Errorf("limit %d: %d pages of %d, or others", limit, len(got), len(all))
		}
	}
	r := wire.NewReader(strings.NewReader(s.get("/links/pages?limit=10&after="+all[4].String(), "Accept", wire.MediaType).body), wire.UIDs, -1)
	for i := range r.Count() {
		if u := r.UID(); u != all[5+i] {
			t.Errorf("page %d is %d, want %d", i, u, all[5+i])
		}
	}
	if err := r.Close(); err != nil || r.Count() != 10 {
		t.Error(r.Count(), err)
	}
	if got := s.get("/links/pages?after=18446744073709551615").body; got != "{\"uids\":[],\"next\":null}\n" {
		t.Errorf("after the last: %s", got)
	}
	stats := into[links.Stats](t, s.get("/links/stats").body)
	want := must(g.Stats(t.Context()))
	if quoted(stats) != quoted(want) || stats.Pages != 150 || stats.MinUID != all[0] {
		t.Errorf("stats: %+v\nwant %+v", stats, want)
	}
}

// TestLinksRefusals: every way to get a question wrong has its status, kind and place.
func TestLinksRefusals(t *testing.T) {
	g, _ := aWeb(t, seeded(t), 20)
	s := serveLinks(t, g, Options{MaxBodyBytes: 4 << 20})
	binary := func(q wire.Request) string { return string(wire.AppendRequest(nil, &q)) }
	big := make([]uid.UID, linksapi.MaxPages+1)
	many := strings.Repeat(`"",`, linksapi.MaxPages)
	for _, c := range []struct {
		target, contentType, body string
		status                    int
		kind                      problem.Kind
		where, words              string
	}{
		{"/links/uids", "", ``, 400, problem.KindBadRequest, "body", "byte 0: unexpected EOF"},
		{"/links/uids", "", `[]`, 400, problem.KindBadRequest, "body", "no JSON object; it takes urls"},
		{"/links/uids", "", `{}`, 400, problem.KindBadParameter, "urls", "is missing"},
		{"/links/uids", "", `{"urls":["http://a/"]`, 400, problem.KindBadRequest, "body", "unexpected EOF"},
		{"/links/uids", "", `{"urls":["http://a/"`, 400, problem.KindBadRequest, "body", "unexpected EOF"},
		{"/links/uids", "", `{"urls":["http://a/"]} {}`, 400, problem.KindBadRequest, "body", "something follows"},
		{"/links/uids", "", `{"urls":"http://a/"}`, 400, problem.KindBadParameter, "urls", "no array"},
		{"/links/uids", "", `{"urls":["a",7]}`, 400, problem.KindBadParameter, "urls", "item 1 is no string"},
		{"/links/uids", "", `{"urls":["a",null]}`, 400, problem.KindBadParameter, "urls", "item 1 is null"},
		{"/links/uids", "", `{"urls":[["a"]]}`, 400, problem.KindBadParameter, "urls", "item 0 is no string"},
		{"/links/uids", "", `{"urls":[],"urls":[]}`, 400, problem.KindBadParameter, "urls", "twice"},
		{"/links/uids", "", `{"uids":[]}`, 400, problem.KindBadParameter, "uids", "takes urls"},
		{"/links/uids", "", "{\"urls\":[\"\xff\"]}", 400, problem.KindBadRequest, "body", "UTF-8"},
		{"/links/uids", "", `{"urls":[` + many + `""]}`, 413, problem.KindTooLarge, "", "more than 100000 pages"},
		{"/links/uids", "", `{"urls":["` + strings.Repeat("x", 4<<20) + `"]}`, 413, problem.KindTooLarge, "", "fewer pages"},
		{"/links/uids", "text/plain", `{}`, 415, problem.KindUnsupportedMedia, "Content-Type", wire.MediaType},
		{"/links/uids?limit=3", "", `{}`, 400, problem.KindBadParameter, "limit", "takes epoch"},
		{"/links/uids?epoch=x", "", `{}`, 400, problem.KindBadParameter, "epoch", "no number"},
		{"/links/uids", wire.MediaType, `{"urls":[]}`, 400, problem.KindBadRequest, "body", "malformed message"},
		{"/links/uids", wire.MediaType, binary(wire.Request{UIDs: []uid.UID{1}}), 400, problem.KindBadRequest, "body", "takes urls"},
		{"/links/urls", wire.MediaType, binary(wire.Request{URLs: []string{"x"}}), 400, problem.KindBadRequest, "body", "takes uids"},
		{"/links/urls", wire.MediaType, binary(wire.Request{UIDs: big}), 413, problem.KindTooLarge, "", "more than 100000 pages"},
		{"/links/urls", "", `{"uids":["x"]}`, 400, problem.KindBadParameter, "uids", "item 0"},
		{"/links/urls", "", `{"uids":["18446744073709551616"]}`, 400, problem.KindBadParameter, "uids", "item 0"},
		{"/links/urls", "", `{"uids":[12345678901]}`, 400, problem.KindBadParameter, "uids", "item 0 is no string"},
		{"/links/get", "", `{"direction":"forward"}`, 400, problem.KindBadRequest, "body", "uids or urls"},
		{"/links/get", "", `{"uids":[],"urls":[]}`, 400, problem.KindBadRequest, "body", "uids or urls"},
		{"/links/get", "", `{"uids":[],"direction":"up"}`, 400, problem.KindBadParameter, "direction", "neither"},
		{"/links/get", "", `{"uids":[],"direction":1}`, 400, problem.KindBadParameter, "direction", "not a string"},
		{"/links/get", "", `{"uids":[],"labels":"yes"}`, 400, problem.KindBadParameter, "labels", "true or false"},
		{"/links/get", "", `{"uids":[],"labels":null}`, 400, problem.KindBadParameter, "labels", "true or false"},
		{"/links/get", "", `{"uids":[],"as":"pages"}`, 400, problem.KindBadParameter, "as", "neither"},
		{"/links/get", "", `{"uids":[],"n":5}`, 400, problem.KindBadParameter, "n", "unknown field"},
		{"/links/sample", "", `{"uids":[],"n":-1}`, 400, problem.KindBadParameter, "n", "from 0"},
		{"/links/sample", "", `{"uids":[],"n":1e3}`, 400, problem.KindBadParameter, "n", "from 0"},
		{"/links/sample", "", `{"uids":[],"n":4294967296}`, 400, problem.KindBadParameter, "n", "from 0"},
		{"/links/sample", "", `{"uids":[],"seed":-1}`, 400, problem.KindBadParameter, "seed", "2^64"},
		{"/links/sample", "", `{"uids":[],"mode":"best"}`, 400, problem.KindBadParameter, "mode", "random or consistent"},
		{"/links/sample", "", `{"uids":[],"class":"best"}`, 400, problem.KindBadParameter, "class", "inter-host"},
		{"/links/rank", "", `{"uids":[],"algorithm":"best"}`, 400, problem.KindBadParameter, "algorithm", "salsa, hits"},
		{"/links/rank", "", `{"uids":["0"],"a":2000000000}`, 413, problem.KindTooLarge, "", "ask for less"},
		{"/links/rank", wire.MediaType, binary(wire.Request{UIDs: []uid.UID{1}}), 415, problem.KindUnsupportedMedia, "Content-Type", response.JSON},
		{"/links/pagerank", "", `{"damping":"much"}`, 400, problem.KindBadRequest, "body", "damping"},
		{"/links/pagerank", "", `{"speed":1}`, 400, problem.KindBadRequest, "body", "speed"},
		{"/links/pagerank", "", `{} {}`, 400, problem.KindBadRequest, "body", "follows"},
		{"/links/pagerank", "", strings.Repeat(" ", 5000), 413, problem.KindTooLarge, "body", "4096"},
		{"/links/pagerank", "", `{"damping":2}`, 400, problem.KindBadRequest, "", "damping is 2"},
		{"/links/update", "text/csv", `x`, 415, problem.KindUnsupportedMedia, "Content-Type", response.NDJSON},
	} {
		var headers []string
		if c.contentType != "" {
			headers = []string{"Content-Type", c.contentType}
		}
		got := s.do("POST", c.target, c.body, headers...)
		if got.status == 200 {
			t.Errorf("%s %s is answered %s", c.target, problem.Clip(c.body), problem.Clip(got.body))
			continue
		}
		got.wantError(t, c.status, c.kind, c.where, c.words)
	}
	s.get("/links/pages?after=x").wantError(t, 400, problem.KindBadParameter, "after", "no UID")
	s.get("/links/pages?limit=0").wantError(t, 400, problem.KindBadParameter, "limit", "from 1")
	s.get("/links/get").wantError(t, 405, problem.KindMethod, "", "takes OPTIONS, POST")
	s.get("/links").wantError(t, 404, problem.KindNotFound, "/links", "/links/get")
	s.do("POST", "/links/get", `{"uids":[]}`, "Accept", "text/csv").wantError(t, 406, problem.KindNotAcceptable, "Accept", wire.MediaType)
	s.do("POST", "/links/rank", `{"uids":[]}`, "Accept", wire.MediaType).wantError(t, 406, problem.KindNotAcceptable, "Accept", response.JSON)
	s.do("POST", "/links/get", `{"urls":["http://a/"],"as":"urls"}`, "Accept", wire.MediaType).wantError(t, 406, problem.KindNotAcceptable, "as", response.JSON)
	s.idle()
	if held := s.api.shared.Memory.Held.Load(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
	without := serve(t, newStore(t), Options{}, ServerOptions{})
	without.do("POST", "/links/get", `{"uids":[]}`).wantError(t, 404, problem.KindNotFound, "/links/get", "no such endpoint")
}

// TestLinksErrors: what a graph says has its status and kind.
func TestLinksErrors(t *testing.T) {
	g, urls := aWeb(t, seeded(t), 20)
	s := serveLinks(t, g, Options{})
	for _, c := range []struct {
		err    error
		status int
		kind   problem.Kind
		where  string
	}{
		{fmt.Errorf("a: %w", links.ErrLoading), 503, problem.KindLoading, ""},
		{fmt.Errorf("a: %w", links.ErrInvalid), 400, problem.KindBadRequest, ""},
		{fmt.Errorf("a: %w", links.ErrEpoch), 409, problem.KindEpoch, "epoch"},
		{fmt.Errorf("a: %w", links.ErrBusy), 409, problem.KindConflict, ""},
		{fmt.Errorf("a: %w", links.ErrNoJob), 404, problem.KindNotFound, ""},
		{errors.New("a disk"), 500, problem.KindInternal, ""},
	} {
		g.Fail(c.err)
		for _, q := range []struct{ method, target, body string }{
			{"POST", "/links/uids", `{"urls":` + quoted(urls) + `}`}, {"POST", "/links/urls", `{"uids":["17179869184"]}`},
			{"POST", "/links/get", `{"uids":["17179869184"]}`}, {"POST", "/links/sample", `{"uids":["17179869184"],"n":1}`},
			{"POST", "/links/degrees", `{"uids":["17179869184"]}`}, {"POST", "/links/rank", `{"uids":["17179869184"]}`},
			{"GET", "/links/pages", ""}, {"GET", "/links/stats", ""}, {"POST", "/links/pagerank", ""}, {"GET", "/links/pagerank", ""},
			{"DELETE", "/links/pagerank", ""}, {"GET", "/links/stores", ""}, {"POST", "/links/stores", `{"request":["urls"]}`}, {"POST", "/links/stores", `{"relinquish":["urls"]}`},
			{"POST", "/links/update", `{"op":"add","src":"urn:a","dst":["urn:b"]}`},
		} {
			got := s.do(q.method, q.target, q.body)
			got.wantError(t, c.status, c.kind, c.where, c.err.Error())
			if retry := got.header.Get("Retry-After"); (c.kind == problem.KindLoading) != (retry == "2") {
				t.Errorf("%s: Retry-After: %q", q.target, retry)
			}
		}
	}
}

// TestLinksPageLabels sets, reads and removes labels of pages.
func TestLinksPageLabels(t *testing.T) {
	s := serveLinks(t, linkstest.New(), Options{})
	ndjson := []string{"Content-Type", "application/x-ndjson"}
	s.post("/links/update", `{"op":"label","src":"http://a/","weight":[2.5],"anchor":["home"]}`+"\n"+`{"op":"label","src":"http://b/","anchor":["b"]}`, ndjson...)
	read := func(want string) {
		t.Helper()
		if got := strings.TrimSpace(s.post("/links/labels", `{"urls":["http://a/","http://b/","http://none/"]}`)); got != `{"labels":[`+want+`]}` {
			t.Errorf("%s, want %s", got, want)
		}
	}
	read(`{"weight":2.5,"anchor":"home"},{"weight":1,"anchor":"b"},null`)
	s.post("/links/update", `{"op":"label","src":"http://a/"}`, ndjson...)
	read(`null,{"weight":1,"anchor":"b"},null`)
	for _, line := range []string{`{"op":"label","src":"http://a/","dst":[]}`, `{"op":"label","src":"http://a/","weight":[1,2]}`} {
		s.do("POST", "/links/update", line, ndjson...).wantError(t, 400, problem.KindBadRequest, "body:1", "")
	}
}
