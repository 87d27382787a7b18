// The depth of triple terms.

package triple

import "fmt"

// DefaultNesting is the default of [MaxNesting]. No vocabulary nests triple terms more than twice, and
// clients of many languages read nested terms by recursion.
const DefaultNesting = 100

// maxNesting is what [MaxNesting] returns. It is written before the process has goroutines that parse.
var maxNesting = DefaultNesting

// MaxNesting returns the greatest number of levels of a triple term that parsers and functions of this
// process make: an IRI has none, <<( s p o )>> has one. Rows of a store may have deeper ones, because
// releases before had no limit.
func MaxNesting() int { return maxNesting }

// SetMaxNesting sets the limit of the process; 0 is [DefaultNesting]. A program must call it at its
// start, because a change is not safe beside parsers.
func SetMaxNesting(levels int) {
	if levels == 0 {
		levels = DefaultNesting
	}
	if levels != maxNesting { // a second server of the process with the same limit changes nothing
		maxNesting = levels
	}
}

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
