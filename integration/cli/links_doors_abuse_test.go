// Hostile requests to the endpoints of links.

package cli

// This file sends absurd requests to all endpoints under /links. The server must still answer
// like a plain map, in bounded memory.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

// sameGraph compares what two graphs say of pages, by URL: each has UIDs of its own.
func sameGraph(t *testing.T, got, want links.Graph, urls []string) {
	t.Helper()
	ctx := t.Context()
	lists := func(g links.Graph, d links.Direction) [][]string {
		t.Helper()
		pages, err := g.UIDs(ctx, urls)
		require.NoError(t, err)
		all, err := g.Links(ctx, d, pages)
		require.NoError(t, err)
		names, err := g.URLs(ctx, all.Items)
		require.NoError(t, err)
		by, start := make([][]string, len(pages)), 0
		for i, end := range all.Ends {
			by[i] = slices.Sorted(slices.Values(names[start:end]))
			start = end
		}
		return by
	}
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		has, should := lists(got, d), lists(want, d)
		for i, url := range urls {
			if !slices.Equal(has[i], should[i]) {
				t.Fatalf("%s links of %.200q: %.300q, want %.300q", d, url, has[i], should[i])
			}
		}
	}
}

// absurd is a request that makes no sense, or hardly any.
type absurd struct {
	method, target, contentType, body string
	status                            int // 0: any of the client's errors
}

// someDoors returns endpoints for requests of a second: the first one, or all if TREFOIL_ABUSE is
// set.
func someDoors(doors ...string) []string {
	if os.Getenv("TREFOIL_ABUSE") != "" {
		return doors
	}
	return doors[:1]
}

// absurdQuestions are JSON objects with one field that is wrong, or far too large.
func absurdQuestions() (all []absurd) {
	numbers := []string{"-1", "NaN", "Infinity", "1e400", "-0.5", "18446744073709551616", "4294967296", `"5"`, `""`, "null", "[]", "{}", "true", "0x10", "1_000", "00", "+1", ""}
	texts := []string{`"no such"`, `""`, "7", "null", "[]", "-1", `"ALL"`, `"\u0000"`, `"` + strings.Repeat("x", 100_000) + `"`}
	uids := []string{"-1", "0x10", "NaN", "1e3", "18446744073709551616", "", " 1", "01", "+5", strings.Repeat("9", 100_000), "\u0661"}
	for _, f := range []struct {
		door, fields string
		values       []string
	}{
		{"sample", `"n"`, numbers}, {"rank", `"a"`, numbers}, {"rank", `"b"`, numbers}, {"rank", `"top"`, numbers},
		{"sample", `"class"`, texts}, {"sample", `"mode"`, texts}, {"sample", `"direction"`, texts}, {"get", `"direction"`, texts}, {"degrees", `"direction"`, texts},
		{"rank", `"class"`, texts}, {"rank", `"mode"`, texts}, {"rank", `"algorithm"`, texts}, {"get", `"as"`, texts}, {"rank", `"as"`, texts},
		{"get", `"labels"`, append(texts, numbers[:6]...)}, {"rank", `"all"`, texts}, {"get", `"no such"`, texts},
	} {
		for _, value := range f.values {
			if f.fields == `"labels"` && value == "true" {
				continue
			}
			all = append(all, absurd{"POST", "/links/" + f.door, "", `{"urls":["http://example.org/"],` + f.fields + ":" + value + "}", 400})
		}
	}
	for _, value := range append(numbers[:5:5], "18446744073709551616") {
		all = append(all, absurd{"POST", "/links/sample", "", `{"urls":[],"n":1,"seed":` + value + "}", 400})
		all = append(all, absurd{"POST", "/links/pagerank", "", `{"damping":` + value + "}", 400}, absurd{"POST", "/links/pagerank", "", `{"maxRounds":` + value + "}", 400})
		if value != "18446744073709551616" { // a tolerance as good as any
			all = append(all, absurd{"POST", "/links/pagerank", "", `{"tolerance":` + value + "}", 400})
		}
	}
	for _, door := range []string{"urls", "get", "sample", "degrees", "rank"} {
		for _, u := range uids {
			text, _ := json.Marshal(u)
			all = append(all, absurd{"POST", "/links/" + door, "", `{"uids":[` + string(text) + `]}`, 400})
		}
	}
	many := `"http://x/",`
	for _, door := range someDoors("get", "uids", "sample", "degrees", "rank") {
		all = append(all, absurd{"POST", "/links/" + door, "", `{"urls":[` + strings.Repeat(many, 999_999) + `"http://x/"]}`, 413})
	}
	for _, door := range []string{"uids", "urls", "get", "sample", "degrees", "rank"} {
		for _, body := range []string{"", "null", "[]", "7", `"x"`, "{", "{}", "}", `{"urls":{}}`, `{"urls":null}`, `{"uids":7}`, `{"urls":[],"uids":[]}`, `{"urls":[],"urls":[]}`, `{"urls":[{}]}`, `{"urls":[[]]}`,
			strings.Repeat("[", 200_000), `{"urls":` + strings.Repeat("[", 1_000_000), strings.Repeat(`{"urls":`, 100_000), "\xff", "\x00", "\xef\xbb\xbf{}", `{"urls":["\ud800"`} {
			all = append(all, absurd{"POST", "/links/" + door, "", body, 400})
		}
		all = append(all, absurd{"POST", "/links/" + door, "text/plain", "{}", 415}, absurd{"POST", "/links/" + door, ";;", "{}", 415}, absurd{"GET", "/links/" + door, "", "", 405}, absurd{"PUT", "/links/" + door, "", "{}", 405},
			absurd{"POST", "/links/" + door + "?epoch=-1", "", `{"urls":[]}`, 400}, absurd{"POST", "/links/" + door + "?epoch=NaN", "", `{"urls":[]}`, 400}, absurd{"POST", "/links/" + door + "?epoch=", "", `{"urls":[]}`, 400},
			absurd{"POST", "/links/" + door + "?epoch=18446744073709551616", "", `{"urls":[]}`, 400}, absurd{"POST", "/links/" + door + "?x=1", "", `{"urls":[]}`, 400})
	}
	for _, value := range []string{"-1", "NaN", "1.5", "18446744073709551616", "", "0x1", "%00", "1&after=2&limit=3&after=4"} {
		all = append(all, absurd{"GET", "/links/pages?after=" + value, "", "", 400}, absurd{"GET", "/links/pages?limit=" + value, "", "", 400})
	}
	return append(all, absurd{"GET", "/links/pages?limit=0", "", "", 400}, absurd{"GET", "/links/none", "", "", 404}, absurd{"GET", "/links/stats?x=1", "", "", 400}, absurd{"DELETE", "/links/stats", "", "", 405},
		absurd{"POST", "/links/rank", "", `{"uids":["17179869184"],"a":2147483647,"b":2147483647}`, 413}, absurd{"POST", "/links/rank", "", `{"uids":["17179869184"],"algorithm":"pagerank"}`, 404},
		absurd{"POST", "/links/pagerank", "", strings.Repeat(" ", 1<<20), 413}, absurd{"DELETE", "/links/pagerank", "", "", 404}, absurd{"GET", "/links/pagerank", "", "", 404})
}

// absurdChanges are lines of changes of which none is right.
func absurdChanges() (all []absurd) {
	for _, line := range []string{"x", "null", "[]", "7", `""`, "{}", "{", `{"op":"add"}`, `{"op":7,"src":"x:a","dst":[]}`, `{"op":"ADD","src":"x:a","dst":[]}`, `{"op":"add","src":7,"dst":[]}`, `{"op":"add","src":"","dst":[]}`,
		`{"op":"add","src":"x:a","dst":"x:b"}`, `{"op":"add","src":"x:a","dst":null}`, `{"op":"add","src":"x:a","dst":[7]}`, `{"op":"add","src":"x:a","dst":[null]}`, `{"op":"add","src":"x:a","dst":[""]}`, `{"op":"add","src":"x:a","dst":["no IRI"]}`,
		`{"op":"add","src":"x:a","dst":["x:b"],"weight":[NaN]}`, `{"op":"add","src":"x:a","dst":["x:b"],"weight":[1e400]}`, `{"op":"add","src":"x:a","dst":["x:b"],"weight":["1"]}`, `{"op":"add","src":"x:a","dst":["x:b"],"weight":1}`,
		`{"op":"add","src":"x:a","dst":["x:b"],"weight":[1,2]}`, `{"op":"add","src":"x:a","dst":["x:b"],"weight":[]}`, `{"op":"add","src":"x:a","dst":["x:b"],"anchor":[7]}`, `{"op":"delete","src":"x:a","dst":["x:b"],"weight":[1]}`,
		`{"op":"add","src":"x:a","dst":["x:b"],"anchor":["` + strings.Repeat("a", 2<<20) + `"]}`, `{"op":"add","src":"x:a\u0000","dst":[]}`, `{"op":"add","src":"x:\ud800<","dst":[]}`,
		"\xff", "\x00", `{"op":"add","src":"x:a","dst":["x:b"]}}`, `{"op":"add","src":"x:a","dst":["x:b"]} {}`, strings.Repeat("[", 1_000_000), `{"op":"add","src":"x:a","dst":` + strings.Repeat("[", 1_000_000)} {
		all = append(all, absurd{"POST", "/links/update", "", line + "\n", 400})
	}
	return append(all, absurd{"POST", "/links/update", "", `{"op":"add","src":"x:a","dst":["` + strings.Repeat("x", 17<<20), 413}, absurd{"POST", "/links/update", "text/csv", "x", 415}, absurd{"PUT", "/links/update", "", "", 405},
		absurd{"POST", "/links/update?x=1", "", "", 400})
}

// asker sends requests and looks at the answers' statuses.
type asker struct {
	t      *testing.T
	url    string
	client http.Client
}

func (a *asker) ask(r absurd, headers ...string) (status int, body string) {
	a.t.Helper()
	q, err := http.NewRequestWithContext(a.t.Context(), r.method, a.url+r.target, strings.NewReader(r.body))
	require.NoError(a.t, err)
	if r.contentType != "" {
		q.Header.Set("Content-Type", r.contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	answer, err := a.client.Do(q)
	if err != nil {
		a.t.Fatalf("%s %s, %d bytes: %v", r.method, r.target, len(r.body), err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil && answer.StatusCode < 300 {
		a.t.Errorf("%s %s: %v", r.method, r.target, err)
	}
	return answer.StatusCode, string(text)
}

// refused demands an error of the client's, which says something.
func (a *asker) refused(r absurd, headers ...string) {
	a.t.Helper()
	status, body := a.ask(r, headers...)
	if status < 400 || status > 499 || r.status != 0 && status != r.status || len(body) < 20 || len(body) > 2000 {
		a.t.Errorf("%s %s %.100q: %d, want %d: %.300q", r.method, r.target, r.body, status, r.status, body)
	}
}

// messages asks in the binary form: requests cut anywhere, with any bit flipped, and such
// as claim more than they have.
func (a *asker) messages(rng *rand.Rand, pages []uid.UID) {
	a.t.Helper()
	whole := wire.AppendRequest(nil, &wire.Request{UIDs: pages[:9], Sample: sample.Spec{N: 3, Mode: sample.ModeConsistent}})
	for n := range whole {
		a.refused(absurd{"POST", "/links/sample", wire.MediaType, string(whole[:n]), 400})
	}
	for bit := range 8 * len(whole) {
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		if status, body := a.ask(absurd{method: "POST", target: "/links/sample", contentType: wire.MediaType, body: string(damaged)}); status != 200 && (status < 400 || status > 499) {
			a.t.Errorf("bit %d: %d %s", bit, status, body)
		}
	}
	head := whole[:4] // and then a form, a direction, flags, a mode, a class, n, a seed and a count
	for _, tail := range []string{"\x01\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x02\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x07", "\x02\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x",
		"\x01\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00", "\x01\x02\x00\x00\x00\x00\x00\x00", "\x01\x00\x00\x00\x07\x00\x00\x00", "\x03\x00\x00\x00\x00\x00\x00\x00"} {
		a.refused(absurd{"POST", "/links/sample", wire.MediaType, string(head) + tail, 400})
	}
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	a.refused(absurd{"POST", "/links/get", wire.MediaType, string(noise), 400})
	a.refused(absurd{"POST", "/links/get", wire.MediaType, string(head) + string(noise), 0})
	many := make([]uid.UID, 1_000_000)
	for i := range many {
		many[i] = uid.UID(rng.Uint64())
	}
	a.refused(absurd{"POST", "/links/get", wire.MediaType, string(wire.AppendRequest(nil, &wire.Request{UIDs: many})), 413})
}

// bombs sends bodies that are small and become large.
func (a *asker) bombs() {
	a.t.Helper()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := io.WriteString(z, `{"urls":["`); err != nil {
		a.t.Fatal(err)
	}
	zeros := bytes.Repeat([]byte("x"), 1<<20)
	for range 80 { // the most are 64
		if _, err := z.Write(zeros); err != nil {
			a.t.Fatal(err)
		}
	}
	require.NoError(a.t, z.Close())
	for _, door := range someDoors("update", "uids", "get", "rank") {
		a.refused(absurd{"POST", "/links/" + door, "", bomb.String(), 413}, "Content-Encoding", "gzip")
		a.refused(absurd{"POST", "/links/" + door, "", bomb.String()[:100], 400}, "Content-Encoding", "gzip")
		a.refused(absurd{"POST", "/links/" + door, "", "no gzip", 400}, "Content-Encoding", "gzip")
	}
}

// huge requests much more than exists. The answer must hold everything that exists.
func (a *asker) huge(pages []uid.UID) {
	a.t.Helper()
	all, _ := json.Marshal([]string{pages[0].String()})
	for _, q := range []struct{ target, body string }{
		{"/links/sample", `{"uids":` + string(all) + `,"n":2147483647,"mode":"consistent"}`}, {"/links/sample", `{"uids":` + string(all) + `,"n":2147483647,"mode":"random","seed":18446744073709551615}`},
		{"/links/rank", `{"uids":` + string(all) + `,"a":1000,"b":1000,"top":2147483647,"all":true}`}, {"/links/get", `{"uids":[` + strings.Repeat("null,", 99_999) + "null]}"},
		{"/links/uids", `{"urls":[` + strings.Repeat(`"",`, 99_999) + `""]}`}, {"/links/degrees", `{"urls":[` + strings.Repeat(`"no IRI <",`, 99_999) + `"\u0000"]}`},
		{"/links/urls", `{"uids":["18446744073709551615","268435456"]}`},
	} {
		if status, body := a.ask(absurd{method: "POST", target: q.target, body: q.body}); status != 200 {
			a.t.Errorf("%s %.100s: %d %.300s", q.target, q.body, status, body)
		}
	}
	for target, want := range map[string]string{
		"/links/pages?after=18446744073709551615": `{"uids":[],"next":null}`, "/links/pages?after=18446744073709551614&limit=1": `{"uids":[],"next":null}`,
		fmt.Sprintf("/links/pages?after=%d&limit=2147483647", pages[0]-1): `{"uids":["` + pages[0].String(),
	} {
		if status, body := a.ask(absurd{method: "GET", target: target}); status != 200 || !strings.HasPrefix(body, want) {
			a.t.Errorf("%s: %d %.300s", target, status, body)
		}
	}
}

// Absurd requests to all endpoints under /links.
func TestAbuseLinkDoors(t *testing.T) {
	rng := random(t)
	server := serve(t, "--data", filepath.Join(t.TempDir(), "store"))
	c, err := client.New(server.url, client.Options{})
	require.NoError(t, err)
	graph, plain := c.Links, linkstest.New()
	require.NoError(t, graph.Capabilities().Loader.Request(t.Context(), links.AllStores))
	urls := linkstest.OddURLs()
	var changes []links.Change
	for i, url := range urls {
		changes = append(changes, links.Change{Source: url, Targets: []string{url, urls[rng.IntN(len(urls))], urls[(i+1)%len(urls)]}})
	}
	for _, g := range []links.Graph{graph, plain} {
		if _, err := g.Update(t.Context(), changes); err != nil {
			t.Fatal(err)
		}
	}
	sameGraph(t, graph, plain, urls)
	pages, err := graph.Pages(t.Context(), 0, len(urls))
	if err != nil || len(pages) != len(urls) {
		t.Fatalf("%d pages of %d, %v", len(pages), len(urls), err)
	}
	a := &asker{t: t, url: server.url, client: http.Client{Timeout: 30 * time.Second}}
	for _, r := range slices.Concat(absurdQuestions(), absurdChanges()) {
		a.refused(r)
	}
	a.messages(rng, pages)
	a.bombs()
	a.huge(pages)
	sameGraph(t, graph, plain, urls)
	server.signal(t, syscall.SIGINT)
	server.wait(t).mustCode(t, done)
	if peak, ok := peakMemory(server.process); ok {
		t.Logf("peak memory %d MiB", peak>>20)
		if peak > 700<<20 {
			t.Error("that is too much: requests together may hold 512 MiB")
		}
	}
}
