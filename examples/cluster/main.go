// Cluster is a client of a cluster: it writes and reads through any member that answers. The
// arguments are the URLs of members, as trefoil serve prints them.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, members []string) error {
	if len(members) == 0 {
		members = []string{"http://127.0.0.1:7333"}
	}
	// If a member is down, requests go to the next one.
	c, err := client.New(strings.Join(members, ","), client.Options{Token: os.Getenv("TREFOIL_TOKEN")})
	if err != nil {
		return err
	}
	defer c.Close()

	// Add returns when all copies are durable, so that every member answers with the triple.
	anna := triple.NewIRI("http://example.org/anna")
	name := triple.Triple{Subject: anna, Predicate: triple.NewIRI("http://example.org/name"), Object: triple.NewString("Anna")}
	if _, err := c.Add(ctx, []triple.Triple{name}); err != nil {
		return err
	}
	for s, err := range c.Query(ctx, `SELECT ?name { ?who <http://example.org/name> ?name }`, client.QueryOptions{}) {
		if err != nil {
			return err
		}
		fmt.Println("name", s.Term("name").Value())
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Println("members", len(status.Members))
	where, err := c.Admin.Where(ctx, name)
	fmt.Println("stored on", where.Holding)
	return err
}
