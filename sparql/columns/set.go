// Sets of columns.

package columns

// Set has the columns of one state of a store. It is never changed, and is safe for concurrent use.
type Set struct {
	Dictionary Dictionary
	columns    map[string]*Column // by the key form of the predicate; nil if it has no column
	bytes      int64
}

// Bytes returns the memory of the set.
func (s *Set) Bytes() int64 { return s.bytes }

// empty is the column of a predicate without triples.
var empty Column

// Column returns the column of a predicate in its key form. It is empty if there is no triple of
// the predicate. ok is false if the predicate has triples and no column.
func (s *Set) Column(predicate string) (c *Column, ok bool) {
	c, known := s.columns[predicate]
	if !known {
		return &empty, true
	}
	return c, c != nil
}

// Predicates returns the number of predicates with a column.
func (s *Set) Predicates() (n int) {
	for _, c := range s.columns {
		if c != nil {
			n++
		}
	}
	return n
}
