// Triple Pattern Fragments: pages, terms, errors, URLs, totals and caching.

package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/triples"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// fragmentPage is a page as a client sees it.
type fragmentPage struct {
	url  string
	data []triple.Triple
	meta map[string][]string // "subject predicate" to objects, by value
}

// getPage asks for a page and splits it as Comunica does: the metadata are the
// graph whose primary topic is what the page is, by the last triple that says so,
// a subset of. Where the syntax has no graphs they are the triples whose subjects
// begin with the node's URL.
func (s *testServer) getPage(page string, s2 syntax.Syntax) fragmentPage {
	s.t.Helper()
	got := s.get(strings.TrimPrefix(page, s.url), "Accept", s2.MediaType())
	if got.status != 200 || got.header.Get("Content-Type") != s2.MediaType() {
		s.t.Fatalf("%s: %d %v %s", page, got.status, got.header, got.body)
	}
	var all []triple.Triple
	topics, topic := map[string]triple.Term{}, ""
	for one, err := range syntax.Parse(context.Background(), strings.NewReader(got.body), s2, syntax.Options{}) {
		if err != nil {
			s.t.Fatalf("%s: %v\n%s", page, err, got.body)
		}
		all = append(all, one)
		switch one.Predicate.Value() {
		case triples.NsVoID + "subset":
			if one.Object.Value() == page {
				topic = one.Subject.Value()
			}
		case triples.NsFOAF + "primaryTopic":
			topics[one.Object.Value()] = one.Subject
		}
	}
	p := fragmentPage{url: page, meta: map[string][]string{}}
	graph, ok := topics[topic]
	if ok != s2.HasGraphs() {
		s.t.Fatalf("%s: the metadata graph: %v, of %q\n%s", page, topics, topic, got.body)
	}
	for _, one := range all {
		isMeta := one.Graph == graph
		if !s2.HasGraphs() {
			isMeta = strings.HasPrefix(one.Subject.Value(), s.url+triples.FragmentsPath)
		}
		if !isMeta {
			p.data = append(p.data, one)
			continue
		}
		key := one.Subject.Value() + " " + one.Predicate.Value()
		p.meta[key] = append(p.meta[key], one.Object.Value())
	}
	return p
}

func (p *fragmentPage) one(t testing.TB, subject, predicate string) string {
	t.Helper()
	objects := p.meta[subject+" "+predicate]
	if len(objects) > 1 {
		t.Fatalf("%s: <%s> <%s> %q", p.url, subject, predicate, objects)
	}
	return strings.Join(objects, "")
}

// check tests what the specifications ask of every page.
func (p *fragmentPage) check(t testing.TB, base string, limit int) (total int) {
	t.Helper()
	dataset := base + triples.FragmentsPath + "#dataset"
	if !slices.Contains(p.meta[dataset+" "+triples.NsVoID+"subset"], p.url) {
		t.Fatalf("%s is not a subset of the dataset: %v", p.url, p.meta)
	}
	if got := p.one(t, dataset, triples.NsSD+"defaultGraph"); got != triples.DefaultGraphIRI {
		t.Errorf("the default graph is %q", got)
	}
	form := p.one(t, dataset, triples.NsHydra+"search")
	if got := p.one(t, form, triples.NsHydra+"template"); got != base+"/fragments{?subject,predicate,object,graph}" {
		t.Errorf("the template is %q", got)
	}
	mappings := map[string]string{}
	for _, m := range p.meta[form+" "+triples.NsHydra+"mapping"] {
		mappings[p.one(t, m, triples.NsHydra+"property")] = p.one(t, m, triples.NsHydra+"variable")
	}
	if want := map[string]string{triple.RDF + "subject": "subject", triple.RDF + "predicate": "predicate",
		triple.RDF + "object": "object", triples.NsSD + "graph": "graph"}; fmt.Sprint(mappings) != fmt.Sprint(want) {
		t.Errorf("the mappings are %v", mappings)
	}
	fragment := p.one(t, p.url, triples.NsHydra+"first")
	if !slices.Contains(p.meta[fragment+" "+triples.NsVoID+"subset"], p.url) {
		t.Errorf("%s is not a subset of the fragment %s", p.url, fragment)
	}
	if got := p.one(t, p.url, triples.NsHydra+"itemsPerPage"); got != strconv.Itoa(limit) {
		t.Errorf("%s items a page, want %d", got, limit)
	}
	text := p.one(t, fragment, triples.NsVoID+"triples")
	total, err := strconv.Atoi(text)
	if err != nil || text != p.one(t, fragment, triples.NsHydra+"totalItems") || total < len(p.data) {
		t.Errorf("the total is %q, the page has %d", text, len(p.data))
	}
	for _, link := range []string{"next", "previous"} {
		if p.one(t, p.url, triples.NsHydra+link) != p.one(t, p.url, triples.NsHydra+link+"Page") {
			t.Errorf("%s and %sPage differ", link, link)
		}
	}
	return total
}

func (p *fragmentPage) link(t testing.TB, name string) string {
	return p.one(t, p.url, triples.NsHydra+name)
}

// fragmentTriples makes triples of few terms, so that every pattern has matches,
// some of them in several graphs.
func fragmentTriples(random *rand.Rand, n int, marker string) []triple.Triple {
	var all []triple.Triple
	for range n {
		one := triple.Triple{
			Subject:   triple.NewIRI(fmt.Sprintf("http://s/%d", random.IntN(12))),
			Predicate: triple.NewIRI(fmt.Sprintf("http://p/%d", random.IntN(3))),
			Object:    triple.NewString(fmt.Sprintf("%s%d", marker, random.IntN(20))),
		}
		if g := random.IntN(4); g > 0 {
			one.Graph = triple.NewIRI(fmt.Sprintf("http://g/%d", g))
		}
		all = append(all, one)
	}
	return all
}

// TestFragmentWalk follows the links from page to page to the end, in every
// syntax, while others write: what was there throughout comes exactly once. Then
// it goes back to the first page.
func TestFragmentWalk(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	s, db := serveTriples(t, "", Options{})
	stable := fragmentTriples(random, 600, "stable")
	if _, err := store.Add(context.Background(), db, stable); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []triple.Pattern{
		{},
		{Subject: triple.NewIRI("http://s/1")},
		{Predicate: triple.NewIRI("http://p/1")},
		{Object: triple.NewString("stable7")},
		{Predicate: triple.NewIRI("http://p/1"), Object: triple.NewString("stable7")},
		{Subject: triple.NewIRI("http://s/none")},
		{DefaultGraph: true},
		{Graph: triple.NewIRI("http://g/2")},
		{Predicate: triple.NewIRI("http://p/2"), Graph: triple.NewIRI("http://g/2")},
	} {
		syntaxes := triples.FragmentSyntaxes[:5] // RDF/XML cannot express these predicates
		if testing.Short() {
			syntaxes = syntaxes[random.IntN(len(syntaxes)):][:1]
		}
		for _, syntax := range syntaxes {
			limit := 5 + random.IntN(60)
			want := map[string]bool{}
			for _, one := range stable {
				if pattern.Match(one) {
					if !syntax.HasGraphs() {
						one.Graph = triple.Term{}
					}
					want[string(triple.AppendNQuad(nil, one))] = true
				}
			}
			first := s.url + target("/fragments", fragmentQuery(pattern, limit)...)
			walkFragment(t, s, db, random, first, syntax, limit, want)
		}
	}
}

func fragmentQuery(p triple.Pattern, limit int) []string {
	query := []string{"limit", strconv.Itoa(limit)}
	for name, term := range map[string]triple.Term{"subject": p.Subject, "predicate": p.Predicate, "object": p.Object, "graph": p.Graph} {
		switch {
		case term.Kind() == triple.IRI:
			query = append(query, name, term.Value())
		case term.Kind() == triple.Literal:
			query = append(query, name, `"`+term.Value()+`"`)
		case name == "graph" && p.DefaultGraph:
			query = append(query, name, triples.DefaultGraphIRI)
		}
	}
	return query
}

func walkFragment(t *testing.T, s *testServer, db *store.Store, random *rand.Rand, first string, syntax syntax.Syntax, limit int, want map[string]bool) {
	t.Helper()
	got := map[string]int{}
	last, pages := first, 0
	for page := first; page != ""; pages++ {
		p := s.getPage(page, syntax)
		p.check(t, s.url, limit)
		if pages > 0 && p.link(t, "first") != first {
			t.Fatalf("the first page is %s, not %s", p.link(t, "first"), first)
		}
		for _, one := range p.data {
			line := string(triple.AppendNQuad(nil, one))
			if !strings.Contains(line, `"other`) {
				got[line]++
			}
		}
		next := p.link(t, "next")
		if len(p.data) > limit || next != "" && len(p.data) < limit {
			t.Fatalf("%s has %d items, next %q", page, len(p.data), next)
		}
		last, page = page, next
		if pages%3 == 2 {
			continue
		}
		others := fragmentTriples(random, 20, "other")
		if _, err := store.Add(context.Background(), db, others); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Delete(context.Background(), db, others[:15]); err != nil {
			t.Fatal(err)
		}
	}
	for line := range want {
		if got[line] != 1 {
			t.Errorf("%s %s: %q came %d times", first, syntax, line, got[line])
		}
		delete(got, line)
	}
	if len(got) > 0 {
		t.Errorf("%s %s: what does not match: %v", first, syntax, got)
	}
	for back := 0; last != first; back++ {
		p := s.getPage(last, syntax)
		if last = p.link(t, "previous"); last == "" || back > 2*pages+10 {
			t.Fatalf("%s does not lead back to %s", p.url, first)
		}
	}
	if p := s.getPage(first, syntax); p.link(t, "previous") != "" {
		t.Errorf("before the first page is %s", p.link(t, "previous"))
	}
}

const fragmentData = `<http://a> <http://p> "plain" .
<http://a> <http://p> "it \"says\" \\ so"@en .
<http://a> <http://p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://a> <http://p> _:b .
_:b <http://q> <http://a> .
<http://a> <http://p> "plain" <http://g/1> .
_:b <http://q> "in a graph" <http://g/1> .
<http://a> <http://q> "x" _:g .
`

// TestFragmentTerms asks in all the ways in which clients write terms.
func TestFragmentTerms(t *testing.T) {
	s, _ := serveTriples(t, fragmentData, Options{})
	genid := s.url + "/.well-known/genid/"
	for _, test := range []struct {
		name  string
		query []string
		items int
	}{
		{"nothing", nil, 8},
		{"variables", []string{"subject", "?s", "predicate", "?p", "object", "?o", "graph", "?g"}, 8},
		{"empty", []string{"subject", "", "predicate", "", "object", "", "graph", ""}, 8},
		{"an IRI", []string{"subject", "http://a"}, 6},
		{"in brackets", []string{"subject", "<http://a>"}, 6},
		{"a string", []string{"object", `"plain"`}, 2},
		{"its datatype", []string{"object", `"plain"^^http://www.w3.org/2001/XMLSchema#string`}, 2},
		{"quotes inside, unescaped", []string{"object", `"it "says" \ so"@en`}, 1},
		{"another tag", []string{"object", `"it "says" \ so"@de`}, 0},
		{"a datatype", []string{"object", `"1"^^http://www.w3.org/2001/XMLSchema#integer`}, 1},
		{"in brackets", []string{"object", `"1"^^<http://www.w3.org/2001/XMLSchema#integer>`}, 1},
		{"another lexical form", []string{"object", `"01"^^http://www.w3.org/2001/XMLSchema#integer`}, 0},
		{"the default graph", []string{"graph", "urn:ldf:defaultGraph"}, 5},
		{"a graph", []string{"graph", "http://g/1"}, 2},
		{"a graph and more", []string{"graph", "http://g/1", "subject", "http://a"}, 1},
		{"a graph that is not there", []string{"graph", "http://g/2"}, 0},
		{"what no triple has: a literal as subject", []string{"subject", `"plain"`}, 0},
		{"as predicate", []string{"predicate", `"plain"`}, 0},
		{"as graph", []string{"graph", `"plain"`}, 0},
		{"a blank node as predicate", []string{"predicate", genid + "b"}, 0},
		{"a blank node as subject", []string{"subject", genid + "b"}, 2},
		{"as object", []string{"object", genid + "b"}, 1},
		{"as graph", []string{"graph", genid + "g"}, 1},
	} {
		for _, syntax := range []syntax.Syntax{syntax.TriG, syntax.NQuads} {
			p := s.getPage(s.url+target("/fragments", test.query...), syntax)
			if total := p.check(t, s.url, triples.FragmentItems); len(p.data) != test.items || total != test.items {
				t.Errorf("%s: %d items, total %d, want %d: %v", test.name, len(p.data), total, test.items, p.data)
			}
		}
	}
	// Nothing is written as a blank node: IRIs stand for them that can be asked for.
	for _, syntax := range triples.FragmentSyntaxes {
		p := s.getPage(s.url+"/fragments?predicate=http://q", syntax)
		if len(p.data) != 3 {
			t.Errorf("%s: %v", syntax, p.data)
		}
		for _, one := range p.data {
			if one.Object.Value() == "in a graph" && one.Subject != triple.NewIRI(genid+"b") {
				t.Errorf("%s: %v", syntax, one)
			}
		}
	}
	// Without names of graphs a triple of two graphs comes once.
	if p := s.getPage(s.url+"/fragments?object=%22plain%22", syntax.Turtle); len(p.data) != 1 {
		t.Errorf("merged: %v", p.data)
	}
}

// TestFragmentTripleTerms: blank nodes inside of triple terms are IRIs, too, and patterns may have triple terms.
func TestFragmentTripleTerms(t *testing.T) {
	s, _ := serveTriples(t, "<http://r> <http://says> <<( _:b <http://p> <<( <http://s> <http://p> _:c )>> )>> .\n", Options{})
	genid := s.url + "/.well-known/genid/"
	p := s.getPage(s.url+"/fragments?subject=http://r", syntax.NQuads)
	inner := triple.NewTripleTerm(triple.NewIRI("http://s"), triple.NewIRI("http://p"), triple.NewIRI(genid+"c"))
	want := triple.NewTripleTerm(triple.NewIRI(genid+"b"), triple.NewIRI("http://p"), inner)
	if len(p.data) != 1 || p.data[0].Object != want {
		t.Errorf("got %v, want the object %v", p.data, want)
	}
	// The term of an answer selects it.
	const other = "<<( <http://s> <http://p> 5 )>>"
	for text, count := range map[string]int{want.String(): 1, inner.String(): 0, other: 0} {
		query := url.Values{"object": {text}}.Encode()
		if p := s.getPage(s.url+"/fragments?"+query, syntax.NQuads); len(p.data) != count {
			t.Errorf("%s: got %v, want %d", text, p.data, count)
		}
	}
	// At other places a pattern with it is valid, and matches nothing.
	for _, place := range []string{"subject", "predicate", "graph"} {
		query := url.Values{place: {other}}.Encode()
		if p := s.getPage(s.url+"/fragments?"+query, syntax.NQuads); len(p.data) > 0 {
			t.Errorf("%s: got %v", place, p.data)
		}
	}
}

func TestFragmentErrors(t *testing.T) {
	s, _ := serveTriples(t, fragmentData, Options{})
	for _, test := range []struct {
		query  []string
		status int
		kind   problem.Kind
		where  string
		words  string
	}{
		{[]string{"subject", "_:b"}, 400, problem.KindBadParameter, "subject", "/.well-known/genid/"},
		{[]string{"subject", "a"}, 400, problem.KindBadParameter, "subject", "give an IRI"},
		{[]string{"object", "<<( _:b <http://p> 1 )>>"}, 400, problem.KindBadParameter, "object", "/.well-known/genid/"},
		{[]string{"object", "<<( <http://s> ?p 1 )>>"}, 400, problem.KindBadParameter, "object", "without variables"},
		{[]string{"object", "<<( <http://s> <http://p> 1 )"}, 400, problem.KindBadParameter, "object", "expected )>>"},
		{[]string{"object", "<<( 5 <http://p> 1 )>>"}, 400, problem.KindBadParameter, "object", "subject"},
		{[]string{"object", `"x`}, 400, problem.KindBadParameter, "object", "..."},
		{[]string{"object", `"x"y`}, 400, problem.KindBadParameter, "object", "after the literal"},
		{[]string{"object", `"x"@`}, 400, problem.KindBadParameter, "object", ""},
		{[]string{"object", `"x"@e_n`}, 400, problem.KindBadParameter, "object", "language tag"},
		{[]string{"object", `"x"^^y`}, 400, problem.KindBadParameter, "object", ""},
		{[]string{"object", "\"\xff\""}, 400, problem.KindBadParameter, "object", "UTF-8"},
		{[]string{"subject", s.url + "/.well-known/genid/"}, 400, problem.KindBadParameter, "subject", "blank"},
		{[]string{"s", "http://a"}, 400, problem.KindBadParameter, "s", "subject, predicate, object, graph, limit, cursor"},
		{[]string{"subject", "http://a", "subject", "http://b"}, 400, problem.KindBadParameter, "subject", "2 times"},
		{[]string{"limit", "0"}, 400, problem.KindBadParameter, "limit", ""},
		{[]string{"cursor", "AQID"}, 400, problem.KindBadCursor, "cursor", "damaged"},
	} {
		got := s.get(target("/fragments", test.query...))
		words := test.words
		if words == "..." {
			words = "literal"
		}
		got.wantError(t, test.status, test.kind, test.where, words)
	}
	s.get("/fragments", "Accept", "application/json").wantError(t, 406, problem.KindNotAcceptable, "Accept", "application/trig")
	s.do("POST", "/fragments", "").wantError(t, 405, problem.KindMethod, "", "GET, HEAD")
	// A cursor belongs to its pattern.
	p := s.getPage(s.url+"/fragments?limit=1&subject=http://a", syntax.TriG)
	_, cursor, _ := strings.Cut(p.link(t, "next"), "&cursor=")
	s.get("/fragments?subject=http://b&cursor="+cursor).wantError(t, 400, problem.KindBadCursor, "cursor", "another query")
}

// TestFragmentURLs: the page has the URL by which it was asked for, to the byte,
// and links change nothing of it but the cursor.
func TestFragmentURLs(t *testing.T) {
	s, _ := serveTriples(t, fragmentData, Options{})
	for _, query := range []string{
		"",
		"?limit=2",
		"?limit=2&subject=http%3A%2F%2Fa",
		"?subject=http://a&limit=2",
		"?predicate=&limit=2&object=%3Fo",
		"?limit=2&&predicate=http%3a%2F%2fp",
	} {
		p := s.getPage(s.url+"/fragments"+query, syntax.TriG)
		next := p.link(t, "next")
		if query == "" {
			if next != "" {
				t.Errorf("after all there is: %s", next)
			}
			continue
		}
		clean := s.url + "/fragments" + strings.ReplaceAll(query, "&&", "&")
		if !strings.HasPrefix(next, clean+"&cursor=") {
			t.Errorf("%s leads to %s", query, next)
		}
		u, err := url.Parse(next)
		if err != nil {
			t.Fatal(err)
		}
		moved := s.url + "/fragments?cursor=" + u.Query().Get("cursor") + "&" + strings.TrimPrefix(strings.ReplaceAll(query, "&&", "&"), "?")
		second := s.getPage(moved, syntax.TriG)
		if second.check(t, s.url, 2); second.link(t, "previous") != clean {
			t.Errorf("before %s is %s", moved, second.link(t, "previous"))
		}
	}
	// What an IRI cannot hold is written in percent-encoding.
	raw := s.raw("GET /fragments?object=\"{plain}|^\" HTTP/1.1\r\nHost: localhost\r\nAccept: application/n-quads\r\nConnection: close\r\n\r\n")
	head, body, _ := strings.Cut(raw, "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 200") || !strings.Contains(body, "<http://localhost/fragments?object=%22%7Bplain%7D%7C%5E%22>") {
		t.Errorf("%s", raw)
	}
}

// TestFragmentTotals: the estimate is 0 where nothing matches and only there, and
// exact where one page holds all; of more it is near.
func TestFragmentTotals(t *testing.T) {
	s, db := serveTriples(t, "", Options{})
	var all []triple.Triple
	for i := range 3000 {
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://s/%d", i)),
			Predicate: triple.NewIRI("http://p"), Object: triple.NewString(strconv.Itoa(i % 7))})
	}
	if _, err := store.Add(context.Background(), db, all); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]int{
		"?subject=http://none":           {0, 0},
		"?subject=http://s/7":            {1, 1},
		"?object=%223%22":                {429, 429},
		"?predicate=http://p":            {1000, 12000},
		"?predicate=http://p&limit=9999": {3000, 3000},
	} {
		limit := triples.FragmentItems
		if strings.Contains(query, "limit") {
			limit = 9999
		}
		p := s.getPage(s.url+"/fragments"+query, syntax.NQuads)
		if total := p.check(t, s.url, limit); total < want[0] || total > want[1] {
			t.Errorf("%s: %d, want %d to %d", query, total, want[0], want[1])
		}
	}
	// A page is bounded in bytes too, and goes on where it was cut.
	s.api.shared.PageBytes = 10_000
	p := s.getPage(s.url+"/fragments?predicate=http://p&limit=9999", syntax.NQuads)
	if p.check(t, s.url, 9999); len(p.data) > 50 || len(p.data) == 0 || p.link(t, "next") == "" {
		t.Errorf("a page of at most 10,000 bytes has %d items", len(p.data))
	}
	// Where other requests hold the memory this one waits for none.
	s.api.shared.Memory.Held.Store(s.api.shared.Memory.Max)
	s.get("/fragments").wantError(t, 503, problem.KindBusy, "", "memory")
}

func TestFragmentCaching(t *testing.T) {
	s, db := serveTriples(t, fragmentData, Options{})
	got := s.get("/fragments?subject=http://a")
	tag := got.header.Get("ETag")
	if got.status != 200 || tag == "" || got.header.Get("Cache-Control") != "no-cache" || !slices.Contains(got.header.Values("Vary"), "Accept") {
		t.Fatalf("%d %v", got.status, got.header)
	}
	for _, header := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
		if again := s.get("/fragments?subject=http://a", "If-None-Match", header); again.status != 304 || again.body != "" || again.header.Get("ETag") != tag {
			t.Errorf("If-None-Match: %s: %d", header, again.status)
		}
	}
	if head := s.do("HEAD", "/fragments?subject=http://a", ""); head.status != 200 || head.body != "" || head.header.Get("ETag") != tag ||
		head.header.Get("Content-Length") != strconv.Itoa(len(got.body)) {
		t.Errorf("HEAD: %d %v", head.status, head.header)
	}
	if _, err := store.Add(context.Background(), db, []triple.Triple{{Subject: triple.NewIRI("http://a"), Predicate: triple.NewIRI("http://p"), Object: triple.NewString("new")}}); err != nil {
		t.Fatal(err)
	}
	if changed := s.get("/fragments?subject=http://a", "If-None-Match", tag); changed.status != 200 || changed.header.Get("ETag") == tag {
		t.Errorf("after a change: %d %v", changed.status, changed.header)
	}
}
