// Tests of /annotations, and of the identity of applications.

package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// annotationTarget is the path of an annotation of <a:a> <a:p> "1".
func annotationTarget(app string) string {
	v := url.Values{"s": {"<a:a>"}, "p": {"<a:p>"}, "o": {`"1"`}}
	if app != "" {
		v.Set("app", app)
	}
	return "/annotations?" + v.Encode()
}

const annotatedQuad = `<a:a> <a:p> "1" .`

func (a answer) want(t testing.TB, status int, body string) {
	t.Helper()
	if a.status != status || a.body != body || a.err != nil {
		t.Errorf("answered %d %.200q, %v; want %d %.200q", a.status, a.body, a.err, status, body)
	}
}

func newAnnotatedStore(t testing.TB) *store.Store {
	db := newStore(t)
	addQuads(t, db, annotatedQuad)
	return db
}

func TestAnnotationVersions(t *testing.T) {
	s, _ := serveTriples(t, annotatedQuad, Options{})
	target := annotationTarget("x")
	s.get(target).wantError(t, 404, problem.KindNotFound, "app", "no annotation")
	// 1. Create, read, replace.
	first := s.do("PUT", target, "one", "Content-Type", "text/plain; charset=utf-8", "If-None-Match", "*")
	first.want(t, 204, "")
	tag := first.header.Get("ETag")
	got := s.get(target)
	got.want(t, 200, "one")
	if got.header.Get("Content-Type") != "text/plain; charset=utf-8" || got.header.Get("ETag") != tag || tag == "" {
		t.Errorf("headers %v", got.header)
	}
	s.get(target, "If-None-Match", tag).want(t, 304, "")
	s.do("HEAD", target, "").want(t, 200, "")
	again := s.do("PUT", target, "two", "If-None-Match", "*")
	again.wantError(t, 412, problem.KindPrecondition, "If-None-Match", "another version")
	if e := again.wireError(t); `"`+e.Version+`"` != tag {
		t.Errorf("the error has version %q, want %s", e.Version, tag)
	}
	second := s.do("PUT", target, "two", "If-Match", tag)
	second.want(t, 204, "")
	s.do("PUT", target, "three", "If-Match", tag).wantError(t, 412, problem.KindPrecondition, "If-Match", "another version")
	s.do("PUT", target, "three", "If-Match", `"nonsense"`).wantError(t, 412, problem.KindPrecondition, "If-Match", "not the version")
	// 2. Without a media type, content is bytes.
	if got := s.get(target); got.body != "two" || got.header.Get("Content-Type") != triple.DefaultMedia {
		t.Errorf("%q, %v", got.body, got.header)
	}
	// 3. Remove.
	s.do("DELETE", target, "", "If-Match", tag).wantError(t, 412, problem.KindPrecondition, "If-Match", "another version")
	s.do("DELETE", target, "", "If-Match", second.header.Get("ETag")).want(t, 204, "")
	s.do("DELETE", target, "").want(t, 204, "")
	s.do("DELETE", target, "", "If-Match", tag).wantError(t, 412, problem.KindPrecondition, "If-Match", "no annotation")
	// 4. A change with a key is made once.
	key := []string{"Idempotency-Key", "k1"}
	s.do("PUT", target, "keyed", append(key, "If-None-Match", "*")...).want(t, 204, "")
	s.do("PUT", target, "keyed", append(key, "If-None-Match", "*")...).want(t, 204, "")
}

func TestAnnotationLimits(t *testing.T) {
	s, db := serveTriples(t, annotatedQuad, Options{})
	target := annotationTarget("x")
	large := strings.Repeat("\xff\x00", triple.MaxAnnotationContent/2)
	media := "text/" + strings.Repeat("x", triple.MaxMedia-5)
	s.do("PUT", target, large, "Content-Type", media).want(t, 204, "")
	if got := s.get(target); got.body != large || got.header.Get("Content-Type") != media {
		t.Errorf("%d bytes of %s", len(got.body), got.header.Get("Content-Type"))
	}
	for _, body := range []io.Reader{strings.NewReader(large + "x"), io.MultiReader(strings.NewReader(large + "x"))} { // the second one has no length
		s.send("PUT", target, body).wantError(t, 413, problem.KindTooLarge, "body", "at most 1048576 bytes")
	}
	s.do("PUT", target, "", "Content-Type", "text/plain").want(t, 204, "")
	s.get(target).want(t, 200, "")
	// Wrong arguments.
	s.do("PUT", annotationTarget(""), "x").wantError(t, 400, problem.KindBadParameter, "app", "missing")
	s.do("PUT", annotationTarget(strings.Repeat("x", 256)), "x").wantError(t, 400, problem.KindBadParameter, "app", "256 bytes")
	s.do("PUT", "/annotations?s=_:b&p=<a:p>&o=1&app=x", "x").wantError(t, 404, problem.KindNotFound, "s", "no such triple")
	s.do("PUT", "/annotations?s=1&p=<a:p>&o=1&app=x", "x").wantError(t, 400, problem.KindBadRequest, "", "subject")
	s.do("PUT", "/annotations?s=<a:a>&p=<a:p>&app=x", "x").wantError(t, 400, problem.KindBadParameter, "o", "missing")
	s.do("PUT", "/annotations?s=<a:a>&p=<a:p>&o=nonsense&app=x", "x").wantError(t, 400, problem.KindBadParameter, "o", "")
	s.do("PUT", target, "x", "Content-Type", "nonsense").wantError(t, 415, problem.KindUnsupportedMedia, "Content-Type", "media type")
	s.do("PUT", target, "x", "If-Match", "*").wantError(t, 400, problem.KindBadRequest, "If-Match", "one version")
	s.do("PUT", target, "x", "If-Match", `"1.2"`, "If-None-Match", "*").wantError(t, 400, problem.KindBadRequest, "If-None-Match", "both")
	s.do("PUT", target, "x", "If-Match", "").wantError(t, 400, problem.KindBadRequest, "If-Match", "empty")
	s.do("DELETE", target, "", "If-None-Match", " , ").wantError(t, 400, problem.KindBadRequest, "If-None-Match", "empty")
	s.get("/annotations?s=<a:a>&p=<a:p>&o=2").wantError(t, 404, problem.KindNotFound, "s", "no such triple")
	// Deleted with the triple.
	if _, err := store.Delete(t.Context(), db, parseQuads(t, annotatedQuad)); err != nil {
		t.Fatal(err)
	}
	s.get(target).wantError(t, 404, problem.KindNotFound, "app", "")
	s.do("PUT", target, "x").wantError(t, 404, problem.KindNotFound, "s", "no such triple")
}

func TestAnnotationList(t *testing.T) {
	s, _ := serveTriples(t, annotatedQuad, Options{})
	s.get(annotationTarget("")).want(t, 200, `{"annotations":[]}`+"\n")
	s.do("PUT", annotationTarget("x"), "\x80", "Content-Type", "image/png").want(t, 204, "")
	s.do("PUT", annotationTarget("y"), "text", "Content-Type", "text/plain").want(t, 204, "")
	s.do("PUT", annotationTarget("\xff"), "").want(t, 204, "")
	var list struct {
		Annotations []struct{ App, Type, Version, Text, Data, App64 string }
	}
	if err := json.Unmarshal([]byte(s.get(annotationTarget("")).body), &list); err != nil || len(list.Annotations) != 3 {
		t.Fatal(list, err)
	}
	all := list.Annotations
	if all[0].App != "x" || all[0].Data != "gA==" || all[0].Type != "image/png" || all[1].Text != "text" || all[2].App64 != "/w==" ||
		`"`+all[1].Version+`"` != s.get(annotationTarget("y")).header.Get("ETag") {
		t.Errorf("%+v", all)
	}
	// With the triples of a pattern and of a range, in each format.
	for _, path := range []string{"/triples?annotations=true", "/triples?annotations=true&limit=5", "/range?order=pos&annotations=true"} {
		for media, want := range map[string]string{
			response.NQuads: `<a:a> <a:p> "1" . #@ x=`,
			response.NDJSON: `"annotations":[{"app":"x","type":"image/png","data":"gA=="},{"app":"y","type":"text/plain","text":"text"},{"app64":"/w=="`,
			response.JSON:   `"annotations":[{"app":"x"`,
		} {
			if got := s.get(path, "Accept", media); got.status != 200 || !strings.Contains(got.body, want) {
				t.Errorf("%s as %s: %d %s", path, media, got.status, got.body)
			}
		}
	}
	// What NDJSON shows can be set again.
	dump := s.get("/triples?annotations=true", "Accept", response.NDJSON).body
	s.do("POST", "/annotations", dump, "Content-Type", response.NDJSON).want(t, 200, `{"set":3,"removed":0,"failed":0,"errors":[]}`+"\n")
	if again := s.get("/triples?annotations=true", "Accept", response.NDJSON).body; again != dump {
		t.Errorf("%s\nbecame\n%s", dump, again)
	}
}

func TestAnnotationBatch(t *testing.T) {
	seed.Slow(t)
	s, _ := serveTriples(t, annotatedQuad, Options{})
	line := func(rest string) string { return `{"s":"<a:a>","p":"<a:p>","o":"\"1\"",` + rest + "}\n" }
	post := func(body io.Reader, headers ...string) answer {
		return s.send("POST", "/annotations", body, append(headers, "Content-Type", response.NDJSON)...)
	}
	// 1. Lines about one annotation are done in order, and a line that fails stops no other.
	body := line(`"app":"n","text":"1","absent":true`) + line(`"app":"n","text":"2","absent":true`) + line(`"app":"n","text":"3"`) + "\n" +
		"nonsense\n" + `{"s":"<a:a>","p":"<a:p>","o":"2","app":"n","text":""}` + "\n" + line(`"app":"m","text":"m"`) + line(`"op":"remove","app":"m"`) +
		line(`"app":"n","text":"4","version":"nonsense"`) + strings.Repeat("x", 17<<20) + "\n" + strings.TrimSpace(line(`"app":"last","text":""`))
	got := post(strings.NewReader(body))
	var result struct {
		Set, Removed, Failed int
		Errors               []struct {
			Line int `json:"line"`
			problem.Error
		}
	}
	if err := json.Unmarshal([]byte(got.body), &result); err != nil || got.status != 200 {
		t.Fatal(got.status, got.body, err)
	}
	wants := map[int]problem.Kind{2: problem.KindPrecondition, 5: problem.KindSyntax, 6: problem.KindNotFound, 9: problem.KindPrecondition, 10: problem.KindTooLarge}
	if result.Set != 4 || result.Removed != 1 || result.Failed != 5 || len(result.Errors) != 5 {
		t.Errorf("%+v", result)
	}
	for _, e := range result.Errors {
		if wants[e.Line] != e.Kind {
			t.Errorf("line %d: %+v", e.Line, e.Error)
		}
	}
	s.get(annotationTarget("n")).want(t, 200, "3")
	s.get(annotationTarget("m")).wantError(t, 404, problem.KindNotFound, "app", "")
	s.get(annotationTarget("last")).want(t, 200, "")
	// 2. A batch with a key is done once, line by line.
	once := line(`"app":"k","text":"1","absent":true`) + line(`"app":"k","text":"2"`)
	post(strings.NewReader(once), "Idempotency-Key", "b").want(t, 200, `{"set":2,"removed":0,"failed":0,"errors":[]}`+"\n")
	post(strings.NewReader(once), "Idempotency-Key", "b").want(t, 200, `{"set":2,"removed":0,"failed":0,"errors":[]}`+"\n")
	s.do("POST", "/annotations", once).wantError(t, 415, problem.KindUnsupportedMedia, "Content-Type", "x-ndjson")
	// 3. A line may begin with any number of spaces, and have many annotations.
	post(strings.NewReader(strings.Repeat(" ", 1000)+line(`"app":"n","text":"spaces"`)), "Idempotency-Key", "c").want(t, 200, `{"set":1,"removed":0,"failed":0,"errors":[]}`+"\n")
	s.get(annotationTarget("n")).want(t, 200, "spaces")
	list := make([]string, 1000)
	for i := range list {
		list[i] = fmt.Sprintf(`{"app":"list%d","data":""}`, i)
	}
	post(strings.NewReader(line(`"annotations":[`+strings.Join(list, ",")+"]"))).want(t, 200, `{"set":1000,"removed":0,"failed":0,"errors":[]}`+"\n")
	if testing.Short() { // under the race detector: the same code with much data
		return
	}
	// 4. Many large ones take no more memory than a few: a budget of 64 MiB suffices for 128 MiB.
	small := serve(t, newAnnotatedStore(t), Options{MemoryBytes: 64 << 20}, ServerOptions{})
	content := `"app":"big%d","text":"` + strings.Repeat("x", triple.MaxAnnotationContent) + `"`
	pipe, in := io.Pipe()
	go func() {
		var err error
		for i := 0; i < 128 && err == nil; i++ {
			_, err = io.WriteString(in, line(fmt.Sprintf(content, i%3)))
		}
		in.CloseWithError(err)
	}()
	small.send("POST", "/annotations", pipe, "Content-Type", response.NDJSON).want(t, 200, `{"set":128,"removed":0,"failed":0,"errors":[]}`+"\n")
	if held := small.api.shared.Memory.Held.Load(); held != 0 {
		t.Errorf("%d bytes are held after the batch", held)
	}
}

// TestApplications checks that no way to read leaks another application's annotations, and that no
// way to write changes them.
func TestApplications(t *testing.T) {
	options := Options{Token: "client", OperatorToken: "operator", Applications: []access.Application{
		{ID: "mine", Token: "m"}, {ID: "shared", Token: "s", Readers: []string{"mine"}}, {ID: "public", Token: "p", Readers: []string{"*"}},
	}}
	s := serve(t, newAnnotatedStore(t), options, ServerOptions{})
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	apps := []string{"free", "mine", "public", "shared"}
	// 1. Writing: PUT, DELETE, batches, documents and loads.
	for token, writes := range map[string]string{"client": "free", "m": "mine", "s": "shared", "p": "public", "operator": "free mine public shared"} {
		for _, app := range apps {
			ok := strings.Contains(writes, app)
			check := func(what string, a answer) {
				t.Helper()
				if (a.status/100 == 2 && !strings.Contains(a.body, `"failed":1`)) != ok || !ok && !strings.Contains(a.body, string(problem.KindForbidden)) {
					t.Errorf("%s of %s with token %s: %d %s", what, app, token, a.status, a.body)
				}
			}
			document := "#@trefoil-annotations 1\n" + annotatedQuad + " #@ " + app + "=AAAA\n"
			check("PUT", s.do("PUT", annotationTarget(app), "secret "+app, append(as(token), "Content-Type", "text/plain")...))
			check("batch", s.do("POST", "/annotations", fmt.Sprintf(`{"s":"<a:a>","p":"<a:p>","o":"\"1\"","app":%q,"type":"text/plain","text":"secret %s"}`, app, app),
				append(as(token), "Content-Type", response.NDJSON)...))
			check("document", s.do("POST", "/triples", document, append(as(token), "Content-Type", response.NQuads)...))
			check("load", s.do("POST", "/load", document, append(as(token), "Content-Type", response.NQuads)...))
			check("DELETE", s.do("DELETE", annotationTarget(app), "", as(token)...))
		}
	}
	for _, app := range apps {
		s.do("PUT", annotationTarget(app), "secret "+app, append(as("operator"), "Content-Type", "text/plain")...).want(t, 204, "")
	}
	// 2. Reading: one, the list, patterns and ranges in each format, with and without a limit.
	for token, reads := range map[string]string{"client": "free public", "m": "mine public shared", "s": "public shared", "p": "public", "operator": "free mine public shared"} {
		var lists []string
		for _, path := range []string{annotationTarget(""), "/triples?annotations=true", "/range?order=osp&annotations=true", "/triples?annotations=true&limit=3"} {
			for _, media := range []string{response.NDJSON, response.JSON, response.NQuads, response.NTriples} {
				if got := s.get(path, append(as(token), "Accept", media)...); got.status == 200 {
					lists = append(lists, got.body)
				} else if got.status != 406 {
					t.Errorf("%s with token %s: %d %s", path, token, got.status, got.body)
				}
			}
		}
		if len(lists) != 13 {
			t.Errorf("%d answers", len(lists))
		}
		for _, app := range apps {
			ok := strings.Contains(reads, app)
			if got := s.get(annotationTarget(app), as(token)...); (got.status == 200) != ok || !ok && got.status != 403 {
				t.Errorf("%s with token %s: %d %s", app, token, got.status, got.body)
			}
			for _, body := range lists {
				if strings.Contains(body, app) != ok {
					t.Errorf("token %s, application %s: %s", token, app, body)
				}
			}
		}
		if got := s.get("/backup", as(token)...); (got.status == 200) != (token == "operator") {
			t.Errorf("backup with token %s: %d", token, got.status)
		}
	}
	s.get(annotationTarget("free"), as("unknown")...).wantError(t, 401, problem.KindUnauthorized, "Authorization", "")
	s.do("POST", "/cluster/leave", "", as("m")...).wantError(t, 401, problem.KindUnauthorized, "Authorization", "")
}

func TestApplicationOptions(t *testing.T) {
	one := access.Application{ID: "a", Token: "t"}
	for words, o := range map[string]Options{
		"clients have none": {Applications: []access.Application{one}},
		"0 bytes":           {Token: "c", Applications: []access.Application{{Token: "t"}}},
		"the node itself":   {Token: "c", Applications: []access.Application{{ID: "urn:trefoil:operators", Token: "t"}}},
		"has no token":      {Token: "c", Applications: []access.Application{{ID: "a"}}},
		"of clients":        {Token: "t", Applications: []access.Application{one}},
		"or operators":      {Token: "c", OperatorToken: "t", Applications: []access.Application{one}},
		"another one":       {Token: "c", Applications: []access.Application{one, {ID: "a", Token: "u"}}},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

func TestAnnotationMethods(t *testing.T) {
	s, _ := serveTriples(t, annotatedQuad, Options{ReadOnly: true})
	s.do("PUT", annotationTarget("x"), "x").wantError(t, 403, problem.KindReadOnly, "", "read-only")
	got := s.do("PATCH", annotationTarget("x"), "")
	if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS, POST, PUT" {
		t.Errorf("%d, %v", got.status, got.header)
	}
}
