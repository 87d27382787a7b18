// Lists: the links of pages, and batches of reads.

package state

import (
	"context"
	"math/bits"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
)

// OfPages returns the partitions of pages.
func OfPages(pages []uid.UID) func(i int) int {
	return func(i int) int { return machine.PartitionOf(pages[i]) }
}

// LinksPiece returns the links of a prefix of pages with at most most links. If the first page alone
// exceeds that, or after is set, the result is a part of its list: the links behind after. more is
// the last UID of the part if others follow.
func (s *State) LinksPiece(ctx context.Context, d links.Direction, pages []uid.UID, after uid.UID, most int) (l links.Lists, more uid.UID, err error) {
	if s, err = s.With(ctx, cell.StoreOf(d), len(pages), OfPages(pages)); err != nil {
		return l, 0, err
	}
	if after == 0 {
		if l, err = s.Links(ctx, d, pages, most); err != nil || l.Len() > 0 {
			return l, 0, err
		}
	}
	for u := range s.View(pages[0]).Links(d, pages[0]) {
		if u <= after {
			continue
		}
		if len(l.Items) == most {
			more = l.Items[most-1]
			break
		}
		l.Items = append(l.Items, u)
	}
	l.End()
	return l, more, ctx.Err()
}

// checkPages is the number of pages between two checks of the context.
const checkPages = 1 << 8

// each calls do with the numbers from 0 to n-1 until an error or the end of ctx.
func each(ctx context.Context, n int, do func(i int) error) error {
	for i := range n {
		if i%checkPages == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// Links returns the links of a prefix of pages whose total is at most most.
func (s *State) Links(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	if s, err = s.With(ctx, cell.StoreOf(d), len(pages), OfPages(pages)); err != nil {
		return l, err
	}
	l.Ends = make([]int, 0, len(pages))
	return l, s.eachRead(ctx, d, pages, func(r *delta.Reader, n int) bool {
		if len(l.Ends) == 0 {
			l.Items = make([]uid.UID, 0, min(guess(r, n, len(pages)), most))
		}
		for i := range n {
			if most-len(l.Items) < r.Degree(i) {
				return false
			}
			l.Items = r.AppendLinks(l.Items, i)
			l.End()
		}
		return true
	})
}

// mostGuessed bounds a guess, because the first lists may be far longer than others.
const mostGuessed = 1 << 18

// guess returns about the number of links of all pages. The first n, at least one, were read.
// It is there because a slice that grows is copied again and again.
func guess(r *delta.Reader, n, pages int) int {
	first := 0
	for i := range n {
		first += min(r.Degree(i), mostGuessed)
	}
	return min(first, mostGuessed) + min(first/n*(pages-n)/8*9, mostGuessed)
}

// eachRead calls use with the links of pages, in order, n at a time. It stops if use returns
// false or ctx ends.
func (s *State) eachRead(ctx context.Context, d links.Direction, pages []uid.UID, use func(r *delta.Reader, n int) bool) error {
	return s.eachBatch(ctx, len(pages), func(i, _ int) uid.UID { return pages[i] },
		func(r *delta.Reader, views []*delta.View, from int) bool {
			r.Read(d, views, pages[from:from+len(views)])
			return use(r, len(views))
		})
}

// eachBatch calls use for the numbers below n in batches, with the views of their UIDs. from is
// the first number of a batch. of returns the UID of number i, with index k in its batch. It
// stops if use returns false or ctx ends.
func (s *State) eachBatch(ctx context.Context, n int, of func(i, k int) uid.UID, use func(r *delta.Reader, views []*delta.View, from int) bool) error {
	r := delta.NewReader()
	defer r.Release()
	lasts := s.Lasts()
	var views [delta.ReaderLen]*delta.View
	for from := 0; from < n; from += delta.ReaderLen {
		if from%checkPages == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		some := views[:min(delta.ReaderLen, n-from)]
		for k := range some {
			some[k] = s.Views[FindPart(lasts, of(from+k, k))]
		}
		if !use(r, some, from) {
			return nil
		}
	}
	return nil
}

// Lasts returns the last UIDs of the parts.
func (s *State) Lasts() []uid.UID {
	lasts := make([]uid.UID, len(s.Parts))
	for i, p := range s.Parts {
		lasts[i] = p.Last
	}
	return lasts
}

// FindPart is find without branches, because the processor cannot predict them if the pages are
// of random parts. lasts are the last UIDs of the parts.
func FindPart(lasts []uid.UID, u uid.UID) (at int) {
	for n := len(lasts); n > 1; {
		half := n / 2
		_, below := bits.Sub64(uint64(lasts[at+half-1]), uint64(u), 0)
		at += half * int(below)
		n -= half
	}
	return at
}

// Degrees returns the numbers of links of pages.
func (s *State) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	s, err := s.With(ctx, cell.StoreOf(d), len(pages), OfPages(pages))
	if err != nil {
		return nil, err
	}
	degrees := make([]int, 0, len(pages))
	return degrees, s.eachRead(ctx, d, pages, func(r *delta.Reader, n int) bool {
		for i := range n {
			degrees = append(degrees, r.Degree(i))
		}
		return true
	})
}
