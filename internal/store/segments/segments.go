// The segments of one machine's store.

// Package segments divides the ordered space of a store into segments: ranges with IDs. A lone
// store splits its segments when they grow and merges them when they shrink. For a member of a
// cluster, the cluster decides; the member only reports which segments are too large or too small.
//
// The route of a split: [Segments.Written], or new tables, wake [Segments.Run]. It measures each
// segment, finds a key near the middle of a large one, and makes a layout with both halves durable.
package segments

import (
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/trie"
)

// Segments is the segments of a store. It is safe for concurrent use after [Segments.Open].
type Segments struct {
	// Splits and Merges are the numbers of segments split and merged since the store was opened.
	Splits, Merges atomic.Int64

	db       *database.Database
	machine  trie.MachineID
	maxBytes int64
	byTables bool // segments are measured by bytes of tables, not by rows

	writing  sync.Mutex // held when the layout is replaced
	current  atomic.Pointer[layout]
	managed  atomic.Bool  // the cluster splits segments, not this store
	wake     notify.Wake  // if there may be work
	changing sync.Mutex   // held to split or merge segments of a lone store
	unseen   atomic.Int64 // bytes written since the segments were measured
	measured atomic.Int64 // bytes of all rows at that time, if rows are added up
	merged   atomic.Int64 // the number of removed rows when Merge last found nothing to merge
}

// New returns segments that are split above maxBytes. Before Open, only Measure and Flushed may be
// called.
func New(maxBytes int64) *Segments {
	return &Segments{maxBytes: maxBytes, byTables: maxBytes >= smallSegment, wake: notify.NewWake()}
}

// Manage leaves all further splits and merges to the cluster.
func (s *Segments) Manage() { s.managed.Store(true) }
