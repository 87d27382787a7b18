// Sets of columns.

package columns

// Set has the columns of one state of a store. It is never changed, and is safe for concurrent use.
type Set struct {
	Dictionary Dictionary
	columns    map[string]*Column  // by the key form of the predicate
	predicates []string            // their keys, sorted
	torn       map[string]struct{} // predicates whose rows surely changed while they were read
	rows       int
	bytes      int64
	long       bool // a column has a long term
	partial    bool // predicates without a column may have triples
}

// Bytes returns the memory of the set.
func (s *Set) Bytes() int64 { return s.bytes }

// empty is the column of a predicate without triples.
var empty Column

// Column returns the column of a predicate in its key form. It is empty if there is no triple of
// the predicate, or the set is partial and does not have it.
func (s *Set) Column(predicate string) *Column {
	if c := s.columns[predicate]; c != nil {
		return c
	}
	return &empty
}

// Predicates returns the number of predicates.
func (s *Set) Predicates() int { return len(s.columns) }
