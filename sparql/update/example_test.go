// Example of an update.

package update_test

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

func Example() {
	src := memsource.New([]triple.Triple{{
		Subject:   triple.NewIRI("http://example.org/ann"),
		Predicate: triple.NewIRI("http://example.org/age"),
		Object:    triple.NewTyped("41", triple.XSDInteger),
	}})
	request, err := sparql.PrepareUpdate(`
		PREFIX : <http://example.org/>
		CLEAR GRAPH :old ;
		DELETE { ?who :age ?age } INSERT { ?who :age ?next }
		WHERE { ?who :age ?age BIND(?age + 1 AS ?next) } ;
		COPY DEFAULT TO :backup`, sparql.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	changes, err := request.Run(context.Background(), src)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("clear", changes.ClearGraphs)
	for t := range changes.Deletes() {
		fmt.Println("delete", t.Object)
	}
	for t := range changes.Adds() {
		fmt.Println("add", t)
	}
	// Output:
	// clear [<http://example.org/backup> <http://example.org/old>]
	// delete "41"^^<http://www.w3.org/2001/XMLSchema#integer>
	// add <http://example.org/ann> <http://example.org/age> "42"^^<http://www.w3.org/2001/XMLSchema#integer> .
	// add <http://example.org/ann> <http://example.org/age> "42"^^<http://www.w3.org/2001/XMLSchema#integer> <http://example.org/backup> .
}
