// An example of a generator.

package dataset_test

import (
	"context"
	"fmt"
	"os"

	"github.com/trefoildb/trefoil/internal/dataset"
)

func Example() {
	g, err := dataset.New("library", 1, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	counts, err := g.Generate(context.Background(), os.Stdout)
	fmt.Println(counts.Statements, g.MediaType(), err)
	// Output:
	// <http://library.example/institution/0> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://trefoil.example/library#Institution> .
	// <http://library.example/institution/0> <http://trefoil.example/library#name> "Institut – Économie 0"@fr .
	// <http://library.example/institution/0> <http://trefoil.example/library#city> "ionèreeurti" .
	// <http://library.example/publisher/0> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://trefoil.example/library#Publisher> .
	// 4 application/n-quads <nil>
}
