// Tests of plans of requested changes.

package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/trie"
)

// As many machines join as there is room for: those beyond do not keep the others out.
func TestJoinsBeyondTheBound(t *testing.T) {
	v := idle(t, 1, 2, 3)
	p := ask(t, v)
	for i := range trie.MaxMachines {
		p.wishes.Join = append(p.wishes.Join, Member{ID: trie.MachineID(100 + i), Incarnation: 1, Address: fmt.Sprintf("h:%d", i), State: Spare})
	}
	next, reason, wait := Plan(v, p.reports, p.wishes, p.options)
	if next == nil || len(next.Members) != trie.MaxMachines {
		t.Fatalf("%q, waits for %q", reason, wait)
	}
	p = ask(t, next)
	p.wishes.Join = []Member{{ID: 99, Incarnation: 1, Address: "h:1", State: Spare}}
	if next, reason, wait := Plan(next, p.reports, p.wishes, p.options); next != nil || !strings.Contains(wait, "1024 machines") {
		t.Errorf("%q, waits for %q", reason, wait)
	}
}
