// Tests of whole loads.

package rdfload_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// statement is a line of a document: a triple, or a malformed statement if the text is not "".
type statement struct {
	triple triple.Triple
	broken string
}

// generated is a document with its statements.
type generated struct {
	name       string
	text, data []byte // data: compressed
	graphs     bool
	statements []statement
	lines      []int // by statement: the line that it stands on
}

// brokenLines are malformed statements in every syntax that end with their line.
var brokenLines = []string{
	`<http://e/s> <http://e/p> .`, `<http://e/s> "a" <http://e/o> .`, `<http://e/s> <http://e/p> "a"@4 .`, `<http://e/%> <http://e/p> "a\x" .`,
}

// maker makes documents of random statements. rapid draws only its seed and not each term, because
// a failure would print them all.
type maker struct{ *rand.Rand }

func newMaker(t *rapid.T) maker {
	return maker{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
}

// term returns one of few terms, some of them long, because statements must repeat.
func (m maker) term(position int) triple.Term {
	n := m.IntN(4)
	switch kind := m.IntN(10); {
	case kind < 2 && position != triple.Predicate:
		return triple.NewBlank(fmt.Sprintf("b%d", n))
	case kind == 2 && position == triple.Object:
		return triple.NewString(strings.Repeat("long ", 400) + fmt.Sprint(n))
	case kind == 3:
		return triple.NewIRI("http://example.org/" + strings.Repeat("x", 1100) + fmt.Sprint(n))
	case kind == 4 && position == triple.Object:
		return triple.NewTyped(fmt.Sprintf("%02d", n), triple.XSDInteger)
	case kind == 5 && position == triple.Object:
		return triple.NewLang("a \"line\"\nand \x00 one", []string{"en", "DE"}[n%2])
	case kind == 7 && position == triple.Object:
		return triple.NewTripleTerm(m.term(triple.Subject), m.term(triple.Predicate), m.term(triple.Object))
	case kind == 8 && position == triple.Object:
		return triple.NewLang("right", "ar--rtl")
	case kind == 6 && position == triple.Object && m.IntN(10) == 0:
		return triple.NewString(strings.Repeat("0123456789abcdef", 1<<16)) // 1 MiB
	}
	return triple.NewIRI(fmt.Sprintf("http://example.org/%d", n))
}

func (m maker) triple() triple.Triple {
	return triple.Triple{Subject: m.term(triple.Subject), Predicate: m.term(triple.Predicate), Object: m.term(triple.Object)}
}

func (m maker) triples(n int) []triple.Triple {
	list := make([]triple.Triple, n)
	for i := range list {
		list[i] = m.triple()
	}
	return list
}

// document returns a document of any line-like syntax and compression.
func (m maker) document(i int, broken bool) *generated {
	ext := []string{".nt", ".nq", ".ttl", ".trig"}[m.IntN(4)]
	zip := []string{"", "", ".gz", ".zst"}[m.IntN(4)]
	d := &generated{name: fmt.Sprintf("doc%d%s%s", i, ext, zip), graphs: ext == ".nq" || ext == ".trig"}
	var text []byte
	for range m.IntN(40) {
		d.lines = append(d.lines, 1+bytes.Count(text, []byte{'\n'}))
		if broken && m.IntN(10) == 0 {
			line := brokenLines[m.IntN(len(brokenLines))]
			d.statements = append(d.statements, statement{broken: line})
			text = append(append(text, line...), '\n')
			continue
		}
		tr := m.triple()
		if d.graphs && m.IntN(3) == 0 {
			tr.Graph = m.term(triple.Graph)
		}
		d.statements = append(d.statements, statement{triple: tr})
		if ext == ".trig" && !tr.Graph.IsZero() {
			text = append(triple.AppendNT(text, tr.Graph), " { "...)
			tr.Graph = triple.Term{}
			text = append(append(text, strings.TrimSuffix(tr.String(), "\n")...), " }\n"...)
		} else {
			text = append(append(text, strings.TrimSuffix(tr.String(), "\n")...), '\n')
		}
		if m.IntN(10) == 0 {
			text = append(text, "# a comment\n\n"...)
		}
	}
	d.text = text
	d.data = compressed(zip, text)
	return d
}

// inStore returns a statement's triple in the form of the store.
func (d *generated) inStore(tr triple.Triple, id string, source int, graph triple.Term) triple.Triple {
	for _, term := range []*triple.Term{&tr.Subject, &tr.Object, &tr.Graph} {
		*term, _ = term.MapBlanks(func(node triple.Term) (triple.Term, error) {
			return triple.NewBlank(rdfload.BlankPrefix(id, source) + "-" + node.Value()), nil
		})
	}
	if tr.Graph.IsZero() {
		tr.Graph = graph
	}
	return tr
}

// drawOptions draws workers and limits. They are small, because there must be many runs.
func drawOptions(t *rapid.T) rdfload.Options {
	o := rdfload.Options{Memory: rdfload.MinMemory, Workers: rapid.IntRange(1, 4).Draw(t, "workers")}
	if rapid.IntRange(0, 3).Draw(t, "runs") > 0 {
		o.SetLimits(1, rapid.IntRange(2, 5).Draw(t, "levelRuns"), rapid.SampledFrom([]int{1000, 4000}).Draw(t, "block"),
			rapid.IntRange(4, 20).Draw(t, "unit"), rapid.SampledFrom([]uint64{1, 0}).Draw(t, "table"))
	}
	return o
}

func TestLoad(t *testing.T) {
	seed.Slow(t)
	dir := tempDir(t)
	n := 0
	checkSome(t, 20, func(rt *rapid.T) {
		n++
		db := openStore(rt, filepath.Join(dir, fmt.Sprint(n)))
		defer func() {
			closeStore(rt, db)
			os.RemoveAll(filepath.Join(dir, fmt.Sprint(n)))
		}()
		want := make(set)
		before := newMaker(rt).triples(rapid.IntRange(0, 20).Draw(rt, "before"))
		for _, tr := range before {
			want[tr] = true
		}
		if _, err := store.Add(ctx, db, before); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 2).Draw(rt, "loads") {
			checkLoad(rt, db, want, drawSink(rt, db))
		}
	})
}

// drawSink returns a store's sink, or one over it with a changing place.
func drawSink(t *rapid.T, db *store.Store) rdfload.Sink {
	if !rapid.Bool().Draw(t, "spread") {
		return db.Sink()
	}
	left := rapid.IntRange(0, 3).Draw(t, "failures")
	return &movingSink{Sink: db.Sink(), random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), left: &left,
		moves: rapid.Bool().Draw(t, "moves"), at: map[string]int{}}
}

// checkLoad loads drawn documents, and compares everything with the model.
func checkLoad(t *rapid.T, db *store.Store, want set, sink rdfload.Sink) {
	opts := drawOptions(t)
	opts.KeepGoing = rapid.Bool().Draw(t, "keep going")
	var rejects bytes.Buffer
	opts.Rejects = &rejects
	if rapid.IntRange(0, 3).Draw(t, "graph") == 0 {
		opts.Graph = triple.NewIRI("http://example.org/0")
	}
	var documents []*generated
	var list []input.Source
	for i := range rapid.IntRange(1, 4).Draw(t, "documents") {
		d := newMaker(t).document(i, opts.KeepGoing)
		documents = append(documents, d)
		list = append(list, (&document{name: d.name, data: d.data}).source())
	}
	s, err := rdfload.Load(ctx, sink, list, opts)
	if err != nil {
		t.Fatal(err)
	}
	model, loaded := rdfload.Record{ID: s.ID}, make(set)
	report := make(map[string]int)
	for i, d := range documents {
		for j, st := range d.statements {
			if st.broken != "" {
				model.Rejected++
				report[fmt.Sprintf("%s:%d:", d.name, d.lines[j])]++
				continue
			}
			model.Read++
			tr := d.inStore(st.triple, s.ID, i, opts.Graph)
			loaded[tr] = true
			if !want[tr] {
				want[tr] = true
				model.New++
			}
		}
	}
	model.Duplicates, model.Predicates = model.Read-model.New, predicatesOf(loaded)
	if !reflect.DeepEqual(s.Record, model) {
		t.Fatalf("summary %+v, want %+v", s.Record, model)
	}
	checkStored(t, db, want)
	checkNoLoads(t, db.Sink())
	checkReport(t, rejects.String(), report)
}

var reportLine = regexp.MustCompile(`(?m)^# (doc[^:]*:\d+:)\d+: .+$`)

// checkReport checks that each rejected statement is reported once, with its place, and no
// well-formed one. A repaired report can then be loaded.
func checkReport(t tb, report string, want map[string]int) {
	t.Helper()
	got := make(map[string]int)
	for _, m := range reportLine.FindAllStringSubmatch(report, -1) {
		got[m[1]]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the report is\n%s\nwant %v", report, want)
	}
	for line := range strings.Lines(report) {
		if !strings.HasPrefix(line, "#") && !slices.Contains(brokenLines, strings.TrimSpace(line)) {
			t.Errorf("the report has %q", line)
		}
	}
}

// TestRepairedReport repairs a report of rejected statements and loads it.
func TestRepairedReport(t *testing.T) {
	db := newStore(t)
	d := &document{name: "a.nt", data: []byte("<x:a> <x:p> \"1\" \n<x:b> <x:p> \"2\" .\n<x:c> <x:p> \"3\" \r\n")}
	var report bytes.Buffer
	s, err := rdfload.Load(ctx, db.Sink(), sources(d), rdfload.Options{KeepGoing: true, Rejects: &report})
	if err != nil || s.Rejected != 2 || s.Read != 1 {
		t.Fatal(s, err)
	}
	repaired := regexp.MustCompile(`"\s*\n`).ReplaceAllString(report.String(), "\" .\n")
	s, err = rdfload.Load(ctx, db.Sink(), []input.Source{input.Document("report.nt", strings.NewReader(repaired), -1, 0)}, rdfload.Options{})
	if err != nil || s.Read != 2 || s.New != 2 {
		t.Fatalf("%v, %v: %s", s, err, repaired)
	}
	checkStored(t, db, parsed(t, "<x:a> <x:p> \"1\" .\n<x:b> <x:p> \"2\" .\n<x:c> <x:p> \"3\" .\n"))
}

// TestManyRuns loads through several levels of runs.
func TestManyRuns(t *testing.T) {
	db := newStore(t)
	data := text(0, 3000) + text(1, 1000) + text(0, 1500)
	for _, workers := range []int{1, 3} {
		opts := rdfload.Options{Workers: workers}
		opts.SetLimits(1, 3, 4000, 0, 1<<10)
		d := &document{name: fmt.Sprintf("a%d.nt", workers), data: []byte(data)}
		s, err := rdfload.Load(ctx, db.Sink(), sources(d), opts)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(4000)
		if workers > 1 {
			want = 0 // loaded before
		}
		if s.Read != 5500 || s.New != want || s.Bytes != int64(len(data)) || s.Runs < 50 {
			t.Fatalf("%+v", s)
		}
		checkStored(t, db, parsed(t, data))
	}
}

// TestFormats reads the same statements in every syntax, with different units and bytes.
func TestFormats(t *testing.T) {
	for _, d := range []*document{
		{name: "a.rdf", data: []byte(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/"><rdf:Description rdf:about="http://example.org/s"><e:p>o</e:p></rdf:Description></rdf:RDF>`)},
		{name: "a.jsonld", data: []byte(`{"@id": "http://example.org/s", "http://example.org/p": "o"}`)},
		{name: "a", data: []byte("PREFIX e: <http://example.org/>\ne:s e:p 'o' .")},
		{name: "a.nt", data: []byte("\xEF\xBB\xBF<http://example.org/s> <http://example.org/p> \"o\" .")},
	} {
		db := newStore(t)
		s, err := rdfload.Load(ctx, db.Sink(), sources(d), rdfload.Options{Workers: 2})
		if err != nil || s.Read != 1 || s.Bytes != int64(len(d.data)) {
			t.Errorf("%s: %+v, %v", d.name, s, err)
			continue
		}
		checkStored(t, db, parsed(t, `<http://example.org/s> <http://example.org/p> "o" .`))
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []rdfload.Options{
		{Memory: rdfload.MinMemory - 1}, {Workers: -1}, {Workers: 61}, {MaxLine: -1},
		{Graph: triple.NewString("x")}, {Graph: triple.NewTripleTerm(triple.NewBlank("s"), triple.NewIRI("x:p"), triple.NewBlank("o"))}, {Graph: triple.NewIRI("not absolute")}, {Graph: triple.NewIRI("x:a b")},
	} {
		if err := o.Validate(); err == nil {
			t.Errorf("%+v is taken", o)
		}
		if _, err := rdfload.Load(ctx, nil, nil, o); err == nil {
			t.Errorf("%+v is loaded with", o)
		}
	}
	if _, err := rdfload.Load(ctx, nil, nil, rdfload.Options{}); err == nil {
		t.Error("nothing can be loaded")
	}
	missing := errors.New("missing")
	_, err := rdfload.Load(ctx, newStore(t).Sink(), []input.Source{{Name: "x.nt", Open: func() (*input.Reader, error) { return nil, missing }}}, rdfload.Options{})
	if !errors.Is(err, missing) {
		t.Errorf("a source that cannot be opened: %v", err)
	}
}
