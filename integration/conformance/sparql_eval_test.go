// The W3C suites of SPARQL evaluation.

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	sparqlparser "github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// evalKnown are the evaluation tests that do not pass, by directory and name,
// and why. One that passes is an error.
var evalKnown = map[string]string{}

// evalTest is a test of queries: its text, its data and what comes out.
type evalTest struct {
	Test
	query  string
	data   []string // files of the default graph
	graphs []string // files of named graphs
}

func (e evalTest) base(file string) string { return "http://example.org/" + e.Dir + "/" + file }

func newEvalTest(t *testing.T, test Test) evalTest {
	t.Helper()
	e := evalTest{Test: test}
	var action struct {
		Query           string
		Data, GraphData []string
	}
	require.NoError(t, json.Unmarshal(test.RawAction, &action))
	e.query, e.data, e.graphs = action.Query, action.Data, action.GraphData
	return e
}

// load reads a file of the test's directory into a graph.
func (e evalTest) load(t *testing.T, file string, graph triple.Term) []triple.Triple {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(e.root, e.Dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		// The tests of datasets share their data, and copies of it, with those of graphs.
		data, err = os.ReadFile(filepath.Join(e.root, filepath.Dir(e.Dir), "graph", strings.Replace(file, "-dup.", ".", 1)))
	}
	require.NoError(t, err)
	s, ok := syntax.ByFile(file)
	if !ok {
		t.Fatalf("%s: no syntax", file)
	}
	var all []triple.Triple
	for tr, err := range syntax.Parse(context.Background(), bytes.NewReader(data), s, syntax.Options{Source: file, Base: e.base(file)}) {
		require.NoError(t, err)
		// Blank nodes of one file are not those of another.
		for _, term := range []*triple.Term{&tr.Subject, &tr.Object} {
			*term = mapBlanks(*term, func(label string) triple.Term { return triple.NewBlank(fmt.Sprintf("f%x%s", file, label)) })
		}
		if !graph.IsZero() {
			tr.Graph = graph
		}
		all = append(all, tr)
	}
	return all
}

// triples loads the data of the test. What only FROM names is loaded too.
func (e evalTest) triples(t *testing.T, q *ast.Query) []triple.Triple {
	t.Helper()
	var all []triple.Triple
	for _, file := range e.data {
		all = append(all, e.load(t, file, triple.Term{})...)
	}
	named := map[string]bool{}
	for _, file := range e.graphs {
		named[file] = true
	}
	for _, clause := range q.Dataset {
		if file, ok := strings.CutPrefix(clause.IRI, e.base("")); ok {
			named[file] = true
		}
	}
	for file := range named {
		all = append(all, e.load(t, file, triple.NewIRI(e.base(file)))...)
	}
	return all
}

// openSource makes a source of triples, and returns what ends it.
type openSource func(*testing.T, []triple.Triple) (sparql.Source, func() error)

// sources are what every test is run on.
func sources(t *testing.T) map[string]openSource {
	t.Helper()
	db, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return map[string]openSource{
		"memory": func(_ *testing.T, triples []triple.Triple) (sparql.Source, func() error) {
			return memsource.New(triples), func() error { return nil }
		},
		"columns": func(_ *testing.T, triples []triple.Triple) (sparql.Source, func() error) {
			return sparqltest.WithColumns(memsource.New(triples)), func() error { return nil }
		},
		"changed columns": func(_ *testing.T, triples []triple.Triple) (sparql.Source, func() error) {
			n := 0
			return sparqltest.WithChangedColumns(triples, func() bool { n++; return n%2 == 0 }), func() error { return nil }
		},
		// One store for all tests, which takes the place of what it held by one change.
		"store": func(t *testing.T, triples []triple.Triple) (sparql.Source, func() error) {
			t.Helper()
			if _, err := store.Apply(context.Background(), db, store.Steps{ClearAll: true, Add: slices.Values(triples)}); err != nil {
				t.Fatal(err)
			}
			sn, err := db.Snapshot()
			require.NoError(t, err)
			return sn.Source(), sn.Close
		},
	}
}

func TestSPARQLEvaluation(t *testing.T) {
	for kind, open := range sources(t) {
		t.Run(kind, func(t *testing.T) { runEvalTests(t, open) })
	}
}

func runEvalTests(t *testing.T, open openSource) {
	total := 0
	for _, suite := range []string{"sparql/sparql10", "sparql/sparql11", "sparql/sparql12"} {
		passed, known := 0, 0
		for _, test := range Load(t, suite) {
			if test.Type != "QueryEvaluationTest" && test.Type != "CSVResultFormatTest" {
				continue
			}
			total++
			name := filepath.Base(test.Dir) + "/" + test.ID
			t.Run(filepath.Base(suite)+"/"+name, func(t *testing.T) {
				err := runEvalTest(t, newEvalTest(t, test), open)
				reason, isKnown := evalKnown[name]
				switch {
				case err == nil && isKnown:
					t.Errorf("listed as known to fail (%s), but it passes", reason)
				case err == nil:
					passed++
				case isKnown:
					known++
					t.Logf("known to fail: %s", reason)
				default:
					t.Errorf("%s: %v", test.Comment, err)
				}
			})
		}
		t.Logf("%s: %d passed, %d known to fail", suite, passed, known)
	}
	if total != 395 && !t.Failed() {
		t.Errorf("%d tests, want 395", total)
	}
}

func runEvalTest(t *testing.T, e evalTest, open openSource) (err error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(e.root, e.Dir, e.query))
	require.NoError(t, err)
	seed := uint64(1)
	opts := sparql.Options{
		Parser: sparqlparser.Options{Base: e.base(e.query)},
		Options: exec.Options{
			Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Uint64: func() uint64 {
				seed = seed*6364136223846793005 + 1442695040888963407
				return seed
			},
		},
	}
	q, err := sparqlparser.ParseQuery(string(text), opts.Parser)
	if err != nil {
		return err
	}
	prepared, err := sparql.PrepareTree(q, opts)
	if err != nil {
		return err
	}
	source, end := open(t, e.triples(t, q))
	defer func() { err = errors.Join(err, end()) }()
	result, err := prepared.Run(context.Background(), source)
	if err != nil {
		return err
	}
	defer result.Close()
	want := readExpected(t, e, len(q.OrderBy) > 0)
	got, err := readResult(result, e, want.ordered)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, result.Plan())
	}
	same, err := Isomorphic(got, want.triples)
	if err != nil {
		return err
	}
	if !same { // numbers that the query made: by value
		if same, err = Isomorphic(byValue(got), byValue(want.triples)); err != nil {
			return err
		}
	}
	if !same {
		return fmt.Errorf("in\n%s\ngot\n%s\nwant\n%s\nplan\n%s", text, lines(got), lines(want.triples), result.Plan())
	}
	return nil
}

// byValue writes decimals, floats and doubles in one form: the suites compare
// numbers by value, and write those that a query computes in many ways.
func byValue(triples []triple.Triple) []triple.Triple {
	var out []triple.Triple
	for _, tr := range triples {
		switch datatype := tr.Object.Datatype(); datatype {
		case triple.XSDDecimal, triple.XSDFloat, triple.XSDDouble:
			if f, ok := triple.NumericValue(tr.Object); ok {
				tr.Object = triple.NewTyped(strconv.FormatFloat(f, 'e', 12, 64), datatype)
			}
		}
		out = append(out, tr)
	}
	return out
}

func lines(triples []triple.Triple) string {
	var b strings.Builder
	for _, tr := range triples {
		fmt.Fprintln(&b, tr)
	}
	return b.String()
}

// expected is a result as triples: a graph, or solutions as [solutions] writes
// them.
type expected struct {
	triples []triple.Triple
	ordered bool
}

const resultSet = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"

// solutions writes solutions as triples, so that they are compared up to the
// names of blank nodes.
type solutions struct {
	triples []triple.Triple
	n       int
	ordered bool
}

func (s *solutions) add(vars []string, row []triple.Term) {
	s.n++
	node := triple.NewBlank("solution" + strconv.Itoa(s.n))
	kind := triple.NewIRI("urn:solution")
	s.triples = append(s.triples, triple.Triple{Subject: node, Predicate: kind, Object: kind})
	if s.ordered {
		s.triples = append(s.triples, triple.Triple{Subject: node, Predicate: triple.NewIRI("urn:index"), Object: triple.NewString(strconv.Itoa(s.n))})
	}
	for i, name := range vars {
		if !row[i].IsZero() {
			s.triples = append(s.triples, triple.Triple{Subject: node, Predicate: triple.NewIRI("urn:var:" + name), Object: row[i]})
		}
	}
}

func (s *solutions) boolean(value bool) {
	node := triple.NewIRI("urn:boolean")
	s.triples = append(s.triples, triple.Triple{Subject: node, Predicate: node, Object: triple.NewString(strconv.FormatBool(value))})
}

func readResult(r *sparql.Result, e evalTest, ordered bool) ([]triple.Triple, error) {
	s := solutions{ordered: ordered}
	switch r.Form {
	case ast.Ask:
		value, err := r.Boolean()
		s.boolean(value)
		return s.triples, err
	case ast.Construct, ast.Describe:
		for tr, err := range r.Triples() {
			if err != nil {
				return nil, err
			}
			s.triples = append(s.triples, tr)
		}
		return s.triples, nil
	}
	csv := e.Type == "CSVResultFormatTest"
	var buf bytes.Buffer
	w := results.NewWriter(&buf, results.CSV, r.Vars)
	for row, err := range r.Rows() {
		if err != nil {
			return nil, err
		}
		if !csv {
			s.add(r.Vars, row)
		} else if err := w.Write(row); err != nil {
			return nil, err
		}
	}
	if !csv {
		return s.triples, nil
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return s.triples, readDocument(&buf, results.CSV, &s)
}

func readDocument(in *bytes.Buffer, format results.Format, s *solutions) error {
	r, err := results.NewReader(in, format)
	if err != nil {
		return err
	}
	if value, ok := r.Boolean(); ok {
		s.boolean(value)
	}
	for r.Next() {
		s.add(r.Vars(), r.Row())
	}
	return r.Err()
}

// readExpected reads what the test is to give.
func readExpected(t *testing.T, e evalTest, ordered bool) expected {
	t.Helper()
	if f, err := results.ParseFormat(strings.TrimPrefix(filepath.Ext(e.Result), ".")); err == nil || strings.HasPrefix(filepath.Ext(e.Result), ".sr") {
		switch filepath.Ext(e.Result) {
		case ".srx":
			f = results.XML
		case ".srj":
			f = results.JSON
		}
		data, err := os.ReadFile(e.ResultPath())
		require.NoError(t, err)
		s := solutions{ordered: ordered}
		if err := readDocument(bytes.NewBuffer(data), f, &s); err != nil {
			t.Fatalf("%s: %v", e.Result, err)
		}
		return expected{s.triples, ordered}
	}
	return readExpectedGraph(e.load(t, e.Result, triple.Term{}))
}

// readExpectedGraph reads a result that is a graph, or solutions in one.
func readExpectedGraph(graph []triple.Triple) expected {
	type properties map[string][]triple.Term
	nodes := map[triple.Term]properties{}
	var set triple.Term
	for _, tr := range graph {
		if nodes[tr.Subject] == nil {
			nodes[tr.Subject] = properties{}
		}
		name, _ := strings.CutPrefix(tr.Predicate.Value(), resultSet)
		nodes[tr.Subject][name] = append(nodes[tr.Subject][name], tr.Object)
		if tr.Object == triple.NewIRI(resultSet+"ResultSet") {
			set = tr.Subject
		}
	}
	if set.IsZero() {
		return expected{triples: graph}
	}
	var s solutions
	if value := nodes[set]["boolean"]; len(value) > 0 {
		s.boolean(value[0].Value() == "true")
		return expected{triples: s.triples}
	}
	list := nodes[set]["solution"]
	byIndex := make([]triple.Term, len(list)+1)
	for _, solution := range list {
		if index := nodes[solution]["index"]; len(index) > 0 {
			s.ordered = true
			n, _ := strconv.Atoi(index[0].Value())
			byIndex[min(max(n, 0), len(list))] = solution
		}
	}
	if s.ordered {
		list = byIndex[1:]
	}
	for _, solution := range list {
		var vars []string
		var row []triple.Term
		for _, binding := range nodes[solution]["binding"] {
			vars = append(vars, nodes[binding]["variable"][0].Value())
			row = append(row, nodes[binding]["value"][0])
		}
		s.add(vars, row)
	}
	return expected{s.triples, s.ordered}
}
