// Tests of indexes that know only what is committed.

package update_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// committed is an index of the literals of x:p with "needle", and a text search without hits. Both count requests.
type committed struct {
	keys               [][]byte
	candidates, search int
}

// Indexed implements [exec.LiteralIndex].
func (c *committed) Indexed(predicate string) bool { return predicate == "x:p" }

// Candidates implements [exec.LiteralIndex].
func (c *committed) Candidates(context.Context, exec.LiteralRequest) ([][]byte, error) {
	c.candidates++
	return c.keys, nil
}

// Search implements [exec.TextIndex].
func (c *committed) Search(context.Context, exec.TextRequest) (exec.TextSearch, error) {
	c.search++
	return noHits{}, nil
}

// noHits implements [exec.TextSearch].
type noHits struct{ exec.TextSearch }

func (n noHits) Restart() exec.TextSearch                        { return n }
func (noHits) Estimate() int64                                   { return 0 }
func (noHits) ScannedBytes() int64                               { return 0 }
func (noHits) Next(context.Context, int) ([]exec.TextHit, error) { return nil, nil }

// TestIndexesAfterChanges: an operation uses the candidates of an index unless operations before it may change triples of
// its predicate. Then a text search and a function of links end the update.
func TestIndexesAfterChanges(t *testing.T) {
	before := set{}
	for i := range 2000 {
		text := fmt.Sprint("text ", i)
		if i == 7 {
			text = "needle 7"
		}
		before[triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:s", i)), Predicate: triple.NewIRI("x:p"), Object: triple.NewString(text)}] = true
	}
	key, _ := triple.AppendTerm(nil, triple.NewString("needle 7"))
	const (
		filter = `INSERT { ?s <q> ?x } WHERE { ?s <p> ?x FILTER CONTAINS(?x, "needle") }`
		search = `INSERT { <a> <q> ?x } WHERE { ?x <urn:trefoil:text:matches> "needle" }`
		named  = `INSERT { <a> <q> ?x } WHERE { ?x <urn:trefoil:text:matches> "needle" ; <urn:trefoil:text:predicate> <p> }`
		links  = `INSERT { <a> <q> ?n } WHERE { BIND(<b> AS ?p) ?p <urn:trefoil:links:outDegree> ?n }`
		ranks  = `INSERT { <a> <q> ?n } WHERE { BIND(<b> AS ?p) ?p <urn:trefoil:links:pagerank> ?n }`
	)
	for _, test := range []struct {
		request    string
		added      int
		candidates int
		searches   int
		failed     string
	}{
		{request: filter, added: 1, candidates: 1},
		{request: `INSERT DATA { <new> <p> "a needle" } ; ` + filter, added: 3},
		{request: `INSERT DATA { GRAPH <g> { <new> <p> "a needle" } } ; ` + filter, added: 2},
		{request: `INSERT DATA { <new> <other> "a needle" } ; ` + filter, added: 2, candidates: 1},
		{request: `DELETE DATA { <s7> <p> "needle 7" } ; ` + filter},
		{request: `CLEAR GRAPH <g> ; ` + filter, added: 1},
		{request: `INSERT { ?s <p> "needles" } WHERE { ?s <p> "text 1" } ; ` + filter, added: 3},
		// The rows that an operation writes are not those it reads: an index may answer in EXISTS, too.
		{request: `INSERT { ?s <p> "needles" } WHERE { ?s <p> ?t FILTER(?t IN ("text 1", "text 2")) FILTER EXISTS { ?o <p> ?x FILTER CONTAINS(?x, "needle") } }`, added: 2, candidates: 1},
		{request: search, searches: 1},
		{request: `INSERT DATA { <new> <other> "a needle" } ; ` + search, failed: "text:matches at 1:"},
		{request: `INSERT DATA { <new> <other> "a needle" } ; ` + named, added: 1, searches: 1},
		{request: `INSERT DATA { <new> <p> "a needle" } ; ` + named, failed: "the text index has these changes only after the update; send two updates"},
		{request: `CLEAR DEFAULT ; ` + named, failed: "send two updates"},
		{request: links, added: 1},
		{request: `INSERT DATA { <new> <other> "a needle" } ; ` + links, added: 2},
		{request: `INSERT DATA { <b> <links> <c> } ; ` + links, failed: "the graph of hyperlinks has these changes only after the update; send two updates"},
		{request: `DELETE DATA { <b> <links> <c> } ; ` + links, failed: "send two updates"},
		{request: `INSERT DATA { <b> <links> <c> } ; INSERT { <a> <q> ?s } WHERE { { VALUES ?p { <b> } (?p) <urn:trefoil:links:salsa> (?s) } }`, failed: "links:salsa at 1:"},
		{request: `INSERT DATA { <b> <links> <c> } ; ` + ranks, added: 2},
	} {
		index := &committed{keys: [][]byte{key}}
		opts := sparql.Options{}
		opts.Literals, opts.Text, opts.Links, opts.LinkPredicate = index, index, web(), "x:links"
		changes, err := run(t, before, test.request, opts)
		if test.failed != "" {
			if !errors.Is(err, exec.ErrChanged) || !strings.Contains(err.Error(), test.failed) {
				t.Errorf("%s: %v, want %q", test.request, err, test.failed)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.request, err)
			continue
		}
		if changes.NumAdds() != test.added || index.candidates != test.candidates || index.search != test.searches {
			t.Errorf("%s: %d added, %d requests for candidates, %d searches; want %+v", test.request, changes.NumAdds(), index.candidates, index.search, test)
		}
	}
}

// web is a graph of links with the page x:b.
func web() exec.LinkGraph {
	w := sparqltest.NewWeb(3, func(from, to int) bool { return true })
	w.Names[0] = "x:b"
	return w
}
