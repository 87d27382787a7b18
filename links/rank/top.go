// This file holds rankings: the best of many scores, in order.

package rank

import (
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/links/uid"
)

// Scored is a page and its score.
type Scored struct {
	UID   uid.UID
	Score float64
}

// Top returns the k pages with the highest scores, highest first, of equal
// scores the lowest UID first. scores are those of uids, in their order. All are
// returned if there are fewer than k. O(n) for k much smaller than n.
func Top(k int, uids []uid.UID, scores []float64) []Scored {
	b := best[Scored]{k: max(k, 0), compare: func(x, y Scored) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.UID, y.UID))
	}}
	for i, u := range uids {
		if b.open(scores[i], Scored.score) {
			b.add(Scored{u, scores[i]})
		}
	}
	return b.sorted()
}

// ScoredPage is a page of a partition and its score.
type ScoredPage struct {
	Address
	Score float64
}

// TopPages does the same for the scores of partitions, which have the numbers
// 0, 1, ... as in scores. Of equal scores the page of the lower partition is
// first, and of one partition the lower page: ascending UIDs, where partitions
// are the cells of ascending ranges.
func TopPages(k int, scores [][]float64) []ScoredPage {
	b := best[ScoredPage]{k: max(k, 0), compare: func(x, y ScoredPage) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Partition, y.Partition), cmp.Compare(x.Page, y.Page))
	}}
	for partition, scores := range scores {
		for page, score := range scores {
			if b.open(score, ScoredPage.score) {
				b.add(ScoredPage{Address{uint32(partition), uint32(page)}, score})
			}
		}
	}
	return b.sorted()
}

func (s Scored) score() float64     { return s.Score }
func (s ScoredPage) score() float64 { return s.Score }

// best keeps the k first of what it is given. It lets up to twice as many come
// together, then sorts them and drops the second half.
type best[T any] struct {
	k       int
	compare func(x, y T) int
	kept    []T
	last    *T // of the k first so far, if there are k
}

// open reports whether something with this score may be among the first.
func (b *best[T]) open(score float64, of func(T) float64) bool {
	return b.k > 0 && (b.last == nil || score >= of(*b.last))
}

func (b *best[T]) add(x T) {
	const slack = 64
	b.kept = append(b.kept, x)
	if (len(b.kept)-slack)/2 >= b.k {
		b.cut()
	}
}

func (b *best[T]) cut() {
	slices.SortFunc(b.kept, b.compare)
	if len(b.kept) >= b.k && b.k > 0 {
		b.kept = b.kept[:b.k]
		last := b.kept[b.k-1]
		b.last = &last
	}
}

func (b *best[T]) sorted() []T {
	b.cut()
	return b.kept
}
