package workload_test

import (
	"context"
	"fmt"
	"os"

	"github.com/trefoildb/trefoil/integration/workload"
)

func Example() {
	g, err := workload.New("library", 1, 4)
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

// A store is tested by carrying out an application's operations on it and on a
// model.
func ExampleModel() {
	app := workload.Library{Seed: 1, Triples: 2000}
	var model workload.Model
	for s := range app.Statements() {
		if _, err := model.Apply(workload.Op{Kind: workload.Add, Statements: []workload.Statement{s}}); err != nil {
			fmt.Println(err)
			return
		}
	}
	n := 0
	for op := range app.Ops(0, 1) {
		if op.Kind == workload.Find {
			answer, err := model.Answer(op.Search) // what the store must answer
			fmt.Println(op.Name, len(answer), err)
		} else if _, err := model.Apply(op); err != nil {
			fmt.Println(err)
		}
		if n++; n == 8 {
			break
		}
	}
	// Output:
	// loan 3 <nil>
	// books of publisher 3 <nil>
	// books of author 10 <nil>
	// loans of reader 7 <nil>
	// books of author 9 <nil>
}
