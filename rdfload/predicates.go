// Counting the rows of a load by predicate.

package rdfload

import "bytes"

// maxPredicates and maxPredicateBytes bound the predicates of a record, because every consumer of
// the change feed gets them.
const (
	maxPredicates     = 64
	maxPredicateBytes = 4 << 10
)

// PredicateCounter counts rows by predicate. The zero value has counted nothing. If there are too
// many predicates, or one is no IRI or a long one, it counts none any more.
type PredicateCounter struct {
	rows map[string]int64 // without the current predicate
	size int              // bytes of the keys of rows
	many bool

	current string // predicate of the last rows
	last    int64  // number of them
}

// Begin begins the rows of a predicate, a term of a key.
func (c *PredicateCounter) Begin(term []byte) {
	c.end()
	if len(term) < 2 || term[0] != tagIRI || len(term) > maxPredicateBytes || bytes.IndexByte(term, 0) >= 0 {
		c.rows, c.many = nil, true
		return
	}
	c.current = string(term[1:])
}

// Count counts a row of the predicate of the last Begin.
func (c *PredicateCounter) Count() { c.last++ }

// end adds the rows of the current predicate.
func (c *PredicateCounter) end() {
	if c.last > 0 {
		c.add(c.current, c.last)
	}
	c.last = 0
}

func (c *PredicateCounter) add(predicate string, rows int64) {
	if c.many {
		return
	}
	if _, ok := c.rows[predicate]; !ok {
		if c.size += len(predicate); c.size > maxPredicateBytes || len(c.rows) == maxPredicates {
			c.rows, c.many = nil, true
			return
		}
	}
	if c.rows == nil {
		c.rows = map[string]int64{}
	}
	c.rows[predicate] += rows
}

// addAll adds the counts of other rows; nil is too many predicates.
func (c *PredicateCounter) addAll(rows map[string]int64) {
	if rows == nil {
		c.rows, c.many = nil, true
	}
	for predicate, n := range rows {
		c.add(predicate, n)
	}
}

// Counts returns the number of rows by predicate; nil if there are too many predicates.
func (c *PredicateCounter) Counts() map[string]int64 {
	c.end()
	if c.rows == nil && !c.many {
		return map[string]int64{}
	}
	return c.rows
}
