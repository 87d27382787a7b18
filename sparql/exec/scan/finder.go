// Batches of look-ups, each range read once in the order of keys.

package scan

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/triple"
)

// Finder collects ranges of the store, then reads them in the order of keys, each once, and
// holds the matches.
type Finder struct {
	memory.Holder
	bytes int64 // of found: at most those held

	requests []request // in the order of the requests
	found    [][4]string
	keys     []byte         // of the ranges of requests
	order    []int32        // of requests, by reader and range
	read     []triple.Range // of one call
	of1      []int32        // the first of requests for each of read
	one      []triple.Range
}

// request is one range and its matches: found[from:to].
type request struct {
	r        triple.Range
	reader   *pattern.Reader
	access   *pattern.Access
	group    uint8 // ranges of one group do not overlap, unless they are equal
	from, to int32
}

// maxFound is how many matches a finder holds.
const maxFound = 32 << 10

// Memory of a finder: of a match without its bindings, twice because append may double,
// and how much more is counted at a time.
const (
	foundBytes = 2 * 4 * 16
	findGrain  = 64 << 10
	// maxRowBytes bounds the matches of one row beyond the limit.
	maxRowBytes = 4 << 20
)

// errOverflow: the ranges have more matches than a finder holds.
var errOverflow = errors.New("more matches than are held")

// NewFinder returns a finder. Its bytes count against the query's memory.
func NewFinder(q *exec.Execution) Finder {
	return Finder{Holder: q.Account.NewHolder("look-up")}
}

// clear removes all ranges and matches. The memory stays counted, because it is used again.
func (f *Finder) clear() {
	f.requests, f.found, f.keys, f.bytes = f.requests[:0], f.found[:0], f.keys[:0], 0
}

// drop is clear, and gives the memory back.
func (f *Finder) drop() {
	f.clear()
	f.found = nil
	f.Free()
}

// hold counts a match. With bounded, the error is errOverflow if that is more than a finder may
// hold. Look-ups must leave half of the memory to other operators, except a small part of each,
// because a look-up can take a smaller part of its input and the others cannot do with less.
func (f *Finder) hold(found *[4]string, bounded bool) error {
	if bounded && len(f.found) >= maxFound {
		return errOverflow
	}
	// 1. Count the match. Memory of an earlier chunk is still held, and may be used again.
	f.bytes += foundBytes
	for _, binding := range found {
		f.bytes += int64(len(binding))
	}
	if f.bytes <= f.Held {
		return nil
	}
	// 2. A bounded look-up must end before it takes the memory of other operators.
	more := int(max(f.bytes-f.Held, min(findGrain, f.Account.Limit/64)))
	least := f.Account.Limit / 8 / max(f.Account.Operators, 1)
	if bounded && f.Account.Used-f.Account.Fixed+int64(more) > f.Account.Limit/2 && f.Held+int64(more) > least {
		return errOverflow
	}
	// 3. Reserve the bytes. The caller tries again with fewer rows if there is no room.
	err := f.Grow(more)
	switch {
	case !errors.Is(err, memory.ErrMemory):
		return err
	case bounded:
		return errOverflow
	case len(f.found) > maxFound || f.bytes > maxRowBytes:
		return err
	}
	f.Take(more) // a single row of the input has few matches, if any
	return nil
}

// expect makes room for n ranges of about the length of those before.
func (f *Finder) expect(n int) {
	if old := len(f.requests); old > 0 {
		f.keys = slices.Grow(f.keys[:0], n*(len(f.keys)/old+16))
	}
	f.requests = slices.Grow(f.requests[:0], n)
	f.found = slices.Grow(f.found[:0], n)
}

// request adds the ranges of a row's matches.
func (f *Finder) request(r *pattern.Reader, a *pattern.Access, row []string, group uint8) {
	f.one, f.keys = r.Pattern.Ranges(f.one[:0], f.keys, a, row)
	for _, one := range f.one {
		f.requests = append(f.requests, request{r: one, reader: r, access: a, group: group})
	}
}

// repeats reports whether the last two ranges are equal.
func (f *Finder) repeats() bool {
	n := len(f.requests)
	return n > 1 && sameRange(&f.requests[n-1], &f.requests[n-2])
}

func sameRange(a, b *request) bool {
	return a.access == b.access && a.reader == b.reader && bytes.Equal(a.r.Lo, b.r.Lo)
}

// matches returns the matches in the i-th range.
func (f *Finder) matches(i int) [][4]string { return f.found[f.requests[i].from:f.requests[i].to] }

// find reads all added ranges. With bounded, it returns errOverflow if the matches are too many
// to hold.
func (f *Finder) find(q *exec.Execution, plan *explain.Plan, bounded bool) error {
	f.order = f.order[:0]
	for i := range f.requests {
		f.order = append(f.order, int32(i))
	}
	compare := func(a, b int32) int { return compareRequests(&f.requests[a], &f.requests[b]) }
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

func compareRequests(a, b *request) int {
	if a.group != b.group {
		return cmp.Compare(a.group, b.group)
	}
	return bytes.Compare(a.r.Lo, b.r.Lo)
}

// call reads ranges from f.order[at] on in one call, and returns the start of the next call.
func (f *Finder) call(q *exec.Execution, plan *explain.Plan, at int, bounded bool) (int, error) {
	// 1. Collect ranges. They must ascend and not overlap within one call, so another group
	// may have to wait for the next one.
	f.read, f.of1 = f.read[:0], f.of1[:0]
	first := at
	for ; at < len(f.order); at++ {
		one := &f.requests[f.order[at]]
		if n := len(f.read); n > 0 {
			last := &f.requests[f.order[at-1]]
			if sameRange(one, last) {
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
		f.requests[one].reader.BeginRange()
	}
	// 2. Read them, and set the start and end of each range's matches.
	last, reads := -1, 0
	var one *request
	err := q.Source.Lookup(q.Ctx, f.read, func(i int, key, value []byte) error {
		if reads++; reads%solution.BatchRows == 0 {
			if err := q.Check(); err != nil {
				return err
			}
		}
		// Rows come in the order of the ranges, so the matches of a range are adjacent in found.
		if i != last {
			last, one = i, &f.requests[f.of1[i]]
			one.from, one.to = int32(len(f.found)), int32(len(f.found))
		}
		found, ok, err := one.reader.Read(one.access, key, value)
		if err != nil || !ok {
			return err
		}
		if err := f.hold(&found, bounded); err != nil {
			return err
		}
		f.found = append(f.found, found)
		one.to = int32(len(f.found))
		return nil
	})
	plan.AddReads(reads)
	if err != nil {
		return at, err
	}
	// 3. Equal ranges were read once, so they share the matches.
	for i := first + 1; i < at; i++ {
		if one, before := &f.requests[f.order[i]], &f.requests[f.order[i-1]]; sameRange(one, before) {
			one.from, one.to = before.from, before.to
		}
	}
	return at, nil
}

// fill clears a batch and reads about one chunk of a look-up into it, of several input batches
// if one is not enough.
func fill(from exec.Operator, to *solution.Batch, spare **solution.Batch, want int) error {
	to.Clear()
	if err := from.Next(to); err != nil || to.Len == 0 {
		return err
	}
	for to.Len > 1 && to.Len <= want-solution.BatchRows && to.Len*to.Width < to.Account.BatchCells && to.Weight < solution.MaxWeight {
		if *spare == nil {
			*spare = to.NewEmpty()
		}
		more := *spare
		more.Clear()
		if err := from.Next(more); err != nil {
			return err
		}
		if more.Len == 0 {
			break
		}
		to.Grow(len(more.Cells))
		to.Cells = append(to.Cells, more.Cells...)
		to.Origin = append(to.Origin, more.Origin...)
		to.Len += more.Len
		to.Weight += more.Weight
	}
	return nil
}
