// The oracles of the tests: everything sorted, one link at a time.

package sample

import (
	"math/rand/v2"
	"slices"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/uid"
)

var random = seed.Rand

// pairs are hosts of two extents each, and domains of three hosts each.
type pairs struct{}

func (pairs) Host(e uid.Extent) uint64   { return uint64(e) / 2 }
func (pairs) Domain(e uid.Extent) uint64 { return uint64(e) / 6 }

// aList returns a list of about count links to the first extents.
func aList(r *rand.Rand, count, extents int) []uid.UID {
	links := make([]uid.UID, 0, count)
	for range count {
		links = append(links, uid.UID(1+r.IntN(extents))<<uid.PageBits|uid.UID(r.IntN(1+count)))
	}
	slices.Sort(links)
	return slices.Compact(links)
}

// inClass is the oracle of classes: the links of a class, one by one.
func inClass(links []uid.UID, class Class, page uid.UID) []uid.UID {
	var kept []uid.UID
	for _, u := range links {
		host := pairs{}.Host(u.Extent()) != pairs{}.Host(page.Extent())
		domain := pairs{}.Domain(u.Extent()) != pairs{}.Domain(page.Extent())
		if class == All || class == InterHost && host || class == InterDomain && domain {
			kept = append(kept, u)
		}
	}
	return kept
}

// smallest is the oracle of consistent samples: it sorts everything.
func smallest(links []uid.UID, n int) []uid.UID {
	sorted := slices.Clone(links)
	slices.SortFunc(sorted, func(a, b uid.UID) int {
		if uid.Mix(uint64(a)) < uid.Mix(uint64(b)) {
			return -1
		}
		return 1
	})
	sorted = sorted[:min(max(n, 0), len(sorted))]
	slices.Sort(sorted)
	return sorted
}

// changed is the oracle of changes: (list and added) without deleted.
func changed(links, added, deleted []uid.UID) []uid.UID {
	all := append(slices.Clone(links), added...)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(u uid.UID) bool { return slices.Contains(deleted, u) })
}
