// An operator with what is known of its rows.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// stream is an operator with what is known of its rows.
type stream struct {
	op                exec.Operator
	certain, possible algebra.Set
	// numbers are the variables whose bindings are numbers of the columns' dictionary, see
	// [solution.AppendNumber]. All others are bound to encoded terms.
	numbers  algebra.Set
	rows     float64 // estimate
	start    bool    // it is the unit, or the feed
	sequence bool    // rows come out in the order of the feed's
	sorted   bool    // rows come out in the requested sequence
	plan     *explain.Plan
	join     *exec.ColumnJoin // the operator, if it is one
	taken    *takenParts      // the operator, if it takes triple terms apart that a join over columns binds
	pairs    *path.Closure    // the operator, if it is one
}

func (s *stream) bind(slot int) {
	s.certain = s.certain.With(slot)
	s.possible = s.possible.With(slot)
}

// both returns the bindings of two sides of a join together.
func both(left, right stream) stream {
	return stream{
		certain: left.certain.Union(right.certain), possible: left.possible.Union(right.possible),
		numbers: left.numbers.Union(right.numbers),
	}
}
