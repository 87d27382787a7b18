// An operator with what is known of its rows.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/columnjoin"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// Stream is an operator with what is known of its rows.
type Stream struct {
	Op                exec.Operator
	Certain, Possible algebra.Set
	// Numbers are the variables whose bindings are numbers of the columns' dictionary, see
	// [solution.AppendNumber]. All others are bound to encoded terms.
	Numbers  algebra.Set
	Rows     float64 // estimate
	Start    bool    // it is the unit, or the feed
	Sequence bool    // rows come out in the order of the feed's
	Sorted   bool    // rows come out in the requested sequence
	Plan     *explain.Plan
	join     *columnjoin.Join // the operator, if it is one
	taken    *takenParts      // the operator, if it takes triple terms apart that a join over columns binds
	pairs    *path.Closure    // the operator, if it is one
}

func (s *Stream) Bind(slot int) {
	s.Certain = s.Certain.With(slot)
	s.Possible = s.Possible.With(slot)
}

// BothSides returns the bindings of two sides of a join together.
func BothSides(left, right Stream) Stream {
	return Stream{
		Certain: left.Certain.Union(right.Certain), Possible: left.Possible.Union(right.Possible),
		Numbers: left.Numbers.Union(right.Numbers),
	}
}
