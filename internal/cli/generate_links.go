package cli

// This file is generate --links: a web graph that is made up.

import (
	"math"

	"github.com/trefoildb/trefoil/links/gen"
	"github.com/trefoildb/trefoil/links/linkfile"
)

// generateLinks hold the flags of generate that are for links.
type generateLinks struct {
	Links        bool     `help:"Write the links of a made-up web, and not triples of a kind."`
	Pages        quantity `placeholder:"N" help:"How many pages: 1M by default."`
	Hosts        quantity `placeholder:"N" help:"How many hosts: one for 20 pages by default."`
	Degree       int      `placeholder:"N" help:"Mean number of links of a page; 18 by default."`
	LocalPercent int      `placeholder:"N" help:"How many of 100 links stay in their host; 75 by default."`
	Format       string   `placeholder:"F" help:"edges, lists, pages or nt; edges by default."`
	MaxLinks     quantity `placeholder:"N" help:"End after so many links."`
}

func (c *generateLinks) writeLinks(e *env, seed uint64) error {
	format := linkfile.Edges
	if c.Format != "" {
		var err error
		if format, err = linkfile.ByName(c.Format); err != nil {
			return usagef("--format: %w", err)
		}
	}
	if c.Pages > math.MaxUint32 || c.Hosts > math.MaxUint32 {
		return usagef("--pages and --hosts are at most %s", number(math.MaxUint32))
	}
	g, err := gen.New(gen.Options{Pages: uint32(c.Pages), Hosts: uint32(c.Hosts), Links: c.Degree, LocalPercent: c.LocalPercent, Seed: seed})
	if err != nil {
		return usageError{err}
	}
	switch format {
	case linkfile.Edges, linkfile.Lists, linkfile.Pages, linkfile.NTriples:
	default:
		return usagef("--format %s: links are written as edges, lists, pages or nt", c.Format)
	}
	_, err = g.Write(e.ctx, e.stdout, gen.WriteOptions{Format: format, Links: int64(c.MaxLinks)})
	return err
}
