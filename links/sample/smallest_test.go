// A sampler of streams, by which the tests compare the selection with its definition.

package sample

import "github.com/trefoildb/trefoil/links/uid"

// Smallest draws a consistent sample of a stream of links in any order. Duplicates count once. It
// holds at most some 2n numbers. It must be used by one goroutine at a time.
type Smallest struct{ selection }

// NewSmallest returns a sampler of n links. If n is negative, it samples none.
func NewSmallest(n int) *Smallest {
	s := &Smallest{selection{n: max(n, 0)}}
	s.reset()
	return s
}

// Add adds links to the stream. It does not keep the slice.
func (s *Smallest) Add(links ...uid.UID) { s.addAll(links) }

// Append appends the sample of the links so far, in ascending order.
func (s *Smallest) Append(dst []uid.UID) []uid.UID {
	s.cut()
	end := selection{values: append(dst, s.values...), start: len(dst), n: s.n}
	return end.appendLinks()
}
