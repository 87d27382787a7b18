// Table of runs: the content of the Elias-Fano sequences for quick answers, if it is small
// beside the cell.

package cell

import (
	"math"
	"math/bits"
	"sort"

	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// markShift: a mark covers 32 ordinals.
	markShift = 5
	markLen   = 1 << markShift
	// A table is made only if it takes at most two bytes a page, plus 64 KiB.
	runBytes       = 16
	pageBytes      = 2
	freeTableBytes = 1 << 16
)

// runTable is made when a cell is opened. An empty one has no answers.
//
// The UID of an ordinal takes no branch and two dependent reads, because the processor can then
// work at a whole list at once.
type runTable struct {
	runs []tableRun // followed by two above all UIDs
	// marks[i] locates the runs of the ordinals from i<<markShift on. If bit j of its lower half
	// is set, a run begins with the j-th of them. Its upper half is the number of runs that
	// begin before them, minus 1.
	marks []uint64
	// buckets[i] is the first run at or above i<<bucketShift, up to the upper bits of the last
	// run's packed UID. The last element is the number of runs.
	buckets     []uint32
	bucketShift uint
	step        uint // neighbours in a run are 1<<step apart
}

// tableRun is a run of pages with ordinals from begin to below end. The UID of the ordinal ord
// is base + ord<<step.
type tableRun struct {
	base       uid.UID
	begin, end uint32
}

// first returns the first UID of a run.
func (t *runTable) first(r *tableRun) uid.UID { return r.base + uid.UID(r.begin)<<(t.step&63) }

// makeRunTable returns the table of a verified index, or an empty one if it would be too large.
func makeRunTable(x *pageIndex) (t runTable) {
	// 1. Give up if even the unsplit runs exceed the budget.
	budget := (int(x.pages)*pageBytes + freeTableBytes) / runBytes
	if x.pages == 0 || x.first.Len() > budget {
		return runTable{}
	}
	// Without page bits, a run has one page of each of its hosts. With them, a run must be split
	// at the end of a host.
	cut := x.pageBits > 0
	if !cut {
		t.step = uid.PageBits
	}
	// 2. Split the runs, and mark the ordinal that begins each.
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
	// 3. Add the count of earlier runs to each mark.
	before := uint32(0)
	for i, starts := range t.marks {
		t.marks[i] = starts | uint64(before-1)<<markLen
		before += uint32(bits.OnesCount64(starts))
	}
	// 4. Append the sentinels after the buckets, because these must count real runs only.
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

// uid returns the UID of an ordinal of the cell. The table must not be empty.
func (t *runTable) uid(ord uint32) uid.UID {
	mark := t.marks[ord>>markShift]
	starts := uint32(mark) << (^ord % markLen) // shifts out the marks after ord
	run := uint32(mark>>markLen) + uint32(bits.OnesCount32(starts))
	return t.runs[run].base + uid.UID(ord)<<(t.step&63)
}

// putUIDs writes the UIDs of ords into dst, which must have the same length. The ordinals must
// be in the cell, and the table must not be empty.
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

// bucket returns the bucket of a packed UID, or 0 if the table is empty.
func (t *runTable) bucket(packed uint64) uint32 {
	return uint32(min(packed>>(t.bucketShift&63), uint64(max(len(t.buckets)-2, 0))))
}

// bucketRun returns the first run of a bucket, or 0 if the table is empty.
func (t *runTable) bucketRun(bucket uint32) uint32 {
	if len(t.buckets) == 0 {
		return 0
	}
	return t.buckets[bucket]
}

// touchRun reads a run to bring it into the cache; the result is meaningless.
func (t *runTable) touchRun(run uint32) uint64 {
	if len(t.runs) == 0 {
		return 0
	}
	return uint64(t.runs[run].begin)
}

// touchMark reads the mark of an ordinal of the cell to bring it into the cache; the result is
// meaningless.
func (t *runTable) touchMark(ord uint32) uint64 {
	if len(t.marks) == 0 {
		return 0
	}
	return t.marks[ord>>markShift]
}

// ordinal returns the ordinal of u; packed is u packed. u must not be the greatest of all UIDs,
// and the table must not be empty.
func (t *runTable) ordinal(u uid.UID, packed uint64) (uint32, bool) {
	bucket := t.bucket(packed)
	// Find the run before the first one that begins above u. It is mostly one of the next three.
	// Two comparisons without a branch are cheaper, because a branch would be mispredicted.
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
	// If neighbours are more than 1 apart, u has no bits between.
	within := uint64(u-t.first(r)) >> (t.step & 63)
	return r.begin + uint32(within), within < uint64(r.end-r.begin)
}
