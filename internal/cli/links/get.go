// trefoil links commands for lists, and the epoch of their reads.

package links

import (
	"fmt"
	"math"
	"strconv"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// listFlags holds the flags of commands that print links.
type listFlags struct {
	linksReader
	Backward bool `short:"b" help:"The links to the pages: lines are still a page and the one that it links to."`
	UIDs     bool `name:"uids" help:"Print UIDs and not URLs."`
	JSON     bool `help:"A JSON object a line: a page and all of its links."`
	pageArgs
}

func (f *listFlags) direction() links.Direction {
	if f.Backward {
		return links.Backward
	}
	return links.Forward
}

// pageList is a page with links, in JSON.
type pageList struct {
	Page  string     `json:"page"`
	Links []linkJSON `json:"links"`
}

type linkJSON struct {
	Page   string   `json:"page"`
	Weight *float64 `json:"weight,omitempty"`
	Anchor string   `json:"anchor,omitempty"`
}

type linksGetCmd struct {
	listFlags
	Labels bool `help:"Print weights and anchor texts too."`
}

func (c *linksGetCmd) Run(e *console.Env) error {
	return c.print(e, func(g links.Graph, pages []uid.UID) (lists links.Lists, labels []links.Label, err error) {
		if lists, err = g.Links(e.Ctx, c.direction(), pages); err != nil || !c.Labels {
			return lists, nil, err
		}
		all, err := g.Labels(e.Ctx, c.direction(), pages)
		if err == nil && len(all.Items) != len(lists.Items) {
			err = links.ErrEpoch // the graph changed between the two calls
		}
		return lists, all.Items, err
	})
}

type linksSampleCmd struct {
	listFlags
	N          int    `short:"n" required:"" placeholder:"N" help:"Maximum of links of each page."`
	Consistent bool   `xor:"mode" help:"The same links for each caller, and common ones of similar pages; this is the default."`
	Random     bool   `xor:"mode" help:"Any links, by --seed."`
	Seed       uint64 `default:"1" placeholder:"S" help:"Of --random: the same seed gives the same sample; ${default} by default."`
	Class      string `default:"all" placeholder:"C" help:"all, inter-host or inter-domain; ${default} by default."`
}

func (c *linksSampleCmd) Run(e *console.Env) error {
	class, err := sample.ParseClass(c.Class)
	if err != nil {
		return console.Usage(err)
	}
	if c.N < 0 || c.N > math.MaxInt32 {
		return console.Usagef("-n %d: it is 0 to %d", c.N, math.MaxInt32)
	}
	spec := sample.Spec{N: c.N, Mode: modeOf(c.Random), Class: class, Seed: c.Seed}
	return c.print(e, func(g links.Graph, pages []uid.UID) (links.Lists, []links.Label, error) {
		lists, err := g.SampleLinks(e.Ctx, c.direction(), pages, spec)
		return lists, nil, err
	})
}

func modeOf(random bool) sample.Mode {
	if random {
		return sample.ModeRandom
	}
	return sample.ModeConsistent
}

// print prints the links of all pages. get reads them for a batch.
func (f *listFlags) print(e *console.Env, get func(links.Graph, []uid.UID) (links.Lists, []links.Label, error)) error {
	return f.withGraph(e, func(g links.Graph) error {
		names := resolver{e: e, graph: g}
		out := console.NewPrinter(e.Stdout, f.JSON)
		// A batch at a time: resolve names, read lists, find URLs, print.
		err := f.each(e, f.ServerNames(e), func(batch []string) error {
			pages, err := names.resolve(batch)
			if err != nil {
				return err
			}
			lists, labels, err := get(g, pages)
			if err != nil {
				return err
			}
			// own are the pages as the user requests them, ends the other ends of their links.
			own, ends, err := f.names(e, g, batch, pages, lists.Items)
			if err != nil {
				return err
			}
			// Ends[i] is the end of list i and the start of the next one.
			start := 0
			for i := range pages {
				end := lists.Ends[i]
				var l []links.Label
				if labels != nil {
					l = labels[start:end]
				}
				if err := printList(out, own[i], ends[start:end], l, f.Backward); err != nil {
					return err
				}
				start = end
			}
			return nil
		})
		// Unknown pages are reported after all output, and only if it is complete.
		if err = out.End(err); err == nil {
			names.reportUnknown()
		}
		return err
	})
}

// names returns the printed names of pages and of the other ends of their links.
func (f *listFlags) names(e *console.Env, g links.Graph, given []string, pages, others []uid.UID) (own, ends []string, err error) {
	if f.UIDs {
		return decimals(pages), decimals(others), nil
	}
	if own, err = urlsOf(e, g, pages); err != nil {
		return nil, nil, err
	}
	for i, url := range own {
		if url == "" {
			own[i] = given[i]
		}
	}
	ends, err = urlsOf(e, g, others)
	return own, ends, err
}

func decimals(pages []uid.UID) []string {
	list := make([]string, len(pages))
	for i, u := range pages {
		list[i] = u.String()
	}
	return list
}

// list prints the links of a page. labels may be nil.
func printList(p *console.Printer, page string, ends []string, labels []links.Label, backward bool) error {
	if p.JSON {
		object := pageList{Page: page, Links: make([]linkJSON, len(ends))}
		for i, end := range ends {
			object.Links[i].Page = end
			if labels != nil && labels[i] != cell.NoLabel {
				object.Links[i].Weight, object.Links[i].Anchor = &labels[i].Weight, labels[i].Anchor
			}
		}
		return p.Object(object)
	}
	// As text a line is always a page and a page that it links to, also for backward lists.
	for i, end := range ends {
		fields := []string{page, end}
		if backward {
			fields = []string{end, page}
		}
		if labels != nil && labels[i] != cell.NoLabel {
			fields = append(fields, strconv.FormatFloat(labels[i].Weight, 'g', -1, 64))
			if labels[i].Anchor != "" {
				fields = append(fields, console.OneLine(labels[i].Anchor))
			}
		}
		if err := p.Fields(fields...); err != nil {
			return err
		}
	}
	return nil
}

type linksDegreeCmd struct {
	linksReader
	UIDs bool `name:"uids" help:"Print UIDs and not the names that were given."`
	JSON bool `help:"A JSON object a line."`
	pageArgs
}

// pageDegree is a page's degrees in JSON.
type pageDegree struct {
	Page string `json:"page"`
	Out  int    `json:"out"`
	In   int    `json:"in"`
}

func (c *linksDegreeCmd) Run(e *console.Env) error {
	return c.withGraph(e, func(g links.Graph) error {
		names := resolver{e: e, graph: g}
		out := console.NewPrinter(e.Stdout, c.JSON)
		// A batch at a time: resolve names, read both degrees, print.
		err := c.each(e, c.ServerNames(e), func(batch []string) error {
			pages, err := names.resolve(batch)
			if err != nil {
				return err
			}
			from, err := g.Degrees(e.Ctx, links.Forward, pages)
			if err != nil {
				return err
			}
			to, err := g.Degrees(e.Ctx, links.Backward, pages)
			if err != nil {
				return err
			}
			// Each page of the batch is one line: its name, its links forward, and backward.
			for i, name := range batch {
				if c.UIDs {
					name = pages[i].String()
				}
				if c.JSON {
					err = out.Object(pageDegree{name, from[i], to[i]})
				} else {
					err = out.Fields(name, strconv.Itoa(from[i]), strconv.Itoa(to[i]))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err = out.End(err); err == nil {
			names.reportUnknown()
		}
		return err
	})
}

// linksReader holds the flags of links commands that read.
type linksReader struct {
	target.ServerFlags
	Epoch string `placeholder:"N" help:"All of the answer is of the graph at this epoch (trefoil links epoch), or it fails; now is the present one."`
}

// withGraph is that of serverFlags, at the epoch in the flags.
func (r *linksReader) withGraph(e *console.Env, do func(links.Graph) error) error {
	if r.Epoch == "" {
		return target.WithGraph(e, &r.ServerFlags, do)
	}
	epoch, err := strconv.ParseUint(r.Epoch, 10, 64)
	if err != nil && r.Epoch != "now" {
		return console.Usagef("--epoch: %q is no number, and not now", r.Epoch)
	}
	return withServerGraph(e, &r.ServerFlags, func(of *client.Links) error {
		if r.Epoch == "now" {
			if epoch, err = of.Epoch(e.Ctx); err != nil {
				return err
			}
		}
		return do(of.AtEpoch(epoch))
	})
}

// withServerGraph calls do with the server's graph, because other graphs have no epoch.
func withServerGraph(e *console.Env, s *target.ServerFlags, do func(*client.Links) error) error {
	return s.Request(e, func(c *client.Client) error {
		if e.Links != nil {
			return console.Usagef("only servers have epochs")
		}
		return do(c.Links)
	})
}

type linksEpochCmd struct{ target.ServerFlags }

func (c *linksEpochCmd) Run(e *console.Env) error {
	return withServerGraph(e, &c.ServerFlags, func(of *client.Links) error {
		epoch, err := of.Epoch(e.Ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.Stdout, epoch)
		return err
	})
}
