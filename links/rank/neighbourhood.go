// The neighbourhood graph of a result set.

package rank

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// ErrSource is wrapped if a source's answer does not fit the request.
var ErrSource = errors.New("not an answer to the question")

// Direction is the direction of links.
type Direction uint8

const (
	// Forward links lead from a page to its destinations.
	Forward Direction = iota
	// Backward links lead from a page to the pages linking to it.
	Backward
)

// Lists are several lists in one slice, one after the other.
type Lists[T any] struct {
	Ends  []int // of each list in Items
	Items []T
}

// Len returns the number of lists.
func (l *Lists[T]) Len() int { return len(l.Ends) }

// At returns list i: a part of Items, capped so that an append copies it.
func (l *Lists[T]) At(i int) []T {
	start := 0
	if i > 0 {
		start = l.Ends[i-1]
	}
	return l.Items[start:l.Ends[i]:l.Ends[i]]
}

// End ends a list. It has the items appended since the previous call.
func (l *Lists[T]) End() { l.Ends = append(l.Ends, len(l.Items)) }

// check returns an error unless there are n lists that together make up Items.
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

// Source sends links: from the cells of one machine or of a cluster. Each method answers a whole
// batch at once. Several goroutines may call them at once. If a page is unknown, it has no links.
// An implementation must pass ranktest.CheckSource.
type Source interface {
	// SampleLinks returns a sample of the links of each page, in the order of pages. Neither side
	// may change the pages or the answer. See [sample.Sample].
	SampleLinks(ctx context.Context, d Direction, pages []uid.UID, s sample.Spec) (Lists[uid.UID], error)
	// LinksWithin returns the forward links of a class between pages of the set. They come as one
	// list for each page, in the order of the set's numbers, and as numbers, in any order. It
	// must select them at the links' owner, because other links should not travel. See
	// [Set.AppendWithin] and [Set.Numbers].
	LinksWithin(ctx context.Context, s *Set, c sample.Class) (Lists[uint32], error)
	// WeightsWithin returns the same links with their weights; 1 if a link has none.
	WeightsWithin(ctx context.Context, s *Set, c sample.Class) (Lists[WeightedLink], error)
}

// WeightedLink is a link to a page of a set, and its weight.
type WeightedLink struct {
	To     uint32 // the page's number in the set
	Weight float64
}

// NeighbourhoodOptions describe the neighbourhood of a result set. The zero value is the result
// set alone.
type NeighbourhoodOptions struct {
	In, Out int          // number of pages linking to a root, and of pages that it links to
	Mode    sample.Mode  // how they are sampled
	Class   sample.Class // of all links, those inside the set too
	Seed    uint64       // of random samples
	// Weighted requests the weights of links for the graph.
	Weighted bool
}

// Neighbourhood is the graph around a result set. Pages have the numbers of the graph's vertices.
// The roots come first, in their given order without duplicates. The pages around them follow in
// the order of their first appearance.
type Neighbourhood struct {
	Set   *Set
	Roots int
	Graph *Graph
}

// NewNeighbourhood builds the neighbourhood graph of a result set (Najork, Gollapudi and
// Panigrahy, Less is More, WSDM 2009). It contains the roots, up to In pages linking to each, and
// up to Out pages that each links to. Its edges are all links of the class among these, except
// links from a page to itself. It sends two requests to the source: one for both samples at the
// same time, one for the links inside. If a root is 0, it is left out. If the source does not
// have a root, the root is a vertex without edges.
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
	if err := n.addLinks(ctx, source, o); err != nil {
		return nil, fmt.Errorf("rank: the links among %d pages: %w", n.Set.Len(), err)
	}
	return n, nil
}

// addLinks sets the graph of the pages of the set.
func (n *Neighbourhood) addLinks(ctx context.Context, source Source, o NeighbourhoodOptions) (err error) {
	if !o.Weighted {
		links, err := source.LinksWithin(ctx, n.Set, o.Class)
		if err == nil {
			n.Graph, err = graphWithin(links, nil, n.Set.Len())
		}
		return err
	}
	weighted, err := source.WeightsWithin(ctx, n.Set, o.Class)
	if err != nil {
		return err
	}
	links := Lists[uint32]{Ends: weighted.Ends, Items: make([]uint32, len(weighted.Items))}
	weights := make([]float64, len(weighted.Items))
	for i, l := range weighted.Items {
		links.Items[i], weights[i] = l.To, l.Weight
	}
	n.Graph, err = graphWithin(links, weights, n.Set.Len())
	return err
}

// addSamples adds the pages around the roots to the set.
func (n *Neighbourhood) addSamples(ctx context.Context, source Source, o NeighbourhoodOptions) error {
	// 1. Sample both directions at the same time, each with its own seed. There is no lock,
	// because each goroutine writes its own elements.
	roots := n.Set.UIDs()
	counts := [2]int{Forward: o.Out, Backward: o.In}
	var samples [2]Lists[uid.UID]
	var errs [2]error
	query := func(d Direction) {
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
		query(Backward)
	}()
	query(Forward)
	<-done
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	// 2. Add the pages by root, so that their numbers do not depend on which answer came first.
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

// graphWithin returns the graph of n vertices with these links and their weights, if weights is not nil.
// It takes over the slices.
func graphWithin(links Lists[uint32], weights []float64, n int) (*Graph, error) {
	if err := links.check(n); err != nil {
		return nil, err
	}
	for _, to := range links.Items {
		if int(to) >= n {
			return nil, fmt.Errorf("a link to page %d of %d: %w", to, n, ErrSource)
		}
	}
	g := &Graph{ends: links.Ends, targets: links.Items, weights: weights}
	g.tidy(false)
	return g, nil
}

// TopRoots returns the k roots with the highest scores, as [Top] does. scores must be the scores
// of the graph's vertices.
func (n *Neighbourhood) TopRoots(k int, scores []float64) []Scored {
	return Top(k, n.Set.UIDs()[:n.Roots], scores)
}

// Top returns the k pages with the highest scores. They may be roots or not.
func (n *Neighbourhood) Top(k int, scores []float64) []Scored {
	return Top(k, n.Set.UIDs(), scores)
}
