// This file holds how lists are made by all processors.

package rank

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/processors"
)

// SpanLen is how many numbers a worker of [Share] takes at once. Fewer are not worth a
// goroutine.
const SpanLen = 128

// Share shares the numbers below n among all processors. Each calls worker once, with the
// spans that it is to work at: from the first number on and below the second one, at most
// [SpanLen] of them, beginning at a multiple of that. There are no more spans once ctx
// has ended; the error is that of ctx then.
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

// made is the lists of a span: those of a worker's lists from the first on.
type made[T any] struct {
	lists *Lists[T]
	first int
}

// MakeLists returns n lists, which all processors make, as [Share] says: a worker appends
// the lists of its spans to l, one for each number. List i that is made is number order[i]
// of what is returned; order is nil where it is number i, and else has each number once.
// The error is that of ctx.
func MakeLists[T any](ctx context.Context, n int, order []uint32, worker func(l *Lists[T], spans iter.Seq2[int, int])) (all Lists[T], err error) {
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
	for i := range all.Ends {
		s := &spans[i/SpanLen]
		all.Ends[place(i)] = len(s.lists.At(s.first + i%SpanLen))
	}
	total := 0
	for i, length := range all.Ends {
		total += length
		all.Ends[i] = total
	}
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
