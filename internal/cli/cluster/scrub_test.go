// The text of a scrub's state.

package cluster

import (
	"testing"

	"github.com/trefoildb/trefoil/client"
)

func TestScrubText(t *testing.T) {
	for want, s := range map[string]client.Scrub{
		"5 rows compared 2.0s ago; 0 differences, 0 repaired":                                        {Passes: 1, Rows: 5, Age: 2},
		"5 rows compared 2.0s ago; 3 differences, 2 repaired, 1 left":                                {Passes: 1, Rows: 5, Age: 2, Differences: 3, Repaired: 2, Left: 1},
		"none came to its end; 0 differences, 0 repaired; the last one ended early: no such machine": {Error: "no such machine"},
	} {
		if got := scrubText(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
