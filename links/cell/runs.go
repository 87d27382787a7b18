// This file holds the table of runs: what the Elias-Fano sequences say, for quick
// answers, where it is small beside the cell.

package cell

import (
	"math"
	"math/bits"
	"sort"

	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// markShift: a mark tells of 32 ordinals.
	markShift = 5
	markLen   = 1 << markShift
	// A table is made where it takes no more than two bytes a page, or 64 KiB.
	runBytes       = 16
	pageBytes      = 2
	freeTableBytes = 1 << 16
)

// runTable is made when a cell is opened. An empty one knows nothing.
//
// The UID of an ordinal is found without a branch and with two reads, one after the
// other, so that the processor works at those of a whole list at once.
type runTable struct {
	runs []tableRun // and, behind them, two above all UIDs
	// marks[i] says in which runs the ordinals from i<<markShift on are: bit j of its
	// lower half that a run begins with the j-th of them, and its upper half how many
	// runs begin before them, minus 1.
	marks []uint64
	// buckets are the first runs at or above i<<bucketShift, for all upper bits of
	// packed UIDs up to the last run's, and the number of runs.
	buckets     []uint32
	bucketShift uint
	step        uint // neighbours in a run are 1<<step apart
}

// tableRun is some pages: the UID of the ordinal ord, which is begin or above and below
// end, is base + ord<<step.
type tableRun struct {
	base       uid.UID
	begin, end uint32
}

// first returns the first UID of a run.
func (t *runTable) first(r *tableRun) uid.UID { return r.base + uid.UID(r.begin)<<(t.step&63) }

// makeRunTable returns the table of an index that has been verified.
func makeRunTable(x *pageIndex) (t runTable) {
	budget := (int(x.pages)*pageBytes + freeTableBytes) / runBytes
	if x.pages == 0 || x.first.Len() > budget {
		return runTable{}
	}
	// Without bits of pages, a run has one page of each of its hosts. With them, it is
	// cut where a host ends.
	cut := x.pageBits > 0
	if !cut {
		t.step = uid.PageBits
	}
	firsts, ordinals := x.first.Iterator(0), x.ordinals.Iterator(1)
	begin := uint64(0)
	t.marks = make([]uint64, (x.pages-1)>>markShift+1)
	for range x.first.Len() {
		first, _ := firsts.Next()
		end, _ := ordinals.Next()
		for begin < end {
			if len(t.runs) == budget {
				return runTable{}
			}
			n := end - begin
			if room := uint64(1) << x.pageBits; cut {
				n = min(n, room-first%room)
			}
			t.runs = append(t.runs, tableRun{x.unpack(first) - uid.UID(begin)<<t.step, uint32(begin), uint32(begin + n)})
			t.marks[begin>>markShift] |= 1 << (begin % markLen)
			first, begin = first+n, begin+n
		}
	}
	before := uint32(0)
	for i, starts := range t.marks {
		t.marks[i] = starts | uint64(before-1)<<markLen
		before += uint32(bits.OnesCount64(starts))
	}
	t.fillBuckets(x)
	t.runs = append(t.runs, tableRun{base: math.MaxUint64}, tableRun{base: math.MaxUint64})
	return t
}

// fillBuckets makes about one bucket for two runs.
func (t *runTable) fillBuckets(x *pageIndex) {
	packed := func(i int) uint64 {
		packed, _ := x.pack(t.first(&t.runs[i]))
		return packed
	}
	n := len(t.runs)
	last := packed(n - 1)
	t.bucketShift = uint(max(0, bits.Len64(last)-bits.Len(uint(n))+1))
	at := 0
	for i := range last>>t.bucketShift + 1 {
		for at < n && packed(at)>>t.bucketShift < i {
			at++
		}
		t.buckets = append(t.buckets, uint32(at))
	}
	t.buckets = append(t.buckets, uint32(n))
}

// uid returns the UID of an ordinal of the cell. The table is not empty.
func (t *runTable) uid(ord uint32) uid.UID {
	mark := t.marks[ord>>markShift]
	starts := uint32(mark) << (^ord % markLen) // those after ord are shifted out
	run := uint32(mark>>markLen) + uint32(bits.OnesCount32(starts))
	return t.runs[run].base + uid.UID(ord)<<(t.step&63)
}

// putUIDs puts the UIDs of ordinals of the cell into dst, which is as long. The table
// is not empty.
func (t *runTable) putUIDs(dst []uid.UID, ords []uint32) {
	dst = dst[:len(ords)]
	marks, runs, step := t.marks, t.runs, t.step&63
	for i, ord := range ords {
		mark := marks[ord>>markShift]
		starts := uint32(mark) << (^ord % markLen)
		run := uint32(mark>>markLen) + uint32(bits.OnesCount32(starts))
		dst[i] = runs[run].base + uid.UID(ord)<<step
	}
}

// bucket returns the bucket of a UID that is packed so; 0 where there is none.
func (t *runTable) bucket(packed uint64) uint32 {
	return uint32(min(packed>>(t.bucketShift&63), uint64(max(len(t.buckets)-2, 0))))
}

// bucketRun returns the first run of a bucket; 0 where the table is empty.
func (t *runTable) bucketRun(bucket uint32) uint32 {
	if len(t.buckets) == 0 {
		return 0
	}
	return t.buckets[bucket]
}

// touchRun reads a run, so that it is in the cache; what it returns is of no use.
func (t *runTable) touchRun(run uint32) uint64 {
	if len(t.runs) == 0 {
		return 0
	}
	return uint64(t.runs[run].begin)
}

// touchMark reads the mark of an ordinal of the cell, so that it is in the cache; what it
// returns is of no use.
func (t *runTable) touchMark(ord uint32) uint64 {
	if len(t.marks) == 0 {
		return 0
	}
	return t.marks[ord>>markShift]
}

// ordinal returns the ordinal of u, which is packed so and is not the greatest of all
// UIDs. The table is not empty.
func (t *runTable) ordinal(u uid.UID, packed uint64) (uint32, bool) {
	bucket := t.bucket(packed)
	// The run before the first one that begins above u: all of later buckets do, and
	// most often one of the next three. Two comparisons without a branch save a wrong guess.
	at := t.buckets[bucket]
	_, above := bits.Sub64(uint64(u), uint64(t.first(&t.runs[at])), 0)
	_, nextAbove := bits.Sub64(uint64(u), uint64(t.first(&t.runs[at+1])), 0)
	at += 2 - uint32(above) - uint32(nextAbove)
	if t.first(&t.runs[at]) <= u {
		rest := t.runs[at:t.buckets[bucket+1]]
		at += uint32(sort.Search(len(rest), func(i int) bool { return t.first(&rest[i]) > u }))
	}
	if at == 0 {
		return 0, false
	}
	r := &t.runs[at-1]
	// Where neighbours are not 1 apart, u has no bits between.
	within := uint64(u-t.first(r)) >> (t.step & 63)
	return r.begin + uint32(within), within < uint64(r.end-r.begin)
}
