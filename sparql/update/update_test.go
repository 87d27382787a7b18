// Tests of requests and their changes.

package update_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/update"
	"github.com/trefoildb/trefoil/triple"
)

// quads reads N-Quads with <a> for <x:a>; statements end with " .".
func quads(t testing.TB, text string) set {
	t.Helper()
	text = strings.ReplaceAll(text, "<", "<x:")
	text = strings.ReplaceAll(text, " . ", " .\n")
	s := triple.NewScanner(strings.NewReader(text), triple.ScanOptions{Quads: true})
	out := set{}
	for s.Scan() {
		out[s.Triple().Clone()] = true
	}
	if err := s.Err(); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out
}

func counter() func() uint64 {
	n := uint64(0)
	return func() uint64 { n++; return n }
}

// run carries a request out. <a> stands for <x:a> in it.
func run(t testing.TB, before set, text string, opts sparql.Options) (*update.Changes, error) {
	t.Helper()
	if opts.Uint64 == nil {
		opts.Uint64 = counter()
	}
	opts.Parser.Base = "x:"
	p, err := sparql.PrepareUpdate(text, opts)
	if err != nil {
		return nil, err
	}
	return p.Run(context.Background(), before.source())
}

const given = "<a> <p> <b> . <a> <q> \"1\" . <b> <p> <c> <g> . <c> <q> \"2\" <g> . <b> <p> <c> <h> .\n"

func TestOperations(t *testing.T) {
	for _, test := range []struct{ request, want string }{
		{``, given},
		{`INSERT DATA { <a> <p> <b>, <c> . GRAPH <h> { <a> <p> <b> } }`, given + `<a> <p> <c> . <a> <p> <b> <h> .`},
		{`DELETE DATA { <a> <p> <b>, <c> . GRAPH <h> { <b> <p> <c> } }`, `<a> <q> "1" . <b> <p> <c> <g> . <c> <q> "2" <g> .`},
		{`DELETE WHERE { ?s <p> ?o }`, `<a> <q> "1" . <b> <p> <c> <g> . <c> <q> "2" <g> . <b> <p> <c> <h> .`},
		{`DELETE WHERE { GRAPH ?g { ?s <p> ?o } }`, `<a> <p> <b> . <a> <q> "1" . <c> <q> "2" <g> .`},
		{`DELETE { ?s ?p ?o } INSERT { ?o ?p ?s } WHERE { ?s ?p ?o }`, `<b> <p> <a> . <b> <p> <c> <g> . <c> <q> "2" <g> . <b> <p> <c> <h> .`},
		{`INSERT { GRAPH ?g { ?g <in> ?s } } WHERE { GRAPH ?g { ?s <p> ?o } }`, given + `<g> <in> <b> <g> . <h> <in> <b> <h> .`},
		{`INSERT { GRAPH ?o { <n> <n> <n> } } WHERE { ?s ?p ?o }`, given + `<n> <n> <n> <b> .`},
		{`INSERT { ?s <n> ?none . <a> <n> ?o . ?o <n> 1 . <a> ?o 1 } WHERE { ?s <q> ?o }`, given + `<a> <n> "1" .`},
		{`INSERT { <a> <n> ?i } WHERE { BIND(IRI("a b") AS ?i) }`, given},
		{`INSERT { "a" <n> <b> } WHERE {}`, given},
		{`WITH <g> DELETE { ?s <q> ?o } INSERT { ?s <r> ?o . GRAPH <i> { ?s <r> ?o } } WHERE { ?s <q> ?o }`,
			`<a> <p> <b> . <a> <q> "1" . <b> <p> <c> <g> . <c> <r> "2" <g> . <c> <r> "2" <i> . <b> <p> <c> <h> .`},
		{`WITH <g> INSERT { <n> <n> ?o } WHERE { GRAPH <h> { ?s ?p ?o } }`, given + `<n> <n> <c> <g> .`},
		{`WITH <none> INSERT { <n> <n> <n> } WHERE { OPTIONAL { ?s ?p ?o } FILTER(!BOUND(?s)) }`, given + `<n> <n> <n> <none> .`},
		{`INSERT { <n> <n> ?o } USING <g> USING NAMED <h> WHERE { ?s <q> ?o . GRAPH ?x { ?a ?b ?c } }`, given + `<n> <n> "2" .`},
		{`INSERT { <n> <n> ?o } USING <g> WHERE { GRAPH <h> { ?s ?p ?o } }`, given},
		{`WITH <h> INSERT { <n> <n> ?o } USING <g> WHERE { ?s <q> ?o }`, given + `<n> <n> "2" <h> .`},
		// Deletions of one operation come before its insertions, whichever solution
		// each is of, and whatever was written before.
		{`INSERT DATA { <n> <p> <a>, <b> } ; DELETE { <a> <p> <b> . <n> <p> <a> } INSERT { <a> <p> <b> . <n> <p> <a> } WHERE { VALUES ?x { 1 2 } }`,
			given + `<n> <p> <a> . <n> <p> <b> .`},
		{`INSERT DATA { <n> <p> <a>, <b> } ; DELETE { <n> <p> ?y } INSERT { <n> <p> ?x } WHERE { VALUES (?x ?y) { (<a> <b>) (<b> <a>) } }`,
			given + `<n> <p> <a> . <n> <p> <b> .`},
		{`INSERT { <n> ?p ?x } WHERE { ?s ?p ?x } ; INSERT { <m> ?p ?x } WHERE { <n> ?p ?x }`,
			given + `<n> <p> <b> . <n> <q> "1" . <m> <p> <b> . <m> <q> "1" .`},
		// Solutions come from the state before, so new triples must make no more of them.
		{`INSERT { ?x <p> ?s } WHERE { ?s <p> ?x }`, given + `<b> <p> <a> .`},
		{`CLEAR DEFAULT`, `<b> <p> <c> <g> . <c> <q> "2" <g> . <b> <p> <c> <h> .`},
		{`CLEAR NAMED`, `<a> <p> <b> . <a> <q> "1" .`},
		{`CLEAR GRAPH <g>`, `<a> <p> <b> . <a> <q> "1" . <b> <p> <c> <h> .`},
		{`CLEAR GRAPH <none>`, given},
		{`DROP GRAPH <none>`, given},
		{`DROP ALL ; INSERT DATA { <a> <p> <b> }`, `<a> <p> <b> .`},
		{`CLEAR GRAPH <g> ; INSERT DATA { GRAPH <g> { <b> <p> <c> } } ; DELETE DATA { GRAPH <g> { <c> <q> "2" } }`,
			`<a> <p> <b> . <a> <q> "1" . <b> <p> <c> <g> . <b> <p> <c> <h> .`},
		{`DROP GRAPH <g> ; CREATE GRAPH <g>`, `<a> <p> <b> . <a> <q> "1" . <b> <p> <c> <h> .`},
		{`CREATE GRAPH <none>`, given},
		{`CREATE SILENT GRAPH <g>`, given},
		{`ADD <g> TO <h>`, given + `<c> <q> "2" <h> .`},
		{`ADD DEFAULT TO <i>`, given + `<a> <p> <b> <i> . <a> <q> "1" <i> .`},
		{`COPY <g> TO DEFAULT`, `<b> <p> <c> . <c> <q> "2" . <b> <p> <c> <g> . <c> <q> "2" <g> . <b> <p> <c> <h> .`},
		{`COPY DEFAULT TO <g> ; CLEAR DEFAULT`, `<a> <p> <b> <g> . <a> <q> "1" <g> . <b> <p> <c> <h> .`},
		{`COPY <g> TO <g> ; MOVE <g> TO <g> ; ADD <g> TO <g> ; COPY DEFAULT TO DEFAULT`, given},
		{`COPY SILENT <none> TO <g> ; MOVE SILENT <none> TO <g> ; ADD SILENT <none> TO <g>`, given},
		{`MOVE <none> TO <none>`, given},
		{`MOVE <g> TO <h>`, `<a> <p> <b> . <a> <q> "1" . <b> <p> <c> <h> . <c> <q> "2" <h> .`},
		{`CLEAR DEFAULT ; COPY DEFAULT TO <g>`, `<b> <p> <c> <h> .`},
		{`LOAD SILENT <d>`, given},
	} {
		before := quads(t, given)
		changes, err := run(t, before, test.request, sparql.Options{})
		if err != nil {
			t.Errorf("%s: %v", test.request, err)
			continue
		}
		want := quads(t, test.want)
		if got := before.apply(changes); !maps.Equal(got, want) {
			t.Errorf("%s\ngot\n%s\nwant\n%s", test.request, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	protocol := sparql.Options{Options: exec.Options{DefaultGraphs: []string{"x:g"}}}
	for _, test := range []struct {
		request string
		opts    sparql.Options
		want    error
		message string
	}{
		{`CREATE GRAPH <g>`, sparql.Options{}, sparql.ErrGraphExists, "CREATE at 1:1: the graph exists: <x:g>"},
		{`COPY <none> TO <g>`, sparql.Options{}, sparql.ErrNoGraph, "COPY at 1:1: the graph does not exist: <x:none>"},
		{"CLEAR ALL ;\n MOVE <g> TO <h>", sparql.Options{}, sparql.ErrNoGraph, "MOVE at 2:2"},
		{`LOAD <d>`, sparql.Options{}, sparql.ErrLoad, "LOAD is off"},
		{`WITH <g> DELETE {} WHERE {}`, protocol, sparql.ErrUpdateDataset, "using-graph-uri"},
		{`DELETE {} USING NAMED <g> WHERE {}`, protocol, sparql.ErrUpdateDataset, "DELETE at 1:1"},
		{`INSERT DATA { 1 <p> 2 }`, sparql.Options{}, triple.ErrBadTerm, "the subject is a literal"},
		{`INSERT { <a> <p> 1 } WHERE { SERVICE <s> {} }`, sparql.Options{}, sparql.ErrService, "INSERT at 1:1"},
		{`INSERT DATA { <a> <p> <c> }`, sparql.Options{UpdateMemory: 10}, sparql.ErrUpdateMemory, "10 bytes"},
		{`INSERT DATA { <a> <p> <c> }`, sparql.Options{UpdateMemory: -1}, nil, "-1 bytes"},
	} {
		changes, err := run(t, quads(t, given), test.request, test.opts)
		if err == nil || changes != nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: %v, want %v: %q", test.request, err, test.want, test.message)
		}
	}
	p, err := sparql.PrepareUpdate(`INSERT DATA { [] <x:p> 1 }`, sparql.Options{})
	require.NoError(t, err)
	if _, err := p.Run(context.Background(), memsource.New(nil)); err == nil || !strings.Contains(err.Error(), "randomness") {
		t.Errorf("a blank node without randomness: %v", err)
	}
}

// TestProtocolDataset: using-graph-uri is the dataset of WHERE; templates must not change.
func TestProtocolDataset(t *testing.T) {
	opts := sparql.Options{Options: exec.Options{DefaultGraphs: []string{"x:g"}, NamedGraphs: []string{"x:h"}}}
	before := quads(t, given)
	changes, err := run(t, before, `INSERT { <n> <n> ?o, ?x } WHERE { ?s <q> ?o . GRAPH ?g { ?y ?z ?x } }`, opts)
	require.NoError(t, err)
	if got, want := setOf(slices.Collect(changes.Adds())), quads(t, `<n> <n> "2" . <n> <n> <c> .`); !maps.Equal(got, want) {
		t.Errorf("added\n%s\nwant\n%s", got, want)
	}
}

// TestBlankNodes: a template's are new for each solution, those of data once, and
// none is like another of any run.
func TestBlankNodes(t *testing.T) {
	opts := sparql.Options{Options: exec.Options{Uint64: counter()}}
	seen := map[triple.Term]bool{}
	for range 2 {
		changes, err := run(t, quads(t, given), `
			INSERT DATA { _:x <p> _:y . _:y <q> _:x . GRAPH <g> { _:x <p> [] } } ;
			INSERT { _:x <p> _:y . GRAPH <h> { _:x <of> ?s } } WHERE { GRAPH <g> { ?s ?p ?o } FILTER(isIRI(?s)) }`, opts)
		require.NoError(t, err)
		nodes := map[triple.Term]int{}
		for tr := range changes.Adds() {
			for _, term := range []triple.Term{tr.Subject, tr.Object} {
				if term.Kind() == triple.Blank {
					nodes[term]++
				}
			}
		}
		// _:x 3 and _:y 2 of the data, [] once; of each of 2 solutions _:x 2, _:y 1.
		if got := slices.Sorted(maps.Values(nodes)); !slices.Equal(got, []int{1, 1, 1, 2, 2, 2, 3}) {
			t.Errorf("blank nodes stand in %v places", got)
		}
		for node := range nodes {
			if seen[node] {
				t.Errorf("%s in two runs", node)
			}
			seen[node] = true
		}
	}
	// A blank node of a solution is the store's own.
	before := set{{Subject: triple.NewBlank("b"), Predicate: triple.NewIRI("x:p"), Object: triple.NewBlank("c"), Graph: triple.NewBlank("g")}: true}
	changes, err := run(t, before, `DELETE { GRAPH ?g { ?s ?p ?o } } INSERT { GRAPH ?g { ?o ?p ?s } } WHERE { GRAPH ?g { ?s ?p ?o } }`, sparql.Options{})
	require.NoError(t, err)
	if got := before.apply(changes).String(); got != `_:c <x:p> _:b _:g .` {
		t.Errorf("turned round: %s", got)
	}
}

// documents answers LOAD.
type documents map[string][]triple.Triple

var errGone = errors.New("gone")

func (d documents) Load(_ context.Context, iri string) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		for _, tr := range d[iri] {
			if !yield(tr, nil) {
				return
			}
		}
		if strings.HasSuffix(iri, "bad") {
			yield(triple.Triple{}, errGone)
		}
	}
}

func TestLoad(t *testing.T) {
	some := slices.Collect(maps.Keys(quads(t, `<n> <p> <m> . <n> <q> "3" .`)))
	graphs := slices.Collect(maps.Keys(quads(t, `<n> <p> <m> <g> .`)))
	opts := sparql.Options{Options: exec.Options{Documents: documents{"x:doc": some, "x:bad": some, "x:graphs": graphs}}}
	for _, test := range []struct {
		request, want string
		err           error
	}{
		{`LOAD <doc>`, given + `<n> <p> <m> . <n> <q> "3" .`, nil},
		{`LOAD <doc> INTO GRAPH <g>`, given + `<n> <p> <m> <g> . <n> <q> "3" <g> .`, nil},
		{`LOAD <graphs>`, given + `<n> <p> <m> <g> .`, nil},
		{`LOAD <graphs> INTO GRAPH <h>`, "", sparql.ErrLoad},
		{`LOAD <bad>`, "", sparql.ErrLoad},
		{`LOAD <bad>`, "", errGone},
		{`DELETE DATA { <a> <p> <b> } ; LOAD SILENT <bad> ; INSERT { <l> <l> ?o } WHERE { <n> ?p ?o }`, given[len(`<a> <p> <b> . `):], nil},
	} {
		before := quads(t, given)
		changes, err := run(t, before, test.request, opts)
		if test.err != nil {
			if !errors.Is(err, test.err) {
				t.Errorf("%s: %v, want %v", test.request, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.request, err)
			continue
		}
		if got, want := before.apply(changes), quads(t, test.want); !maps.Equal(got, want) {
			t.Errorf("%s\ngot\n%s\nwant\n%s", test.request, got, want)
		}
	}
	opts.UpdateMemory = 100
	if _, err := run(t, nil, `LOAD SILENT <doc>`, opts); !errors.Is(err, sparql.ErrUpdateMemory) {
		t.Errorf("SILENT beyond the memory: %v", err)
	}
}

// TestLongTerms: terms too long for keys go through templates, copies and data
// whole.
func TestLongTerms(t *testing.T) {
	long := triple.NewString(strings.Repeat("long\x00", 1000))
	graph := triple.NewIRI("x:" + strings.Repeat("g", 3000))
	a, p := triple.NewIRI("x:a"), triple.NewIRI("x:p")
	before := set{{Subject: a, Predicate: p, Object: long}: true}
	changes, err := run(t, before, fmt.Sprintf(`
		COPY DEFAULT TO %[1]s ;
		INSERT { GRAPH ?g { <b> <p> ?o, ?more } } WHERE { GRAPH ?g { ?s ?p ?o } BIND(CONCAT(?o, "!") AS ?more) } ;
		DELETE DATA { GRAPH %[1]s { <a> <p> "%[2]s" } } ;
		DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }`, graph, strings.ReplaceAll(long.Value(), "\x00", `\u0000`)), sparql.Options{})
	require.NoError(t, err)
	b := triple.NewIRI("x:b")
	want := set{
		{Subject: b, Predicate: p, Object: long, Graph: graph}:                                 true,
		{Subject: b, Predicate: p, Object: triple.NewString(long.Value() + "!"), Graph: graph}: true,
	}
	if got := before.apply(changes); !maps.Equal(got, want) {
		t.Errorf("%d triples, want %d", len(got), len(want))
	}
	if deletes := slices.Collect(changes.Deletes()); len(deletes) != 1 || deletes[0].Object != long {
		t.Errorf("%d deletes", len(deletes))
	}
}

// TestTagsInAnyCase: updates change the rows of a term, however its language tag is written in them: patterns, templates and data.
func TestTagsInAnyCase(t *testing.T) {
	const given = `<a> <p> "x"@en . <b> <p> "x"@EN . <c> <p> "x"@de . <a> <q> "x"@En . <a> <p> "x"@eN <g> .`
	before := quads(t, given)
	for request, want := range map[string]string{
		`DELETE WHERE { ?s <p> "x"@EN }`:                   `<c> <p> "x"@de . <a> <q> "x"@En . <a> <p> "x"@eN <g> .`,
		`DELETE WHERE { ?s <p> "x"@EN . ?s <q> "x"@EN }`:   `<b> <p> "x"@EN . <c> <p> "x"@de . <a> <p> "x"@eN <g> .`,
		`DELETE WHERE { GRAPH ?g { ?s <p> "x"@EN } }`:      `<a> <p> "x"@en . <b> <p> "x"@EN . <c> <p> "x"@de . <a> <q> "x"@En .`,
		`DELETE { ?s <p> "x"@EN } WHERE { ?s <p> "x"@en }`: `<c> <p> "x"@de . <a> <q> "x"@En . <a> <p> "x"@eN <g> .`,
		`DELETE DATA { <a> <p> "x"@EN . <b> <p> "x"@EN }`:  `<c> <p> "x"@de . <a> <q> "x"@En . <a> <p> "x"@eN <g> .`,
		`INSERT { ?s <r> "x"@EN } WHERE { ?s <q> "x"@eN }`: given + ` <a> <r> "x"@EN .`,
		`DELETE { ?s ?p ?o } WHERE { ?s ?p ?o , "x"@en }`:  `<c> <p> "x"@de . <a> <p> "x"@eN <g> .`,
	} {
		changes, err := run(t, before, request, sparql.Options{})
		if err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		if got, want := before.apply(changes).String(), quads(t, want).String(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", request, got, want)
		}
	}
}
