// Samples of streams: only the sample so far is kept.

package sample

import (
	"math"
	"slices"

	"github.com/trefoildb/trefoil/links/uid"
)

// A selection keeps the n smallest of its numbers, in values from start on, as Mix of UIDs. It
// collects up to twice that number, then sorts them and drops the greater half.
//
// Invariants: the n smallest numbers so far are in values[start:]; len(values)-start <
// 2n+slack+2; if a number is greater than bound, it is not among the n smallest.
type selection struct {
	values []uid.UID // after start: Mix of the UIDs
	start  int
	n      int
	bound  uid.UID // a greater number cannot be among the n smallest
}

// slack is the minimum number of values beyond n before they are sorted.
const slack = 16

func (s *selection) reset() {
	s.values = s.values[:s.start]
	s.bound = math.MaxUint64
}

// keep adds a number. It must not be over the bound.
func (s *selection) keep(m uid.UID) {
	if s.n == 0 {
		return
	}
	s.values = append(s.values, m)
	if (len(s.values)-s.start-slack)/2 >= s.n {
		s.cut()
	}
}

// cut sorts the numbers, removes duplicates and drops all but the n smallest.
func (s *selection) cut() {
	kept := s.values[s.start:]
	slices.Sort(kept)
	kept = slices.Compact(kept)
	if len(kept) >= s.n && s.n > 0 {
		kept = kept[:s.n]
		s.bound = kept[s.n-1]
	}
	s.values = s.values[:s.start+len(kept)]
}

// addLinks adds the links of a class. links must be ascending.
func (s *selection) addLinks(links []uid.UID, class Class, classes Classes) {
	if class == All {
		s.addAll(links)
		return
	}
	for len(links) > 0 {
		length, of := classes.Run(links)
		if of >= class {
			s.addAll(links[:length])
		}
		links = links[length:]
	}
}

func (s *selection) addAll(links []uid.UID) {
	bound := s.bound
	for _, u := range links {
		if m := uid.UID(uid.Mix(uint64(u))); m <= bound {
			s.keep(m)
			bound = s.bound
		}
	}
}

// appendLinks turns the numbers into UIDs in ascending order and returns all values. The
// selection must not be used afterwards.
func (s *selection) appendLinks() []uid.UID {
	s.cut()
	kept := s.values[s.start:]
	for i, m := range kept {
		kept[i] = uid.UID(uid.Unmix(uint64(m)))
	}
	slices.Sort(kept)
	return s.values
}
