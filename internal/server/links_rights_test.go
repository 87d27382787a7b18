// Links for users with some graphs only.

package server

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	linksapi "github.com/trefoildb/trefoil/internal/server/links"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/links/wire"
	"github.com/trefoildb/trefoil/triple"
)

// limitedWeb is the links of the readable graphs, in maps, and the UIDs of all pages.
type limitedWeb struct {
	lists [2]map[string]map[string]links.Label // by direction, page and other end
	uids  map[string]uid.UID
	urls  map[uid.UID]string
}

func (w *limitedWeb) knows(url string) bool {
	return len(w.lists[links.Forward][url])+len(w.lists[links.Backward][url]) > 0
}

// list returns the list of a page, ascending.
func (w *limitedWeb) list(d links.Direction, url string) (list []uid.UID) {
	for other := range w.lists[d][url] {
		list = append(list, w.uids[other])
	}
	slices.Sort(list)
	return list
}

// Host and Domain make it a sample.Hosts.
func (w *limitedWeb) Host(e uid.Extent) uint64 {
	return w.number(e, func(key string) string { return key })
}
func (w *limitedWeb) Domain(e uid.Extent) uint64 { return w.number(e, weburl.Domain) }

func (w *limitedWeb) number(e uid.Extent, of func(string) string) uint64 {
	var names []string
	at := 0
	for _, url := range slices.Sorted(maps.Keys(w.uids)) {
		name := of(weburl.HostKey(url))
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if w.uids[url].Extent() == e {
			at = slices.Index(names, name)
		}
	}
	return uint64(at)
}

// TestLinkRights: each endpoint of links answers a user with some graphs as one of a store that has only these, but for
// the numbers of UIDs, or says why it does not.
func TestLinkRights(t *testing.T) {
	seed.Slow(t)
	random := seed.Rand(t)
	const unknown = "http://nowhere.example/"
	edges := 0
	for round := range 4 {
		// 1. Links are in several graphs, and of pages that other graphs have, too. A page may have literals and blank nodes.
		graphs := []string{"", "<urn:g:1> ", "<urn:g:2> ", "<urn:g:3> "}
		limited, readable := newUser("limited", "read"), [][]int{{1}, {0, 2}, {1, 2, 3}, {0}}[round]
		for _, g := range readable {
			limited.ReadGraphs = append(limited.ReadGraphs, []string{"default", "urn:g:1", "urn:g:2", "urn:g:3"}[g])
		}
		page := func() string {
			return fmt.Sprintf("http://www%d.example%d.org/%d", random.IntN(2), random.IntN(3), random.IntN(6))
		}
		want := &limitedWeb{lists: [2]map[string]map[string]links.Label{{}, {}}, uids: map[string]uid.UID{}, urls: map[uid.UID]string{}}
		var quads, visible strings.Builder
		quads.WriteString("<http://secret.example/> <urn:trefoil:linksTo> <http://secret.example/> <urn:g:hidden> .\n")
		labelled := map[triple.Triple]links.Label{}
		for range 120 {
			src, dst, g := page(), page(), random.IntN(len(graphs))
			if random.IntN(6) == 0 {
				src, dst = "http://hub.example/"+strings.Repeat("x", 1200), page()+"/"+strings.Repeat("y", 1200)
			}
			fmt.Fprintf(&quads, "<%s> <urn:trefoil:linksTo> <%s> %s.\n<%s> <urn:other> <%s> %s.\n", src, dst, graphs[g], page(), page(), graphs[random.IntN(len(graphs))])
			fmt.Fprintf(&quads, "<%s> <urn:trefoil:linksTo> \"a literal\" %s.\n", page(), graphs[g])
			want.uids[src], want.uids[dst] = 0, 0
			if !slices.Contains(readable, g) {
				one := links.Link(links.DefaultPredicate, src, dst)
				if g > 0 {
					one.Graph = triple.NewIRI(fmt.Sprintf("urn:g:%d", g))
				}
				labelled[one] = links.Label{Weight: 9, Anchor: "a hidden text"}
				continue
			}
			fmt.Fprintf(&visible, "<%s> <urn:trefoil:linksTo> <%s> %s.\n", src, dst, graphs[g])
			label := links.Label{Weight: 1}
			if g == readable[0] && random.IntN(2) == 0 {
				label = links.Label{Weight: float64(random.IntN(5)) + 0.5, Anchor: "see " + dst}
				one := links.Link(links.DefaultPredicate, src, dst)
				if g > 0 {
					one.Graph = triple.NewIRI(limited.ReadGraphs[0])
				}
				labelled[one] = label
			}
			for d, ends := range [][2]string{{src, dst}, {dst, src}} {
				if want.lists[d][ends[0]] == nil {
					want.lists[d][ends[0]] = map[string]links.Label{}
				}
				if before, ok := want.lists[d][ends[0]][ends[1]]; !ok || before.Anchor == "" || label.Anchor != "" {
					want.lists[d][ends[0]][ends[1]] = label
				}
			}
		}
		s, _, g := serveGraph(t, quads.String(), labelled, limited, newUser("all", "read"))
		urls := slices.Sorted(maps.Keys(want.uids))
		for i, u := range must(g.UIDs(t.Context(), urls)) {
			if u == 0 {
				t.Fatalf("%s has no UID", urls[i])
			}
			want.uids[urls[i]], want.urls[u] = u, urls[i]
		}
		urls = append(urls, "http://secret.example/", unknown, urls[0])
		want.check(t, s, urls)
		// 3. Rankings are those of a server that has only the visible links.
		maps.DeleteFunc(labelled, func(one triple.Triple, label links.Label) bool { return label.Anchor == "a hidden text" })
		alone, _, _ := serveGraph(t, visible.String(), labelled)
		for _, options := range []string{`"a":9999,"b":9999`, `"a":9999,"b":9999,"all":true,"algorithm":"hits"`, `"a":9999,"class":"inter-host","all":true`, `"b":9999,"class":"inter-domain","weighted":true,"all":true`, `"a":9999,"algorithm":"hits","weighted":true`} {
			question := `{"urls":` + quoted(urls[round:round+9]) + `,` + options + `}`
			got := into[rankAnswer](t, s.post("/links/rank", question, append(basic("limited", "limited"), "Content-Type", "application/json")...))
			want := into[rankAnswer](t, alone.post("/links/rank", question, "Content-Type", "application/json"))
			if got.Vertices != want.Vertices || got.Edges != want.Edges || !got.near(want) {
				t.Errorf("%s: %+v\nwant %+v", options, got, want)
			}
			edges += want.Edges
		}
	}
	if edges < 50 {
		t.Errorf("%d links in all rankings are few", edges)
	}
}

// rankAnswer is an answer of /links/rank.
type rankAnswer struct {
	Authorities, Hubs []struct {
		UID, URL string
		Score    float64
	}
	Vertices, Edges, Rounds int
	Converged               bool
}

// near reports whether both have the same pages and about the same scores. UIDs and the order of equal scores may differ.
func (a rankAnswer) near(b rankAnswer) bool {
	scores := map[string]float64{}
	for _, one := range a.Authorities {
		scores[one.URL] = one.Score
	}
	for _, one := range a.Hubs {
		scores["hub "+one.URL] = one.Score
	}
	for _, one := range b.Authorities {
		scores[one.URL] -= one.Score
	}
	for _, one := range b.Hubs {
		scores["hub "+one.URL] -= one.Score
	}
	for _, difference := range scores {
		if math.Abs(difference) > 1e-9 {
			return false
		}
	}
	return len(a.Authorities) == len(b.Authorities) && len(a.Hubs) == len(b.Hubs)
}

// labelledLink is a link of a list with labels.
type labelledLink struct {
	UID    string  `json:"uid"`
	Weight float64 `json:"weight"`
	Anchor string  `json:"anchor"`
}

// check compares the answers about pages with the maps.
func (w *limitedWeb) check(t *testing.T, s *testServer, urls []string) {
	t.Helper()
	user := append(basic("limited", "limited"), "Content-Type", "application/json")
	post := func(path, body string) string { t.Helper(); return s.post(path, body, user...) }
	// 1. Names: a page of other graphs is as unknown as one that nobody knows.
	var uids, known []uid.UID // of all pages, and those of known ones
	var names []*string
	for _, url := range urls {
		u := w.uids[url]
		uids, known, names = append(uids, u), append(known, u), append(names, &url)
		if !w.knows(url) {
			known[len(known)-1], names[len(names)-1] = 0, nil
		}
	}
	same := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s\nanswers %s\nwant    %s", what, problem.ClipAt(got, 2000), problem.ClipAt(want, 2000))
		}
	}
	same("uids", post("/links/uids", `{"urls":`+quoted(urls)+`}`), `{"uids":`+quoted(texts(known))+"}\n")
	for i := range names {
		if uids[i] == 0 {
			names[i] = nil
		}
	}
	same("urls", post("/links/urls", `{"uids":`+quoted(texts(uids))+`}`), `{"urls":`+quoted(names)+"}\n")
	// 2. Lists, labels and degrees.
	count := 0
	for d, direction := range []string{"forward", "backward"} {
		var lists [][]uid.UID
		var degrees []int
		for _, url := range urls {
			list := w.list(links.Direction(d), url)
			lists, degrees = append(lists, list), append(degrees, len(list))
			count += len(list)
		}
		for _, pages := range []string{`"urls":` + quoted(urls), `"uids":` + quoted(texts(uids))} {
			question := `{` + pages + `,"direction":"` + direction + `"`
			same("degrees "+direction, post("/links/degrees", question+"}"), `{"degrees":`+quoted(degrees)+"}\n")
			got := into[struct{ Lists [][]string }](t, post("/links/get", question+"}"))
			named := into[struct{ Lists [][]string }](t, post("/links/get", question+`,"as":"urls"}`))
			labelled := into[struct{ Lists [][]labelledLink }](t, post("/links/get", question+`,"labels":true}`))
			for i, list := range lists {
				var wantUIDs, wantURLs []string
				var wantLabels []labelledLink
				for _, u := range list {
					label := w.lists[d][urls[i]][w.urls[u]]
					wantUIDs, wantURLs = append(wantUIDs, u.String()), append(wantURLs, w.urls[u])
					wantLabels = append(wantLabels, labelledLink{u.String(), label.Weight, label.Anchor})
				}
				if !slices.Equal(got.Lists[i], wantUIDs) || !slices.Equal(named.Lists[i], wantURLs) || !slices.Equal(labelled.Lists[i], wantLabels) {
					t.Errorf("%s %s: %v %v %v\nwant %v %v %v", direction, urls[i], got.Lists[i], named.Lists[i], labelled.Lists[i], wantUIDs, wantURLs, wantLabels)
				}
			}
		}
		question := &wire.Request{URLs: urls, Direction: links.Direction(d)}
		binary := wire.NewReader(strings.NewReader(s.post("/links/get", string(wire.AppendRequest(nil, question)), append(basic("limited", "limited"), binaryForm...)...)), wire.Lists, len(urls))
		for i := range urls {
			if list := binary.List(nil); !slices.Equal(list, lists[i]) {
				t.Errorf("binary %s %s: %v, want %v", direction, urls[i], list, lists[i])
			}
		}
		// 3. Samples are those of the visible lists.
		for _, spec := range []sample.Spec{{N: 2, Seed: 7}, {N: 3, Mode: sample.ModeConsistent}, {N: 2, Mode: sample.ModeConsistent, Class: sample.InterHost}, {N: 1, Class: sample.InterDomain, Seed: 1}, {N: 100}} {
			got := into[struct{ Lists [][]string }](t, post("/links/sample", fmt.Sprintf(`{"urls":%s,"direction":%q,"n":%d,"mode":%q,"class":%q,"seed":%d}`, quoted(urls), direction, spec.N, spec.Mode, spec.Class, spec.Seed)))
			for i, url := range urls {
				var want []string
				for _, u := range sample.Sample(nil, lists[i], w.uids[url], spec, w) {
					want = append(want, u.String())
				}
				if !slices.Equal(got.Lists[i], want) {
					t.Errorf("sample %v %s %s: %v, want %v", spec, direction, url, got.Lists[i], want)
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("%d links are too few", count)
	}
}

// TestLinkRightsHide: what hides other graphs: headers, unknown pages, and whole-graph results, which are 403 with the reason.
func TestLinkRightsHide(t *testing.T) {
	limited := newUser("limited", "read")
	limited.ReadGraphs = []string{"default"}
	s, _, g := serveHidden(t, limited, newUser("all", "read"))
	user := append(basic("limited", "limited"), "Content-Type", "application/json")
	secret := must(g.UIDs(t.Context(), []string{"http://secret.example/a"}))[0]
	free := secret + 12345
	if url := must(g.URLs(t.Context(), []uid.UID{free}))[0]; secret == 0 || url != "" {
		t.Fatal(secret, url)
	}
	// 1. A hidden page answers as an unknown one does, byte by byte, but for the UID that the request has.
	for _, c := range []struct{ path, body, hidden, unknown string }{
		{"/links/uids", `{"urls":["%s"]}`, "http://secret.example/a", "http://secret.example/c"},
		{"/links/urls", `{"uids":["%s"]}`, secret.String(), free.String()},
		{"/links/get", `{"uids":["%s"],"as":"urls"}`, secret.String(), free.String()},
		{"/links/get", `{"urls":["%s"],"labels":true}`, "http://secret.example/a", "http://secret.example/c"},
		{"/links/get", `{"urls":["%s"],"direction":"backward"}`, "http://secret.example/b", "http://secret.example/c"},
		{"/links/degrees", `{"urls":["%s"]}`, "http://secret.example/a", "http://secret.example/c"},
		{"/links/sample", `{"uids":["%s"],"n":3}`, secret.String(), free.String()},
		{"/links/rank", `{"urls":["%s"],"a":10,"b":10,"all":true}`, "http://secret.example/a", "http://secret.example/c"},
		{"/links/rank", `{"uids":["%s"],"a":10,"b":10,"as":"urls"}`, secret.String(), free.String()},
	} {
		hidden, unknown := s.do("POST", c.path, fmt.Sprintf(c.body, c.hidden), user...), s.do("POST", c.path, fmt.Sprintf(c.body, c.unknown), user...)
		for _, a := range []answer{hidden, unknown} {
			a.header.Del("Date")
			a.header.Del("X-Request-Id")
		}
		if hidden.status != http.StatusOK || strings.ReplaceAll(hidden.body, c.hidden, c.unknown) != unknown.body || fmt.Sprint(hidden.header) != fmt.Sprint(unknown.header) {
			t.Errorf("%s: %d %v %s\nunknown: %d %v %s", c.path, hidden.status, hidden.header, hidden.body, unknown.status, unknown.header, unknown.body)
		}
		if hidden.header.Get(linksapi.EpochHeader) != "" {
			t.Errorf("%s has an epoch", c.path)
		}
		full := s.do("POST", c.path, fmt.Sprintf(c.body, c.hidden), append(basic("all", "all"), "Content-Type", "application/json")...)
		if full.status != http.StatusOK || full.body == hidden.body {
			t.Errorf("%s of all graphs: %d %s", c.path, full.status, full.body)
		}
	}
	// 2. What has no rights by graph is 403, and says why.
	for _, c := range []struct{ method, path, body, words string }{
		{"POST", "/links/uids?epoch=now", `{"urls":[]}`, "an epoch is of all graphs"}, {"POST", "/links/get?epoch=5", `{"urls":[]}`, "an epoch is of all graphs"},
		{"POST", "/links/labels", `{"urls":[]}`, "this is of all graphs"}, {"POST", "/links/rank", `{"urls":[],"algorithm":"pagerank"}`, "scores of PageRank are of all graphs"},
		{"GET", "/links/pages", "", "this is of all graphs"}, {"GET", "/links/stats", "", "this is of all graphs"},
		{"GET", "/links/stores", "", "this is of all graphs"}, {"GET", "/links/pagerank", "", "this is of all graphs"},
		{"POST", "/links/stores", `{}`, "needs the role write"}, {"POST", "/links/pagerank", `{}`, "needs the role write"},
		{"DELETE", "/links/pagerank", "", "needs the role write"}, {"POST", "/links/update", "", "needs the role write"},
	} {
		got := s.do(c.method, c.path, c.body, user...)
		if got.status != http.StatusForbidden || !strings.Contains(got.wireError(t).Message, c.words) || strings.Contains(got.body, "secret") {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
		}
	}
}

// TestLinkRightsWrite: a user changes the links of its graphs only, and learns nothing about those of others.
func TestLinkRightsWrite(t *testing.T) {
	one, main := newUser("one", "write"), newUser("main", "write")
	one.WriteGraphs, main.WriteGraphs = []string{"urn:g:2"}, []string{"default"}
	s, _, _ := serveHidden(t, one, main, newUser("all", "read"))
	const a, b = "http://secret.example/a", "http://secret.example/b"
	line := fmt.Sprintf(`{"op":"add","src":%q,"dst":[%q]}`, a, b)
	change := func(user, method, path, body string) answer {
		media := "application/n-quads"
		if path == "/links/update" {
			media = "application/x-ndjson"
		}
		return s.do(method, path, body, append(basic(user, user), "Content-Type", media)...)
	}
	lists := func(user string) string {
		return s.post("/links/get", fmt.Sprintf(`{"urls":[%q,"http://open.example/a"],"as":"urls"}`, a), append(basic(user, user), "Content-Type", "application/json")...)
	}
	quad := func(graph string) string { return "<" + a + "> <urn:trefoil:linksTo> <" + b + "> " + graph + " .\n" }
	forbidden := func(got answer, words string) {
		t.Helper()
		if got.status != http.StatusForbidden || got.wireError(t).Kind != problem.KindForbidden || !strings.Contains(got.body, words) {
			t.Errorf("%d %s, want %q", got.status, got.body, words)
		}
	}
	// 1. One who may write a named graph: by triples only, and only there.
	forbidden(change("one", "POST", "/links/update", line), "/links/update changes the default graph only")
	forbidden(change("one", "POST", "/triples", quad("")), "the default graph may not be changed")
	forbidden(change("one", "DELETE", "/triples", quad("<urn:g:1>")), "the graph <urn:g:1> may not be changed")
	if got := lists("one"); got != `{"lists":[[],[]]}`+"\n" {
		t.Error(got)
	}
	if got := change("one", "POST", "/triples", quad("<urn:g:2>")); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	if got := lists("one"); got != `{"lists":[["`+b+`"],[]]}`+"\n" {
		t.Error(got)
	}
	if got := change("one", "DELETE", "/triples", quad("<urn:g:2>")); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	if got := lists("one"); got != `{"lists":[[],[]]}`+"\n" {
		t.Error(got)
	}
	// 2. One who may write the default graph: the same link of another graph stays, and the answer does not say whether the pages had UIDs.
	forbidden(change("main", "POST", "/links/update", fmt.Sprintf(`{"op":"label","src":%q,"anchor":["x"]}`, a)), "the label of a page is of all graphs")
	for _, c := range []struct{ body, want, main string }{
		{line, `{"changes":1,"added":1,"deleted":0,"pages":0,"epoch":0}`, `[["` + b + `"],["http://open.example/b"]]`},
		{`{"op":"add","src":"http://new.example/","dst":["http://new.example/x"]}`, `{"changes":1,"added":1,"deleted":0,"pages":0,"epoch":0}`, `[["` + b + `"],["http://open.example/b"]]`},
		{fmt.Sprintf(`{"op":"replace","src":%q,"dst":[]}`, a), `{"changes":1,"added":0,"deleted":1,"pages":0,"epoch":0}`, `[[],["http://open.example/b"]]`},
		{fmt.Sprintf(`{"op":"delete","src":%q,"dst":[%q]}`, a, b), `{"changes":1,"added":0,"deleted":0,"pages":0,"epoch":0}`, `[[],["http://open.example/b"]]`},
	} {
		if got := change("main", "POST", "/links/update", c.body); got.status != http.StatusOK || strings.TrimSpace(got.body) != c.want {
			t.Errorf("%s: %d %s", c.body, got.status, got.body)
		}
		if got := lists("main"); got != `{"lists":`+c.main+"}\n" {
			t.Errorf("%s: %s", c.body, got)
		}
		if got := lists("all"); got != `{"lists":[["`+b+`"],["http://open.example/b"]]}`+"\n" {
			t.Errorf("%s: all: %s", c.body, got)
		}
	}
}
