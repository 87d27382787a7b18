// This file holds how lists are made by all processors.

package rank

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// listsAtOnce is how many lists a worker makes before it looks at the context and
// takes the next ones. Fewer are not worth a goroutine.
const listsAtOnce = 128

// MakeLists returns n lists, which all processors make: each calls worker for a
// function of its own, which appends list i to dst. The error is that of the context.
func MakeLists[T any](ctx context.Context, n int, worker func() func(dst []T, i int) []T) (Lists[T], error) {
	return makeLists(ctx, n, func(i int) int { return i }, worker)
}

// span is a list among those of one worker.
type span struct{ worker, start, end int }

// makeLists makes the lists in this order.
func makeLists[T any](ctx context.Context, n int, order func(i int) int, worker func() func(dst []T, i int) []T) (Lists[T], error) {
	if ctx.Err() != nil {
		return Lists[T]{}, context.Cause(ctx)
	}
	var (
		next    atomic.Int64
		workers = max(1, min(runtime.GOMAXPROCS(0), n/listsAtOnce))
		made    = make([][]T, workers)
		errs    = make([]error, workers)
		spans   = make([]span, n)
		group   sync.WaitGroup
	)
	work := func(w int) {
		appendList, items := worker(), []T(nil)
		for {
			from := int(next.Add(listsAtOnce)) - listsAtOnce
			if from >= n {
				break
			}
			if errs[w] = context.Cause(ctx); errs[w] != nil {
				break
			}
			for at := from; at < min(from+listsAtOnce, n); at++ {
				start, i := len(items), order(at)
				items = appendList(items, i)
				spans[i] = span{w, start, len(items)}
			}
		}
		made[w] = items
	}
	for w := 1; w < workers; w++ {
		group.Go(func() { work(w) })
	}
	work(0)
	group.Wait()
	if err := cmp.Or(errs...); err != nil {
		return Lists[T]{}, err
	}
	return gather(spans, made), nil
}

// gather returns lists, which are spans of what workers made, in their order.
func gather[T any](spans []span, made [][]T) (all Lists[T]) {
	total := 0
	all.Ends = make([]int, len(spans))
	for i, s := range spans {
		total += s.end - s.start
		all.Ends[i] = total
	}
	all.Items = make([]T, 0, total)
	for _, s := range spans {
		all.Items = append(all.Items, made[s.worker][s.start:s.end]...)
	}
	return all
}

// Within answers [Source.LinksWithin] for a source whose lists are in memory: list
// appends the forward links of a page, ascending. All processors call it at once, slot
// by slot, as lists of pages that are near to each other are near in memory most often.
// hosts may be nil for the class of all links. The error is that of the context.
func (s *Set) Within(ctx context.Context, class sample.Class, hosts sample.Hosts, list func(dst []uid.UID, page uid.UID) []uid.UID) (Lists[uint32], error) {
	order := s.bySlot()
	return makeLists(ctx, len(order), func(i int) int { return int(order[i]) }, func() func([]uint32, int) []uint32 {
		var links []uid.UID
		return func(dst []uint32, i int) []uint32 {
			page := s.uids[i]
			links = list(links[:0], page)
			var classes sample.Classes
			if class != sample.All {
				classes = sample.ClassesOf(hosts, page)
			}
			return s.AppendWithin(dst, links, class, classes)
		}
	})
}

// bySlot returns the numbers of all pages by the slots of their UIDs.
func (s *Set) bySlot() []uint32 {
	starts := make([]uint32, uid.NumSlots+1)
	for _, u := range s.uids {
		starts[u.Slot()+1]++
	}
	for slot := range uid.NumSlots {
		starts[slot+1] += starts[slot]
	}
	order := make([]uint32, len(s.uids))
	for id, u := range s.uids {
		at := &starts[u.Slot()]
		order[*at] = uint32(id)
		*at++
	}
	return order
}
