// Additions and deletions: syntaxes, bodies, limits and errors.

package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/server/sparql"
	"github.com/trefoildb/trefoil/internal/store"
)

const turtleDocument = `@prefix : <http://example.org/> .
:a :knows [ :name "anonymous" ], _:x . _:x :name "labelled" .
`

func TestAddSyntaxes(t *testing.T) {
	for contentType, body := range map[string]string{
		"application/n-triples":          "<http://a> <http://b> <http://c> .\n",
		"text/plain; charset=utf-8":      "<http://a> <http://b> <http://c> .\n",
		"application/n-quads":            "<http://a> <http://b> <http://c> <http://g> .\n",
		"text/turtle":                    "<http://a> <http://b> <http://c> .",
		"application/trig":               "<http://g> { <http://a> <http://b> <http://c> . }",
		"Text/Turtle; charset=\"UTF-8\"": "<http://a> <http://b> <http://c> .",
		"application/ld+json":            `{"@id":"http://a","http://b":{"@id":"http://c"}}`,
		"application/rdf+xml": `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">` +
			`<rdf:Description rdf:about="http://a"><e:b rdf:resource="http://c"/></rdf:Description></rdf:RDF>`,
	} {
		t.Run(contentType, func(t *testing.T) {
			s, _ := serveTriples(t, "", Options{})
			for _, want := range []string{`{"added":1,"existing":0}`, `{"added":0,"existing":1}`} {
				if got := s.do("POST", "/triples", body, "Content-Type", contentType); got.status != 200 || got.body != want+"\n" {
					t.Errorf("%d %s, want %s", got.status, got.body, want)
				}
			}
			for _, want := range []string{`{"deleted":1,"missing":0}`, `{"deleted":0,"missing":1}`} {
				if got := s.do("DELETE", "/triples", body, "Content-Type", contentType); got.status != 200 || got.body != want+"\n" {
					t.Errorf("%d %s, want %s", got.status, got.body, want)
				}
			}
		})
	}
}

func TestAddParameters(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	post := func(target, contentType, body string) {
		t.Helper()
		if got := s.do("POST", target, body, "Content-Type", contentType); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	post("/triples?graph=http://g/1", "text/turtle", "<http://a/1> <http://b> <http://c> .")
	post("/triples?graph=%3Chttp://g/1%3E", "application/trig", "<http://a/2> <http://b> <http://c> . <http://g/2> { <http://a/3> <http://b> <http://c> . }")
	post("/triples?base=http://base/x", "text/turtle", "<y> <z> <> .")
	post("/triples?base=%3Chttp://base/x%3E", "text/turtle", "<y2> <z> <> .")
	if got := s.get("/range?order=gspo").body; got != `<http://a/1> <http://b> <http://c> <http://g/1> .
<http://a/2> <http://b> <http://c> <http://g/1> .
<http://a/3> <http://b> <http://c> <http://g/2> .
` {
		t.Errorf("named graphs:\n%s", got)
	}
	if got := s.get("/triples?g=default").body; got != "<http://base/y> <http://base/z> <http://base/x> .\n<http://base/y2> <http://base/z> <http://base/x> .\n" {
		t.Errorf("default graph:\n%s", got)
	}
	if got := s.do("DELETE", "/triples?graph=http://g/1", "<http://a/1> <http://b> <http://c> .", "Content-Type", "text/turtle"); got.body != "{\"deleted\":1,\"missing\":0}\n" {
		t.Errorf("delete from a graph: %s", got.body)
	}
	if got := s.do("DELETE", target("/triples", "g", "<http://g/2>"), ""); got.body != "{\"deleted\":1,\"missing\":0}\n" {
		t.Errorf("delete of a graph: %s", got.body)
	}
	if got := s.do("POST", "/triples", "", "Content-Type", "text/turtle"); got.body != "{\"added\":0,\"existing\":0}\n" {
		t.Errorf("an empty document: %d %s", got.status, got.body)
	}
	if got := s.do("DELETE", "/triples", "", "Content-Type", "text/turtle"); got.body != "{\"deleted\":0,\"missing\":0}\n" {
		t.Errorf("an empty document: %d %s", got.status, got.body)
	}
}

// TestBlankNodes: by default a document's blank nodes are new with each request;
// blank=keep takes labels as written, but anonymous nodes are new all the same.
func TestBlankNodes(t *testing.T) {
	for _, test := range []struct {
		query       string
		first, then string
	}{
		{"", `{"added":4,"existing":0}`, `{"added":4,"existing":0}`},
		{"?blank=fresh", `{"added":4,"existing":0}`, `{"added":4,"existing":0}`},
		{"?blank=keep", `{"added":4,"existing":0}`, `{"added":2,"existing":2}`},
	} {
		s, _ := serveTriples(t, "", Options{})
		for _, want := range []string{test.first, test.then} {
			if got := s.do("POST", "/triples"+test.query, turtleDocument, "Content-Type", "text/turtle"); got.body != want+"\n" {
				t.Errorf("POST %s: %s, want %s", test.query, got.body, want)
			}
		}
	}
	s, _ := serveTriples(t, "", Options{})
	odd := "_:genid_7 <http://p> _:genid__7 _:a.b .\n_:genid_7 <http://p> <<( _:genid_7 <http://p> <<( _:a.b <http://p> _:c )>> )>> _:a.b .\n"
	if got := s.do("POST", "/triples?blank=keep", odd, "Content-Type", "application/n-quads"); got.status != 200 {
		t.Fatal(got.body)
	}
	stored := s.get("/triples").body
	if stored != odd {
		t.Errorf("kept labels are %s", stored)
	}
	if got := s.do("POST", "/triples", odd, "Content-Type", "application/n-quads"); got.body != "{\"added\":2,\"existing\":0}\n" {
		t.Errorf("fresh labels: %s", got.body)
	}
	all := s.get("/triples").body
	if kept := strings.Count(all, "_:a.b"); kept != 3 { // the graph twice, and a subject
		t.Errorf("a label inside of a triple term is not fresh:\n%s", all)
	}
	if got := s.do("DELETE", "/triples", all, "Content-Type", "application/n-quads"); got.body != "{\"deleted\":4,\"missing\":0}\n" {
		t.Errorf("labels as given out are not found: %s of\n%s", got.body, all)
	}
}

func compress(t testing.TB, encoding string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompressedBodies(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	nt := []byte("<http://a> <http://b> <http://c> .\n")
	for _, endpoint := range []string{"/triples", "/load"} {
		for _, encoding := range []string{"gzip", "zstd"} {
			whole := compress(t, encoding, nt)
			got := s.send("POST", endpoint, bytes.NewReader(whole), "Content-Type", response.NTriples, "Content-Encoding", encoding)
			if got.status != 200 {
				t.Errorf("%s %s: %d %s", endpoint, encoding, got.status, got.body)
			}
			got = s.send("POST", endpoint, bytes.NewReader(whole[:len(whole)-3]), "Content-Type", response.NTriples, "Content-Encoding", encoding)
			got.wantError(t, 400, problem.KindBadRequest, "", "ends too soon")
			damaged := bytes.Clone(whole)
			damaged[len(damaged)-6] ^= 0x55
			got = s.send("POST", endpoint, bytes.NewReader(damaged), "Content-Type", response.NTriples, "Content-Encoding", encoding)
			if got.status != 400 {
				t.Errorf("%s, damaged %s: %d %s", endpoint, encoding, got.status, got.body)
			}
		}
	}
}

// endless is a body without an end.
type endless struct {
	piece []byte
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	for n := 0; ; {
		m := copy(p[n:], e.piece[e.at:])
		n, e.at = n+m, (e.at+m)%len(e.piece)
		if n == len(p) {
			return n, nil
		}
	}
}

func TestBodyCaps(t *testing.T) {
	const most = 1 << 20
	s, _ := serveTriples(t, "", Options{MaxBodyBytes: most, MaxLoadBytes: 2 * most})
	line := "<http://a> <http://b> <http://c> .\n"
	large := []byte(strings.Repeat(line, 2*most/len(line)))
	for _, test := range []struct {
		name, endpoint string
		body           io.Reader
		headers        []string
		words          string
	}{
		{"announced", "/triples", bytes.NewReader(large), nil, "/load"},
		{"chunked", "/triples", io.LimitReader(bytes.NewReader(large), 1<<40), nil, "/load"},
		{"endless", "/triples", &endless{piece: []byte(line)}, nil, "/load"},
		{"gzip bomb", "/triples", bytes.NewReader(compress(t, "gzip", large)), []string{"Content-Encoding", "gzip"}, "decompressed"},
		{"zstd bomb", "/triples", bytes.NewReader(compress(t, "zstd", large)), []string{"Content-Encoding", "zstd"}, "decompressed"},
		{"endless nothing", "/triples", &endless{piece: compress(t, "gzip", nil)}, []string{"Content-Encoding", "gzip"}, "larger than"},
		{"endless load", "/load", &endless{piece: []byte(line)}, nil, "larger than"},
		{"bomb load", "/load", bytes.NewReader(compress(t, "zstd", bytes.Repeat(large, 3))), []string{"Content-Encoding", "zstd"}, "larger than"},
	} {
		got := s.send("POST", test.endpoint, test.body, append(test.headers, "Content-Type", response.NTriples)...)
		t.Log(test.name)
		got.wantError(t, 413, problem.KindTooLarge, "", test.words)
	}
	// Few bytes may be many triples.
	dense := "<http://a> <http://b> " + strings.Repeat("1,", most/4) + "2 ."
	got := s.do("POST", "/triples", dense, "Content-Type", "text/turtle")
	got.wantError(t, 413, problem.KindTooLarge, "", "unfolds")
	if got := s.get("/count"); got.body != `{"count":0,"exact":true}`+"\n" {
		t.Errorf("refused documents changed the store: %s", got.body)
	}
	if held := s.api.shared.Memory.Held.Load(); held != 0 {
		t.Errorf("%d bytes are still counted", held)
	}
}

// TestMemoryOfDocuments: documents together may not hold more than the budget.
func TestMemoryOfDocuments(t *testing.T) {
	s, _ := serveTriples(t, "", Options{MemoryBytes: 1 << 20})
	if !s.api.shared.Memory.Take("another", 1<<20, 1) {
		t.Fatal("no budget")
	}
	got := s.do("POST", "/triples", "<http://a> <http://b> <http://c> .", "Content-Type", "text/turtle")
	got.wantError(t, 503, problem.KindBusy, "", "try again")
	s.api.shared.Memory.Give("another", 1<<20)
	if got := s.do("POST", "/triples", "<http://a> <http://b> <http://c> .", "Content-Type", "text/turtle"); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestBombs: what unfolds to more than its size says is refused before it takes much
// memory, and what one client holds leaves room for the documents of others, and for
// small ones of its own.
func TestBombs(t *testing.T) {
	s, _ := serveTriples(t, "", Options{MemoryBytes: 256 << 20})
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 20 << 20 / 40 {
		io.WriteString(z, "<http://x/a> <http://x/b> <http://x/c> .\n")
	}
	z.Close()
	got := s.do("POST", "/triples", bomb.String(), "Content-Type", "application/n-triples", "Content-Encoding", "gzip")
	got.wantError(t, 413, problem.KindTooLarge, "", "decompression bomb")
	got = s.do("POST", "/sparql", string(compress(t, "gzip", bytes.Repeat([]byte(" "), 8<<20))), "Content-Type", sparql.TypeQuery, "Content-Encoding", "gzip")
	got.wantError(t, 413, problem.KindTooLarge, "", "decompression bomb")
	if held := s.api.shared.Memory.Held.Load(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// TestTextsApart: texts of queries that wait do not take the memory of documents.
func TestTextsApart(t *testing.T) {
	s, _ := serveTriples(t, "", Options{MemoryBytes: 1 << 20})
	if !s.api.sparql.Texts.Take("another", s.api.sparql.Texts.Max, 1) {
		t.Fatal("no budget")
	}
	if got := s.do("POST", "/triples", "<http://a> <http://b> <http://c> .", "Content-Type", "text/turtle"); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.do("POST", "/sparql", "ASK {}", "Content-Type", "application/sparql-query").wantError(t, 503, problem.KindBusy, "", "try again")
}

func TestReadOnly(t *testing.T) {
	store := newStore(t)
	addQuads(t, store, sampleQuads)
	s := serve(t, store, Options{ReadOnly: true}, ServerOptions{})
	nq := []string{"Content-Type", "application/n-quads"}
	s.do("POST", "/triples", sampleQuads, nq...).wantError(t, 403, problem.KindReadOnly, "", "read-only")
	s.do("DELETE", "/triples", sampleQuads, nq...).wantError(t, 403, problem.KindReadOnly, "", "read-only")
	s.do("POST", "/load", sampleQuads, nq...).wantError(t, 403, problem.KindReadOnly, "", "read-only")
	if got := s.get("/range?order=spo"); got.status != 200 {
		t.Errorf("range: %d %s", got.status, got.body)
	}
}

// failingStore fails writes after some steps.
type failingStore struct {
	store.Triples
	err error
}

func (f failingStore) Write(ctx context.Context, c store.Change) (store.Result, error) {
	if c.Kind == store.KindDeleteMatch {
		return store.Result{Deleted: 7}, f.err
	}
	return f.Triples.Write(ctx, c)
}

func TestStoreErrors(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		kind   problem.Kind
	}{
		{store.ErrDiskFull, 507, problem.KindDiskFull},
		{store.ErrClosed, 503, problem.KindUnavailable},
		{store.ErrFailed, 504, problem.KindUnknownOutcome}, // of this change, maybe
		{store.ErrUnknown, 504, problem.KindUnknownOutcome},
		{store.ErrReadOnly, 403, problem.KindReadOnly},
		{store.ErrCorrupt, 500, problem.KindCorrupt},
		{io.ErrShortWrite, 500, problem.KindInternal},
	} {
		s := serve(t, failingStore{newStore(t), fmt.Errorf("delete: %w", test.err)}, Options{}, ServerOptions{})
		got := s.do("DELETE", target("/triples", "s", "<http://a>"), "")
		got.wantError(t, test.status, test.kind, "", "(7 triples were deleted before)")
		if got.header.Get("Retry-After") != "" != (test.status == 503) {
			t.Errorf("%v: Retry-After %q", test.err, got.header.Get("Retry-After"))
		}
	}
}

// TestConcurrent: adds, deletes, counts, pages and streams side by side.
func TestConcurrent(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 15 {
				body := fmt.Sprintf("<%sw%d> <%sp> \"%d\" .\n", exampleIRI, worker, exampleIRI, i)
				if got := s.do("POST", "/triples", body, "Content-Type", response.NTriples); got.body != "{\"added\":1,\"existing\":0}\n" {
					t.Errorf("add: %d %s", got.status, got.body)
				}
				own := s.get(target("/triples", "s", fmt.Sprintf("<%sw%d>", exampleIRI, worker)))
				if got := strings.Count(own.body, "\n"); got != i+1-i/2 {
					t.Errorf("worker %d sees %d of its triples after %d steps", worker, got, i)
				}
				if got := s.get("/range?order=pos&limit=7&reverse=true"); got.status != 200 {
					t.Errorf("page: %d %s", got.status, got.body)
				}
				if i%2 == 1 {
					if got := s.do(http.MethodDelete, "/triples", body, "Content-Type", response.NTriples); got.body != "{\"deleted\":1,\"missing\":0}\n" {
						t.Errorf("delete: %d %s", got.status, got.body)
					}
				}
			}
		})
	}
	wg.Wait()
	if got := s.get("/count"); got.body != fmt.Sprintf(`{"count":%d,"exact":true}`+"\n", 10+8*8) {
		t.Errorf("in the end: %s", got.body)
	}
}
