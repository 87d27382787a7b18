package workload

// This file holds the web-link graph as a data set; web_graph.go has the graph
// itself and web_urls.go the addresses of its pages.

import (
	"context"
	"fmt"
	"io"
	"math"
)

// LinksTo is the predicate of a Web's triples.
const LinksTo = "urn:trefoil:linksTo"

// Web is a web-link graph: triples (page, LinksTo, page), or an edge list.
//
// Pages belong to hosts, whose sizes follow Zipf's law. A page's number of
// links has a long tail (from a quarter of the mean to 15 times as many). A
// link either is drawn afresh, or is copied from the page's prototype, another
// page before it; so popular pages become more popular, in-degrees follow a
// power law, and neighbours have similar lists. Links inside a host go mostly to
// near pages and to the host's first ones. A page has no link twice and none
// to itself.
//
// No link depends on anything but the seed, Pages, Hosts, Links and
// InsidePercent, so that the links of any page are found without those of the
// others, and nothing is kept but the table of hosts. See [Web.Graph].
type Web struct {
	Seed uint64

	Pages         int // at most 2^31; 0 means a million, or what Triples needs
	Hosts         int // 0 means one for 20 pages
	Links         int // mean number of links of a page; 0 means 18
	InsidePercent int // share of the links that stay in the host; 0 means 75

	Triples int64 // stop at so many links; 0 means all
	TSV     bool  // write edges (source, tab, target), not triples
}

const (
	defaultPages         = 1_000_000
	defaultLinks         = 18
	defaultInsidePercent = 75
	pagesAHost           = 20
	maxPages             = 1 << 31
	maxLinks             = 10_000
)

// Validate reports options that make no graph.
func (g Web) Validate() error {
	g = g.defaults()
	bad := func(field string, is any, want string) error {
		return fmt.Errorf("%w: %s is %v; it is to be %s", errOptions, field, is, want)
	}
	switch {
	case g.Triples < 0 || g.Triples > math.MaxInt64/maxLinks:
		return bad("Triples", g.Triples, "between 0 and 9*10^14")
	case g.Pages < 2 || g.Pages > maxPages:
		return bad("Pages", g.Pages, "between 2 and 2^31")
	case g.Hosts < 1 || g.Hosts > min(g.Pages, maxHosts):
		return bad("Hosts", g.Hosts, fmt.Sprintf("between 1 and the number of pages, %d, and at most 2^24", g.Pages))
	case g.Links < 1 || g.Links > maxLinks:
		return bad("Links", g.Links, fmt.Sprintf("between 1 and %d", maxLinks))
	case g.InsidePercent < 1 || g.InsidePercent > 100:
		return bad("InsidePercent", g.InsidePercent, "between 1 and 100")
	}
	return nil
}

func (g Web) defaults() Web {
	if g.Links == 0 {
		g.Links = defaultLinks
	}
	if g.InsidePercent == 0 {
		g.InsidePercent = defaultInsidePercent
	}
	if g.Pages == 0 && g.Triples > 0 && g.Links > 0 {
		// Somewhat too many: Triples is where the graph stops. Small graphs are
		// denser than their pages can have links; hence the constant.
		g.Pages = int(min(g.Triples/int64(g.Links), maxPages))
		g.Pages += g.Pages/16 + 100
	}
	if g.Pages == 0 {
		g.Pages = defaultPages
	}
	if g.Hosts == 0 {
		g.Hosts = min((g.Pages+pagesAHost-1)/pagesAHost, maxHosts)
	}
	return g
}

// Graph prepares the graph for being asked page by page. It leaves Triples and
// TSV out of account.
func (g Web) Graph() (*Graph, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return newGraph(g.defaults()), nil
}

func (g Web) span() (span, error) {
	for sized := g; ; sized.Pages += sized.Pages / 4 {
		sized = sized.defaults()
		graph, err := sized.Graph()
		if err != nil {
			return span{}, err
		}
		s := span{src: web{graph, g.TSV}, media: g.MediaType()}
		for page := 0; page < graph.Pages() && (g.Triples == 0 || s.count < g.Triples); page++ {
			s.count += s.src.size(int64(page))
		}
		if s.count >= g.Triples || g.Pages > 0 {
			if g.Triples > 0 {
				s.count = min(s.count, g.Triples)
			}
			return s, nil
		}
	}
}

// Generate implements Generator.
func (g Web) Generate(ctx context.Context, w io.Writer) (Counts, error) {
	s, err := g.span()
	if err != nil {
		return Counts{}, err
	}
	return s.Generate(ctx, w)
}

// Parts implements Generator.
func (g Web) Parts(n int) ([]Generator, error) {
	s, err := g.span()
	if err != nil {
		return nil, err
	}
	return s.Parts(n)
}

// MediaType implements Generator.
func (g Web) MediaType() string {
	if g.TSV {
		return MediaTypeTSV
	}
	return MediaTypeNTriples
}

// web is the source of Web; a unit is a page.
type web struct {
	*Graph
	tsv bool
}

// size implements source.
func (g web) size(unit int64) int64 {
	if unit >= int64(g.Pages()) {
		return 0
	}
	return int64(g.OutDegree(int(unit)))
}

// emit implements source.
func (g web) emit(e *emitter, unit int64) {
	before, between, after := "<", "> <"+LinksTo+"> <", "> .\n"
	if g.tsv {
		before, between, after = "", "\t", "\n"
	}
	var urls [128]byte
	var near [64]int
	source := append(urls[:0], before...)
	source = g.AppendURL(source, int(unit))
	source = append(source, between...)
	for _, target := range g.AppendLinks(near[:0], int(unit)) {
		e.buf = append(e.buf, source...)
		e.buf = g.AppendURL(e.buf, target)
		e.buf = append(e.buf, after...)
		e.endLine()
	}
}
