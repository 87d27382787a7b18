// Reads of the labels of links.

package linkgraph

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// Labels implements links.Graph.
func (rd *reader) Labels(ctx context.Context, d links.Direction, pages []uid.UID) (rank.Lists[links.Label], error) {
	if d == links.Backward {
		return rd.backwardLabels(ctx, pages)
	}
	return rd.forwardLabels(ctx, pages)
}

// forwardLabels returns the labels of the forward links of pages.
func (rd *reader) forwardLabels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	s, err := rd.router.local(ctx, cell.ForwardStore, len(pages), ofPages(pages))
	if err != nil {
		return l, err
	}
	if s != nil {
		return s.labels(ctx, pages)
	}
	return gather(ctx, rd.router, request[links.Label]{
		n: len(pages), of: ofPages(pages), size: pageSize, cut: true,
		local: func(s *state, items []int) (rank.Lists[links.Label], error) { return s.labels(ctx, pick(pages, items)) },
		query: func(items []int) *query { return &query{kind: askLabels, pages: pick(pages, items)} },
		parse: func(a *answer) ([]links.Label, error) { return parseLabels(a.texts) },
	})
}

// labels returns the labels of the forward links of pages.
func (s *state) labels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	if s, err = s.with(ctx, cell.ForwardStore, len(pages), ofPages(pages)); err != nil {
		return l, err
	}
	return l, each(ctx, len(pages), func(i int) error {
		l.Items = s.view(pages[i]).AppendLabels(l.Items, pages[i])
		l.End()
		return nil
	})
}

// linkLabelsAtOnce bounds the links whose labels are requested in one round.
const linkLabelsAtOnce = 1 << 16

// backwardLabels returns the labels of the backward links of pages. A label is in the cell of its
// link's source only, so it is fetched from there: one more round for a batch.
func (rd *reader) backwardLabels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
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
func (rd *reader) linkLabels(ctx context.Context, sources, targets []uid.UID) ([]links.Label, error) {
	s, err := rd.router.local(ctx, cell.ForwardStore, len(sources), ofPages(sources))
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.linkLabels(ctx, sources, targets)
	}
	lists, err := gather(ctx, rd.router, request[links.Label]{
		n: len(sources), of: ofPages(sources), size: func(int) int { return 2 * linkBytes },
		local: func(s *state, items []int) (rank.Lists[links.Label], error) {
			labels, err := s.linkLabels(ctx, pick(sources, items), pick(targets, items))
			return singles(labels), err
		},
		query: func(items []int) *query {
			return &query{kind: askLinkLabels, pages: pick(sources, items), set: pick(targets, items)}
		},
		parse: func(a *answer) ([]links.Label, error) { return parseLabels(a.texts) },
	})
	return lists.Items, err
}

// linkLabels returns the labels of links. The list of each source is read once.
func (s *state) linkLabels(ctx context.Context, sources, targets []uid.UID) ([]links.Label, error) {
	s, err := s.with(ctx, cell.ForwardStore, len(sources), ofPages(sources))
	if err != nil {
		return nil, err
	}
	// 1. Order the links by source and target.
	labels, order := make([]links.Label, len(sources)), make([]int, len(sources))
	for i := range order {
		order[i], labels[i] = i, cell.NoLabel
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(sources[a], sources[b]), cmp.Compare(targets[a], targets[b]))
	})
	// 2. Read the labels of each source. Anchors are copied, because about a thousand share memory.
	var of []uid.UID
	for from := 0; from < len(order); {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		source := sources[order[from]]
		of = of[:0]
		for _, i := range order[from:] {
			if sources[i] != source {
				break
			}
			of = append(of, targets[i])
		}
		s.view(source).EachLabel(source, of, func(k int, l links.Label) {
			labels[order[from+k]] = links.Label{Weight: l.Weight, Anchor: strings.Clone(l.Anchor)}
		})
		from += len(of)
	}
	return labels, nil
}

// linkLabelsPiece returns the labels of a prefix of links, as texts of about most bytes.
func (s *state) linkLabelsPiece(ctx context.Context, sources, targets []uid.UID, most int) (texts []string, err error) {
	for size := 0; len(texts) < len(sources) && size < most; {
		from := len(texts)
		to := min(from+checkPages, len(sources))
		labels, err := s.linkLabels(ctx, sources[from:to], targets[from:to])
		if err != nil {
			return nil, err
		}
		texts = appendLabels(texts, labels)
		for _, text := range texts[from:] {
			size += linkBytes + len(text)
		}
	}
	return texts, nil
}
