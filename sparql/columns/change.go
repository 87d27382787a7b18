// Changes of columns: a view of later triples from one of earlier triples.

package columns

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// Change is a triple of the default graph that was added or deleted. Adding one that exists, and deleting
// one that does not, changes nothing.
type Change struct {
	Terms   triple.KeyTerms
	Deleted bool
}

// Bounds of the terms that changes bring.
const (
	maxAddedTerms = 1 << 17
	maxAddedBytes = 32 << 20
)

// Changed returns the view behind changes, which are in the order in which they happened. A predicate that
// has changed too much has no column from then on, see [View.Stale]. Views of one set share memory, so
// Changed must not run on two of them at the same time; all other methods may.
func (v *View) Changed(changes []Change) *View {
	// 1. Changes of a predicate without a column change nothing.
	changes = slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return !v.has(string(c.Terms[triple.Predicate]))
	})
	if len(changes) == 0 {
		return v
	}
	next := *v
	pairs, ok := next.pairs(changes)
	if !ok {
		return v.WithStale(predicatesOf(changes))
	}
	// 2. Change the columns of the others.
	next.changed = maps.Clone(v.changed)
	if next.changed == nil {
		next.changed = map[string]*Column{}
	}
	stale, some := map[string]struct{}{}, map[string]bool{}
	for predicate, of := range pairs {
		old, _ := v.Column(predicate)
		next.bytes -= v.changedBytes(predicate)
		column, ok := old.change(of)
		if !ok {
			stale[predicate] = struct{}{}
			delete(next.changed, predicate)
			continue
		}
		next.changed[predicate] = column
		next.rows += column.Rows() - old.Rows()
		next.bytes += next.changedBytes(predicate)
		next.long = next.long || column.LongSubjects || column.LongObjects
		some[predicate] = column.Rows() > 0
	}
	next.list(some)
	return next.WithStale(stale)
}

// changedBytes returns the memory that the changes of a predicate take.
func (v *View) changedBytes(predicate string) int64 {
	c := v.changed[predicate]
	if c == nil {
		return 0
	}
	return predicateBytes + int64(len(predicate)) + c.patchBytes()
}

// predicatesOf returns the predicates of changes.
func predicatesOf(changes []Change) map[string]struct{} {
	predicates := map[string]struct{}{}
	for i := range changes {
		predicates[string(changes[i].Terms[triple.Predicate])] = struct{}{}
	}
	return predicates
}

// list lists the predicates that have a triple. some says whether those that have changed have one.
func (v *View) list(some map[string]bool) {
	// 1. Mostly none begins or ceases to have one.
	var added []string
	dropped := false
	for predicate, has := range some {
		_, listed := slices.BinarySearch(v.predicates, predicate)
		if has && !listed {
			added = append(added, predicate)
		}
		dropped = dropped || !has && listed
	}
	if len(added) == 0 && !dropped {
		return
	}
	// 2. Merge both lists.
	slices.Sort(added)
	all := make([]string, 0, len(v.predicates)+len(added))
	for _, predicate := range v.predicates {
		for len(added) > 0 && added[0] < predicate {
			all, added = append(all, added[0]), added[1:]
		}
		if has, changed := some[predicate]; has || !changed {
			all = append(all, predicate)
		}
	}
	v.predicates = append(all, added...)
}

// columnChanges are the changes of one column.
type columnChanges struct {
	pairs                     []pairChange // (subject, object)
	longSubjects, longObjects bool
}

// pairs returns the changes of each predicate, and gives new terms their numbers. ok is false if there are
// too many terms.
func (v *View) pairs(changes []Change) (pairs map[string]*columnChanges, ok bool) {
	// 1. Find the terms, and those that are new.
	numbers := map[string]uint32{}
	var added []string
	for i := range changes {
		c := &changes[i]
		v.deleted = v.deleted || c.Deleted
		for _, position := range [...]int{triple.Subject, triple.Object} {
			number, known := numbers[string(c.Terms[position])]
			if !known {
				number = v.dictionary.Number(c.Terms[position])
			}
			if number == 0 && !c.Deleted {
				added = append(added, string(c.Terms[position]))
				number = math.MaxUint32 // until it has one
			}
			if number > 0 {
				numbers[string(c.Terms[position])] = number
			}
		}
	}
	slices.Sort(added)
	first := uint32(v.dictionary.Len() + 1)
	v.dictionary.added = v.dictionary.added.merge(added)
	for i, term := range added {
		numbers[term] = first + uint32(i)
	}
	// 2. Collect the pairs. One of which no column has a term cannot be deleted.
	pairs = map[string]*columnChanges{}
	for i := range changes {
		c := &changes[i]
		subject, object := numbers[string(c.Terms[triple.Subject])], numbers[string(c.Terms[triple.Object])]
		if subject == 0 || object == 0 {
			continue
		}
		of := pairs[string(c.Terms[triple.Predicate])]
		if of == nil {
			of = &columnChanges{}
			pairs[string(c.Terms[triple.Predicate])] = of
		}
		of.pairs = append(of.pairs, pairChange{subject, object, c.Deleted})
		of.longSubjects = of.longSubjects || triple.IsLongTerm(c.Terms[triple.Subject])
		of.longObjects = of.longObjects || triple.IsLongTerm(c.Terms[triple.Object])
	}
	terms := &v.dictionary.added
	return pairs, len(terms.terms.list) <= maxAddedTerms && terms.bytes <= maxAddedBytes
}

// change returns the column behind changes; ok is false if they are too many.
func (c *Column) change(changes *columnChanges) (changed *Column, ok bool) {
	changed = &Column{LongSubjects: c.LongSubjects || changes.longSubjects, LongObjects: c.LongObjects || changes.longObjects}
	pairs := lastOfEach(changes.pairs)
	if changed.BySubject, ok = c.BySubject.change(pairs); !ok {
		return nil, false
	}
	for i := range pairs {
		pairs[i].key, pairs[i].value = pairs[i].value, pairs[i].key
	}
	changed.ByObject, ok = c.ByObject.change(lastOfEach(pairs))
	return changed, ok
}

// patchBytes returns the memory of the changes of a column.
func (c *Column) patchBytes() int64 { return c.BySubject.patch.bytes() + c.ByObject.patch.bytes() }

// lastOfEach sorts changes by pair, and keeps the last one of each.
func lastOfEach(changes []pairChange) []pairChange {
	slices.SortStableFunc(changes, func(a, b pairChange) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value))
	})
	n := 0
	for i := range changes {
		if n > 0 && changes[n-1].key == changes[i].key && changes[n-1].value == changes[i].value {
			n--
		}
		changes[n] = changes[i]
		n++
	}
	return changes[:n]
}
