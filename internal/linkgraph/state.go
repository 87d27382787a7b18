// The state: what readers see of the cells of this machine.

package linkgraph

import (
	"context"
	"sort"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// state is the held part of the graph at a position in the feed. It is immutable.
type state struct {
	loader   storeLoader   // of stores that are not in memory
	parts    []*part       // by range
	views    []*delta.View // of parts
	sketches []*[2]*sample.Table
	stores   cell.Stores  // those that all parts have in memory
	pinned   bool         // no later state may answer for it
	held     partitionSet // of the parts
	kept     partitionSet // the same, with those that readers do not see yet
	at       feed.Position
	changes  uint64 // the number of batches with changes of links before it, in this process
	plain
}

// part is a cell, and its changes since it was built.
type part struct {
	uid.Range
	delta *delta.Delta
	// ahead is behind the position of the keeper, if the part has changes up to it already; zero
	// otherwise. Readers must not see the part before the keeper gets there.
	ahead feed.Position
	plain bool // see plain.go
	// unload is the stores that the keeper drops when the cell has a file. The mutex of the graph's
	// stores guards it.
	unload cell.Stores
	// Only the keeper uses what follows.
	file     string // the cell's file, "" if it has none
	sketched *cell.Cell
	sketches *[2]*sample.Table // of the cell sketched
	saved    uint64            // epoch of the delta up to which rows are on disk
	failed   bool              // the last attempt to build it again failed
	// labelled is set if rows of the delta may have labels, checked if this was looked up.
	labelled, checked bool
}

// find returns the index of the part with a UID. The part must be held.
func (s *state) find(u uid.UID) int {
	return sort.Search(len(s.parts)-1, func(i int) bool { return s.parts[i].Last >= u })
}

// view returns the view with a UID. It must be held.
func (s *state) view(u uid.UID) *delta.View { return s.views[s.find(u)] }

// has reports whether the partition of a UID is held.
func (s *state) has(u uid.UID) bool { return s.held.has(partitionOf(u)) }

// lookUp returns the UID of a page, if the page is in a held cell or its delta, and the cell has its
// URLs in memory. The store has the UIDs of other pages.
func (s *state) lookUp(url string) (uid.UID, bool) {
	u := uid.Make(uid.SlotOf(weburl.HostKey(url)), 1, 0)
	if !s.has(u) {
		return 0, false
	}
	v := s.view(u)
	if !v.Cell().Stores().Has(cell.URLStore) {
		return 0, false
	}
	return v.Find(url)
}

// storesOf returns the stores that the cells of all views have in memory.
func storesOf(views []*delta.View) cell.Stores {
	all := cell.AllStores
	for _, v := range views {
		all &= v.Cell().Stores()
	}
	return all
}

// storeLoader loads stores of a state's cells from their files.
type storeLoader interface {
	// loadStores returns s, or a later state, whose parts of a set of partitions have the stores in
	// memory. They stay there if keep is set.
	loadStores(ctx context.Context, s *state, need cell.Stores, set partitionSet, keep bool) (*state, error)
}
