// Reading the graph.

package ranges

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// read calls do with a reader.
func (g *Graph) read(ctx context.Context, do func(r *reader) error) error {
	r, err := g.begin(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	if err := do(r); err != nil {
		return err
	}
	if r.degraded() {
		links.TellDegraded(ctx)
	}
	return ctx.Err()
}

// UIDs implements links.Graph.
func (g *Graph) UIDs(ctx context.Context, urls []string) (found []uid.UID, err error) {
	return found, g.readAgain(ctx, func(r *reader) error {
		if found, err = r.uids(ctx, urls); err != nil {
			return err
		}
		return r.nameLinked(ctx, urls, found)
	})
}

// nameLinked gives UIDs to those pages without one that have links: they came by other
// doors.
func (r *reader) nameLinked(ctx context.Context, urls []string, found []uid.UID) error {
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
	linked := make([]bool, len(without))
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		err := r.targets(ctx, d, without, func(i int, _ []byte) error {
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
	given, err := r.graph.name(ctx, pages)
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
	return found, g.readAgain(ctx, func(r *reader) error {
		found, err = r.urls(ctx, pages)
		return err
	})
}

// Links implements links.Graph.
func (g *Graph) Links(ctx context.Context, d links.Direction, pages []uid.UID) (l links.Lists, err error) {
	return l, g.readAgain(ctx, func(r *reader) error {
		l = links.Lists{}
		a, err := r.lists(ctx, d, pages)
		if err != nil {
			return err
		}
		return a.appendTo(&l, len(pages))
	})
}

// readLabels is how many labels are read at a time.
const readLabels = 64

// Labels implements links.Graph.
func (g *Graph) Labels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	return l, g.readAgain(ctx, func(r *reader) error {
		l = rank.Lists[links.Label]{}
		all, err := r.urls(ctx, pages)
		if err != nil {
			return err
		}
		for i := range pages {
			if all[i] != "" {
				if l.Items, err = r.labels(ctx, l.Items, all[i]); err != nil {
					return err
				}
			}
			l.End()
		}
		return nil
	})
}

// labels appends the labels of a page's forward links, in the order of their UIDs.
func (r *reader) labels(ctx context.Context, dst []links.Label, url string) ([]links.Label, error) {
	var urls []string
	err := r.targets(ctx, links.Forward, []string{url}, func(_ int, end []byte) error {
		urls = append(urls, string(end))
		return nil
	})
	if err != nil {
		return dst, err
	}
	uids, err := r.named(ctx, urls)
	if err != nil {
		return dst, err
	}
	found := make([]links.Label, len(urls))
	err = atOnce(ctx, len(urls), readLabels, func(ctx context.Context, i int) error {
		found[i] = cell.NoLabel
		data, err := r.snapshot.Annotation(ctx, links.Link(r.graph.o.Predicate, url, urls[i]), links.Application)
		if err != nil || data == nil {
			return err
		}
		if found[i], err = lists.DecodeLabel(data); err != nil {
			return fmt.Errorf("the label of the link from %s to %s: %w", url, urls[i], err)
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
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

// atOnce calls do with 0 to n-1, so many at a time. The first error ends it.
func atOnce(ctx context.Context, n, most int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, most)
	var running sync.WaitGroup
	for i := 0; i < n && ctx.Err() == nil; i++ {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
