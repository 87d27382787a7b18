// The query page in a browser.

package clients

// This file tests the query page in headless Chromium, on a node with data.

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/triple"
)

const people = 5000

// hostile is a literal that would run where a page takes data for HTML.
const hostile = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`

func data() []triple.Triple {
	iri := func(name string) triple.Term { return triple.NewIRI("http://example.org/" + name) }
	a := triple.NewIRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
	var all []triple.Triple
	for i := range people {
		s := iri(fmt.Sprintf("person%04d", i))
		all = append(all,
			triple.Triple{Subject: s, Predicate: a, Object: iri("Person")},
			triple.Triple{Subject: s, Predicate: iri("age"), Object: triple.NewTyped(fmt.Sprint(20+i%60), triple.XSDInteger)})
	}
	return append(all, triple.Triple{Subject: iri("trap"), Predicate: iri("label"), Object: triple.NewString(hostile)},
		triple.Triple{Subject: iri("trap"), Predicate: a, Object: iri("Trap")})
}

// tab is a page in a browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	asked    []string // URLs
	problems []string // errors of scripts, and what the policy forbade
}

func open(t *testing.T, address string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program(t, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.UserDataDir(t.TempDir()))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	})
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch event := event.(type) {
		case *network.EventRequestWillBeSent:
			b.asked = append(b.asked, event.Request.URL)
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, event.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if event.Entry.Source != log.EntrySourceNetwork { // answers of 400 and 401 are part of the tests
				b.problems = append(b.problems, event.Entry.Text)
			}
		case *page.EventJavascriptDialogOpening:
			go func() {
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(address), chromedp.WaitVisible("#editor"))
	return b
}

// sub runs a part of a test on the page.
func (b *tab) sub(name string, test func(t *testing.T)) {
	parent := b.t
	defer func() { b.t = parent }()
	parent.Run(name, func(t *testing.T) {
		b.t = t
		test(t)
	})
}

// waitLimit is how long the page may take for anything.
const waitLimit = 20 * time.Second

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v; the page's problems: %q", err, b.problems)
	}
}

func result[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// wait waits until an expression of the page is true. It evaluates it itself:
// what chromedp injects for it, the page's policy forbids.
func (b *tab) wait(expression string) {
	b.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); !result(b, chromedp.Evaluate[bool]("!!("+expression+")")); <-tick.C {
		if time.Since(begun) > waitLimit {
			b.t.Fatalf("waited in vain for %s; the page says:\n%s", expression, b.text("main"))
		}
	}
}

// enter puts a text into the editor and presses a button.
func (b *tab) enter(text, button string) {
	b.t.Helper()
	b.do(chromedp.SetValue("#editor", text), chromedp.Click(button))
}

func (b *tab) text(selector string) string {
	b.t.Helper()
	return result(b, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q).innerText", selector)))
}

func (b *tab) number(expression string) int {
	b.t.Helper()
	return result(b, chromedp.Evaluate[int](expression))
}

const (
	statusHas = `document.getElementById("status").textContent.includes(%q)`
	errorHas  = `document.getElementById("error").textContent.includes(%q)`
)

func TestPage(t *testing.T) {
	address, store := serve(t, server.Options{}, data())
	b := open(t, address+"/")

	b.sub("examples of the data", func(t *testing.T) {
		b.wait(`document.querySelectorAll("#classes button").length === 2 && document.querySelectorAll("#predicates button").length === 3`)
		if text := b.text("#classes"); !strings.Contains(text, "http://example.org/Person") {
			t.Errorf("classes: %s", text)
		}
		b.wait(`/[\d,.]+ triples on 1 machine/.test(document.getElementById("about").textContent)`)
		b.do(chromedp.Click(`#classes button[title="http://example.org/Person"]`))
		b.wait(fmt.Sprintf(statusHas, "50 rows"))
	})
	b.sub("a table, of a result of any size", func(t *testing.T) {
		b.enter("SELECT ?s ?age { ?s <http://example.org/age> ?age } ORDER BY DESC(?age) ?s LIMIT 2", "#run")
		b.wait(fmt.Sprintf(statusHas, "2 rows"))
		if text := b.text("#results table"); !strings.Contains(text, "http://example.org/person0059") || !strings.Contains(text, "79") {
			t.Errorf("results: %s", text)
		}
		b.enter("SELECT * { ?s ?p ?o . ?t ?q ?r }", "#run") // a hundred million rows
		b.wait(fmt.Sprintf(statusHas, "the first 1000 rows; there are more"))
		if n := b.number(`document.querySelectorAll("#results tbody tr").length`); n != 1000 {
			t.Errorf("%d rows are shown", n)
		}
	})
	b.sub("a table, of terms of any size", func(t *testing.T) {
		b.enter("SELECT ?x { ?s <http://example.org/age> ?age BIND(\""+strings.Repeat("x", 100_000)+"\" AS ?x) }", "#run")
		b.wait(fmt.Sprintf(statusHas, "there are more"))
		if n := b.number(`document.getElementById("results").textContent.length`); n < 1<<20 || n > 2<<20 {
			t.Errorf("%d characters are shown", n)
		}
		if text := b.text("#results td"); !strings.HasSuffix(text, "xxx … (100000 characters)") {
			t.Errorf("the literal ends in %q", text[max(0, len(text)-40):])
		}
	})
	b.sub("undo brings back what an example replaced", func(t *testing.T) {
		const mine = "SELECT ?s { ?s a <http://example.org/Trap> } # mine"
		b.enter(mine, "#run")
		b.wait(fmt.Sprintf(statusHas, "1 row"))
		b.do(chromedp.Click("#results td button"))
		b.wait(`editor.value === "DESCRIBE <http://example.org/trap>"`)
		result(b, chromedp.Evaluate[bool](`document.execCommand("undo")`))
		b.wait(fmt.Sprintf(`editor.value === %q`, mine))
	})
	b.sub("data is not code", func(t *testing.T) {
		b.enter("SELECT ?l { ?s <http://example.org/label> ?l }", "#run")
		b.wait(fmt.Sprintf(statusHas, "1 row"))
		if text := b.text("#results td"); text != hostile {
			t.Errorf("the literal is shown as %s", text)
		}
		if title := result(b, chromedp.Title()); title != "trefoil" {
			t.Errorf("the literal ran: the title is %q", title)
		}
	})
	b.sub("a syntax error has a place", func(t *testing.T) {
		b.enter("SELECT * {\n  ?s ?p }", "#run")
		b.wait(fmt.Sprintf(errorHas, "Line 2, column 9"))
		if at := b.number(`document.getElementById("editor").selectionStart`); at != 19 {
			t.Errorf("the selection begins at %d", at)
		}
	})
	b.sub("plans", func(t *testing.T) {
		query := "SELECT ?s { ?s <http://example.org/age> 33 . ?s a <http://example.org/Person> }"
		b.enter(query, "#explain")
		b.wait(`document.querySelectorAll("#results .plan li").length > 0`)
		if text := b.text("#results .plan"); !strings.Contains(text, "rows expected") || strings.Contains(text, "read") {
			t.Errorf("plan: %s", text)
		}
		b.enter(query, "#explain-run")
		b.wait(fmt.Sprintf(statusHas, "what a run did"))
		if text := b.text("#results .plan"); !strings.Contains(text, "read") || !strings.Contains(text, "ms") {
			t.Errorf("plan of a run: %s", text)
		}
	})
	b.sub("the other forms", func(t *testing.T) {
		b.enter("ASK { ?s a <http://example.org/Trap> }", "#run")
		b.wait(fmt.Sprintf(statusHas, "Answered"))
		if text := b.text("#results"); text != "yes" {
			t.Errorf("ASK: %s", text)
		}
		b.enter("DESCRIBE <http://example.org/person0007>", "#run")
		b.wait(`document.querySelector("#results pre") && document.querySelector("#results pre").textContent.includes("example.org/age")`)
	})
	b.sub("an update", func(t *testing.T) {
		b.enter("# SELECT is not the verb here\nPREFIX e: <http://example.org/>\nINSERT DATA { e:new e:age 3 }", "#run")
		b.wait(fmt.Sprintf(statusHas, "1 added"))
		snapshot, err := store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snapshot.Close()
		n, err := snapshot.Count(t.Context(), triple.Pattern{Subject: triple.NewIRI("http://example.org/new")})
		if err != nil || n != 1 {
			t.Errorf("%d triples of the new thing, %v", n, err)
		}
	})
	b.sub("a node that is not there, and one that breaks off", func(t *testing.T) {
		for fetch, want := range map[string]string{
			`() => Promise.reject(new TypeError("Failed to fetch"))`: "The node does not answer",
			`async () => { let n = 0; return new Response(new ReadableStream({ pull(c) {
				n++ ? c.error(new TypeError("network error")) : c.enqueue(new TextEncoder().encode("?x\n1\n")); } })); }`: "what is shown is not all",
		} {
			result(b, chromedp.Evaluate[bool](`(window.kept = window.fetch, window.fetch = `+fetch+`, true)`))
			b.enter("SELECT ?x { VALUES ?x { 1 } }", "#run")
			b.wait(fmt.Sprintf(errorHas, want))
			result(b, chromedp.Evaluate[bool](`(window.fetch = window.kept, true)`))
		}
	})
	b.sub("it can be stopped", func(t *testing.T) {
		b.enter("SELECT (COUNT(*) AS ?n) { ?s ?p ?o . ?t ?q ?r . ?u ?v ?w FILTER(?o != ?r) }", "#run")
		b.wait(`!document.getElementById("stop").disabled`)
		b.do(chromedp.Click("#stop"))
		b.wait(fmt.Sprintf(statusHas, "Stopped"))
	})

	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		t.Errorf("the page's problems: %q", b.problems)
	}
	own, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range b.asked {
		if u, err := url.Parse(asked); err != nil || u.Host != own.Host && u.Scheme != "data" {
			t.Errorf("the page asked %s", asked)
		}
	}
}

func TestPageToken(t *testing.T) {
	address, _ := serve(t, server.Options{Token: "sesame"}, data())
	if got, err := http.Get(address + "/status"); err != nil || got.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without a token: %v, %v", got, err)
	}
	b := open(t, address+"/")
	b.wait(`document.getElementById("token").offsetHeight > 0`)
	result(b, chromedp.Evaluate[bool](`(document.getElementById("token").focus(), true)`))
	b.do(chromedp.KeyEvent("sesame\r"))
	b.wait(`document.querySelectorAll("#classes button").length === 2`)
}
