// Listings: the places of the rows of some buckets, by member.

package upkeep

import (
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// listing has the rows of all members in some buckets, by triple.
type listing struct {
	view   *view.View
	scan   *scanRequest
	hasher *recovery.Digest
	sets   [2][]bool
	rows   map[string]*listed // by the key in SPO, and the application ID of an annotation
}

// listed has the places of one triple or annotation, as found.
type listed struct {
	annotation bool
	at         []recovery.Place
	first      recovery.Hash
	mixed      bool // the rows are not all the same
}

func newListing(v *view.View, scan *scanRequest) *listing {
	return &listing{
		view: v, scan: scan, hasher: recovery.NewDigest(scan.secret, scan.bits),
		sets: [2][]bool{scan.set(0), scan.set(1)}, rows: map[string]*listed{},
	}
}

func (l *listing) add(m trie.MachineID, rows []replica.ListedRow) {
	for i := range rows {
		row := &rows[i]
		e := l.rows[string(row.Key)]
		if e == nil {
			e = &listed{annotation: row.Annotation, first: row.Hash}
			l.rows[string(row.Key)] = e
		}
		e.mixed = e.mixed || e.first != row.Hash || e.annotation != row.Annotation
		e.at = append(e.at, recovery.Place{Machine: m, Order: row.Order, Extra: row.Replica})
	}
}

// suspect is a triple or annotation with different places, by the lists.
type suspect struct {
	spo    []byte // the key of the triple in SPO
	suffix []byte // of an annotation: the rest of its key
	slots  []recovery.Place
}

// suspects returns the differing triples before the annotations, both ascending by key.
func (l *listing) suspects() (all []suspect, err error) {
	// A row is suspect if its copies are not the same, or not at exactly its places.
	r := l.view.Joint().Resolver()
	var annotations []suspect
	for _, key := range slices.Sorted(maps.Keys(l.rows)) {
		e := l.rows[key]
		s := suspect{spo: []byte(key)}
		// 1. An annotation is at the places of its triple, so cut the key of the triple from it.
		if e.annotation {
			version, _, ok := triple.CutAnnotation(s.spo)
			if !ok {
				continue
			}
			s.spo, s.suffix = version, s.spo[len(version):]
		}
		if err := r.Resolve(s.spo); err != nil {
			return nil, err
		}
		s.slots = slices.Clone(r.Base())
		if !e.mixed && l.full(e, s.slots) {
			continue
		}
		if e.annotation {
			annotations = append(annotations, s)
		} else {
			all = append(all, s)
		}
	}
	// 2. Triples must come before annotations; both ascend by key.
	return append(all, annotations...), nil
}

// full reports whether a row is at all of its places in the buckets, and at no other place.
func (l *listing) full(e *listed, slots []recovery.Place) bool {
	ordered := len(l.sets[0]) > 0 && l.sets[0][l.hasher.Bucket(e.first)]
	for _, slot := range slots {
		requested := ordered
		if slot.Extra {
			place := l.scan.secret.Place(uint64(slot.Machine))
			requested = len(l.sets[1]) > 0 && l.sets[1][l.hasher.Bucket(e.first.At(place))]
		}
		if requested && !slices.Contains(e.at, slot) {
			return false
		}
	}
	for _, at := range e.at {
		if !slices.Contains(slots, at) {
			return false
		}
	}
	return true
}
