// An example.

package knakk_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/knakk/rdf"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload/knakk"
	"github.com/trefoildb/trefoil/triple"
)

// A program that has a decoder of knakk/rdf loads what it decodes, and reads terms of knakk/rdf.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := node.Open(dir, node.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	in := knakk.NewInput(strings.NewReader(`@prefix ex: <http://example.org/> .
ex:ada ex:name "Ada"@en ; ex:born 1815 .`))
	summary, err := store.LoadReader(ctx, "decoded.nq", knakk.TripleReader(rdf.NewTripleDecoder(in, rdf.Turtle), in))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("new:", summary.New)
	for t, err := range store.Match(ctx, triple.Pattern{}) {
		if err != nil {
			log.Fatal(err)
		}
		theirs, err := knakk.FromTriple(t)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(theirs.Serialize(rdf.NTriples))
	}
	// Output:
	// new: 2
	// <http://example.org/ada> <http://example.org/born> "1815"^^<http://www.w3.org/2001/XMLSchema#integer> .
	// <http://example.org/ada> <http://example.org/name> "Ada"@en .
}
