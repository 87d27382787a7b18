// An example of assigning UIDs.

package uid_test

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/links/uid"
)

func ExampleAllocator() {
	slot := uid.SlotOf("org.example.www")
	allocator := uid.NewAllocator(slot)
	runs, err := allocator.Assign("org.example.www", 3)
	if errors.Is(err, uid.ErrNeedGrant) {
		grant, _ := uid.NextGrant(0) // none was given out before
		if err := allocator.Grant(grant); err != nil {
			panic(err)
		}
		runs, err = allocator.Assign("org.example.www", 3)
	}
	fmt.Println(err, len(runs), runs[0].Count, runs[0].First.Host(), runs[0].First.Page())
	// Output: <nil> 1 3 1 0
}
