// A step of a join that tests triple terms.

package columnjoin

import (
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// TripleTest tests numbers of terms: they must be triple terms with the terms of some places. Variables at the others are
// not bound.
type TripleTest struct {
	Places [3]exec.UnfoldPlace

	decoder solution.Decoder
	number  uint32 // the last one
	passed  bool
}

func (t *TripleTest) passes(q *exec.Execution, number uint32) bool {
	if number == t.number {
		return t.passed
	}
	s, p, o, ok := triple.SplitTripleTerm(t.decoder.Bytes(q.Terms, number))
	for i, part := range [3][]byte{s, p, o} {
		if at := &t.Places[i]; at.Slot < 0 && string(part) != at.Term {
			ok = false
		}
	}
	t.number, t.passed = number, ok
	return ok
}
