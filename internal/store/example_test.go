// Examples of the package.

package store_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

func Example() {
	dir, err := os.MkdirTemp("", "trefoil")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := context.Background()
	anna, knows := triple.NewIRI("http://example.org/anna"), triple.NewIRI("http://example.org/knows")
	added, err := store.Add(ctx, db, []triple.Triple{
		{Subject: anna, Predicate: knows, Object: triple.NewIRI("http://example.org/carl")},
		{Subject: anna, Predicate: knows, Object: triple.NewIRI("http://example.org/ben")},
		{Subject: anna, Predicate: triple.NewIRI("http://example.org/age"), Object: triple.NewTyped("42", triple.XSDInteger)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("added", added.Added)

	snapshot, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	for row, err := range snapshot.Match(ctx, triple.Pattern{Subject: anna, Predicate: knows}, store.ReadOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		t, err := row.Triple()
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
