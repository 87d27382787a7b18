// Sketches in memory: made of lists, changed, and sampled.

package sample

import (
	"math"
	"slices"

	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// SketchDegree is the maximum degree of a list without a sketch.
	SketchDegree = 1024
	// MaxSketchSize is the maximum size of a sketch: see [SketchSize].
	MaxSketchSize = 256

	linksAMember = 16
)

// SketchSize returns the number of members of each class for the sketch of a list. It returns 0
// if the list should have none.
func SketchSize(degree int) int {
	if degree <= SketchDegree {
		return 0
	}
	return min(degree/linksAMember, MaxSketchSize)
}

// whole is the bound of a class if all of its links are in the sketch.
const whole = math.MaxUint64

// Sketch is the links of a long list with the smallest Mix; see the package comment. Several
// goroutines may read it at once.
type Sketch struct {
	size    int // maximum number of members of each class after cut
	bounds  [numClasses]uint64
	members []member // ascending by mix, without duplicates
}

type member struct {
	mix   uint64
	class Class // the narrowest
}

// NewSketch returns the sketch of a list: of each class the size smallest, at least 1. links must
// be ascending without duplicates, and is only read. It needs O(links), or O(links log size) for
// the worst order of UIDs.
func NewSketch(links []uid.UID, classes Classes, size int) *Sketch {
	s := &Sketch{size: max(size, 1), bounds: [numClasses]uint64{whole, whole, whole}}
	s.add(links, classes)
	s.cut()
	return s
}

// add adds each link if its Mix is not over the bound of its class. Now and then it lowers the
// bounds, because members must not become many.
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

// Len returns the number of links in the sketch.
func (s *Sketch) Len() int { return len(s.members) }

// Merge makes s the sketch of the union of its list and another's. Both must be of the same page.
// It is meant for lists in parts or generations.
func (s *Sketch) Merge(other *Sketch) {
	s.members = append(s.members, other.members...)
	for c := range s.bounds {
		s.bounds[c] = min(s.bounds[c], other.bounds[c])
	}
	s.cut()
}

// Apply adds and deletes links of the list. If a link is in both, it is deleted. Both lists must
// be ascending and are only read. When members are deleted, the sketch holds fewer than before:
// see [Sketch.Sample].
func (s *Sketch) Apply(added, deleted []uid.UID, classes Classes) {
	s.add(added, classes)
	s.sortMembers()
	s.members = slices.DeleteFunc(s.members, func(m member) bool {
		return contains(deleted, uid.UID(uid.Unmix(m.mix)))
	})
	s.cut()
}

// cut sorts the members. It lowers the bounds until no class has more members than size, but no
// further. It drops each member if it is over its bound.
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

// Sample appends the consistent sample of n links of a class of the list. If the sketch has too
// few members, Sample appends nothing and reports false. The list must be sampled then.
func (s *Sketch) Sample(dst []uid.UID, n int, class Class) ([]uid.UID, bool) {
	d := newDrawing(dst, n, class, s.bounds[class], Changes{})
	for i := 0; i < len(s.members) && d.offer(s.members[i].mix, s.members[i].class); i++ {
	}
	return d.appendLinks()
}

// Changes are the changes of a list since its sketch was made: added links and deleted ones. If a
// link is in both, it is deleted. Both must be ascending and are only read. Classes gives the
// class of added links. It may be the zero value if the sample is of all links.
type Changes struct {
	Added, Deleted []uid.UID
	Classes        Classes
}

// A drawing draws a sample of a sketch after changes. Members must be offered in order.
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

// offer takes a member if it belongs to the sample without the added links. It reports whether
// the next one may belong to it, too.
func (d *drawing) offer(mix uint64, class Class) bool {
	if mix > d.known || len(d.values)-d.start >= d.n {
		return false
	}
	if class >= d.class && !contains(d.changes.Deleted, uid.UID(uid.Unmix(mix))) {
		d.values = append(d.values, uid.UID(mix))
	}
	return true
}

// appendLinks adds the added links and returns dst and the sample. If the sketch has too few
// members, it returns dst and false.
func (d *drawing) appendLinks() ([]uid.UID, bool) {
	d.addChanges(d.changes, d.class)
	d.cut()
	if len(d.values)-d.start < d.n && d.known != whole {
		return d.values[:d.start], false
	}
	return d.selection.appendLinks(), true
}

// addChanges adds the added links of a class, unless they are deleted.
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
