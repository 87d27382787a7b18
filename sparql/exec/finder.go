package exec

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// finder collects ranges of the store, then reads them in the order of keys, each
// once, and holds what they have.
type finder struct {
	asked []asked // as they were asked for
	found [][4]string
	keys  []byte         // of the ranges of asked
	order []int32        // of asked, by what and range
	read  []triple.Range // of one call
	of1   []int32        // the first of asked for each of read
	one   []triple.Range
}

// asked is one range and what it holds: found[from:to].
type asked struct {
	r        triple.Range
	reader   *reader
	access   *access
	group    uint8 // ranges of one group do not overlap, unless they are equal
	from, to int32
}

// maxFound is how many matches a finder holds.
const maxFound = 32 << 10

// errOverflow: the ranges have more matches than a finder holds.
var errOverflow = errors.New("more matches than are held")

func (f *finder) clear() {
	f.asked, f.found, f.keys = f.asked[:0], f.found[:0], f.keys[:0]
}

// expect makes room for so many ranges, which are about as long as those before.
func (f *finder) expect(n int) {
	if asked := len(f.asked); asked > 0 {
		f.keys = slices.Grow(f.keys[:0], n*(len(f.keys)/asked+16))
	}
	f.asked = slices.Grow(f.asked[:0], n)
	f.found = slices.Grow(f.found[:0], n)
}

// ask asks for what matches a row.
func (f *finder) ask(r *reader, a *access, row []string, group uint8) {
	f.one, f.keys = r.pat.ranges(f.one[:0], f.keys, a, row)
	for _, one := range f.one {
		f.asked = append(f.asked, asked{r: one, reader: r, access: a, group: group})
	}
}

// repeats reports whether the last range asked for is that before it.
func (f *finder) repeats() bool {
	n := len(f.asked)
	return n > 1 && same(&f.asked[n-1], &f.asked[n-2])
}

func same(a, b *asked) bool {
	return a.access == b.access && a.reader == b.reader && bytes.Equal(a.r.Lo, b.r.Lo)
}

// of returns what was found in the i-th range.
func (f *finder) of(i int) [][4]string { return f.found[f.asked[i].from:f.asked[i].to] }

// find reads what was asked for. With bounded, it ends in errOverflow where that
// is too much to hold.
func (f *finder) find(q *query, plan *Plan, bounded bool) error {
	f.order = f.order[:0]
	for i := range f.asked {
		f.order = append(f.order, int32(i))
	}
	compare := func(a, b int32) int { return compareAsked(&f.asked[a], &f.asked[b]) }
	if !slices.IsSortedFunc(f.order, compare) {
		slices.SortFunc(f.order, compare)
	}
	for at := 0; at < len(f.order); {
		var err error
		if at, err = f.call(q, plan, at, bounded); err != nil {
			return err
		}
	}
	return nil
}

func compareAsked(a, b *asked) int {
	if a.group != b.group {
		return cmp.Compare(a.group, b.group)
	}
	return bytes.Compare(a.r.Lo, b.r.Lo)
}

// call reads ranges from f.order[at] on in one call, and returns where the next
// one is to begin.
func (f *finder) call(q *query, plan *Plan, at int, bounded bool) (int, error) {
	f.read, f.of1 = f.read[:0], f.of1[:0]
	first := at
	for ; at < len(f.order); at++ {
		one := &f.asked[f.order[at]]
		if n := len(f.read); n > 0 {
			last := &f.asked[f.order[at-1]]
			if same(one, last) {
				continue
			}
			if one.group != last.group && bytes.Compare(one.r.Lo, f.read[n-1].Hi) < 0 {
				break
			}
		}
		f.read = append(f.read, one.r)
		f.of1 = append(f.of1, f.order[at])
	}
	for _, one := range f.of1 {
		f.asked[one].reader.spo = f.asked[one].reader.spo[:0]
	}
	last, reads := -1, 0
	var one *asked
	err := q.src.Lookup(q.ctx, f.read, func(i int, key, value []byte) error {
		if reads++; reads%batchRows == 0 {
			if err := q.check(); err != nil {
				return err
			}
		}
		if i != last {
			last, one = i, &f.asked[f.of1[i]]
			one.from, one.to = int32(len(f.found)), int32(len(f.found))
		}
		found, ok, err := one.reader.read(one.access, key, value)
		if err != nil || !ok {
			return err
		}
		if bounded && len(f.found) >= maxFound {
			return errOverflow
		}
		f.found = append(f.found, found)
		one.to = int32(len(f.found))
		return nil
	})
	plan.read(reads)
	if err != nil {
		return at, err
	}
	for i := first + 1; i < at; i++ {
		if one, before := &f.asked[f.order[i]], &f.asked[f.order[i-1]]; same(one, before) {
			one.from, one.to = before.from, before.to
		}
	}
	return at, nil
}

// fill clears a batch and gets about as many rows as a look-up takes at a time:
// several batches where that is more than one.
func fill(from operator, to *batch, spare **batch, want int) error {
	to.clear()
	if err := from.next(to); err != nil || to.n == 0 {
		return err
	}
	for to.n > 1 && to.n <= want-batchRows && to.n*to.width < batchCells && to.weight < maxWeight {
		if *spare == nil {
			*spare = newBatch(to.width)
		}
		more := *spare
		more.clear()
		if err := from.next(more); err != nil {
			return err
		}
		if more.n == 0 {
			break
		}
		to.cells = append(to.cells, more.cells...)
		to.ord = append(to.ord, more.ord...)
		to.n += more.n
		to.weight += more.weight
	}
	return nil
}

// softLimit is how many rows an operator gives at a time that could give a batch:
// few at first, as none may want more.
type softLimit int

func (s *softLimit) next() int {
	*s = min(max(2**s, firstChunkRows), batchRows)
	return int(*s)
}
