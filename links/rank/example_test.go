// An example of SALSA.

package rank_test

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/rank"
)

// Vertices 0 and 1 link to 2, and 1 to 3.
func ExampleSALSA() {
	g, err := rank.NewGraph(4, []rank.Edge{{From: 0, To: 2}, {From: 1, To: 2}, {From: 1, To: 3}}, nil)
	if err != nil {
		panic(err)
	}
	s := rank.SALSA(g)
	fmt.Printf("authorities %.2f, hubs %.2f\n", s.Authority, s.Hub)
	// Output: authorities [0.00 0.00 0.67 0.33], hubs [0.33 0.67 0.00 0.00]
}
