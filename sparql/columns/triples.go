// The triple terms of a dictionary by their objects.

package columns

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"sort"

	"github.com/trefoildb/trefoil/triple"
)

// tripleIndex has the sorted triple terms of a dictionary by their objects, because the order of terms finds them
// by their subjects only.
type tripleIndex struct {
	seed    maphash.Seed
	entries []tripleEntry // by hash, then number
}

// tripleEntry is a triple term with the hash of its object.
type tripleEntry struct{ hash, number uint32 }

// tripleEntryBytes is what an entry takes.
const tripleEntryBytes = 8

func (x *tripleIndex) bytes() int64 {
	if x == nil {
		return 0
	}
	return tripleEntryBytes * int64(len(x.entries))
}

// hash returns the hash of an encoded object.
func (x *tripleIndex) hash(object []byte) uint32 { return uint32(maphash.Bytes(x.seed, object)) }

// indexTriples makes the index of the terms with numbers from up to to; nil if there is none.
func (d *Dictionary) indexTriples(from, to uint32) *tripleIndex {
	if from >= to {
		return nil
	}
	x := &tripleIndex{seed: maphash.MakeSeed(), entries: make([]tripleEntry, 0, to-from)}
	var c Cursor
	for number := from; number < to; number++ {
		if _, _, o, ok := triple.SplitTripleTerm(c.Move(d, number)); ok {
			x.entries = append(x.entries, tripleEntry{x.hash(o), number})
		}
	}
	slices.SortFunc(x.entries, func(a, b tripleEntry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.number, b.number))
	})
	return x
}

// TriplesWith returns the triple terms with an object and, if it is not empty, a predicate, all in key form. They
// ascend. ok is false if more than most have the object. Long triple terms are not among them, because their parts
// are not known.
func (d *Dictionary) TriplesWith(predicate, object []byte, most int) (terms [][]byte, ok bool) {
	left := most
	// add adds a term if it matches. It returns false if too many have the object.
	add := func(term []byte) bool {
		_, p, o, is := triple.SplitTripleTerm(term)
		if !is || !bytes.Equal(o, object) || triple.IsLongTerm(term) {
			return true
		}
		if len(predicate) == 0 || bytes.Equal(p, predicate) {
			terms = append(terms, bytes.Clone(term))
		}
		left--
		return left >= 0
	}
	// 1. The sorted terms, by the hash of their objects.
	if x := d.triples; x != nil {
		var c Cursor
		hash := x.hash(object)
		i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].hash >= hash })
		for ; i < len(x.entries) && x.entries[i].hash == hash; i++ {
			if !add(c.Move(d, x.entries[i].number)) {
				return nil, false
			}
		}
	}
	// 2. Those of changes are few.
	lo, hi := triple.TripleTermSpan()
	from, _ := d.added.search(string(lo))
	to, _ := d.added.search(string(hi))
	for _, i := range d.added.sorted[from:to] {
		if !add([]byte(d.added.terms.list[i])) {
			return nil, false
		}
	}
	slices.SortFunc(terms, bytes.Compare)
	return terms, true
}
