// This file holds the table of runs as numbers: what the Elias-Fano sequences say,
// for quick answers, where it is small beside the cell.

package cell

import (
	"math/bits"
	"sort"
)

const (
	// jumpShift: for every 32 ordinals it is kept which run they begin in.
	jumpShift = 5
	// A table is made where it takes no more than two bytes a page, or 64 KiB.
	runBytes       = 16
	pageBytes      = 2
	freeTableBytes = 1 << 16
)

// runTable is made when a cell is opened. An empty one knows nothing.
type runTable struct {
	runs []run
	jump []uint32 // the run of ordinal i<<jumpShift
	// buckets are the first runs at or above i<<bucketShift, for all upper bits of
	// packed UIDs up to the last run's, and the number of runs.
	buckets     []uint32
	bucketShift uint
}

// makeRunTable returns the table of an index that has been verified.
func makeRunTable(x *pageIndex) (t runTable) {
	runs := x.first.Len()
	if runs == 0 || runs*runBytes > int(x.pages)*pageBytes+freeTableBytes {
		return t
	}
	t.runs = make([]run, 0, runs)
	firsts, ordinals := x.first.Iterator(0), x.ordinals.Iterator(1)
	begin := uint64(0)
	for range runs {
		first, _ := firsts.Next()
		end, _ := ordinals.Next()
		t.runs = append(t.runs, run{first: first, begin: uint32(begin), end: uint32(end)})
		begin = end
	}
	t.jump = make([]uint32, (x.pages-1)>>jumpShift+1)
	at := uint32(0)
	for i := range t.jump {
		for t.runs[at].end <= uint32(i)<<jumpShift {
			at++
		}
		t.jump[i] = at
	}
	// One bucket for two runs, about.
	last := t.runs[runs-1].first
	t.bucketShift = uint(max(0, bits.Len64(last)-bits.Len(uint(runs))+1))
	at = 0
	for i := range last>>t.bucketShift + 1 {
		for int(at) < runs && t.runs[at].first>>t.bucketShift < i {
			at++
		}
		t.buckets = append(t.buckets, at)
	}
	t.buckets = append(t.buckets, uint32(runs))
	return t
}

// runOf returns the run that an ordinal is in. The table is not empty.
func (t *runTable) runOf(ord uint32) run {
	i := t.jump[ord>>jumpShift]
	for t.runs[i].end <= ord {
		i++
	}
	return t.runs[i]
}

// ordinal returns the ordinal of a packed UID. The table is not empty.
func (t *runTable) ordinal(packed uint64) (uint32, bool) {
	bucket := packed >> t.bucketShift
	if bucket >= uint64(len(t.buckets)-1) {
		bucket = uint64(len(t.buckets) - 2)
	}
	// The run is the last one that does not begin above packed: of this bucket, or
	// the last one before it.
	lo, hi := int(t.buckets[bucket]), int(t.buckets[bucket+1])
	if hi-lo < 8 {
		for lo < hi && t.runs[lo].first <= packed {
			lo++
		}
	} else {
		lo += sort.Search(hi-lo, func(i int) bool { return t.runs[lo+i].first > packed })
	}
	if lo == 0 {
		return 0, false
	}
	r := &t.runs[lo-1]
	within := packed - r.first
	return r.begin + uint32(within), within < uint64(r.end-r.begin)
}
