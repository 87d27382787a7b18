// Rankings: the best of many scores, in order.

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

// Top returns the k pages with the highest scores, highest first. If scores are equal, the lower
// UID is first. scores must be in the order of uids. If there are fewer than k, Top returns all.
// It needs O(n) if k is much smaller than n.
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

// Address is a page of a partition.
type Address struct{ Partition, Page uint32 }

// ScoredPage is a page of a partition and its score.
type ScoredPage struct {
	Address
	Score float64
}

// TopPages does the same for the scores of partitions, numbered 0, 1, ... as in scores. If scores
// are equal, the page of the lower partition is first, then the lower page. This is the order of
// UIDs if partitions are the cells of ascending ranges.
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

// best keeps the first k of the added values. It collects up to twice that number, then sorts
// them and drops the second half.
type best[T any] struct {
	k       int
	compare func(x, y T) int
	kept    []T
	last    *T // the k-th so far, or nil if there are fewer
}

// open reports whether a value with this score may be among the first k.
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
