// Links of the rows of a reader: the answers of package links' readers.

package linkrows

import (
	"context"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// Names has the UIDs of all pages, as package links' PageReader.
type Names interface {
	UIDs(ctx context.Context, urls []string) ([]uid.UID, error)
	URLs(ctx context.Context, pages []uid.UID) ([]string, error)
}

// Graph is the links in the rows of a reader. It implements links.ListReader, and UIDs and URLs of its pages.
// Its answers are those of a graph of these links alone, but for the numbers of UIDs. Lists are in no cell: each call
// reads the rows of its pages, and of each page all. Its methods are safe for concurrent use if the reader's are.
type Graph struct {
	names     Names
	rows      store.Reader
	predicate triple.Term
}

var _ links.ListReader = (*Graph)(nil)

// New returns the links with a predicate in the rows of a reader, which must be open during calls. names must know
// the pages of every row that the reader has.
func New(names Names, rows store.Reader, predicate triple.Term) *Graph {
	return &Graph{names, rows, predicate}
}

// pattern returns the pattern of the links of a page, and the order that begins with its bound terms.
func (g *Graph) pattern(d links.Direction, url string) (triple.Pattern, triple.Order) {
	if d == links.Backward {
		return triple.Pattern{Predicate: g.predicate, Object: triple.NewIRI(url)}, triple.POS
	}
	return triple.Pattern{Subject: triple.NewIRI(url), Predicate: g.predicate}, triple.SPO
}

// end returns the other end of a link of a page. ok is false if it is no page.
func end(d links.Direction, t triple.Triple) (url string, ok bool) {
	if d == links.Backward {
		return t.Subject.Value(), t.Subject.Kind() == triple.IRI
	}
	return t.Object.Value(), t.Object.Kind() == triple.IRI
}

// eachLink calls do with the other end of each link of pages, once for a link of several graphs. The pages must
// differ. Their links come page by page, in any order of pages. Page "" has none.
func (g *Graph) eachLink(ctx context.Context, d links.Direction, pages []string, do func(i int, other string) error) error {
	// 1. A URL that no triple can have has no range.
	var at []int
	var ranges []triple.Range
	for i, url := range pages {
		p, order := g.pattern(d, url)
		if triple.NewIRI(url).Check() != nil {
			continue
		}
		scan, err := p.Scan(order)
		if err != nil {
			return err
		}
		at, ranges = append(at, i), append(ranges, scan.Range)
	}
	// 2. The rows of a link in several graphs are neighbours, because the graph is the last term.
	last, lastURL := -1, ""
	return LookUp(ctx, g.rows.Source(), ranges, func(i int, key, value []byte) error {
		_, t, err := triple.DecodeKey(key, value)
		if err != nil {
			return err
		}
		other, ok := end(d, t)
		if !ok || i == last && other == lastURL {
			return nil
		}
		last, lastURL = i, other
		return do(at[i], other)
	})
}

// known reports for each page whether it has a link. The pages must differ.
func (g *Graph) known(ctx context.Context, pages []string) ([]bool, error) {
	known, rest := make([]bool, len(pages)), slices.Clone(pages)
	for _, d := range [2]links.Direction{links.Forward, links.Backward} {
		err := g.eachLink(ctx, d, rest, func(i int, _ string) error {
			known[i] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
		for i := range known {
			if known[i] {
				rest[i] = ""
			}
		}
	}
	return known, nil
}

// unique returns the different items of a list, and an index in these for each item.
func unique[T comparable](all []T) (differ []T, at []int) {
	index := make(map[T]int, len(all))
	at = make([]int, len(all))
	for i, one := range all {
		n, ok := index[one]
		if !ok {
			n = len(differ)
			index[one], differ = n, append(differ, one)
		}
		at[i] = n
	}
	return differ, at
}

// UIDs returns the UIDs of pages, 0 for a page without a link.
func (g *Graph) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	differ, at := unique(urls)
	known, err := g.known(ctx, differ)
	if err != nil {
		return nil, err
	}
	pages, err := g.names.UIDs(ctx, urls)
	for i := range pages {
		if !known[at[i]] {
			pages[i] = 0
		}
	}
	return pages, err
}

// URLs returns the URLs of pages, "" for a page without a link.
func (g *Graph) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	urls, err := g.names.URLs(ctx, pages)
	if err != nil {
		return nil, err
	}
	differ, at := unique(urls)
	known, err := g.known(ctx, differ)
	if err != nil {
		return nil, err
	}
	for i := range urls {
		if !known[at[i]] {
			urls[i] = ""
		}
	}
	return urls, nil
}

// Degrees implements [links.ListReader].
func (g *Graph) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	differ, at := unique(pages)
	urls, err := g.names.URLs(ctx, differ)
	if err != nil {
		return nil, err
	}
	counts, degrees := make([]int, len(differ)), make([]int, len(pages))
	err = g.eachLink(ctx, d, urls, func(i int, _ string) error {
		counts[i]++
		return nil
	})
	for i := range degrees {
		degrees[i] = counts[at[i]]
	}
	return degrees, err
}

// Links implements [links.ListReader].
func (g *Graph) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	return g.lists(ctx, d, pages, nil)
}

// batchBytes is about the size of the URLs that get UIDs in one call.
const batchBytes = 1 << 20

// lists returns the links of pages. see is called with each page and each other end, if it is not nil.
func (g *Graph) lists(ctx context.Context, d links.Direction, pages []uid.UID, see func(uid.UID, string)) (l links.Lists, err error) {
	// 1. Rows have the URLs of pages.
	differ, at := unique(pages)
	urls, err := g.names.URLs(ctx, differ)
	if err != nil {
		return l, err
	}
	if see != nil {
		for i, u := range differ {
			see(u, urls[i])
		}
	}
	// 2. The other ends get UIDs in batches, because their URLs may take far more memory than the lists.
	found := make([][]uid.UID, len(differ))
	var of []int
	var others []string
	size := 0
	name := func() error {
		uids, err := g.names.UIDs(ctx, others)
		for k, u := range uids {
			if u == 0 {
				continue // the link was added after the call, so no answer must have it
			}
			found[of[k]] = append(found[of[k]], u)
			if see != nil {
				see(u, others[k])
			}
		}
		of, others, size = of[:0], others[:0], 0
		return err
	}
	err = g.eachLink(ctx, d, urls, func(i int, other string) error {
		of, others, size = append(of, i), append(others, other), size+len(other)
		if size < batchBytes {
			return nil
		}
		return name()
	})
	if err == nil {
		err = name()
	}
	if err != nil {
		return l, err
	}
	// 3. Lists ascend by UID, while rows ascend by URL.
	for i := range found {
		slices.Sort(found[i])
	}
	for _, i := range at {
		l.Items = append(l.Items, found[i]...)
		l.End()
	}
	return l, nil
}

// Labels implements [links.ListReader]. If a link has labels in several graphs, that of the first one counts.
func (g *Graph) Labels(ctx context.Context, d links.Direction, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	urls, err := g.names.URLs(ctx, pages)
	if err != nil {
		return l, err
	}
	for _, url := range urls {
		labels, err := g.labels(ctx, d, url, func(string) bool { return true })
		if err != nil {
			return l, err
		}
		others := slices.Collect(maps.Keys(labels))
		uids, err := g.names.UIDs(ctx, others)
		if err != nil {
			return l, err
		}
		byUID := make(map[uid.UID]links.Label, len(others))
		for i, u := range uids {
			byUID[u] = labels[others[i]]
		}
		delete(byUID, 0) // as in lists
		for _, u := range slices.Sorted(maps.Keys(byUID)) {
			l.Items = append(l.Items, byUID[u])
		}
		l.End()
	}
	return l, nil
}

// labels returns the labels of a page's links by the other ends, if want is true for these.
func (g *Graph) labels(ctx context.Context, d links.Direction, page string, want func(other string) bool) (map[string]links.Label, error) {
	labels := map[string]links.Label{}
	p, _ := g.pattern(d, page)
	if triple.NewIRI(page).Check() != nil {
		return labels, nil
	}
	// Rows of a link in several graphs follow each other, and the label of the first graph that has one counts.
	for row, err := range g.rows.Match(ctx, p, store.ReadOptions{Annotations: true}) {
		if err != nil {
			return nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		other, ok := end(d, t)
		if before, seen := labels[other]; !ok || seen && before != cell.NoLabel || !want(other) {
			continue
		}
		labels[other] = cell.NoLabel
		for _, a := range row.Annotations {
			if a.ApplicationID == links.Application {
				if labels[other], err = lists.DecodeLabel(a.Data); err != nil {
					return nil, err
				}
			}
		}
	}
	return labels, nil
}

// SampleLinks implements [links.ListReader]. It reads whole lists.
func (g *Graph) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (l links.Lists, err error) {
	hosts := hosts{numbers: map[string]uint64{}, of: map[uid.Extent][2]uint64{}}
	all, err := g.lists(ctx, d, pages, hosts.add)
	if err != nil {
		return l, err
	}
	for i, page := range pages {
		l.Items = sample.Sample(l.Items, all.At(i), page, s, &hosts)
		l.End()
	}
	return l, nil
}

// hosts are the hosts and domains of the extents of pages that a call has met. It implements sample.Hosts.
type hosts struct {
	numbers map[string]uint64
	of      map[uid.Extent][2]uint64 // host and domain
}

// add adds the host of a page.
func (h *hosts) add(page uid.UID, url string) {
	e := page.Extent()
	if _, ok := h.of[e]; ok || url == "" {
		return
	}
	key := weburl.HostKey(url)
	h.of[e] = [2]uint64{h.number("host " + key), h.number("domain " + weburl.Domain(key))}
}

// number returns the number of a name.
func (h *hosts) number(name string) uint64 {
	n, ok := h.numbers[name]
	if !ok {
		n = uint64(len(h.numbers))
		h.numbers[name] = n
	}
	return n
}

// Host implements [sample.Hosts].
func (h *hosts) Host(e uid.Extent) uint64 { return h.of[e][0] }

// Domain implements [sample.Hosts].
func (h *hosts) Domain(e uid.Extent) uint64 { return h.of[e][1] }
