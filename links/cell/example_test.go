// Example of a cell of two pages.

package cell_test

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// A cell of two pages of one host; the second one links to a page of another cell,
// too.
func Example() {
	home, about, other := uid.Make(4, 1, 0), uid.Make(4, 1, 1), uid.Make(9, 1, 0)
	b, err := cell.NewBuilder(cell.Options{Range: uid.Slots{First: 4, Last: 4}.Range()})
	if err != nil {
		panic(err)
	}
	// Errors stay with the builder: Build returns the first one.
	_ = b.AddPage(home, []byte("http://www.example.org/"))
	_ = b.AddPage(about, []byte("http://www.example.org/about"))
	_ = b.AddEdges(cell.Forward, []cell.Edge{{From: home, To: about}, {From: about, To: home}, {From: about, To: other}}, nil)
	_ = b.AddEdges(cell.Backward, []cell.Edge{{From: home, To: about}, {From: about, To: home}}, nil)
	data, err := b.Build()
	if err != nil {
		panic(err)
	}
	c, err := cell.Open(data)
	if err != nil {
		panic(err)
	}
	ord, _ := c.Find("http://www.example.org/about")
	fmt.Println(c.UID(ord) == about, c.Degree(cell.Backward, ord))
	for u := range c.Links(cell.Forward, ord) {
		fmt.Println(u == home, u == other)
	}
	// Output:
	// true 1
	// true false
	// false true
}
