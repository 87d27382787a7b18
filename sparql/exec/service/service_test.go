// Tests of SERVICE against endpoints in memory.

package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// endpoints answers SERVICE with this engine, over a source for each endpoint.
type endpoints struct {
	sources  map[string]*memsource.Source
	formats  []results.Format // one after the other
	requests int
	longest  int
	open     int
	failAt   int // number of the request to end in the middle; 0 for none
}

var errGone = errors.New("connection reset by peer")

func (e *endpoints) Select(ctx context.Context, endpoint, query string) (string, io.ReadCloser, error) {
	e.requests++
	e.longest = max(e.longest, len(query))
	src, ok := e.sources[endpoint]
	if !ok {
		return "", nil, fmt.Errorf("no host %s", endpoint)
	}
	result, err := sparql.Query(ctx, src, query, sparql.Options{})
	if err != nil {
		return "", nil, fmt.Errorf("%w in\n%s", err, query)
	}
	format := results.JSON
	if len(e.formats) > 0 {
		format = e.formats[e.requests%len(e.formats)]
	}
	var buf bytes.Buffer
	w := results.NewWriter(&buf, format, result.Vars)
	for row, err := range result.Rows() {
		if err == nil {
			err = w.Write(row)
		}
		if err != nil {
			return "", nil, err
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	e.open++
	body := &body{endpoints: e, Reader: &buf}
	if e.requests == e.failAt {
		body.Reader = io.MultiReader(io.LimitReader(&buf, int64(buf.Len()*2/3)), failing{})
	}
	return format.ContentType(), body, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errGone }

type body struct {
	io.Reader
	endpoints *endpoints
}

func (b *body) Close() error { b.endpoints.open--; return nil }

// federation returns a local source whose named graphs are the data of endpoints.
func federation(random *rand.Rand) (*memsource.Source, *endpoints) {
	e := &endpoints{sources: map[string]*memsource.Source{}, formats: []results.Format{results.JSON, results.XML, results.TSV}}
	var local []triple.Triple
	for _, name := range []string{"s1", "s2"} {
		var remote []triple.Triple
		for i := range 300 {
			s := sparqltest.IRI(fmt.Sprint("n", random.IntN(400)))
			add := func(p string, o triple.Term) {
				remote = append(remote, triple.Triple{Subject: s, Predicate: sparqltest.IRI(p), Object: o})
			}
			add("q", triple.NewTyped(fmt.Sprint(random.IntN(40)), triple.XSDInteger))
			if i%3 == 0 {
				add("r", triple.NewLang(fmt.Sprintf("tab\tquote\" %d", random.IntN(50)), "en"))
				add("s", triple.NewBlank(fmt.Sprint("b", random.IntN(9))))
				add("t", triple.NewTripleTerm(s, sparqltest.IRI("p"), sparqltest.IRI(fmt.Sprint("m", random.IntN(20)))))
				add("t", triple.NewTripleTerm(triple.NewBlank("b1"), sparqltest.IRI("p"), triple.NewLang("x\ty", "en--rtl")))
			}
		}
		e.sources["x:"+name] = memsource.New(remote)
		for _, t := range remote {
			t.Graph = sparqltest.IRI(name)
			local = append(local, t)
		}
	}
	for range 900 {
		s := sparqltest.IRI(fmt.Sprint("n", random.IntN(400)))
		local = append(local,
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("p"), Object: sparqltest.IRI(fmt.Sprint("m", random.IntN(20)))},
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("v"), Object: triple.NewTyped(fmt.Sprint(random.IntN(40)), triple.XSDInteger)})
	}
	for i := range 20 {
		local = append(local, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("m", i)), Predicate: sparqltest.IRI("at"), Object: sparqltest.IRI([]string{"s1", "s2"}[i%2])})
	}
	return memsource.New(local), e
}

// serviceQueries are pairs of equal queries with SERVICE and with GRAPH.
var serviceQueries = []string{
	`SELECT * { SERVICE <x:s1> { ?a <x:q> ?v } }`,
	`SELECT * { ?a <x:p> ?m SERVICE <x:s1> { ?a <x:q> ?v } }`,
	`SELECT * { ?a <x:v> ?v SERVICE <x:s1> { ?b <x:q> ?v FILTER(?v < 3) } }`,
	`SELECT * { ?a <x:p> <x:m3> SERVICE <x:s1> { ?b <x:q> ?w FILTER(?w < 2) } }`,
	`SELECT * { ?a <x:p> <x:m3> OPTIONAL { ?a <x:v> ?v FILTER(?v < 20) } SERVICE <x:s1> { ?a <x:q> ?w OPTIONAL { ?a <x:r> ?t } } }`,
	`SELECT * { ?a <x:p> <x:m3> OPTIONAL { SERVICE <x:s2> { ?a <x:q> ?w FILTER(?w > 5) } } }`,
	`SELECT * { ?a <x:p> <x:m3> OPTIONAL { ?a <x:v> ?v FILTER(?v < 20) } SERVICE <x:s1> { OPTIONAL { ?a <x:q> ?v } ?a <x:r> ?t } }`,
	`SELECT * { ?a <x:p> ?m . ?m <x:at> ?g SERVICE ?g { ?a <x:q> ?v } }`,
	`SELECT * { VALUES ?g { <x:s1> <x:s2> } SERVICE ?g { ?a <x:r> ?t } }`,
	`SELECT ?a ?t (COUNT(?v) AS ?n) { SERVICE <x:s1> { ?a <x:r> ?t } ?a <x:v> ?v } GROUP BY ?a ?t ORDER BY DESC(?t) ?a LIMIT 12`,
	`SELECT ?a ?m { ?a <x:p> ?m SERVICE <x:s1> { ?b <x:t> <<( ?a <x:p> ?m )>> } }`,
	`SELECT ?a ?t { SERVICE <x:s1> { ?a <x:t> ?t FILTER(isIRI(SUBJECT(?t))) } SERVICE <x:s2> { ?b <x:q> ?v } FILTER(?a = ?b) }`,
	`SELECT ?a ?v { VALUES ?t { <<( <x:n1> <x:p> <x:m1> )>> <<( <x:n2> <x:p> <x:m2> )>> } SERVICE <x:s1> { ?a <x:q> ?v OPTIONAL { ?a <x:t> ?t } } }`,
	`SELECT ?a (LANGDIR(OBJECT(?t)) AS ?d) { SERVICE <x:s1> { ?a <x:t> ?t FILTER(isBLANK(SUBJECT(?t))) } }`,
	`SELECT * { ?a <x:p> <x:m3> FILTER EXISTS { SERVICE <x:s1> { ?a <x:q> ?v } } }`,
	`SELECT * { ?a <x:p> <x:m3> MINUS { SERVICE <x:s1> { ?a <x:q> ?v } } }`,
	`SELECT * { { ?a <x:p> <x:m3> } UNION { ?a <x:p> <x:m4> } SERVICE <x:s1> { { SELECT ?a (MAX(?v) AS ?most) { ?a <x:q> ?v } GROUP BY ?a } } }`,
}

func TestServiceAgreesWithGraph(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	src, services := federation(random)
	for _, query := range serviceQueries {
		want, _, err := sparqltest.Answer(context.Background(), src, strings.ReplaceAll(query, "SERVICE", "GRAPH"), sparql.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{query, strings.ReplaceAll(query, "SERVICE", "SERVICE SILENT")} {
			services.requests = 0
			got, plan, err := sparqltest.Answer(context.Background(), src, text, sparql.Options{Options: exec.Options{Services: services}})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s: %d rows, want %d\n%s", text, len(got), len(want), plan.Text(true))
			}
			if services.open != 0 {
				t.Errorf("%s: %d answers are open", text, services.open)
			}
			most := 10
			if strings.Contains(text, "EXISTS") {
				most = len(want) * 10
			}
			if services.requests > most {
				t.Errorf("%s: %d requests", text, services.requests)
			}
		}
	}
}

// TestServiceBlankNodes: a blank node of an answer must belong to this answer only.
func TestServiceBlankNodes(t *testing.T) {
	src, services := federation(rand.New(rand.NewPCG(3, 4)))
	opts := sparql.Options{Options: exec.Options{Services: services}}
	got, _, err := sparqltest.Answer(context.Background(), src, `SELECT DISTINCT ?b { { SERVICE <x:s1> { ?a <x:s> ?b } } UNION { SERVICE <x:s1> { ?a <x:s> ?b } } }`, opts)
	if err != nil || len(got) != 18 {
		t.Errorf("%d blank nodes, want twice 9: %v", len(got), err)
	}
	// A blank node cannot be asked for.
	got, _, err = sparqltest.Answer(context.Background(), src, `SELECT * { SERVICE <x:s1> { ?a <x:s> ?b } SERVICE <x:s1> { ?c <x:s> ?b } }`, opts)
	if err != nil || len(got) != 0 {
		t.Errorf("%d solutions for blank nodes of two answers: %v", len(got), err)
	}
}

func TestServiceErrors(t *testing.T) {
	src, services := federation(rand.New(rand.NewPCG(5, 6)))
	for _, test := range []struct {
		query, want string
		failAt      int
		silent      int // solutions with SILENT
	}{
		{`SELECT * { ?a <x:at> <x:s1> SERVICE <x:none> { ?a ?p ?o } }`, "SERVICE <x:none> at 1:29: no host", 0, 10},
		{`SELECT * { ?m <x:at> <x:s1> SERVICE <x:s1> { ?a <x:q> ?v } }`, "connection reset", 1, 10},
		{`SELECT * { ?m <x:at> ?x SERVICE ?y { ?a <x:q> ?v } }`, "not bound", 0, 20},
		{`SELECT * { ?m <x:at> ?g BIND(STR(?g) AS ?y) SERVICE ?y { ?a <x:q> ?v } }`, "is no IRI", 0, 20},
	} {
		services.failAt, services.requests = test.failAt, 0
		opts := sparql.Options{Options: exec.Options{Services: services}}
		_, _, err := sparqltest.Answer(context.Background(), src, test.query, opts)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", test.query, err)
		}
		services.requests = 0
		got, _, err := sparqltest.Answer(context.Background(), src, strings.Replace(test.query, "SERVICE", "SERVICE SILENT", 1), opts)
		if err != nil || len(got) != test.silent {
			t.Errorf("silent %s: %d solutions, want %d, %v", test.query, len(got), test.silent, err)
		}
		if services.open != 0 {
			t.Errorf("%s: %d answers are open", test.query, services.open)
		}
	}
	_, _, err := sparqltest.Answer(context.Background(), src, `SELECT * { SERVICE <x:s1> { ?a ?p ?o } }`, sparql.Options{})
	if !errors.Is(err, sparql.ErrService) {
		t.Errorf("without services: %v", err)
	}
}

// TestServiceMemory: an answer held goes to files, or ends the query even if it is SILENT; if
// an answer is not held, it takes no memory.
func TestServiceMemory(t *testing.T) {
	src, services := federation(rand.New(rand.NewPCG(5, 6)))
	query := `SELECT * { ?m <x:at> <x:s1> SERVICE <x:s1> { ?a ?p ?v } }`
	silent := strings.Replace(query, "SERVICE", "SERVICE SILENT", 1)
	want, _, err := sparqltest.Answer(context.Background(), src, `SELECT * { ?m <x:at> <x:s1> GRAPH <x:s1> { ?a ?p ?v } }`, sparql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	disk := &sparqltest.Files{}
	got, _, err := sparqltest.Answer(context.Background(), src, silent, sparql.Options{Options: exec.Options{Services: services, Memory: 20 << 10, Spill: disk}})
	if err != nil || len(got) != len(want) || disk.Open != 0 || disk.Made == 0 {
		t.Errorf("%d solutions, want %d, %d files made, %d left: %v", len(got), len(want), disk.Made, disk.Open, err)
	}
	_, _, err = sparqltest.Answer(context.Background(), src, silent, sparql.Options{Options: exec.Options{Services: services, Memory: 20 << 10}})
	if !errors.Is(err, sparql.ErrMemory) {
		t.Errorf("without files: %v", err)
	}
	if services.longest > 1<<20 {
		t.Errorf("a request of %d bytes", services.longest)
	}
}
