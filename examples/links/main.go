// Links stores hyperlinks, lists the pages that link to a page, and ranks by SALSA.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "links")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := node.Open(dir, node.Options{})
	if err != nil {
		return err
	}
	defer db.Close()

	graph, err := db.Links(ctx)
	if err != nil {
		return err
	}
	// 1. Write three links. A page gets its UID with its first link.
	a, b, c := "https://a.example/", "https://b.example/", "https://c.example/"
	if _, err := graph.Update(ctx, []links.Change{
		{Source: a, Targets: []string{b, c}},
		{Source: b, Targets: []string{c}},
	}); err != nil {
		return err
	}
	pages, err := graph.UIDs(ctx, []string{a, b, c})
	if err != nil {
		return err
	}
	// 2. Fetch the pages that link to c, and their URLs.
	backward, err := graph.Links(ctx, links.Backward, pages[2:])
	if err != nil {
		return err
	}
	sources, err := graph.URLs(ctx, backward.At(0))
	if err != nil {
		return err
	}
	fmt.Println("to", c, "link", sources)
	// 3. Rank the three pages by the links between them.
	ranking, err := graph.Rank(ctx, links.RankRequest{Algorithm: links.SALSA, Pages: pages, In: 10, Out: 10})
	if err != nil {
		return err
	}
	for i, s := range ranking.Authorities {
		fmt.Printf("%d. %.2f\n", i+1, s.Score)
	}
	return nil
}
