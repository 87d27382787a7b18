// Embed keeps triples in a store of the program's own: it adds, matches and counts them.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const ex = "http://example.org/"

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "embed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := node.Open(dir, node.Options{})
	if err != nil {
		return err
	}
	defer db.Close()

	// 1. Add three triples; they are durable when Add returns.
	anna, knows := triple.NewIRI(ex+"anna"), triple.NewIRI(ex+"knows")
	if _, err := db.Add(ctx, []triple.Triple{
		{Subject: anna, Predicate: knows, Object: triple.NewIRI(ex + "ben")},
		{Subject: anna, Predicate: knows, Object: triple.NewIRI(ex + "carl")},
		{Subject: triple.NewIRI(ex + "ben"), Predicate: knows, Object: anna},
	}); err != nil {
		return err
	}
	// 2. Read those of one subject, in the order of their keys.
	for t, err := range db.Match(ctx, triple.Pattern{Subject: anna, Predicate: knows}) {
		if err != nil {
			return err
		}
		fmt.Println(t)
	}
	n, err := db.Count(ctx, triple.Pattern{Predicate: knows})
	fmt.Println(n, "in all")
	return err
}
