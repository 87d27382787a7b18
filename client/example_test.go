// Examples of the client's calls, on a node of their own.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// serve starts a node with a few triples. It returns the node's URL, and a function that ends it.
func serve(ctx context.Context) (url string, end func()) {
	// 1. Serve an empty directory.
	dir, err := os.MkdirTemp("", "trefoil")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(ctx)
	ready, ended := make(chan string, 1), make(chan error, 1)
	options := node.ServeOptions{Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url }}
	go func() { ended <- node.Serve(ctx, dir+"/data", options) }()
	select {
	case url = <-ready:
	case err := <-ended:
		log.Fatal(err)
	}
	// 2. Add triples.
	c, err := client.New(url, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, err = c.Update(ctx, `PREFIX ex: <http://example.org/> INSERT DATA {
		ex:anna ex:name "Ann \"the\" O'Neill" . ex:ben ex:knows ex:anna ; ex:age 35 .
		ex:box ex:size 99 . ex:crate ex:size 150 . ex:chest ex:size 100 . ex:trunk ex:size 200 }`, client.QueryOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return url, func() {
		stop()
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(dir)
	}
}

// The sizes from 100 to below 200, least first.
func ExampleClient_Range() {
	ctx := context.Background()
	url, end := serve(ctx)
	defer end()
	c, err := client.New(url, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	sizes := triple.Bounds{
		Order:  triple.POS,
		Prefix: []triple.Term{triple.NewIRI("http://example.org/size")},
		GE:     triple.NewTyped("100", triple.XSDInteger),
		LT:     triple.NewTyped("200", triple.XSDInteger),
	}
	for t, err := range c.Range(ctx, sizes, client.RangeOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Subject, t.Object.Value())
	}
	// Output:
	// <http://example.org/chest> 100
	// <http://example.org/crate> 150
}

// Who knows somebody, whatever characters the name has.
func ExampleClient_Query() {
	ctx := context.Background()
	url, end := serve(ctx)
	defer end()
	c, err := client.New(url, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	const query = `PREFIX ex: <http://example.org/>
		SELECT ?who ?age WHERE { ?friend ex:name ?name . ?who ex:knows ?friend ; ex:age ?age }`
	for s, err := range c.Query(ctx, query, client.QueryOptions{
		Bind: map[string]triple.Term{"name": triple.NewString(`Ann "the" O'Neill`)},
	}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Term("who"), s.Term("age").Value())
	}
	// Output: <http://example.org/ben> 35
}

// A counter on a triple, which many clients may increment: none of the increments is lost.
func ExampleAnnotations_Set() {
	ctx := context.Background()
	url, end := serve(ctx)
	defer end()
	c, err := client.New(url, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	likes := triple.Triple{Subject: triple.NewIRI("http://example.org/ben"), Predicate: triple.NewIRI("http://example.org/knows"), Object: triple.NewIRI("http://example.org/anna")}
	for range 3 {
		for {
			// 1. Read the counter and its version.
			count, when := 0, client.AnnotationCondition{Absent: true}
			old, err := c.Annotations.Get(ctx, likes, "counter")
			if err == nil {
				when = client.AnnotationCondition{Version: old.Version}
				_, err = fmt.Sscan(string(old.Content), &count)
			}
			if err != nil && !errors.Is(err, client.ErrNotFound) {
				log.Fatal(err)
			}
			// 2. Set it, unless another client was faster.
			next := client.Annotation{ApplicationID: "counter", Media: "text/plain", Content: fmt.Append(nil, count+1)}
			_, err = c.Annotations.Set(ctx, likes, next, when)
			if err == nil {
				break
			}
			if !errors.Is(err, client.ErrPrecondition) {
				log.Fatal(err)
			}
		}
	}
	all, err := c.Annotations.List(ctx, likes)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range all {
		fmt.Printf("%s: %s (%s)\n", a.ApplicationID, a.Content, a.Media)
	}
	// Output: counter: 3 (text/plain)
}

// A graph is replaced by a document, and read as a document of another syntax.
func ExampleGraphs_Put() {
	ctx := context.Background()
	url, end := serve(ctx)
	defer end()
	c, err := client.New(url, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	const people = client.GraphName("http://example.org/people")
	turtle := []byte(`@prefix ex: <http://example.org/> . ex:dora ex:age 7 ; ex:knows ex:anna .`)
	if _, err := c.Graphs.Put(ctx, people, "text/turtle", turtle); err != nil {
		log.Fatal(err)
	}
	document, err := c.Graphs.Get(ctx, people, "application/n-triples")
	if err != nil {
		log.Fatal(err)
	}
	defer document.Close()
	if _, err := io.Copy(os.Stdout, document); err != nil {
		log.Fatal(err)
	}
	// Output:
	// <http://example.org/dora> <http://example.org/age> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .
	// <http://example.org/dora> <http://example.org/knows> <http://example.org/anna> .
}
