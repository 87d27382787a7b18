// This file holds the neighbourhood graph of a result set.

package rank

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// ErrSource is wrapped where a source's answer does not fit the question.
var ErrSource = errors.New("not an answer to the question")

// Direction is that of links.
type Direction uint8

const (
	// Forward is from a page to those that it links to.
	Forward Direction = iota
	// Backward is from a page to those that link to it.
	Backward
)

// Lists are several lists, one after the other in one slice.
type Lists[T any] struct {
	Ends  []int // of each list in Items
	Items []T
}

// Len returns the number of lists.
func (l *Lists[T]) Len() int { return len(l.Ends) }

// At returns a list: a part of Items.
func (l *Lists[T]) At(i int) []T {
	start := 0
	if i > 0 {
		start = l.Ends[i-1]
	}
	return l.Items[start:l.Ends[i]:l.Ends[i]]
}

// End ends a list: it is what Items got since the list before ended.
func (l *Lists[T]) End() { l.Ends = append(l.Ends, len(l.Items)) }

// check checks that there are n lists that are Items together.
func (l *Lists[T]) check(n int) error {
	last := 0
	for i, end := range l.Ends {
		if end < last || end > len(l.Items) {
			return fmt.Errorf("list %d of %d is from %d to %d of %d items: %w", i, n, last, end, len(l.Items), ErrSource)
		}
		last = end
	}
	if len(l.Ends) != n || last != len(l.Items) {
		return fmt.Errorf("%d lists of %d of %d items for %d pages: %w", len(l.Ends), last, len(l.Items), n, ErrSource)
	}
	return nil
}

// Source is where links come from: one machine's cells, or a cluster's. Both
// methods answer a whole batch at once, and may be called by several goroutines
// at once. Pages that are not known have no links. An implementation passes
// ranktest.CheckSource.
type Source interface {
	// SampleLinks returns a sample of the links of each page, in their order.
	// Pages and answers are only read by the other side. See [sample.Sample].
	SampleLinks(ctx context.Context, d Direction, pages []uid.UID, s sample.Spec) (Lists[uid.UID], error)
	// LinksWithin returns for each page of the set, in the order of its numbers,
	// those forward links of a class that lead to pages of the set, as numbers,
	// in any order. It asks where the links are, so that others do not travel:
	// see [Set.AppendWithin] and [Set.Numbers].
	LinksWithin(ctx context.Context, s *Set, c sample.Class) (Lists[uint32], error)
}

// NeighbourhoodOptions say what the neighbourhood of a result set is. The zero
// value is the result set alone.
type NeighbourhoodOptions struct {
	In, Out int          // how many pages that link to a root, and that it links to
	Mode    sample.Mode  // how they are drawn
	Class   sample.Class // of all links, those inside of the set too
	Seed    uint64       // of random samples
}

// Neighbourhood is the graph around a result set. Pages have the numbers of the
// graph's vertices: first the roots, in the order that they came in, without
// duplicates, then the pages around them in the order in which they were met.
type Neighbourhood struct {
	Set   *Set
	Roots int
	Graph *Graph
}

// NewNeighbourhood builds the neighbourhood graph of a result set (Najork,
// Gollapudi and Panigrahy, Less is More, WSDM 2009): the roots, up to In pages
// that link to each and up to Out that it links to, and all links of the class
// among these, but for links from a page to itself. It asks the source twice:
// for both samples at the same time, and for the links inside. Roots that are 0
// are left out; roots that the source does not know are vertices without edges.
//
// There are at most roots * (1 + In + Out) vertices. roots is only read.
func NewNeighbourhood(ctx context.Context, source Source, roots []uid.UID, o NeighbourhoodOptions) (*Neighbourhood, error) {
	n := &Neighbourhood{Set: &Set{}}
	n.Set.Reserve(len(roots))
	for _, u := range roots {
		n.Set.Add(u)
	}
	n.Roots = n.Set.Len()
	if n.Roots == 0 {
		n.Graph = &Graph{}
		return n, nil
	}
	if err := n.addSamples(ctx, source, o); err != nil {
		return nil, fmt.Errorf("rank: the neighbourhood of %d pages: %w", n.Roots, err)
	}
	links, err := source.LinksWithin(ctx, n.Set, o.Class)
	if err != nil {
		return nil, fmt.Errorf("rank: the links among %d pages: %w", n.Set.Len(), err)
	}
	if n.Graph, err = within(links, n.Set.Len()); err != nil {
		return nil, fmt.Errorf("rank: the links among %d pages: %w", n.Set.Len(), err)
	}
	return n, nil
}

// addSamples adds the pages around the roots to the set.
func (n *Neighbourhood) addSamples(ctx context.Context, source Source, o NeighbourhoodOptions) error {
	roots := n.Set.UIDs()
	counts := [2]int{Forward: o.Out, Backward: o.In}
	var samples [2]Lists[uid.UID]
	var errs [2]error
	ask := func(d Direction) {
		if counts[d] <= 0 {
			samples[d].Ends = make([]int, len(roots))
			return
		}
		s := sample.Spec{N: counts[d], Mode: o.Mode, Class: o.Class, Seed: o.Seed + uint64(d)}
		if samples[d], errs[d] = source.SampleLinks(ctx, d, roots, s); errs[d] == nil {
			errs[d] = samples[d].check(len(roots))
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ask(Backward)
	}()
	ask(Forward)
	<-done
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	items := len(samples[Forward].Items) + len(samples[Backward].Items)
	if uint64(len(roots))+uint64(items) > math.MaxUint32 {
		return fmt.Errorf("%d links around them: there may be %d pages at most: %w", items, uint32(math.MaxUint32), ErrSource)
	}
	n.Set.Reserve(len(roots) + items)
	for i := range len(roots) {
		for _, d := range []Direction{Backward, Forward} {
			for _, u := range samples[d].At(i) {
				n.Set.Add(u)
			}
		}
	}
	return nil
}

// within returns the graph of n vertices with these links, which it makes its
// own.
func within(links Lists[uint32], n int) (*Graph, error) {
	if err := links.check(n); err != nil {
		return nil, err
	}
	for _, to := range links.Items {
		if int(to) >= n {
			return nil, fmt.Errorf("a link to page %d of %d: %w", to, n, ErrSource)
		}
	}
	g := &Graph{ends: links.Ends, targets: links.Items}
	g.tidy(false)
	return g, nil
}

// TopRoots returns the k roots with the highest scores, see [Top]. scores are
// those of the graph's vertices.
func (n *Neighbourhood) TopRoots(k int, scores []float64) []Scored {
	return Top(k, n.Set.UIDs()[:n.Roots], scores)
}

// Top returns the k pages with the highest scores, be they roots or not.
func (n *Neighbourhood) Top(k int, scores []float64) []Scored {
	return Top(k, n.Set.UIDs(), scores)
}
