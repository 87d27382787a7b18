// Golden files of plans.

package plan_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

var update = flag.Bool("update", false, "write the golden files anew")

// withWeb returns options with a graph of hyperlinks and a keeper of orders.
func withWeb(keeper order.Keeper) sparql.Options {
	options := sparql.Options{Orders: keeper}
	options.Links = sparqltest.NewWeb(30, func(from, to int) bool { return to%from == 0 })
	return options
}

// TestGoldenPlans compares the plans of the queries in testdata with those below them. A file
// is a query, a line of dashes, its plan over rows, another line of dashes, and its plan over columns.
func TestGoldenPlans(t *testing.T) {
	src := university(40)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			query, _, _ := strings.Cut(string(text), "----\n")
			p, err := sparql.Prepare(query, withWeb(nil))
			if err != nil {
				t.Fatal(err)
			}
			got := query
			for _, src := range []sparql.Source{src, sparqltest.WithColumns(src)} {
				shown, err := p.Explain(context.Background(), src)
				if err != nil {
					t.Fatal(err)
				}
				got += "----\n" + shown.String()
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("got\n%s\nwant\n%s\nwrite it anew with -update", got, text)
			}
		})
	}
}

// university returns departments with students and teachers.
func university(departments int) *memsource.Source {
	var all []triple.Triple
	put := func(s, p, o triple.Term) {
		all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o})
	}
	person := func(name string, department triple.Term, n int) triple.Term {
		s := sparqltest.IRI(name)
		put(s, sparqltest.IRI("name"), triple.NewString(name))
		put(s, sparqltest.IRI("age"), triple.NewTyped(fmt.Sprint(18+n%50), triple.XSDInteger))
		put(s, sparqltest.IRI("born"), triple.NewTyped(fmt.Sprintf("%04d-%02d-01", 1950+n%50, 1+n%12), triple.XSDDate))
		put(s, sparqltest.IRI("memberOf"), department)
		return s
	}
	n := 0
	for d := range departments {
		department := sparqltest.IRI(fmt.Sprintf("department%d", d))
		put(department, sparqltest.IRI("type"), sparqltest.IRI("Department"))
		put(department, sparqltest.IRI("partOf"), sparqltest.IRI(fmt.Sprintf("university%d", d/10)))
		var teachers, courses []triple.Term
		for k := range 5 {
			teacher := person(fmt.Sprintf("teacher%d.%d", d, k), department, n)
			put(teacher, sparqltest.IRI("type"), sparqltest.IRI("Teacher"))
			for c := range 3 {
				course := sparqltest.IRI(fmt.Sprintf("course%d.%d.%d", d, k, c))
				put(course, sparqltest.IRI("type"), sparqltest.IRI("Course"))
				put(teacher, sparqltest.IRI("teaches"), course)
				courses = append(courses, course)
			}
			teachers = append(teachers, teacher)
			n++
		}
		for k := range 40 {
			student := person(fmt.Sprintf("student%d.%d", d, k), department, n)
			put(student, sparqltest.IRI("type"), sparqltest.IRI("Student"))
			// The membership of each student has a reifier.
			reifier := sparqltest.IRI(fmt.Sprintf("reifier%d.%d", d, k))
			put(reifier, triple.NewIRI(triple.RDFReifies), triple.NewTripleTerm(student, sparqltest.IRI("memberOf"), department))
			put(reifier, sparqltest.IRI("since"), triple.NewTyped(fmt.Sprint(2000+k), triple.XSDInteger))
			for c := range 3 {
				put(student, sparqltest.IRI("takes"), courses[(k*7+c*5)%len(courses)])
			}
			if k%4 == 0 {
				put(student, sparqltest.IRI("advisor"), teachers[k%len(teachers)])
			}
			n++
		}
	}
	return memsource.New(all)
}
