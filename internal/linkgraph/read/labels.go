// Reads of the labels of links.

package read

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// pageLabelsAtOnce is the number of labels of pages that are read concurrently. In a cluster each
// is a message.
const pageLabelsAtOnce = 64

// PageLabels implements links.Graph. The labels are in the rows of the store, and in no cell.
func (rd *Reader) PageLabels(ctx context.Context, pages []uid.UID) ([]links.Label, error) {
	urls, err := rd.URLs(ctx, pages)
	if err != nil {
		return nil, err
	}
	labels := make([]links.Label, len(pages))
	err = edits.Each(ctx, len(pages), pageLabelsAtOnce, func(i int) error {
		labels[i] = cell.NoLabel
		if urls[i] == "" {
			return nil
		}
		label, err := rd.pageLabel(ctx, urls[i], pages[i])
		if err == nil && label != nil {
			labels[i], err = lists.DecodeLabel(label)
		}
		if err != nil {
			return fmt.Errorf("the label of page %s: %w", pages[i], err)
		}
		return nil
	})
	return labels, err
}

// pageLabel returns the label of a page as bytes, nil if it has none. It retries while a machine of
// the cluster is down.
func (rd *Reader) pageLabel(ctx context.Context, url string, u uid.UID) (label []byte, err error) {
	// All tries are one wait, because none of them is progress.
	waiting, cancel := rd.Bound(ctx)
	defer cancel()
	err = rd.Router.Retry(waiting, machine.MayPass, func() error {
		r, err := rd.Node.Reader()
		if err != nil {
			return err
		}
		defer r.Close()
		a, err := r.Annotation(ctx, links.UIDTriple(url, u), links.Application)
		if a != nil {
			label = a.Data
		}
		return err
	})
	return label, err
}

// Labels implements links.Graph.
func (rd *Reader) Labels(ctx context.Context, d links.Direction, pages []uid.UID) (rank.Lists[links.Label], error) {
	if d == links.Backward {
		return rd.backwardLabels(ctx, pages)
	}
	return rd.forwardLabels(ctx, pages)
}

// forwardLabels returns the labels of the forward links of pages.
func (rd *Reader) forwardLabels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	s, err := rd.Router.Local(ctx, cell.ForwardStore, len(pages), state.OfPages(pages))
	if err != nil {
		return l, err
	}
	if s != nil {
		return s.Labels(ctx, pages)
	}
	return route.Gather(ctx, rd.Router, route.Request[links.Label]{
		N: len(pages), Of: state.OfPages(pages), Size: route.PageSize, Cut: true,
		Local: func(s *state.State, items []int) (rank.Lists[links.Label], error) {
			return s.Labels(ctx, route.Pick(pages, items))
		},
		Query: func(items []int) *route.Query {
			return &route.Query{Kind: route.QueryLabels, Pages: route.Pick(pages, items)}
		},
		Parse: func(a *route.Answer) ([]links.Label, error) { return route.ParseLabels(a.Texts) },
	})
}

// linkLabelsAtOnce bounds the links whose labels are requested in one round.
const linkLabelsAtOnce = 1 << 16

// backwardLabels returns the labels of the backward links of pages. A label is in the cell of its
// link's source only, so it is fetched from there: one more round for a batch.
func (rd *Reader) backwardLabels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	// 1. Read the lists. Each item of them and its page are the ends of a link.
	lists, err := rd.Links(ctx, links.Backward, pages)
	if err != nil {
		return l, err
	}
	sources, targets := lists.Items, make([]uid.UID, 0, len(lists.Items))
	for i, page := range pages {
		for range lists.At(i) {
			targets = append(targets, page)
		}
	}
	// 2. Fetch the labels.
	l.Ends, l.Items = lists.Ends, make([]links.Label, 0, len(sources))
	for from := 0; from < len(sources); from += linkLabelsAtOnce {
		to := min(from+linkLabelsAtOnce, len(sources))
		some, err := rd.linkLabels(ctx, sources[from:to], targets[from:to])
		if err != nil {
			return rank.Lists[links.Label]{}, err
		}
		l.Items = append(l.Items, some...)
	}
	return l, nil
}

// linkLabels returns the labels of links from sources[i] to targets[i].
func (rd *Reader) linkLabels(ctx context.Context, sources, targets []uid.UID) ([]links.Label, error) {
	s, err := rd.Router.Local(ctx, cell.ForwardStore, len(sources), state.OfPages(sources))
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.LinkLabels(ctx, sources, targets)
	}
	lists, err := route.Gather(ctx, rd.Router, route.Request[links.Label]{
		N: len(sources), Of: state.OfPages(sources), Size: func(int) int { return 2 * machine.LinkBytes },
		Local: func(s *state.State, items []int) (rank.Lists[links.Label], error) {
			labels, err := s.LinkLabels(ctx, route.Pick(sources, items), route.Pick(targets, items))
			return route.Singles(labels), err
		},
		Query: func(items []int) *route.Query {
			return &route.Query{Kind: route.QueryLinkLabels, Pages: route.Pick(sources, items), Set: route.Pick(targets, items)}
		},
		Parse: func(a *route.Answer) ([]links.Label, error) { return route.ParseLabels(a.Texts) },
	})
	return lists.Items, err
}
