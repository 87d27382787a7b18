// Tests of /changes: formats, filters, positions, loads, and slow or late clients.

package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/triple"
)

// changeLine is a line of /changes.
type changeLine struct {
	Kind            string
	S, P, O         struct{ Value string }
	App             string
	Data            []byte
	Epoch, Sequence uint64
	Position        string
	Load            string
	Error           *struct {
		Kind, Where, Continue string
		Read                  []string
	}
}

func (s *testServer) changes(query string, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url+"/changes?"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func (s *testServer) changeLines(query string, header ...string) []changeLine {
	s.t.Helper()
	return parseLines(s.t, s.changes("follow=false&"+query, header...).Body)
}

func parseLines(t testing.TB, r io.Reader) (all []changeLine) {
	t.Helper()
	for d := json.NewDecoder(r); ; {
		var line changeLine
		if err := d.Decode(&line); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
}

func shown(all []changeLine) string {
	var text []string
	for _, c := range all {
		if c.Kind == "heartbeat" {
			continue // moves the position of a filter that accepts nothing
		}
		text = append(text, strings.TrimSpace(c.Kind+" "+strings.ReplaceAll(c.S.Value+c.Load, exampleIRI, "")))
	}
	return strings.Join(text, ", ")
}

// TestChanges follows adds, deletes, annotations and loads in all three formats.
func TestChanges(t *testing.T) {
	s, db := serveTriples(t, "", Options{})
	ctx := context.Background()
	addQuads(t, db, `<http://ex/a> <http://ex/p> "1" .`)
	addQuads(t, db, `<http://ex/b> <http://ex/q> "2" <http://ex/g> .`)
	if err := store.Annotate(ctx, db, parseQuads(t, `<http://ex/a> <http://ex/p> "1" .`)[0], "app", []byte("note")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Delete(ctx, db, parseQuads(t, `<http://ex/a> <http://ex/p> "1" .`)); err != nil {
		t.Fatal(err)
	}
	// 1. JSON lines, with filters.
	for query, want := range map[string]string{
		"since=0":                          "add http://ex/a, add http://ex/b, annotate http://ex/a, delete http://ex/a",
		"since=0&kinds=add":                "add http://ex/a, add http://ex/b",
		"since=0&g=<http://ex/g>":          "add http://ex/b",
		"since=0&p=<http://ex/p>":          "add http://ex/a, annotate http://ex/a, delete http://ex/a",
		"since=0&app=other&kinds=annotate": "",
		"since=0&order=pos&prefix=" + url.QueryEscape("<http://ex/q>"): "add http://ex/b",
	} {
		if got := shown(s.changeLines(query)); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	all := s.changeLines("since=0")
	if string(all[2].Data) != "note" || all[2].App != "app" {
		t.Errorf("%+v", all[2])
	}
	// 2. Each commit has a position, and the feed continues there.
	for i, c := range all {
		if got, want := shown(s.changeLines("since="+c.Position)), shown(all[i+1:]); got != want {
			t.Errorf("behind %d: %s, want %s", i, got, want)
		}
	}
	if got := shown(s.changeLines("since=0", "Last-Event-ID", all[2].Position)); got != "delete http://ex/a" {
		t.Errorf("the header must win: %s", got)
	}
	// 3. The other formats.
	patch, err := io.ReadAll(s.changes("follow=false&since=0", "Accept", "application/rdf-patch").Body)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(patch)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if got := strings.Join(lines, "|"); got != `TX .|A <http://ex/a> <http://ex/p> "1" .|TC .|TX .|A <http://ex/b> <http://ex/q> "2" <http://ex/g> .|TC .|`+
		`TX .|TC .|TX .|D <http://ex/a> <http://ex/p> "1" .|TC .` {
		t.Error(got)
	}
	events, err := io.ReadAll(s.changes("follow=false&since="+all[2].Position, "Accept", "text/event-stream").Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(events); !strings.HasPrefix(got, "retry: 1000\n\nid: "+all[3].Position+"\nevent: delete\ndata: {\"kind\":\"delete\"") || !strings.HasSuffix(got, "}\n\n") {
		t.Error(got)
	}
}

// TestChangesLoad checks that a load is one change, and that its triples come on request.
func TestChangesLoad(t *testing.T) {
	s, db := serveTriples(t, `<http://ex/old> <http://ex/p> "1" .`, Options{})
	var before = s.changeLines("since=0")
	answer, err := s.client.Post(s.url+"/load", "application/n-triples", strings.NewReader("<http://ex/a> <http://ex/p> \"1\" .\n<http://ex/b> <http://ex/q> \"2\" .\n"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if _, err := store.Delete(context.Background(), db, parseQuads(t, `<http://ex/b> <http://ex/q> "2" .`)); err != nil {
		t.Fatal(err)
	}
	since := "since=" + before[0].Position
	got := s.changeLines(since)
	if len(got) != 2 || got[0].Kind != "load" || got[1].Kind != "delete" {
		t.Fatal(shown(got))
	}
	if text := shown(s.changeLines(since + "&expand=true")); !strings.HasPrefix(text, "add http://ex/a, load ") || strings.Contains(text, "old") {
		t.Error(text)
	}
	if text := shown(s.changeLines(since + "&expand=true&p=<http://ex/q>")); strings.Contains(text, "add") {
		t.Error(text)
	}
	// The triples of a load are adds, also for a client that selects adds.
	if text := shown(s.changeLines(since + "&expand=true&kinds=add")); text != "add http://ex/a" {
		t.Error(text)
	}
	patch, err := io.ReadAll(s.changes("follow=false&kinds=add,delete&"+since, "Accept", "application/rdf-patch").Body)
	if err != nil || !strings.Contains(string(patch), "A <http://ex/a>") || !strings.Contains(string(patch), "D <http://ex/b>") {
		t.Errorf("%s %v", patch, err)
	}
}

// TestChangesFollow checks that an open answer gets new changes at once, and ends at a shutdown.
func TestChangesFollow(t *testing.T) {
	s, db := serveTriples(t, "", Options{})
	for name, encoding := range map[string]string{"plain": "", "gzip": "gzip", "zstd": "gzip;q=0, zstd", "br": "br"} {
		t.Run(name, func(t *testing.T) {
			answer := s.changes("", "Accept-Encoding", encoding)
			var in io.Reader = answer.Body
			var err error
			switch answer.Header.Get("Content-Encoding") {
			case "gzip":
				in, err = gzip.NewReader(in)
			case "zstd":
				in, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
			case "br":
				in = brotli.NewReader(in)
			}
			if err != nil || answer.Header.Get("Content-Encoding") == "" && encoding != "" {
				t.Fatal(err, answer.Header)
			}
			lines := bufio.NewReader(in)
			// The header was there at once; now each change must come.
			for i := range 3 {
				addQuads(t, db, fmt.Sprintf("<http://ex/%s%d> <http://ex/p> <http://ex/o> .", name, i))
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(line, fmt.Sprintf("http://ex/%s%d", name, i)) {
						break
					}
				}
			}
			answer.Body.Close()
		})
	}
	answer := s.changes("")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	text, _ := io.ReadAll(answer.Body)
	if !strings.Contains(string(text), `"kind":"unavailable"`) {
		t.Errorf("%s", text)
	}
}

// TestChangesRefused sends what is wrong.
func TestChangesRefused(t *testing.T) {
	s, _ := serveTriples(t, `<http://ex/a> <http://ex/p> "1" .`, Options{})
	foreign := feed.Position{Source: 1, Epoch: 1}.String()
	future := s.changeLines("since=0")[0].Position
	p, err := feed.ParsePosition(future)
	if err != nil {
		t.Fatal(err)
	}
	future = p.Advance(p.Marks[0].Sequencer, triple.Stamp{Epoch: p.Epoch, Sequence: p.Marks[0].Sequence + 1000}).String()
	for query, where := range map[string]string{
		"since=x": "since", "since=" + foreign: "since", "since=" + future: "since", "kinds=ad": "kinds", "s=%22x": "s", "order=xyz": "order",
		"prefix=%3Chttp://ex/q%3E": "order", "order=pos&ge=1&gt=2": "", "follow=maybe": "follow", "heartbeat=-1": "heartbeat", "expand=1": "expand", "x=1": "x",
	} {
		answer := s.changes(query)
		var line changeLine
		if err := json.NewDecoder(answer.Body).Decode(&line); err != nil || answer.StatusCode != 400 || line.Error.Where != where {
			t.Errorf("%s: %d %+v %v", query, answer.StatusCode, line.Error, err)
		}
	}
	if answer := s.changes("", "Last-Event-ID", "x"); answer.StatusCode != 400 {
		t.Error(answer.Status)
	}
	if answer := s.changes("", "Accept", "text/html"); answer.StatusCode != 406 {
		t.Error(answer.Status)
	}
}

// TestChangesGone checks the answer if changes are no longer kept.
func TestChangesGone(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1, CacheBytes: 8 << 20, MemTableBytes: 8 << 20, FeedRetention: changefeed.Retention{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := serve(t, db, Options{Subscriptions: newRegistry(db)}, ServerOptions{})
	addQuads(t, db, `<http://ex/a> <http://ex/p> "1" .`)
	position := s.changeLines("since=0")[0].Position
	s.do(http.MethodPut, "/subscriptions/sub?p=%3Chttp://ex/p%3E", "").wantPart(t, "")
	for i := range 8 {
		addQuads(t, db, fmt.Sprintf("<http://ex/%d> <http://ex/p> \"%s\" .", i, strings.Repeat("x", 1<<20)))
	}
	var line changeLine
	for _, filter := range []string{"subscription=sub", "p=<http://ex/p>"} {
		line = changeLine{}
		answer := s.changes(filter + "&since=" + position)
		if err := json.NewDecoder(answer.Body).Decode(&line); err != nil || answer.StatusCode != http.StatusGone {
			t.Fatalf("%s: %d %v", filter, answer.StatusCode, err)
		}
		if e := line.Error; e.Kind != "gone" || e.Continue == "" || len(e.Read) != 1 || e.Read[0] != "/triples?annotations=true&p=%3Chttp%3A%2F%2Fex%2Fp%3E" {
			t.Errorf("%s: %+v", filter, e)
		}
	}
	if only := s.changeLines("kinds=add,delete&since=" + position)[0].Error; len(only.Read) != 1 || only.Read[0] != "/triples" {
		t.Errorf("without annotations: %+v", only)
	}
	// The rows of Read, and the changes behind Continue, are everything.
	addQuads(t, db, `<http://ex/z> <http://ex/p> "1" .`)
	if got := shown(s.changeLines("since=" + line.Error.Continue)); got != "add http://ex/z" {
		t.Error(got)
	}
}

// TestChangesSlow checks that a client that reads nothing does not stop writers, and is cut off.
func TestChangesSlow(t *testing.T) {
	s, db := serveTriples(t, "", Options{StallTimeout: 200 * time.Millisecond})
	answer := s.changes("")
	value := strings.Repeat("x", 1<<20)
	for i := range 32 { // more than the sockets buffer
		addQuads(t, db, fmt.Sprintf("<http://ex/%d> <http://ex/p> \"%s\" .", i, value))
	}
	s.idle() // the client was cut off
	if _, err := io.Copy(io.Discard, answer.Body); err == nil {
		t.Error("a broken answer must not look complete")
	}
}

// TestChangesMany checks that open answers are bounded, and leave writers their memory.
func TestChangesMany(t *testing.T) {
	s, _ := serveTriples(t, "", Options{MemoryBytes: 8 << 20})
	open := 0
	for ; s.changes("").StatusCode == http.StatusOK; open++ {
		if open > 8 {
			t.Fatal("no bound")
		}
	}
	if open < 3 {
		t.Errorf("only %d answers", open)
	}
	document := fmt.Sprintf("<http://ex/a> <http://ex/p> \"%s\" .\n", strings.Repeat("x", 1<<20))
	answer, err := s.client.Post(s.url+"/triples", "application/n-triples", strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Error(answer.Status)
	}
}

// TestChangesApplications checks that the annotations of an application are its own.
func TestChangesApplications(t *testing.T) {
	s, db := serveTriples(t, `<http://ex/a> <http://ex/p> "1" .`, Options{Token: "client", OperatorToken: "operator", Applications: []access.Application{{ID: "mine", Token: "m"}, {ID: "other", Token: "o"}}})
	for _, app := range []string{"mine", "other", "free"} {
		if err := store.Annotate(context.Background(), db, parseQuads(t, `<http://ex/a> <http://ex/p> "1" .`)[0], app, []byte(app)); err != nil {
			t.Fatal(err)
		}
	}
	for token, want := range map[string]string{"client": "free", "m": "mine", "o": "other"} {
		var apps []string
		for _, c := range s.changeLines("since=0&kinds=annotate", "Authorization", "Bearer "+token) {
			if c.App != "" {
				apps = append(apps, c.App)
			}
		}
		if got := strings.Join(apps, ","); got != want {
			t.Errorf("%s reads %s", token, got)
		}
	}
	if answer := s.changes("app=other", "Authorization", "Bearer m"); answer.StatusCode != http.StatusForbidden {
		t.Error(answer.Status)
	}
}

// TestChangesLong checks that adds and deletes carry the whole of long terms.
func TestChangesLong(t *testing.T) {
	s, db := serveTriples(t, "", Options{})
	long := fmt.Sprintf(`<http://ex/a> <http://ex/p> "%s" .`, strings.Repeat("long ", 1000))
	addQuads(t, db, long)
	if _, err := store.Delete(context.Background(), db, parseQuads(t, long)); err != nil {
		t.Fatal(err)
	}
	addQuads(t, db, long)
	if _, err := store.DeleteMatch(context.Background(), db, triple.Pattern{Predicate: triple.NewIRI("http://ex/p")}); err != nil {
		t.Fatal(err)
	}
	all := s.changeLines("since=0")
	if got := shown(all); got != "add http://ex/a, delete http://ex/a, add http://ex/a, delete http://ex/a" {
		t.Fatal(got)
	}
	for _, c := range all {
		if len(c.O.Value) != 5000 {
			t.Errorf("%s of a text of %d bytes", c.Kind, len(c.O.Value))
		}
	}
}
