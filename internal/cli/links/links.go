// Package links has the commands of trefoil links: they read and change a server's graph of hyperlinks.
package links

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/load"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// Cmd reads and changes a server's graph of hyperlinks.
type Cmd struct {
	UID      linksUIDCmd         `cmd:"" name:"uid" help:"Print the UIDs of pages: URL, TAB, UID; 0 where a page is not known."`
	URL      linksURLCmd         `cmd:"" name:"url" help:"Print the URLs of UIDs: UID, TAB, URL; none where a UID is not known."`
	Get      linksGetCmd         `cmd:"" help:"Print the links of pages, a line each: page, TAB, page that it links to."`
	Sample   linksSampleCmd      `cmd:"" help:"Print samples of the links of pages, as get does."`
	Degree   linksDegreeCmd      `cmd:"" help:"Print how many links pages have: page, TAB, from it, TAB, to it."`
	Stats    linksStatsCmd       `cmd:"" help:"Show how many pages and links there are, and what they take."`
	Stores   linksStoresCmd      `cmd:"" help:"Show, load and unload what the machines have in memory: store, TAB, bytes, TAB, of bytes, TAB, cells, TAB, of cells."`
	Epoch    linksEpochCmd       `cmd:"" help:"Print the epoch of the graph, for --epoch: another number after every change."`
	Pages    linksPagesCmd       `cmd:"" help:"List all pages by UID: UID, TAB, URL."`
	Update   load.LinksUpdateCmd `cmd:"" help:"Add or delete the links of files, or replace those of whole pages."`
	Label    linksLabelCmd       `cmd:"" help:"Print the labels of pages themselves: URL, TAB, weight, TAB, text; or set or remove them."`
	Rank     linksRankCmd        `cmd:"" help:"Rank pages by the links around them: score, TAB, page."`
	PageRank linksPageRankCmd    `cmd:"" name:"pagerank" help:"Compute the PageRank of all pages."`
}

// Hint returns a hint for an error of a graph of links; "" if there is none.
func Hint(err error) string {
	switch {
	case errors.Is(err, links.ErrLoading):
		return "Try again in a while: trefoil links stats tells how far it is."
	case errors.Is(err, links.ErrBusy):
		return "trefoil links pagerank status shows it, and stop ends it."
	case errors.Is(err, links.ErrNoJob):
		return "trefoil links pagerank start begins one."
	case errors.Is(err, links.ErrEpoch):
		return "The graph has changed meanwhile: ask again, at the epoch that trefoil links epoch tells."
	}
	return ""
}

// pageArgs holds the pages of a command.
type pageArgs struct {
	Pages []string `arg:"" optional:"" name:"page" help:"URLs, with a prefix of the store or whole, or UIDs in decimal; without any, or for -, they are lines of standard input."`
}

// pagesAtOnce is the number of pages in one call.
const pagesAtOnce = 1000

// maxPageLine is the longest line of standard input with a page.
const maxPageLine = 16 << 20

// each calls do with the names of all pages, in batches. names is valid until do returns. Arguments may
// have prefixes of the store; lines of standard input are URLs or UIDs.
func (p *pageArgs) each(e *console.Env, prefixes *target.Names, do func(names []string) error) error {
	// 1. Collect names; a full batch is sent.
	batch := make([]string, 0, pagesAtOnce)
	add := func(name string) error {
		if batch = append(batch, name); len(batch) < pagesAtOnce {
			return nil
		}
		err := do(batch)
		batch = batch[:0]
		return err
	}
	// 2. Read the arguments. "-", or no argument, is standard input.
	args := slices.Clone(p.Pages)
	if err := prefixes.Expand(args); err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, arg := range args {
		if arg != "-" {
			if err := add(arg); err != nil {
				return err
			}
			continue
		}
		lines := bufio.NewScanner(e.Input())
		lines.Buffer(nil, maxPageLine)
		for lines.Scan() {
			if lines.Text() == "" {
				continue
			}
			if err := add(lines.Text()); err != nil {
				return err
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
	}
	// 3. The last batch is seldom full.
	if len(batch) == 0 {
		return nil
	}
	return do(batch)
}

// isUID reports whether a page is named by its UID.
func isUID(name string) bool {
	_, err := strconv.ParseUint(name, 10, 64)
	return err == nil
}

// resolver resolves names of pages to UIDs, and counts the unknown ones.
type resolver struct {
	e       *console.Env
	graph   links.Graph
	unknown int64
}

func (r *resolver) resolve(names []string) ([]uid.UID, error) {
	// 1. UIDs are parsed here; URLs are collected for one call.
	pages := make([]uid.UID, len(names))
	var urls []string
	var at []int
	for i, name := range names {
		if !isUID(name) {
			urls, at = append(urls, name), append(at, i)
			continue
		}
		u, err := uid.Parse(name)
		if err != nil {
			return nil, console.Usage(err)
		}
		pages[i] = u
	}
	// 2. Look up the URLs. An unknown page gets 0.
	if len(urls) > 0 {
		found, err := r.graph.UIDs(r.e.Ctx, urls)
		if err != nil {
			return nil, err
		}
		for i, u := range found {
			pages[at[i]] = u
			if u == 0 {
				r.unknown++
			}
		}
	}
	return pages, nil
}

// reportUnknown reports the number of unknown pages.
func (r *resolver) reportUnknown() {
	if r.unknown > 0 {
		r.e.Sayf("%s not known: no link begins or ends there", console.PluralAre(r.unknown, "page"))
	}
}

// urlsOf returns the URLs of any number of pages, in several calls if needed.
func urlsOf(e *console.Env, g links.Graph, pages []uid.UID) ([]string, error) {
	const atOnce = 10_000
	var urls []string
	for len(pages) > 0 {
		n := min(len(pages), atOnce)
		some, err := g.URLs(e.Ctx, pages[:n])
		if err != nil {
			return nil, err
		}
		if urls, pages = append(urls, some...), pages[n:]; len(pages) == 0 {
			return urls, nil
		}
	}
	return nil, nil
}

type linksUIDCmd struct {
	linksReader
	JSON bool     `help:"A JSON object a line."`
	URLs []string `arg:"" optional:"" name:"url" help:"URLs; without any, or for -, they are lines of standard input."`
}

// pageUID is a page in JSON.
type pageUID struct {
	URL string  `json:"url"`
	UID uid.UID `json:"uid,string"`
}

func (c *linksUIDCmd) Run(e *console.Env) error {
	return c.withGraph(e, func(g links.Graph) error {
		out := console.NewPrinter(e.Stdout, c.JSON)
		return out.End((&pageArgs{c.URLs}).each(e, c.ServerNames(e), func(urls []string) error {
			pages, err := g.UIDs(e.Ctx, urls)
			if err != nil {
				return err
			}
			for i, u := range pages {
				if err := printPage(out, urls[i], u, urls[i], u.String()); err != nil {
					return err
				}
			}
			return nil
		}))
	})
}

func printPage(p *console.Printer, url string, u uid.UID, fields ...string) error {
	if p.JSON {
		return p.Object(pageUID{url, u})
	}
	return p.Fields(fields...)
}

type linksURLCmd struct {
	linksReader
	JSON bool     `help:"A JSON object a line."`
	UIDs []string `arg:"" optional:"" name:"uid" help:"UIDs in decimal; without any, or for -, they are lines of standard input."`
}

func (c *linksURLCmd) Run(e *console.Env) error {
	return c.withGraph(e, func(g links.Graph) error {
		out := console.NewPrinter(e.Stdout, c.JSON)
		return out.End((&pageArgs{c.UIDs}).each(e, c.ServerNames(e), func(names []string) error {
			pages := make([]uid.UID, len(names))
			for i, name := range names {
				var err error
				if pages[i], err = uid.Parse(name); err != nil {
					return console.Usage(err)
				}
			}
			urls, err := g.URLs(e.Ctx, pages)
			if err != nil {
				return err
			}
			for i, u := range pages {
				if err := printPage(out, urls[i], u, u.String(), urls[i]); err != nil {
					return err
				}
			}
			return nil
		}))
	})
}

type linksPagesCmd struct {
	linksReader
	After uint64           `placeholder:"UID" help:"Those behind this UID."`
	Limit console.Quantity `placeholder:"N" help:"Maximum of them."`
	UIDs  bool             `name:"uids" help:"UIDs only."`
	JSON  bool             `help:"A JSON object a line."`
}

func (c *linksPagesCmd) Run(e *console.Env) error {
	return c.withGraph(e, func(g links.Graph) error {
		out := console.NewPrinter(e.Stdout, c.JSON)
		return out.End(c.list(e, g, out))
	})
}

func (c *linksPagesCmd) list(e *console.Env, g links.Graph, out *console.Printer) error {
	const atOnce = 10_000
	// Read page by page of UIDs; the last UID of one is the start of the next.
	after, left := uid.UID(c.After), int64(c.Limit)
	for {
		// The last page may be shorter. --limit 0 means all pages, so left does not count.
		n := atOnce
		if c.Limit > 0 {
			n = int(min(left, atOnce))
		}
		if n == 0 {
			return nil
		}
		pages, err := g.Pages(e.Ctx, after, n)
		if err != nil || len(pages) == 0 {
			return err
		}
		// The URLs stay empty if the user requests UIDs, because each look-up costs a read.
		urls := make([]string, len(pages))
		if !c.UIDs {
			if urls, err = g.URLs(e.Ctx, pages); err != nil {
				return err
			}
		}
		for i, u := range pages {
			fields := []string{u.String(), urls[i]}
			if c.UIDs {
				fields = fields[:1]
			}
			if err := printPage(out, urls[i], u, fields...); err != nil {
				return err
			}
		}
		// Fewer than n pages are no sign of the end. Only an empty page is.
		after = pages[len(pages)-1]
		left -= int64(len(pages))
	}
}

type linksStatsCmd struct {
	target.ServerFlags
	JSON bool `help:"Print JSON."`
}

func (c *linksStatsCmd) Run(e *console.Env) error {
	return target.WithGraph(e, &c.ServerFlags, func(g links.Graph) error {
		s, err := g.Stats(e.Ctx)
		return console.Print(e, c.JSON, s, err, printLinkStats)
	})
}

// printLinkStats writes statistics for people and for pipes: name, TAB, value.
func printLinkStats(w io.Writer, s links.Stats) error {
	// 1. Rows of one server, or of the sum over all.
	out := bufio.NewWriter(w)
	row := func(name string, value any) { fmt.Fprintf(out, "%s\t%v\n", name, value) }
	server := func(of string, s links.ServerStats) {
		row(of+"pages", s.Pages)
		row(of+"links", s.Links)
		if s.MaxOut >= 0 { // known
			row(of+"max out-degree", s.MaxOut)
			row(of+"max in-degree", s.MaxIn)
		}
		row(of+"min uid", s.MinUID)
		row(of+"max uid", s.MaxUID)
		row(of+"cells", s.Cells)
		row(of+"bytes", s.Bytes)
		row(of+"bytes of urls", s.URLBytes)
		row(of+"bytes forward", s.ForwardBytes)
		row(of+"bytes backward", s.BackwardBytes)
		row(of+"bytes of changes", s.DeltaBytes)
	}
	// 2. The graph as a whole, then each server if there are several.
	if s.Epoch != 0 { // sent by the server
		row("epoch", s.Epoch)
	}
	row("servers", len(s.Servers))
	server("", s.ServerStats)
	if s.Loading {
		row("loading", s.Progress)
	}
	if len(s.Servers) > 1 {
		for _, one := range s.Servers {
			server(one.ID+" ", one)
		}
	}
	return out.Flush()
}
