// The labels of links.

package state

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// appendLabels appends labels as texts.
func appendLabels(texts []string, labels []cell.Label) []string {
	for _, l := range labels {
		text := ""
		if l != cell.NoLabel {
			text = string(lists.AppendLabel(nil, l))
		}
		texts = append(texts, text)
	}
	return texts
}

// LabelsPiece returns the labels of the links of a prefix of pages, as texts of about most bytes. A
// list that is longer is cut as by linksPiece.
func (s *State) LabelsPiece(ctx context.Context, pages []uid.UID, after uid.UID, most int) (l rank.Lists[string], more uid.UID, err error) {
	if s, err = s.With(ctx, cell.ForwardStore, len(pages), OfPages(pages)); err != nil {
		return l, 0, err
	}
	var labels []cell.Label
	size := 0
	for i, u := range pages {
		if i > 0 && (after != 0 || size >= most) {
			break
		}
		if i%checkPages == 0 && ctx.Err() != nil {
			return l, 0, context.Cause(ctx)
		}
		// 1. Read the labels, and with them the targets, which say where to cut.
		v := s.View(u)
		labels = v.AppendLabels(labels[:0], u)
		start, last, k := len(l.Items), uid.UID(0), 0
		for to := range v.Links(cell.Forward, u) {
			if k++; to <= after {
				continue
			}
			if size >= most {
				more = last
				break
			}
			l.Items = appendLabels(l.Items, labels[k-1:k])
			size += machine.LinkBytes + len(l.Items[len(l.Items)-1])
			last = to
		}
		// 2. Only the first list may be cut. Another one is for the next answer.
		if more != 0 && i > 0 {
			l.Items, more = l.Items[:start], 0
			break
		}
		l.End()
	}
	return l, more, ctx.Err()
}

// Labels returns the labels of the forward links of pages.
func (s *State) Labels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	if s, err = s.With(ctx, cell.ForwardStore, len(pages), OfPages(pages)); err != nil {
		return l, err
	}
	return l, each(ctx, len(pages), func(i int) error {
		l.Items = s.View(pages[i]).AppendLabels(l.Items, pages[i])
		l.End()
		return nil
	})
}

// LinkLabels returns the labels of links. The list of each source is read once.
func (s *State) LinkLabels(ctx context.Context, sources, targets []uid.UID) ([]links.Label, error) {
	s, err := s.With(ctx, cell.ForwardStore, len(sources), OfPages(sources))
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
		s.View(source).EachLabel(source, of, func(k int, l links.Label) {
			labels[order[from+k]] = links.Label{Weight: l.Weight, Anchor: strings.Clone(l.Anchor)}
		})
		from += len(of)
	}
	return labels, nil
}

// LinkLabelsPiece returns the labels of a prefix of links, as texts of about most bytes.
func (s *State) LinkLabelsPiece(ctx context.Context, sources, targets []uid.UID, most int) (texts []string, err error) {
	for size := 0; len(texts) < len(sources) && size < most; {
		from := len(texts)
		to := min(from+checkPages, len(sources))
		labels, err := s.LinkLabels(ctx, sources[from:to], targets[from:to])
		if err != nil {
			return nil, err
		}
		texts = appendLabels(texts, labels)
		for _, text := range texts[from:] {
			size += machine.LinkBytes + len(text)
		}
	}
	return texts, nil
}
