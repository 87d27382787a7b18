// Reads, changes, loads, backups and options of a client.

package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

var ctx = context.Background()

func TestAddAndDelete(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	all := numbered(50)
	all[7].Graph = triple.NewIRI(ex + "g")
	all[8].Subject = triple.NewBlank("genid_7")
	if got, err := c.Add(ctx, all); err != nil || got != (client.AddResult{Added: 50}) {
		t.Fatal(got, err)
	}
	if got, err := c.Add(ctx, all[:10]); err != nil || got != (client.AddResult{Existing: 10}) {
		t.Fatal(got, err)
	}
	if got := collect(t, c.Match(ctx, triple.Exact(all[8]))); len(got) != 1 || got[0] != all[8] {
		t.Errorf("the blank node came back as %v", got)
	}
	for _, test := range []struct {
		p    triple.Pattern
		want int64
	}{
		{triple.Pattern{}, 50},
		{triple.Pattern{DefaultGraph: true}, 49},
		{triple.Pattern{Graph: triple.NewIRI(ex + "g")}, 1},
		{triple.Pattern{Object: all[0].Object}, 3},
	} {
		n, err := c.Count(ctx, test.p)
		e, exact, err2 := c.Estimate(ctx, test.p)
		if n != test.want || err != nil || e != test.want || !exact || err2 != nil {
			t.Errorf("%v: count %d %v, estimate %d %t %v, want %d", test.p, n, err, e, exact, err2, test.want)
		}
	}
	if got, err := c.Delete(ctx, append(all[:5:5], triple.Triple{Subject: all[0].Subject, Predicate: all[0].Predicate, Object: triple.NewString("no")})); err != nil || got != (client.DeleteResult{Deleted: 5, Missing: 1}) {
		t.Error(got, err)
	}
	if got, err := c.DeleteMatch(ctx, triple.Pattern{DefaultGraph: true}); err != nil || got.Deleted != 44 {
		t.Error(got, err)
	}
	if _, err := c.DeleteMatch(ctx, triple.Pattern{}); !errors.Is(err, client.ErrBadRequest) {
		t.Errorf("deleting everything: %v", err)
	}
	if got, err := c.Add(ctx, nil); err != nil || got != (client.AddResult{}) {
		t.Error(got, err)
	}
}

// TestAddChecksFirst: a term that would be read as something else is not sent.
func TestAddChecksFirst(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	bad := triple.Triple{Subject: triple.NewIRI(ex + "a"), Predicate: triple.NewIRI(ex + "p> <http://evil/"), Object: triple.NewString("x")}
	if _, err := c.Add(ctx, append(numbered(3), bad)); !errors.Is(err, triple.ErrBadTerm) || !strings.Contains(err.Error(), "triple 3") {
		t.Error(err)
	}
	if n, err := c.Count(ctx, triple.Pattern{}); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestLongList: a list that makes several requests.
func TestLongList(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	w := newNetwork(t, func(int, *http.Request) fate { return fate{} })
	c := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}})
	all := numbered(10)
	for i := range all {
		all[i].Object = triple.NewString(strings.Repeat("x", 900<<10))
	}
	if got, err := c.Add(ctx, all); err != nil || got.Added != 10 {
		t.Error(got, err)
	}
	if w.requests() != 2 {
		t.Errorf("%d requests", w.requests())
	}
	if got := collect(t, c.Match(ctx, triple.Pattern{})); !slices.Equal(got, all) {
		t.Error("they come back changed")
	}
}

// TestLongTerm: a term of 2 MiB, every character of which is escaped. (16 MiB, the
// most, pass too, but take the race detector half a minute.)
func TestLongTerm(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	all := numbered(3)
	all[1].Object = triple.NewString(strings.Repeat("\"", 2<<20))
	if got, err := c.Add(ctx, all); err != nil || got.Added != 3 {
		t.Fatal(got, err)
	}
	if got := collect(t, c.Match(ctx, triple.Pattern{})); !slices.Equal(got, all) {
		t.Error("they come back changed")
	}
	if got, err := c.Delete(ctx, all); err != nil || got.Deleted != 3 {
		t.Error(got, err)
	}
}

// TestRangeParameters: whatever the bounds, the node's answer is that of the store.
func TestRangeParameters(t *testing.T) {
	url, db := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{PageSize: 3})
	var all []triple.Triple
	objects := []triple.Term{
		triple.NewIRI(ex + "a"), triple.NewBlank("x.y"), triple.NewString(""), triple.NewString("a \"quoted\\\" \n\t\r text"),
		triple.NewString("Mü"), triple.NewString("Müller >"), triple.NewLang("Mücke", "de-AT"), triple.NewTyped("01", triple.XSDInteger),
		triple.NewTyped("2.50", triple.XSDDecimal), triple.NewTyped("NaN", triple.XSDDouble), triple.NewTyped("x", ex+"type"),
		triple.NewTyped("2024-01-31", triple.XSDDate), triple.NewString(strings.Repeat("long ", 300)), triple.NewString("a+b&c=d%20;e"),
	}
	for i, o := range objects {
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("%ss%d", ex, i%3)), Predicate: triple.NewIRI(ex + "p"), Object: o})
		all = append(all, triple.Triple{Subject: triple.NewBlank("b1"), Predicate: triple.NewIRI(ex + "q"), Object: o, Graph: triple.NewIRI(ex + "g?x=1&y=ü#z")})
	}
	if _, err := store.Add(ctx, db, all); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		term := func(name string) triple.Term { return rapid.SampledFrom(objects).Draw(rt, name) }
		b := triple.Bounds{Order: rapid.SampledFrom(triple.Orders[:]).Draw(rt, "order")}
		some := rapid.SampledFrom(all).Draw(rt, "item")
		terms := [4]triple.Term{some.Subject, some.Predicate, some.Object, some.Graph}
		positions := b.Order.Positions()
		for _, position := range positions[:rapid.IntRange(0, 2).Draw(rt, "prefix")] {
			if !terms[position].IsZero() {
				b.Prefix = append(b.Prefix, terms[position])
			}
		}
		switch rapid.IntRange(0, 7).Draw(rt, "kind") {
		case 1:
			b.GE = term("ge")
		case 2:
			b.GT = term("gt")
		case 3:
			b.LE = term("le")
		case 4:
			b.LT = term("lt")
		case 5:
			t := term("starts")
			cut := rapid.IntRange(0, len([]rune(t.Value()))).Draw(rt, "length")
			b.Starts = triple.Starts{Kind: t.Kind(), Text: string([]rune(t.Value())[:cut]), Lang: t.Lang()}
		case 6:
			b.From = []triple.Term{term("from")}
		case 7:
			b.Until = []triple.Term{term("until"), triple.NewIRI(ex + "s1")}
		}
		if _, err := b.KeyRange(); err != nil {
			rt.Skip(err)
		}
		reverse := rapid.Bool().Draw(rt, "reverse")
		sn, err := db.Snapshot()
		if err != nil {
			rt.Fatal(err)
		}
		defer sn.Close()
		var want []triple.Triple
		for row, err := range sn.Range(ctx, b, store.ReadOptions{Reverse: reverse}) {
			if err != nil {
				rt.Fatal(err)
			}
			tr, err := row.Triple()
			if err != nil {
				rt.Fatal(err)
			}
			want = append(want, tr)
		}
		seq := c.Range(ctx, b, client.RangeOptions{Reverse: reverse})
		for range 2 { // a sequence can be gone through again
			if got := collect(t, seq); !slices.Equal(got, want) {
				rt.Fatalf("%+v, reverse %t:\n%v\nwant\n%v", b, reverse, got, want)
			}
		}
	})
}

func TestPages(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{PageSize: 4})
	all := numbered(10)
	if _, err := c.Add(ctx, all); err != nil {
		t.Fatal(err)
	}
	var got []triple.Triple
	for o := (client.PageOptions{Limit: 3}); ; {
		page, err := c.MatchPage(ctx, triple.Pattern{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, page.Triples...); page.Next == "" {
			break
		}
		o.Cursor = page.Next
	}
	if !slices.Equal(got, all) {
		t.Errorf("%v", got)
	}
	b := triple.Bounds{Order: triple.SPO}
	page, err := c.RangePage(ctx, b, client.PageOptions{Reverse: true})
	if err != nil || len(page.Triples) != 4 || page.Triples[0] != all[9] || page.Next == "" {
		t.Fatal(page, err)
	}
	rest := collect(t, c.Range(ctx, b, client.RangeOptions{Reverse: true, Cursor: page.Next}))
	if len(rest) != 6 || rest[0] != all[5] {
		t.Errorf("after the cursor: %v", rest)
	}
	// An offset skips once, and pages go on behind it.
	if got := collect(t, c.Range(ctx, b, client.RangeOptions{Offset: 3})); !slices.Equal(got, all[3:]) {
		t.Errorf("from the fourth on: %v", got)
	}
	page, err = c.MatchPage(ctx, triple.Pattern{}, client.PageOptions{Offset: 8, Limit: 1})
	if err != nil || !slices.Equal(page.Triples, all[8:9]) || page.Next == "" {
		t.Error(page, err)
	}
	if _, err := c.MatchPage(ctx, triple.Pattern{}, client.PageOptions{Offset: 1, Cursor: page.Next}); !errors.Is(err, client.ErrBadRequest) {
		t.Errorf("an offset with a cursor: %v", err)
	}
	page, err = c.RangePage(ctx, b, client.PageOptions{Reverse: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.RangePage(ctx, b, client.PageOptions{Cursor: page.Next}); !errors.Is(err, client.ErrBadCursor) {
		t.Errorf("a cursor of another direction: %v", err)
	}
	if _, err := c.MatchPage(ctx, triple.Pattern{}, client.PageOptions{Reverse: true}); err == nil {
		t.Error("a pattern was reversed")
	}
	if _, err := c.MatchPage(ctx, triple.Pattern{}, client.PageOptions{Limit: -1}); err == nil {
		t.Error("a negative limit was taken")
	}
	for range c.Match(ctx, triple.Pattern{}) {
		break // must not go on
	}
}

// TestWhere checks the places of a triple in a named graph, stored or not.
func TestWhere(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	tr := numbered(1)[0]
	tr.Graph = triple.NewIRI(ex + "g")
	if _, err := c.Add(ctx, []triple.Triple{tr}); err != nil {
		t.Fatal(err)
	}
	at, err := c.Admin.Where(ctx, tr)
	if err != nil || !at.Stored || at.Holding != 1 || len(at.Places) != 4 || at.Places[0].Row != "present" || at.Places[0].Segment == nil {
		t.Errorf("%+v, %v", at, err)
	}
	tr.Graph = triple.Term{}
	if at, err = c.Admin.Where(ctx, tr); err != nil || at.Stored || at.Holding != 0 || len(at.Places) != 3 || at.Places[0].Row != "missing" {
		t.Errorf("%+v, %v", at, err)
	}
}

func TestErrors(t *testing.T) {
	url, _ := startNode(t, server.Options{Token: "sesame", MaxBodyBytes: 1000})
	c := newClient(t, url, client.Options{Token: "sesame"})
	var e *client.Error
	_, err := c.Load(ctx, strings.NewReader("<http://a> <http://b> <http://c> .\nx"), client.LoadOptions{})
	if !errors.Is(err, client.ErrSyntax) || !errors.As(err, &e) || e.Status != 400 || e.Where != "body:2:1" || e.Message == "" || e.Kind != "syntax" {
		t.Errorf("%#v", err)
	}
	if errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrBusy) {
		t.Errorf("%v is of several kinds", err)
	}
	if _, err := c.Add(ctx, numbered(50)); !errors.Is(err, client.ErrTooLarge) || !strings.Contains(err.Error(), "/load") {
		t.Error(err)
	}
	if _, err := c.RangePage(ctx, triple.Bounds{}, client.PageOptions{}); !errors.Is(err, client.ErrBadRequest) {
		t.Error(err)
	}
	for _, token := range []string{"", "open"} {
		stranger := newClient(t, url, client.Options{Token: token})
		if _, err := stranger.Status(ctx); !errors.Is(err, client.ErrUnauthorized) {
			t.Error(err)
		}
		for _, err := range stranger.Match(ctx, triple.Pattern{}) {
			if !errors.Is(err, client.ErrUnauthorized) {
				t.Error(err)
			}
		}
	}
	readOnly, _ := startNode(t, server.Options{ReadOnly: true})
	if _, err := newClient(t, readOnly, client.Options{}).Add(ctx, numbered(1)); !errors.Is(err, client.ErrReadOnly) {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	for _, url := range []string{"", "localhost:7333", "ftp://x", "http://", "http://x/?a=b", "http://x/#f", "http://[::1"} {
		if _, err := client.New(url, client.Options{}); err == nil {
			t.Errorf("%q is a node's address", url)
		}
	}
	for _, o := range []client.Options{{PageSize: -1}, {PageSize: 10_001}, {MinBackoff: -1}, {MaxBackoff: -1}, {Token: "a\nb"}} {
		if _, err := client.New("http://x", o); err == nil {
			t.Errorf("%+v are options", o)
		}
	}
	// A node may stand behind a path.
	var asked string
	w := newNetwork(t, func(_ int, r *http.Request) fate {
		asked = r.URL.String()
		return fate{refuse: true}
	})
	c := newClient(t, "http://proxy/trefoil/", client.Options{HTTPClient: &http.Client{Transport: w}, Retries: -1})
	if _, err := c.Status(ctx); !errors.Is(err, errNetwork) || asked != "http://proxy/trefoil/status" {
		t.Error(asked, err)
	}
}

func TestLoadBackupStatus(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	document := "@prefix : <http://example.org/> .\n:a :b 1, 2 ; :c :d .\n:x :y oops .\n:a :b 3 .\n"
	o := client.LoadOptions{ContentType: "text/turtle", Graph: triple.NewIRI(ex + "g"), KeepGoing: true, Rejects: 5, MemoryBytes: 64 << 20, MaxLineBytes: 1 << 20, Base: ex}
	got, err := c.Load(ctx, strings.NewReader(document), o)
	if err != nil || got.New != 4 || got.Rejected != 1 || len(got.Rejects) != 1 || got.Rejects[0].Where == "" || got.Duration <= 0 || got.ID == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if s, err := c.Status(ctx); err != nil || s.Triples != 4 || s.Version != "test" || len(s.Members) != 1 || s.Segments < 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if r, err := c.Admin.Check(ctx); err != nil || r.Triples != 4 || r.Rows["gspo"] != 4 || len(r.Problems) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	var backup bytes.Buffer
	if err := c.Backup(ctx, &backup); err != nil {
		t.Fatal(err)
	}
	if err := store.Restore(ctx, filepath.Join(t.TempDir(), "r"), &backup); err != nil {
		t.Error(err)
	}
}

// failingReader fails after some text.
type failingReader struct {
	text string
	err  error
}

func (f *failingReader) Read(p []byte) (int, error) {
	if f.text == "" {
		return 0, f.err
	}
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, nil
}

// TestLoadBreaksOff: where the document cannot be read, the error says why, and
// nothing is loaded.
func TestLoadBreaksOff(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	broken := errors.New("the disk is broken")
	_, err := c.Load(ctx, &failingReader{"<http://a> <http://b> <http://c> .\n", broken}, client.LoadOptions{})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	if n, err := c.Count(ctx, triple.Pattern{}); n != 0 || err != nil {
		t.Error(n, err)
	}
	w := newNetwork(t, func(int, *http.Request) fate { return fate{cut: 700} })
	cut := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}})
	if err := cut.Backup(ctx, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) || w.requests() != 1 {
		t.Error(err, w.requests())
	}
}

// TestContext: contexts end calls, and pauses between tries.
func TestContext(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	done, cancel := context.WithCancel(ctx)
	cancel()
	c := newClient(t, url, client.Options{})
	if _, err := c.Count(done, triple.Pattern{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w := newNetwork(t, func(int, *http.Request) fate { return fate{refuse: true} })
	waiting, cancel := context.WithCancel(ctx)
	c = newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}, Sleep: func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}})
	if _, err := c.Count(waiting, triple.Pattern{}); !errors.Is(err, errNetwork) || w.requests() != 1 {
		t.Error(err, w.requests())
	}
}

// A client that grows gets another part, because nobody reads a list of 90 methods.
func TestMethodsOfParts(t *testing.T) {
	c := newClient(t, "http://127.0.0.1:1", client.Options{})
	parts := []reflect.Value{reflect.ValueOf(c)}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[client.Client]()) {
		if len(field.Index) == 1 && field.IsExported() {
			part := parts[0].Elem().FieldByIndex(field.Index)
			if part.IsNil() {
				t.Errorf("New leaves %s out", field.Name)
			}
			parts = append(parts, part)
		}
	}
	if len(parts) < 10 {
		t.Errorf("only %d parts", len(parts))
	}
	for _, part := range parts {
		if n := part.NumMethod(); n == 0 || n > 20 {
			t.Errorf("%s has %d exported methods", part.Type(), n)
		}
	}
}
