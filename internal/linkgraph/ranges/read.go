// Reads of pages, lists and labels.

package ranges

import (
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// UIDs implements links.Graph. If a page has links but no UID, it gets one.
func (g *Graph) UIDs(ctx context.Context, urls []string) (found []uid.UID, err error) {
	return found, g.reads.ReadRetrying(ctx, func(r *rowreader.Reader) error {
		if found, err = g.uids.LookUpUIDs(ctx, r, urls); err != nil {
			return err
		}
		return g.assignLinked(ctx, r, urls, found)
	})
}

// assignLinked assigns UIDs to pages that have links but no UID, because they came by other
// endpoints than Update.
func (g *Graph) assignLinked(ctx context.Context, r *rowreader.Reader, urls []string, found []uid.UID) error {
	// 1. Collect the URLs without a UID, each once.
	var without []string
	at := map[string][]int{}
	for i, u := range found {
		if u == 0 {
			if at[urls[i]] == nil {
				without = append(without, urls[i])
			}
			at[urls[i]] = append(at[urls[i]], i)
		}
	}
	// 2. Keep those with a link in either direction.
	linked := make([]bool, len(without))
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		err := g.lists.Targets(ctx, r, d, without, func(i int, _ []byte) error {
			linked[i] = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	var pages []string
	for i, url := range without {
		if linked[i] {
			pages = append(pages, url)
		}
	}
	if len(pages) == 0 {
		return nil
	}
	// 3. Request the UIDs, and fill in every occurrence.
	given, err := g.uids.RequestUIDs(ctx, pages)
	if err != nil {
		return err
	}
	for i, url := range pages {
		for _, j := range at[url] {
			found[j] = given[i]
		}
	}
	return nil
}

// URLs implements links.Graph.
func (g *Graph) URLs(ctx context.Context, pages []uid.UID) (found []string, err error) {
	return found, g.reads.ReadRetrying(ctx, func(r *rowreader.Reader) error {
		found, err = g.uids.LookUpURLs(ctx, r, pages)
		return err
	})
}

// Links implements links.Graph.
func (g *Graph) Links(ctx context.Context, d links.Direction, pages []uid.UID) (l links.Lists, err error) {
	return l, g.reads.ReadRetrying(ctx, func(r *rowreader.Reader) error {
		l = links.Lists{}
		a, err := g.lists.Read(ctx, r, d, pages)
		if err != nil {
			return err
		}
		return a.AppendTo(&l, len(pages))
	})
}

// readLabels is the number of labels that are read concurrently.
const readLabels = 64

// Labels implements links.Graph.
func (g *Graph) Labels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	return l, g.reads.ReadRetrying(ctx, func(r *rowreader.Reader) error {
		l = rank.Lists[links.Label]{}
		all, err := g.uids.LookUpURLs(ctx, r, pages)
		if err != nil {
			return err
		}
		for i := range pages {
			if all[i] != "" {
				if l.Items, err = g.labels(ctx, r, l.Items, all[i]); err != nil {
					return err
				}
			}
			l.End()
		}
		return nil
	})
}

// labels appends the labels of a page's forward links, in the order of their UIDs.
func (g *Graph) labels(ctx context.Context, r *rowreader.Reader, dst []links.Label, url string) ([]links.Label, error) {
	// 1. Read the links and their UIDs.
	var urls []string
	err := g.lists.Targets(ctx, r, links.Forward, []string{url}, func(_ int, end []byte) error {
		urls = append(urls, string(end))
		return nil
	})
	if err != nil {
		return dst, err
	}
	uids, err := g.uids.AssignUIDs(ctx, r, urls)
	if err != nil {
		return dst, err
	}
	// 2. Read the label of each link, which is an annotation of its triple.
	found := make([]links.Label, len(urls))
	err = ownership.Parallel(ctx, len(urls), readLabels, func(ctx context.Context, i int) error {
		found[i] = cell.NoLabel
		a, err := r.Snapshot.Annotation(ctx, links.Link(g.reads.Keys.Predicate, url, urls[i]), links.Application)
		if err != nil || a == nil {
			return err
		}
		if found[i], err = lists.DecodeLabel(a.Data); err != nil {
			return fmt.Errorf("the label of the link from %s to %s: %w", url, urls[i], err)
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	// 3. Sort by UID. An invalid URL has no UID, so its label is dropped.
	order := make([]int, 0, len(urls))
	for i, u := range uids {
		if u != 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(min(max(int64(uids[a])-int64(uids[b]), -1), 1)) })
	for _, i := range order {
		dst = append(dst, found[i])
	}
	return dst, nil
}
