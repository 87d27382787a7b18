// Package linkstest has a graph of links in plain maps: slow, small and plainly right. Tests
// compare other graphs with it, and endpoints and clients are tested against it.
package linkstest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

var _ links.Graph = (*Graph)(nil)

// Graph is a [links.Graph] in maps. It is safe for concurrent use, because every call holds mu.
type Graph struct {
	// HoldJobs keeps a PageRank running until FinishJob or StopPageRank. It must be set before
	// the graph is used.
	HoldJobs bool

	mu      sync.Mutex
	fail    error
	epoch   uint64
	loaded  links.Stores
	uids    map[string]uid.UID
	urls    map[uid.UID]string
	hosts   map[string]uid.Extent // by host key
	keys    map[uid.Extent]string
	inSlot  map[uid.Slot]uint32 // hosts
	inHost  map[uid.Extent]uint32
	out     map[uid.UID]map[uid.UID]links.Label
	in      map[uid.UID]map[uid.UID]bool
	labels  map[uid.UID]links.Label // of pages
	job     *links.PageRankJob
	scores  map[uid.UID]float64 // of the last finished job
	numbers map[string]uint64   // of hosts and domains, for samples
}

// New returns a graph without pages.
func New() *Graph {
	return &Graph{loaded: links.AllStores, uids: map[string]uid.UID{}, urls: map[uid.UID]string{}, hosts: map[string]uid.Extent{},
		keys: map[uid.Extent]string{}, inSlot: map[uid.Slot]uint32{}, inHost: map[uid.Extent]uint32{},
		out: map[uid.UID]map[uid.UID]links.Label{}, in: map[uid.UID]map[uid.UID]bool{}, numbers: map[string]uint64{}, labels: map[uid.UID]links.Label{}}
}

// Fail makes all calls return err. They work again when it is nil.
func (g *Graph) Fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = err
}

// Epoch returns the epoch of a call that begins now.
func (g *Graph) Epoch() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.epoch
}

// Loaded returns the stores that were not relinquished, or were requested since.
func (g *Graph) Loaded() links.Stores {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loaded
}

// do calls something with the lock held, unless ctx has ended or Fail has set an error.
func (g *Graph) do(ctx context.Context, something func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil {
		return g.fail
	}
	return something()
}

// each returns one answer for each element of all. It calls answer with the lock held.
func each[From, To any](ctx context.Context, g *Graph, all []From, answer func(From) To) (answers []To, err error) {
	err = g.do(ctx, func() error {
		answers = make([]To, len(all))
		for i, one := range all {
			answers[i] = answer(one)
		}
		return nil
	})
	return answers, err
}

// eachList is each for lists.
func eachList[T any](ctx context.Context, g *Graph, pages []uid.UID, list func(uid.UID) []T) (all rank.Lists[T], err error) {
	err = g.do(ctx, func() error {
		for _, page := range pages {
			all.Items = append(all.Items, list(page)...)
			all.End()
		}
		return nil
	})
	return all, err
}

// UIDs returns the UIDs of pages.
func (g *Graph) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	return each(ctx, g, urls, func(url string) uid.UID { return g.uids[url] })
}

// URLs returns the URLs of pages.
func (g *Graph) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	return each(ctx, g, pages, func(page uid.UID) string { return g.urls[page] })
}

// Degrees returns the number of links of each page.
func (g *Graph) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	return each(ctx, g, pages, func(page uid.UID) int { return len(g.list(d, page)) })
}

// list returns the links of a page, ascending.
func (g *Graph) list(d links.Direction, page uid.UID) []uid.UID {
	if d == links.Forward {
		return slices.Sorted(maps.Keys(g.out[page]))
	}
	return slices.Sorted(maps.Keys(g.in[page]))
}

// Links returns the links of pages.
func (g *Graph) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	return eachList(ctx, g, pages, func(page uid.UID) []uid.UID { return g.list(d, page) })
}

// Labels returns the labels of the links of pages.
func (g *Graph) Labels(ctx context.Context, d links.Direction, pages []uid.UID) (rank.Lists[links.Label], error) {
	return eachList(ctx, g, pages, func(page uid.UID) (labels []links.Label) {
		for _, other := range g.list(d, page) {
			if d == links.Forward {
				labels = append(labels, g.out[page][other])
			} else {
				labels = append(labels, g.out[other][page])
			}
		}
		return labels
	})
}

// PageLabels returns the labels of pages.
func (g *Graph) PageLabels(ctx context.Context, pages []uid.UID) (labels []links.Label, err error) {
	err = g.do(ctx, func() error {
		for _, page := range pages {
			label, ok := g.labels[page]
			if !ok {
				label = cell.NoLabel
			}
			labels = append(labels, label)
		}
		return nil
	})
	return labels, err
}

// SampleLinks returns samples of the links of pages.
func (g *Graph) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (links.Lists, error) {
	return eachList(ctx, g, pages, func(page uid.UID) []uid.UID {
		return sample.Sample(nil, g.list(d, page), page, s, hosts{g})
	})
}

// hosts numbers hosts and domains for samples. Its methods must be called with the lock held.
type hosts struct{ g *Graph }

func (h hosts) Host(e uid.Extent) uint64   { return h.number("host " + h.g.keys[e]) }
func (h hosts) Domain(e uid.Extent) uint64 { return h.number("domain " + weburl.Domain(h.g.keys[e])) }

func (h hosts) number(name string) uint64 {
	n, ok := h.g.numbers[name]
	if !ok {
		n = uint64(len(h.g.numbers))
		h.g.numbers[name] = n
	}
	return n
}

// linked returns the pages that have links, ascending.
func (g *Graph) linked() (pages []uid.UID) {
	for page := range g.urls {
		if len(g.out[page])+len(g.in[page]) > 0 {
			pages = append(pages, page)
		}
	}
	slices.Sort(pages)
	return pages
}

// Pages returns the pages with links that have the next n UIDs after one, fewer at the end.
func (g *Graph) Pages(ctx context.Context, after uid.UID, n int) (pages []uid.UID, err error) {
	err = g.do(ctx, func() error {
		pages = g.linked()
		from, _ := slices.BinarySearch(pages, after+1)
		if after == ^uid.UID(0) {
			from = len(pages)
		}
		pages = pages[from:min(len(pages), from+max(n, 0))]
		return nil
	})
	return pages, err
}

// Stats returns the sizes of the graph, as those of one server.
func (g *Graph) Stats(ctx context.Context) (s links.Stats, err error) {
	err = g.do(ctx, func() error {
		pages := g.linked()
		s.Epoch, s.Pages = g.epoch, int64(len(pages))
		for _, page := range pages {
			s.Links += int64(len(g.out[page]))
			s.Linked += int64(len(g.in[page]))
			s.MaxOut, s.MaxIn = max(s.MaxOut, len(g.out[page])), max(s.MaxIn, len(g.in[page]))
		}
		if len(pages) > 0 {
			s.MinUID, s.MaxUID = pages[0], pages[len(pages)-1]
		}
		one := s.ServerStats
		one.ID = "1"
		s.Servers = []links.ServerStats{one}
		return nil
	})
	return s, err
}

// page returns the UID of a page. If it has none, page assigns one and counts it.
func (g *Graph) page(url string, result *links.UpdateResult) uid.UID {
	if u, ok := g.uids[url]; ok {
		return u
	}
	key := weburl.HostKey(url)
	e, ok := g.hosts[key]
	if !ok {
		slot := uid.SlotOf(key)
		g.inSlot[slot]++
		e = uid.MakeExtent(slot, g.inSlot[slot])
		g.hosts[key], g.keys[e] = e, key
	}
	u := uid.Make(e.Slot(), e.Host(), g.inHost[e])
	g.inHost[e]++
	g.uids[url], g.urls[u] = u, url
	result.Pages++
	return u
}

// Update makes changes. When a change is wrong, Update returns; the changes before it stay.
func (g *Graph) Update(ctx context.Context, changes []links.Change) (result links.UpdateResult, err error) {
	err = g.do(ctx, func() error {
		defer func() { result.Epoch = g.epoch }()
		for _, c := range changes {
			if err := check(c); err != nil {
				return err
			}
			g.epoch++
			g.change(c, &result)
		}
		return nil
	})
	return result, err
}

func check(c links.Change) error {
	if c.Kind == links.LabelPage && len(c.Labels) == 1 && len(c.Targets) == 0 {
		c.Labels = nil
	} else if c.Labels != nil && len(c.Labels) != len(c.Targets) || c.Kind >= links.LabelPage {
		return fmt.Errorf("%w: change of kind %d with %d labels of %d targets", links.ErrInvalid, c.Kind, len(c.Labels), len(c.Targets))
	}
	for _, url := range append([]string{c.Source}, c.Targets...) {
		if err := triple.CheckIRI(url); err != nil {
			return fmt.Errorf("%w: %w", links.ErrInvalid, err)
		}
	}
	return nil
}

func (g *Graph) change(c links.Change, result *links.UpdateResult) {
	if c.Kind == links.LabelPage {
		if u := g.uids[c.Source]; u != 0 || c.Labels[0] != cell.NoLabel {
			g.labels[g.page(c.Source, result)] = c.Labels[0]
		}
		return
	}
	// 1. A delete must not assign UIDs, so it ends here.
	if c.Kind == links.DeleteLinks {
		for _, url := range c.Targets {
			g.unlink(g.uids[c.Source], g.uids[url], result)
		}
		return
	}
	// 2. A replace first removes the links missing in the new list.
	src := g.page(c.Source, result)
	if c.Kind == links.ReplaceLinks {
		for to := range g.out[src] {
			if !slices.Contains(c.Targets, g.urls[to]) {
				g.unlink(src, to, result)
			}
		}
	}
	// 3. Add the links. If a link exists and the change has no label for it, it keeps its label.
	for i, url := range c.Targets {
		to := g.page(url, result)
		label, there := g.out[src][to]
		if !there {
			label = cell.NoLabel
			result.Added++
		}
		if c.Labels != nil && c.Labels[i] != cell.NoLabel {
			label = c.Labels[i]
		}
		if g.out[src] == nil {
			g.out[src] = map[uid.UID]links.Label{}
		}
		if g.in[to] == nil {
			g.in[to] = map[uid.UID]bool{}
		}
		g.out[src][to], g.in[to][src] = label, true
	}
}

func (g *Graph) unlink(src, to uid.UID, result *links.UpdateResult) {
	if _, there := g.out[src][to]; there {
		delete(g.out[src], to)
		delete(g.in[to], src)
		result.Deleted++
	}
}

// Capabilities returns the graph's Loader and its epoch.
func (g *Graph) Capabilities() links.Capabilities { return links.Capabilities{Loader: g, Epoch: g} }

// Request records that stores are needed.
func (g *Graph) Request(ctx context.Context, s links.Stores) error {
	return g.do(ctx, func() error { g.loaded |= s; return nil })
}

// Relinquish records that stores are not needed.
func (g *Graph) Relinquish(ctx context.Context, s links.Stores) error {
	return g.do(ctx, func() error { g.loaded &^= s; return nil })
}

// Stores returns one machine without any memory.
func (g *Graph) Stores(ctx context.Context) (all []links.ServerStores, err error) {
	err = g.do(ctx, func() error {
		all = []links.ServerStores{{Relinquished: links.AllStores &^ g.loaded}}
		return nil
	})
	return all, err
}
