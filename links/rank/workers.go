// Lists made on all processors.

package rank

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/processors"
)

// SpanLen is the maximum number of numbers that a worker of [Share] takes at once. Fewer are not
// worth a goroutine.
const SpanLen = 128

// Share distributes the numbers below n over all processors. Each calls worker once with its
// spans. A span is from the first number on and below the second one. It has at most [SpanLen]
// numbers and begins at a multiple of it. When ctx has ended, there are no more spans, and Share
// returns the cause.
func Share(ctx context.Context, n int, worker func(spans iter.Seq2[int, int])) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var (
		next  atomic.Int64
		group sync.WaitGroup
	)
	spans := func(yield func(from, to int) bool) {
		for ctx.Err() == nil {
			from := int(next.Add(SpanLen)) - SpanLen
			if from >= n || !yield(from, min(from+SpanLen, n)) {
				return
			}
		}
	}
	for range min(processors.Count(), n/SpanLen) - 1 {
		group.Go(func() { worker(spans) })
	}
	worker(spans)
	group.Wait()
	return context.Cause(ctx)
}

// made is the lists of a span: lists of a worker, from number first on.
type made[T any] struct {
	lists *Lists[T]
	first int
}

// MakeLists returns n lists, made on all processors as [Share] does. A worker must append the
// lists of its spans to l, one for each number. List i becomes number order[i] of the result.
// order must have each number once; if it is nil, list i is number i. The error is the cause of
// ctx's end.
func MakeLists[T any](ctx context.Context, n int, order []uint32, worker func(l *Lists[T], spans iter.Seq2[int, int])) (all Lists[T], err error) {
	// 1. Make the lists. spans needs no lock, because each span has one worker.
	all.Ends = make([]int, n)
	spans := make([]made[T], (n+SpanLen-1)/SpanLen)
	err = Share(ctx, n, func(own iter.Seq2[int, int]) {
		l := &Lists[T]{}
		worker(l, func(yield func(from, to int) bool) {
			for from, to := range own {
				spans[from/SpanLen] = made[T]{l, l.Len()}
				if !yield(from, to) {
					return
				}
			}
		})
	})
	if err != nil {
		return Lists[T]{}, err
	}
	place := func(i int) int {
		if order == nil {
			return i
		}
		return int(order[i])
	}
	// 2. Set the ends of all lists: first their lengths at their places, then the sums.
	for i := range all.Ends {
		s := &spans[i/SpanLen]
		all.Ends[place(i)] = len(s.lists.At(s.first + i%SpanLen))
	}
	total := 0
	for i, length := range all.Ends {
		total += length
		all.Ends[i] = total
	}
	// 3. Copy the items, again on all processors, because each list has its own part of Items.
	all.Items = slices.Grow([]T(nil), total)[:total]
	return all, Share(ctx, n, func(own iter.Seq2[int, int]) {
		for from, to := range own {
			s := &spans[from/SpanLen]
			for i := from; i < to; i++ {
				copy(all.At(place(i)), s.lists.At(s.first+i-from))
			}
		}
	})
}
