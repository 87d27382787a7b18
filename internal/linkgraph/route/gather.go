// Requests that several machines answer, and their answers put together.

package route

import (
	"context"
	"fmt"
	"github.com/trefoildb/trefoil/internal/derived"
	"math"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/trie"
)

// piece is the answers of one machine: the lists of some items.
type piece[T any] struct {
	items []int
	lists rank.Lists[T]
}

// Request is a request about items that lie in partitions, answered with a list for each.
type Request[T any] struct {
	N     int
	Of    func(i int) int // the partition of an item
	Local func(s *state.State, items []int) (rank.Lists[T], error)
	Query func(items []int) *Query
	Parse func(a *Answer) ([]T, error) // the items of an answer
	Size  func(i int) int              // the bytes of an item in a query
	Cut   bool                         // an answer may have a part of a list
	// Bounded is set if the lists of a prefix of the items will do, with at most most links together.
	// Then each machine answers for a prefix of its items, with its share of the links.
	Bounded bool
	Most    int
	// Primaries is set if the first holder of a partition is to answer, not the nearest one.
	Primaries bool
}

// smallShare is the least share of a machine, because so few links cost no more than their message.
const smallShare = 1 << 10

// Share returns how many links a machine may answer with for some of the items. It is an eighth more
// than their part of all, because lists differ. The machine of the first item may answer with all, so
// that a prefix is empty only if the first list is too long.
func (r *Request[T]) Share(items []int) int {
	if !r.Bounded {
		return math.MaxInt
	}
	part := r.Most
	if items[0] != 0 {
		part = min(part, max(smallShare, int(float64(r.Most)*float64(len(items))/float64(r.N)*9/8)))
	}
	return max(part, 1)
}

// Gather answers a request from the machines that hold the partitions. If a prefix will do,
// it ends before the first item that a machine has left out.
func Gather[T any](ctx context.Context, g *Router, r Request[T]) (rank.Lists[T], error) {
	at, err := g.ReadPosition(ctx)
	if err != nil {
		return rank.Lists[T]{}, err
	}
	// 1. Get pieces of the answer.
	var mu sync.Mutex
	var pieces []piece[T]
	end, err := g.Peers.Gather(ctx, derived.Request{
		Items: r.N, Partition: r.Of, Primaries: r.Primaries, MayPass: machine.MayPass,
		Holds: func(partition int) bool {
			s := g.Board.State.Load()
			return s != nil && s.Held.Has(partition)
		},
		Answer: func(waiting context.Context, m trie.MachineID, items []int) (int, error) {
			lists, n, err := answerOf(ctx, waiting, g, at, m, items, &r)
			if n > 0 {
				mu.Lock()
				defer mu.Unlock()
				pieces = append(pieces, piece[T]{items[:n], lists})
			}
			return n, err
		},
	})
	if err != nil {
		return rank.Lists[T]{}, err
	}
	// 2. Put them together.
	if end < r.N && !r.Bounded {
		return rank.Lists[T]{}, fmt.Errorf("%w: no list of item %d of %d", peer.ErrMessage, end, r.N)
	}
	most := math.MaxInt
	if r.Bounded {
		most = r.Most
	}
	return merge(end, most, pieces), nil
}

// answerOf returns the answer of one machine, the lists of the first n items. If there is an error,
// another machine may have the rest. It waits for changes of this machine's state until waiting ends.
func answerOf[T any](ctx, waiting context.Context, g *Router, at feed.Position, m trie.MachineID, items []int, r *Request[T]) (lists rank.Lists[T], n int, err error) {
	// 1. Another machine refuses if it lacks a partition.
	if m != g.Node.MachineID() {
		return queryPieces(ctx, g, at, m, items, r)
	}
	// 2. This machine may have dropped a partition meanwhile.
	s, err := g.Board.Await(waiting, at)
	if err != nil {
		return lists, 0, err
	}
	for _, i := range items {
		if !s.Held.Has(r.Of(i)) {
			return lists, 0, g.ErrNotHeld()
		}
	}
	if lists, err = r.Local(s, items); err != nil {
		return rank.Lists[T]{}, 0, err
	}
	return lists, lists.Len(), nil
}

// merge returns the lists of the first n items in their order, or of a prefix of them with at most most
// links. Items of a piece may be in any order.
func merge[T any](n, most int, pieces []piece[T]) (all rank.Lists[T]) {
	if len(pieces) == 1 && len(pieces[0].items) == n && len(pieces[0].lists.Items) <= most && slices.IsSorted(pieces[0].items) {
		return pieces[0].lists // the lists of all items, without a copy
	}
	// 1. Find the list of each item.
	type place struct{ piece, list int32 }
	places := make([]place, n)
	for p := range pieces {
		for l, i := range pieces[p].items {
			if i < n {
				places[i] = place{int32(p), int32(l)}
			}
		}
	}
	// 2. Count their links, up to the bound, and copy them.
	list := func(at place) []T { return pieces[at.piece].lists.At(int(at.list)) }
	total := 0
	for i, at := range places {
		if total += len(list(at)); total > most {
			total, places = total-len(list(at)), places[:i]
			break
		}
	}
	all.Items, all.Ends = make([]T, 0, total), make([]int, 0, len(places))
	for _, at := range places {
		all.Items = append(all.Items, list(at)...)
		all.End()
	}
	return all
}

// Pick returns some of a list.
func Pick[T any](list []T, items []int) []T {
	some := make([]T, len(items))
	for k, i := range items {
		some[k] = list[i]
	}
	return some
}
