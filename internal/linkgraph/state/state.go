// The state: what readers see of the cells of this machine.

package state

import (
	"context"
	"slices"
	"sort"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// Pin returns the state for reads that no later state may answer. If its files are gone when a store
// must be loaded, they fail with ErrMixed.
func (s *State) Pin() *State {
	p := *s
	p.Pinned = true
	return &p
}

// PartsBytes returns the memory of parts.
func PartsBytes(parts []*Part) (n int64) {
	for _, p := range parts {
		v := p.Delta.View()
		n += int64(v.Cell().Size()) + v.Bytes()
	}
	return n
}

// HasAll reports whether the partitions of all pages are held.
func (s *State) HasAll(pages []uid.UID) bool {
	return !slices.ContainsFunc(pages, func(u uid.UID) bool { return !s.has(u) })
}

// State is the held part of the graph at a position in the feed. It is immutable.
type State struct {
	Loader   storeLoader   // of stores that are not in memory
	Parts    []*Part       // by range
	Views    []*delta.View // of parts
	Sketches []*[2]*sample.Table
	Stores   cell.Stores        // those that all parts have in memory
	Pinned   bool               // no later state may answer for it
	Held     derived.Partitions // of the parts
	Kept     derived.Partitions // the same, with those that readers do not see yet
	At       feed.Position
	Changes  uint64 // the number of batches with changes of links before it, in this process
	Plain
}

// Part is a cell, and its changes since it was built.
type Part struct {
	uid.Range
	Delta *delta.Delta
	// Ahead is behind the position of the keeper, if the part has changes up to it already; zero
	// otherwise. Readers must not see the part before the keeper gets there.
	Ahead feed.Position
	Plain bool // see plain.go
	// Unload is the stores that the keeper drops when the cell has a file. The mutex of the graph's
	// stores guards it.
	Unload cell.Stores
	// Only the keeper uses what follows.
	File     string // the cell's file, "" if it has none
	Sketched *cell.Cell
	Sketches *[2]*sample.Table // of the cell sketched
	Saved    uint64            // epoch of the delta up to which rows are on disk
	Failed   bool              // the last attempt to build it again failed
	// Labelled is set if rows of the delta may have labels, checked if this was looked up.
	Labelled, checked bool
}

// Find returns the index of the part with a UID. The part must be held.
func (s *State) Find(u uid.UID) int {
	return sort.Search(len(s.Parts)-1, func(i int) bool { return s.Parts[i].Last >= u })
}

// View returns the view with a UID. It must be held.
func (s *State) View(u uid.UID) *delta.View { return s.Views[s.Find(u)] }

// has reports whether the partition of a UID is held.
func (s *State) has(u uid.UID) bool { return s.Held.Has(machine.PartitionOf(u)) }

// LookUp returns the UID of a page, if the page is in a held cell or its delta, and the cell has its
// URLs in memory. The store has the UIDs of other pages.
func (s *State) LookUp(url string) (uid.UID, bool) {
	u := uid.Make(uid.SlotOf(weburl.HostKey(url)), 1, 0)
	if !s.has(u) {
		return 0, false
	}
	v := s.View(u)
	if !v.Cell().Stores().Has(cell.URLStore) {
		return 0, false
	}
	return v.Find(url)
}

// StoresOf returns the stores that the cells of all views have in memory.
func StoresOf(views []*delta.View) cell.Stores {
	all := cell.AllStores
	for _, v := range views {
		all &= v.Cell().Stores()
	}
	return all
}

// storeLoader loads stores of a state's cells from their files.
type storeLoader interface {
	// LoadStores returns s, or a later state, whose parts of a set of partitions have the stores in
	// memory. They stay there if keep is set.
	LoadStores(ctx context.Context, s *State, need cell.Stores, set derived.Partitions, keep bool) (*State, error)
}

// With returns a state whose parts have some stores in memory: those of the partitions of n items. It
// loads what is missing. The state may be a later one.
func (s *State) With(ctx context.Context, need cell.Stores, n int, of func(i int) int) (*State, error) {
	if s.Stores.Has(need) {
		return s, nil
	}
	var set derived.Partitions
	for i := range n {
		set = set.With(of(i))
	}
	return s.Loader.LoadStores(ctx, s, need, set, true)
}

// Missing returns the partitions of a set whose parts do not have some stores in memory.
func (s *State) Missing(need cell.Stores, set derived.Partitions) (lacking derived.Partitions) {
	for i, v := range s.Views {
		if of := machine.PartitionOf(s.Parts[i].First); set.Has(of) && !v.Cell().Stores().Has(need) {
			lacking = lacking.With(of)
		}
	}
	return lacking
}

// MayHaveLabels reports whether a link of the part may have a label. Rows that are not of this
// process may have some.
func (p *Part) MayHaveLabels(v *delta.View) bool {
	if !p.checked {
		p.checked, p.Labelled = true, p.Labelled || len(v.Rows()) > 0
	}
	return p.Labelled || v.Cell().HasLabels()
}
