// The depth of triple terms.

package triple

import (
	"fmt"
	"sync/atomic"
)

// DefaultNesting is the default of [MaxNesting]. No vocabulary nests triple terms more than twice, and
// clients of many languages read nested terms by recursion.
const DefaultNesting = 100

var maxNesting atomic.Int64

// MaxNesting returns the greatest number of levels of a triple term that parsers and functions of this
// process make: an IRI has none, <<( s p o )>> has one. Rows of a store may have deeper ones, because
// releases before had no limit.
func MaxNesting() int {
	if n := maxNesting.Load(); n > 0 {
		return int(n)
	}
	return DefaultNesting
}

// SetMaxNesting sets the limit of the process; 0 is [DefaultNesting]. It is for programs to call at
// their start.
func SetMaxNesting(levels int) { maxNesting.Store(int64(levels)) }

// CheckNesting returns an error that wraps [ErrBadTerm] if levels is more than [MaxNesting].
func CheckNesting(levels int) error {
	if levels <= MaxNesting() {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrBadTerm, tooDeep())
}

// tooDeep returns the message for a triple term with too many levels.
func tooDeep() string {
	return fmt.Sprintf("triple terms are nested more than %d deep; name the inner ones by reifiers, or raise --max-nesting", MaxNesting())
}

// Levels returns the number of levels of a triple term, counted to limit+1 at most; 0 for other terms.
func (t Term) Levels(limit int) int {
	levels := 0
	for t.kind == TripleTerm && levels <= limit {
		inner, ok := t.Triple()
		if !ok {
			break
		}
		levels++
		t = inner.Object
	}
	return levels
}

// CheckNesting is the function CheckNesting for the levels of t.
func (t Term) CheckNesting() error { return CheckNesting(t.Levels(MaxNesting())) }
