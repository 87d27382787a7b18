// Query loads Turtle, runs a SPARQL query with a bound value, and an update.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const people = `@prefix ex: <http://example.org/> .
ex:anna ex:name "Anna" ; ex:age 42 . ex:ben ex:name "Ben" ; ex:age 7 . ex:carl ex:name "Carl" ; ex:age 35 .`

const older = `PREFIX ex: <http://example.org/>
SELECT ?name ?age { ?who ex:name ?name ; ex:age ?age FILTER (?age >= ?least) } ORDER BY ?age`

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "query")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := node.Open(dir, node.Options{})
	if err != nil {
		return err
	}
	defer db.Close()

	if _, err := db.LoadReader(ctx, "people.ttl", strings.NewReader(people)); err != nil {
		return err
	}
	least := map[string]triple.Term{"least": triple.NewTyped("18", triple.XSDInteger)}
	for s, err := range db.Query(ctx, older, node.QueryOptions{Bind: least}) {
		if err != nil {
			return err
		}
		fmt.Println(s.Term("name").Value(), s.Term("age").Value())
	}
	done, err := db.Update(ctx, `DELETE WHERE { <http://example.org/ben> ?p ?o }`, node.QueryOptions{})
	fmt.Println("deleted", done.Deleted)
	return err
}
