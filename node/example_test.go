// The examples of the package's documentation.

package node_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// directory returns a new data directory, and a function that removes it.
func directory() (dir string, remove func()) {
	temp, err := os.MkdirTemp("", "trefoil")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(temp, "data"), func() { os.RemoveAll(temp) }
}

func Example() {
	dir, remove := directory()
	defer remove()
	db, err := node.Open(dir, node.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := context.Background()
	anna, knows := triple.NewIRI("http://example.org/anna"), triple.NewIRI("http://example.org/knows")
	added, err := db.Add(ctx, []triple.Triple{
		{Subject: anna, Predicate: knows, Object: triple.NewIRI("http://example.org/carl")},
		{Subject: anna, Predicate: knows, Object: triple.NewIRI("http://example.org/ben")},
		{Subject: anna, Predicate: triple.NewIRI("http://example.org/age"), Object: triple.NewTyped("42", triple.XSDInteger)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("added", added.Added)
	for t, err := range db.Match(ctx, triple.Pattern{Subject: anna, Predicate: knows}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Object)
	}
	// Output:
	// added 3
	// <http://example.org/ben>
	// <http://example.org/carl>
}

// A program that holds a client.Store works on a directory or on a server.
func ExampleOpen() {
	dir, remove := directory()
	defer remove()
	open := func(where string) (client.Store, error) {
		if strings.Contains(where, "://") {
			return client.New(where, client.Options{})
		}
		return node.Open(where, node.Options{})
	}
	db, err := open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Ask(context.Background(), `ASK {`, client.QueryOptions{}); errors.Is(err, client.ErrSyntax) {
		fmt.Println("malformed")
	}
	n, err := db.Count(context.Background(), triple.Pattern{})
	fmt.Println(n, err)
	// Output:
	// malformed
	// 0 <nil>
}

const people = `@prefix ex: <http://example.org/> .
	ex:anna ex:name "Anna" ; ex:age 42 .
	ex:ben ex:name "Ben" ; ex:age 7 .
	ex:carl ex:name "Carl" ; ex:age 35 .`

// open returns a store with the people.
func open(ctx context.Context) (*node.Store, func()) {
	dir, remove := directory()
	db, err := node.Open(dir, node.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.LoadReader(ctx, "people.ttl", strings.NewReader(people)); err != nil {
		log.Fatal(err)
	}
	return db, func() { db.Close(); remove() }
}

// The adults, by age: a range of the order POS is sorted by value.
func ExampleStore_Range() {
	ctx := context.Background()
	db, end := open(ctx)
	defer end()
	adults := triple.Bounds{
		Order:  triple.POS,
		Prefix: []triple.Term{triple.NewIRI("http://example.org/age")},
		GE:     triple.NewTyped("18", triple.XSDInteger),
	}
	for t, err := range db.Range(ctx, adults, node.RangeOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Subject.Value(), t.Object.Value())
	}
	// Output:
	// http://example.org/carl 35
	// http://example.org/anna 42
}

// A value of Bind stays a value: it cannot change the query.
func ExampleStore_Query() {
	ctx := context.Background()
	db, end := open(ctx)
	defer end()
	const query = `PREFIX ex: <http://example.org/>
		SELECT ?age { ?who ex:name ?name ; ex:age ?age }`
	for _, name := range []string{"Anna", `" ; ex:age 1 } #`} {
		count := 0
		options := node.QueryOptions{Bind: map[string]triple.Term{"name": triple.NewString(name)}}
		for solution, err := range db.Query(ctx, query, options) {
			if err != nil {
				log.Fatal(err)
			}
			count++
			fmt.Println("age", solution.Term("age").Value())
		}
		fmt.Println("solutions", count)
	}
	// Output:
	// age 42
	// solutions 1
	// solutions 0
}

func ExampleStore_Update() {
	ctx := context.Background()
	db, end := open(ctx)
	defer end()
	const update = `PREFIX ex: <http://example.org/>
		DELETE { ?who ex:age ?old } INSERT { ?who ex:age ?new } WHERE { ?who ex:name "Ben" ; ex:age ?old BIND (?old + 1 AS ?new) }`
	done, err := db.Update(ctx, update, node.QueryOptions{})
	if err != nil {
		log.Fatal(err)
	}
	adult, err := db.Ask(ctx, `ASK { <http://example.org/ben> <http://example.org/age> 8 }`, node.QueryOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("added", done.Added, "deleted", done.Deleted, adult)
	// Output: added 1 deleted 1 true
}

func ExampleStore_Construct() {
	ctx := context.Background()
	db, end := open(ctx)
	defer end()
	for t, err := range db.Construct(ctx, `DESCRIBE <http://example.org/ben>`, node.QueryOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Predicate.Value(), t.Object.Value())
	}
	// Unordered output:
	// http://example.org/age 7
	// http://example.org/name Ben
}

func ExampleStore_Links() {
	ctx := context.Background()
	db, end := open(ctx)
	defer end()
	graph, err := db.Links(ctx)
	if err != nil {
		log.Fatal(err)
	}
	a, b, c := "http://a.example/", "http://b.example/", "http://c.example/"
	if _, err := graph.Update(ctx, []links.Change{{Source: a, Targets: []string{c}}, {Source: b, Targets: []string{c}}}); err != nil {
		log.Fatal(err)
	}
	pages, err := graph.UIDs(ctx, []string{c})
	if err != nil {
		log.Fatal(err)
	}
	lists, err := graph.Links(ctx, links.Backward, pages)
	if err != nil {
		log.Fatal(err)
	}
	urls, err := graph.URLs(ctx, lists.At(0))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(urls)
	// Output: [http://a.example/ http://b.example/]
}

// A snapshot does not change: a later change does not show in it.
func ExampleStore_Snapshot() {
	ctx := context.Background()
	db, end := open(ctx)
	defer end()
	snapshot, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	if _, err := db.DeleteMatch(ctx, triple.Pattern{Subject: triple.NewIRI("http://example.org/anna")}); err != nil {
		log.Fatal(err)
	}
	before, err := snapshot.Count(ctx, triple.Pattern{})
	if err != nil {
		log.Fatal(err)
	}
	after, err := db.Count(ctx, triple.Pattern{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(before, after)
	// Output: 6 4
}

// A server in this process, which ends with its context.
func ExampleServe() {
	dir, remove := directory()
	defer remove()
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	options := node.ServeOptions{Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url }}
	go func() { ended <- node.Serve(ctx, dir, options) }()
	select {
	case url := <-ready:
		c, err := client.New(url, client.Options{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Ask(ctx, `ASK {}`, client.QueryOptions{}))
		c.Close()
	case err := <-ended:
		log.Fatal(err)
	}
	stop()
	fmt.Println(<-ended)
	// Output:
	// true <nil>
	// <nil>
}
