// Tests of what owners may read.

package access

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/systemgraph"
)

// TestOwnerMayRead checks that the owner of a stored thing reads what requests with its token read.
func TestOwnerMayRead(t *testing.T) {
	applications := []Application{{ID: "a", Token: "ta", Readers: []string{"b"}}, {ID: "b", Token: "tb"}, {ID: "open", Token: "to", Readers: []string{"*"}}}
	for _, c := range []struct {
		operator, owner, id string
		want                bool
	}{
		{"op", "a", "a", true}, {"op", "b", "a", true}, {"op", "a", "b", false}, {"op", "a", "open", true}, {"op", "a", "free", false},
		{"op", "", "free", true}, {"op", "", "open", true}, {"op", "", "a", false},
		{"op", systemgraph.Operators, "a", true}, {"op", systemgraph.Operators, "free", true},
		// An application whose token is gone.
		{"op", "gone", "gone", false}, {"op", "gone", "open", false}, {"op", "gone", "free", false},
		// The clients' token is that of operators.
		{"", "", "a", true}, {"", "a", "b", false},
	} {
		if got := NewTokens("client", c.operator, applications).OwnerMayRead(c.owner, c.id); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if !NewTokens("client", "op", nil).OwnerMayRead("a", "b") {
		t.Error("without tokens of applications an owner may not read all")
	}
}
