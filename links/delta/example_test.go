// Example of a delta over an empty cell.

package delta_test

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
)

// A delta over an empty cell: a batch of changes, a view before and after it, and
// the next cell.
func Example() {
	b, err := cell.NewBuilder(cell.Options{})
	if err != nil {
		panic(err)
	}
	data, err := b.Build()
	if err != nil {
		panic(err)
	}
	empty, err := cell.Open(data)
	if err != nil {
		panic(err)
	}
	d, err := delta.New(empty)
	if err != nil {
		panic(err)
	}
	before := d.View()

	home, about := uid.Make(4, 1, 0), uid.Make(4, 1, 1)
	var batch delta.Batch
	batch.Page(home, []byte("http://www.example.org/"))
	batch.Page(about, []byte("http://www.example.org/about"))
	batch.Replace(home, []uid.UID{about}, nil)
	batch.Add(cell.Backward, about, home)
	if _, err := d.Append(&batch); err != nil {
		panic(err)
	}
	after := d.View()
	fmt.Println(before.NumLinks(cell.Forward), after.NumLinks(cell.Forward))

	if data, _, err = d.Freeze().Build(cell.Options{}); err != nil {
		panic(err)
	}
	next, err := cell.Open(data)
	if err != nil {
		panic(err)
	}
	if err := d.Rebase(next); err != nil {
		panic(err)
	}
	fmt.Println(len(after.Rows()), len(d.View().Rows()), next.NumLinks(cell.Backward))
	// Output:
	// 0 1
	// 1 0 1
}
