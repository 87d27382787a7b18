// This file holds sketches in memory: made of lists, changed, and sampled.

package sample

import (
	"math"
	"slices"

	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// SketchDegree is the degree over which a list should have a sketch.
	SketchDegree = 1024
	// MaxSketchSize is the greatest size of a sketch: see [SketchSize].
	MaxSketchSize = 256

	linksAMember = 16
)

// SketchSize returns how many members of each class the sketch of a list of so
// many links should have, and 0 if it should have none.
func SketchSize(degree int) int {
	if degree <= SketchDegree {
		return 0
	}
	return min(degree/linksAMember, MaxSketchSize)
}

// whole is the bound of a class whose links are all known.
const whole = math.MaxUint64

// Sketch is the links of a long list with the smallest Mix. The package comment
// says what it knows. It may be read by several goroutines at once.
type Sketch struct {
	size    int // members of each class that it is cut to
	bounds  [numClasses]uint64
	members []member // ascending by mix, without duplicates
}

type member struct {
	mix   uint64
	class Class // the narrowest
}

// NewSketch returns the sketch of a list, ascending without duplicates: of each
// class the size smallest, at least 1. links is only read. O(links), and
// O(links log size) for an order of UIDs that is the worst for it.
func NewSketch(links []uid.UID, classes Classes, size int) *Sketch {
	s := &Sketch{size: max(size, 1), bounds: [numClasses]uint64{whole, whole, whole}}
	s.add(links, classes)
	s.cut()
	return s
}

// add takes what is not over the bound of its class. Now and then it lowers the
// bounds, so that members do not become many.
func (s *Sketch) add(links []uid.UID, classes Classes) {
	const slack = 64
	full := len(s.members) + 2*s.size + slack
	for rest := links; len(rest) > 0; {
		length, class := classes.Run(rest)
		bound := s.bounds[class]
		for _, u := range rest[:length] {
			m := uid.Mix(uint64(u))
			if m > bound {
				continue
			}
			s.members = append(s.members, member{m, class})
			if len(s.members) >= full {
				s.cut()
				full = len(s.members) + 2*s.size + slack
				bound = s.bounds[class]
			}
		}
		rest = rest[length:]
	}
}

// sortMembers sorts the members and keeps each once, with its narrowest class.
func (s *Sketch) sortMembers() {
	slices.SortFunc(s.members, func(a, b member) int {
		switch {
		case a.mix < b.mix, a.mix == b.mix && a.class > b.class:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	s.members = slices.CompactFunc(s.members, func(a, b member) bool { return a.mix == b.mix })
}

// Len returns how many links the sketch holds.
func (s *Sketch) Len() int { return len(s.members) }

// Merge makes s the sketch of the union of its list and another's, of the same
// page: for lists that are worked through in parts, or kept in generations.
func (s *Sketch) Merge(other *Sketch) {
	s.members = append(s.members, other.members...)
	for c := range s.bounds {
		s.bounds[c] = min(s.bounds[c], other.bounds[c])
	}
	s.cut()
}

// Apply adds and deletes links of the list; what is in both is deleted. Both
// are ascending and only read. A sketch of which members were deleted holds
// fewer than before: see [Sketch.Sample].
func (s *Sketch) Apply(added, deleted []uid.UID, classes Classes) {
	s.add(added, classes)
	s.sortMembers()
	s.members = slices.DeleteFunc(s.members, func(m member) bool {
		return contains(deleted, uid.UID(uid.Unmix(m.mix)))
	})
	s.cut()
}

// cut sorts the members, lowers bounds, as little as possible, so that each class
// has no more members than the size, and drops those that are over their bound.
func (s *Sketch) cut() {
	s.sortMembers()
	var counts [numClasses]int
	for _, m := range s.members {
		for c := range m.class + 1 {
			if m.mix > s.bounds[c] {
				continue
			}
			if counts[c]++; counts[c] == s.size+1 {
				s.bounds[c] = m.mix - 1
			}
		}
	}
	s.members = slices.DeleteFunc(s.members, func(m member) bool { return m.mix > s.bounds[m.class] })
}

// Sample appends the consistent sample of n links of a class of the list. It
// reports false, and appends nothing, if the sketch cannot tell: the list must be
// sampled then.
func (s *Sketch) Sample(dst []uid.UID, n int, class Class) ([]uid.UID, bool) {
	d := newDrawing(dst, n, class, s.bounds[class], Changes{})
	for i := 0; i < len(s.members) && d.offer(s.members[i].mix, s.members[i].class); i++ {
	}
	return d.appendLinks()
}

// Changes are what happened to a list since its sketch was made: links that were
// added, and deleted; what is in both is deleted. Both are ascending and only
// read. Classes tell the added ones' class, unless the sample is of all links.
type Changes struct {
	Added, Deleted []uid.UID
	Classes        Classes
}

// A drawing draws a sample of a sketch after changes: it is offered the members
// in order.
type drawing struct {
	selection
	class   Class
	known   uint64 // the sketch's bound of the class
	changes Changes
}

func newDrawing(dst []uid.UID, n int, class Class, bound uint64, c Changes) drawing {
	s := selection{values: dst, start: len(dst), n: max(n, 0), bound: uid.UID(bound)}
	return drawing{selection: s, class: class, known: bound, changes: c}
}

// offer takes a member if it belongs to the sample without the added links. It
// reports whether the next one may, too.
func (d *drawing) offer(mix uint64, class Class) bool {
	if mix > d.known || len(d.values)-d.start >= d.n {
		return false
	}
	if class >= d.class && !contains(d.changes.Deleted, uid.UID(uid.Unmix(mix))) {
		d.values = append(d.values, uid.UID(mix))
	}
	return true
}

// appendLinks adds the added links and returns dst and the sample, or dst and
// false if the sketch knows too few.
func (d *drawing) appendLinks() ([]uid.UID, bool) {
	d.addChanges(d.changes, d.class)
	d.cut()
	if len(d.values)-d.start < d.n && d.known != whole {
		return d.values[:d.start], false
	}
	return d.selection.appendLinks(), true
}

// addChanges adds the added links of a class that are not deleted.
func (s *selection) addChanges(c Changes, class Class) {
	for rest := c.Added; len(rest) > 0; {
		length, of := len(rest), class
		if class != All {
			length, of = c.Classes.Run(rest)
		}
		for _, u := range rest[:length] {
			if of < class {
				break
			}
			if m := uid.UID(uid.Mix(uint64(u))); m <= s.bound && !contains(c.Deleted, u) {
				s.keep(m)
			}
		}
		rest = rest[length:]
	}
}

func contains(links []uid.UID, u uid.UID) bool {
	if len(links) == 0 {
		return false
	}
	_, found := slices.BinarySearch(links, u)
	return found
}
