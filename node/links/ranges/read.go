// Reading the graph.

package ranges

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
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
	return found, g.read(ctx, func(r *reader) error {
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
	return found, g.read(ctx, func(r *reader) error {
		found, err = r.urls(ctx, pages)
		return err
	})
}

// distinct returns the known pages among some, each once, and for each of all its place
// there, -1 where it is not known.
func (r *reader) distinct(ctx context.Context, pages []uid.UID) (urls []string, of []int, err error) {
	all, err := r.urls(ctx, pages)
	if err != nil {
		return nil, nil, err
	}
	of = make([]int, len(pages))
	place := make(map[string]int, len(all))
	for i, url := range all {
		if url == "" {
			of[i] = -1
			continue
		}
		at, ok := place[url]
		if !ok {
			at = len(urls)
			place[url] = at
			urls = append(urls, url)
		}
		of[i] = at
	}
	return urls, of, nil
}

// pendingEnds is how many ends of links are held by their URLs; then they are looked up.
const pendingEnds = 1 << 16

// ends collects the other ends of links, by page.
type ends struct {
	reader  *reader
	lists   [][]uid.UID
	pending []string          // URLs whose UIDs are not known
	of      []int             // by link that waits: which list
	known   map[string]uint32 // by URL: its place in pending
	at      []uint32          // by link that waits: its place in pending
	hosts   hosts
}

func (e *ends) add(ctx context.Context, item int, end []byte) error {
	if u := e.reader.knownUID(end); u != 0 {
		if e.hosts != nil {
			e.hosts.add(u, string(end))
		}
		e.lists[item] = append(e.lists[item], u)
		return nil
	}
	at, ok := e.known[string(end)]
	if !ok {
		at = uint32(len(e.pending))
		url := string(end)
		e.pending = append(e.pending, url)
		e.known[url] = at
	}
	e.of, e.at = append(e.of, item), append(e.at, at)
	if len(e.at) >= pendingEnds {
		return e.flush(ctx)
	}
	return nil
}

// flush looks up what waits.
func (e *ends) flush(ctx context.Context) error {
	uids, err := e.reader.named(ctx, e.pending)
	if err != nil {
		return err
	}
	for i, u := range uids {
		e.hosts.add(u, e.pending[i])
	}
	for i, at := range e.at {
		if u := uids[at]; u != 0 {
			e.lists[e.of[i]] = append(e.lists[e.of[i]], u)
		}
	}
	e.pending, e.of, e.at = e.pending[:0], e.of[:0], e.at[:0]
	clear(e.known)
	return nil
}

// lists returns the links of pages, whose URLs are all different.
func (r *reader) lists(ctx context.Context, d links.Direction, urls []string) ([][]uid.UID, error) {
	all := make([][]uid.UID, len(urls))
	rest, err := r.fromOwners(ctx, d, urls, all)
	if err != nil || len(rest) == 0 {
		return all, err
	}
	left := make([]string, len(rest))
	for i, item := range rest {
		left[i] = urls[item]
	}
	read, err := r.listsByRows(ctx, d, left, nil)
	for i, item := range rest {
		all[item] = read[i]
	}
	return all, err
}

// listsByRows returns the links of pages, as their rows are; hosts takes them in where
// that is not nil.
func (r *reader) listsByRows(ctx context.Context, d links.Direction, urls []string, h hosts) ([][]uid.UID, error) {
	all := make([][]uid.UID, len(urls))
	parts := 1
	if h == nil { // hosts take in one at a time
		parts = min(max(1, len(urls)/listsAtOnce), runtime.GOMAXPROCS(0))
	}
	return all, atOnce(ctx, parts, parts, func(ctx context.Context, i int) error {
		from, to := i*len(urls)/parts, (i+1)*len(urls)/parts
		e := ends{reader: r, lists: all[from:to], known: map[string]uint32{}, hosts: h}
		err := r.targets(ctx, d, urls[from:to], func(i int, end []byte) error { return e.add(ctx, i, end) })
		if err != nil {
			return err
		}
		if err := e.flush(ctx); err != nil {
			return err
		}
		for i := range e.lists {
			slices.Sort(e.lists[i])
		}
		return nil
	})
}

// listsAtOnce is how many lists are read by one goroutine at least.
const listsAtOnce = 256

// Links implements links.Graph.
func (g *Graph) Links(ctx context.Context, d links.Direction, pages []uid.UID) (l links.Lists, err error) {
	return l, g.read(ctx, func(r *reader) error {
		urls, of, err := r.distinct(ctx, pages)
		if err != nil {
			return err
		}
		found, err := r.lists(ctx, d, urls)
		if err != nil {
			return err
		}
		l.Ends = make([]int, 0, len(pages))
		for _, at := range of {
			if at >= 0 {
				l.Items = append(l.Items, found[at]...)
			}
			l.End()
		}
		return nil
	})
}

const (
	// upToPages is how many pages LinksUpTo reads at most, and firstPages at first, when
	// it is not known yet how long their lists are.
	upToPages  = 1 << 13
	firstPages = 1 << 8
)

// LinksUpTo returns the links of the first of some pages: of as many, or fewer, as have no
// more than most links together; of none where the first one alone may have more.
func (g *Graph) LinksUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	pages = pages[:min(len(pages), upToPages)]
	err = g.read(ctx, func(r *reader) error {
		for n := min(len(pages), firstPages); n > 0; {
			whole, err := r.upTo(ctx, d, pages[:n], most, &l)
			if err != nil || !whole {
				return err
			}
			pages = pages[n:]
			average := len(l.Items)/l.Len() + 1
			n = min(len(pages), (most-len(l.Items))/average)
		}
		return nil
	})
	return l, err
}

// upTo appends the lists of pages; whole is false where most links are not enough for all.
func (r *reader) upTo(ctx context.Context, d links.Direction, pages []uid.UID, most int, l *links.Lists) (whole bool, err error) {
	urls, of, err := r.distinct(ctx, pages)
	if err != nil {
		return false, err
	}
	found := make([][]uid.UID, len(urls))
	rest, err := r.fromOwners(ctx, d, urls, found)
	if err != nil {
		return false, err
	}
	long, err := r.restUpTo(ctx, d, urls, rest, most, found)
	if err != nil {
		return false, err
	}
	for _, at := range of {
		if at >= 0 {
			if long[at] || len(l.Items)+len(found[at]) > most {
				return false, nil
			}
			l.Items = append(l.Items, found[at]...)
		}
		l.End()
	}
	return true, nil
}

// restUpTo reads the lists of the rest of some pages, where they have no more than most
// links together; the others are long.
func (r *reader) restUpTo(ctx context.Context, d links.Direction, urls []string, rest []int, most int, found [][]uid.UID) (long map[int]bool, err error) {
	if len(rest) == 0 {
		return nil, nil
	}
	slices.Sort(rest) // the first pages come first
	left := make([]string, len(rest))
	for i, item := range rest {
		left[i] = urls[item]
	}
	counts := make([]int, len(rest))
	err = r.targets(ctx, d, left, func(i int, _ []byte) error {
		counts[i]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	long = map[int]bool{}
	var short []string
	var items []int
	for i, item := range rest {
		if long[item] = counts[i] > most; long[item] {
			continue
		}
		most -= counts[i]
		short, items = append(short, urls[item]), append(items, item)
	}
	read, err := r.listsByRows(ctx, d, short, nil)
	for i, item := range items {
		found[item] = read[i]
	}
	return long, err
}

// Degrees implements links.Graph.
func (g *Graph) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) (degrees []int, err error) {
	return degrees, g.read(ctx, func(r *reader) error {
		urls, of, err := r.distinct(ctx, pages)
		if err != nil {
			return err
		}
		found := make([][]uid.UID, len(urls))
		rest, err := r.fromOwners(ctx, d, urls, found)
		if err != nil {
			return err
		}
		counts := make([]int, len(urls))
		for i := range found {
			counts[i] = len(found[i])
		}
		left := make([]string, len(rest))
		for i, item := range rest {
			left[i] = urls[item]
		}
		err = r.targets(ctx, d, left, func(i int, _ []byte) error {
			counts[rest[i]]++
			return nil
		})
		if err != nil {
			return err
		}
		degrees = make([]int, len(pages))
		for i, at := range of {
			if at >= 0 {
				degrees[i] = counts[at]
			}
		}
		return nil
	})
}

// readLabels is how many labels are read at a time.
const readLabels = 64

// Labels implements links.Graph.
func (g *Graph) Labels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	return l, g.read(ctx, func(r *reader) error {
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

// heldPages is of how many pages whole lists are held, of which but a part is wanted.
const heldPages = 1 << 10

// SampleLinks implements links.Graph.
func (g *Graph) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (l links.Lists, err error) {
	err = g.read(ctx, func(r *reader) error {
		for part := range slices.Chunk(pages, heldPages) {
			if err := r.sample(ctx, d, part, s, &l); err != nil {
				return err
			}
		}
		return nil
	})
	return l, err
}

// sample appends samples of the links of pages.
func (r *reader) sample(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec, l *links.Lists) error {
	urls, of, err := r.distinct(ctx, pages)
	if err != nil {
		return err
	}
	var h hosts
	var found [][]uid.UID
	if s.Class == sample.All {
		found, err = r.lists(ctx, d, urls)
	} else {
		h = hosts{}
		for i, at := range of {
			if at >= 0 {
				h.add(pages[i], urls[at])
			}
		}
		found, err = r.listsByRows(ctx, d, urls, h)
	}
	if err != nil {
		return err
	}
	for i, at := range of {
		if at >= 0 {
			l.Items = sample.Sample(l.Items, found[at], pages[i], s, h)
		}
		l.End()
	}
	return nil
}

// Pages implements links.Graph.
func (g *Graph) Pages(ctx context.Context, after uid.UID, n int) (pages []uid.UID, err error) {
	return pages, g.read(ctx, func(r *reader) error {
		if n <= 0 || after == ^uid.UID(0) {
			return nil
		}
		keys, err := uidRange(uid.Range{First: max(after+1, 1), Last: ^uid.UID(0)})
		if err != nil {
			return err
		}
		return r.pages(ctx, keys, false, func(u uid.UID, _ []byte) bool {
			if len(pages) == 0 || pages[len(pages)-1] != u {
				pages = append(pages, u)
			}
			return len(pages) < n
		})
	})
}
