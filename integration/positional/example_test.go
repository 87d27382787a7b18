// The example of a store.

package positional_test

import (
	"fmt"
	"maps"

	"github.com/trefoildb/trefoil/integration/positional"
)

// Three machines of which one may fail: a UID from before names the same page
// after, and its links are the same.
func ExampleStore() {
	graph := map[string][]string{
		"http://a.example/1": {"http://a.example/2", "http://b.example/"},
		"http://b.example/":  {"http://a.example/1"},
	}
	store, err := positional.Build(maps.All(graph), positional.Options{
		Policy: positional.Policy{Machines: 3, Failures: 1},
	})
	if err != nil {
		panic(err)
	}
	clerk, _ := store.Clerk(positional.Failed{})
	u, _ := clerk.UrlToUid("http://a.example/1")
	for machine := range 3 {
		degraded, _ := store.Clerk(positional.NewFailed(machine))
		url, _ := degraded.UidToUrl(u)
		targets, _ := degraded.GetLinks(positional.Forward, u)
		fmt.Println(url, len(targets))
	}
	// Output:
	// http://a.example/1 2
	// http://a.example/1 2
	// http://a.example/1 2
}
