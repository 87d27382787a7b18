// An example of the model.

package oracle_test

import (
	"fmt"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/oracle"
)

// The model answers each search of an application, and the store must answer it likewise.
func ExampleModel() {
	app := dataset.Library{Seed: 1, Triples: 2000}
	var model oracle.Model
	for s := range app.Statements() {
		if _, err := model.Apply(dataset.Op{Kind: dataset.Add, Statements: []dataset.Statement{s}}); err != nil {
			fmt.Println(err)
			return
		}
	}
	n := 0
	for op := range app.Ops(0, 1) {
		if op.Kind == dataset.Find {
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
