package exec

import "github.com/trefoildb/trefoil/sparql/algebra"

// operator gives rows. It belongs to one goroutine.
type operator interface {
	// next appends the next rows to out, which is empty: at least one, but at the
	// end none, and so ever after.
	next(out *batch) error
	// reset begins anew, over what the feed below holds now.
	reset()
	// close frees what the operator and those below it hold.
	close()
}

// feed holds the rows that a lateral run starts from.
type feed struct{ rows *batch }

// feedReader gives the rows of a feed. Each comes from itself.
type feedReader struct {
	feed *feed
	done bool
}

func (r *feedReader) next(out *batch) error {
	if r.done || r.feed.rows == nil {
		return nil
	}
	r.done = true
	for i := range r.feed.rows.n {
		out.add(r.feed.rows.row(i), int32(i))
	}
	return nil
}

func (r *feedReader) reset() { r.done = false }
func (r *feedReader) close() {}

// unit gives one row that binds nothing.
type unit struct{ done bool }

func (u *unit) next(out *batch) error {
	if !u.done {
		u.done = true
		for range out.width {
			out.cells = append(out.cells, "")
		}
		out.ord = append(out.ord, 0)
		out.n++
	}
	return nil
}

func (u *unit) reset() { u.done = false }
func (u *unit) close() {}

// none gives no rows, or an error.
type none struct{ err error }

func (n none) next(*batch) error { return n.err }
func (none) reset()              {}
func (none) close()              {}

// stream is an operator with what is known of its rows.
type stream struct {
	op                operator
	certain, possible algebra.Set
	rows              float64 // estimate
	start             bool    // it is the unit, or the feed
	sequence          bool    // rows come out in the order of the feed's
	plan              *Plan
}

func (s *stream) bind(slot int) {
	s.certain = with(s.certain, slot)
	s.possible = with(s.possible, slot)
}

// with returns a new set with the slot.
func with(s algebra.Set, slot int) algebra.Set {
	out := append(algebra.Set(nil), s...)
	out.Add(slot)
	return out
}

func union(a, b algebra.Set) algebra.Set {
	out := append(algebra.Set(nil), a...)
	out.AddAll(b)
	return out
}

// compatible reports whether two rows agree wherever both are bound.
func compatible(a, b []string, slots []int) bool {
	for _, s := range slots {
		if a[s] != b[s] && a[s] != "" && b[s] != "" {
			return false
		}
	}
	return true
}

// merge binds in row what other binds.
func merge(row, other []string) {
	for i, cell := range other {
		if cell != "" {
			row[i] = cell
		}
	}
}
