// An example of consistent samples.

package sample_test

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Two similar lists have similar samples.
func ExampleConsistent() {
	var a, b []uid.UID
	for i := range uid.UID(1000) {
		a = append(a, 1000+i)
		b = append(b, 1100+i)
	}
	fmt.Println(sample.Consistent(nil, a, 5, sample.All, sample.Classes{}))
	fmt.Println(sample.Consistent(nil, b, 5, sample.All, sample.Classes{}))
	// Output:
	// [1187 1352 1523 1600 1990]
	// [1187 1352 1600 1990 2025]
}
