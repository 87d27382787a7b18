// What is requested of the rows of a part of a plan.

package order

// Request is what the operators above would like of a part's rows. The zero request is for all rows in any order. A part
// may ignore it, and then its stream is not sorted.
type Request struct {
	Goal     int64     // number of rows probably needed; 0 if it is not known
	Sequence *Sequence // nil for any
}

// Sequence is a request for rows in the store's order of a variable.
type Sequence struct {
	Slot       int
	Descending bool
	Top        int64 // rows needed
}

// IsOf reports whether the sequence of a variable is requested.
func (r Request) IsOf(slot int) bool { return r.Sequence != nil && r.Sequence.Slot == slot }

// AnySequence returns the request without its sequence.
func (r Request) AnySequence() Request { return Request{Goal: r.Goal} }
