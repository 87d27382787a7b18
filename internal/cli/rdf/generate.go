// trefoil generate: RDF, and graphs of links.

package rdf

import (
	"bufio"
	"math"
	"strings"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// GenerateCmd writes a data set of internal/dataset.
type GenerateCmd struct {
	Kind    string           `default:"lubm" placeholder:"KIND" help:"${kinds}; ${default} by default. library is written as N-Quads (.nq), because it has named graphs; the others as N-Triples (.nt)."`
	Triples console.Quantity `default:"1M" placeholder:"N" help:"How many triples: 100000, 10M; ${default} by default."`
	Seed    uint64           `default:"1" placeholder:"S" help:"The same seed gives the same bytes; ${default} by default."`
	Output  string           `short:"o" placeholder:"FILE" help:"Write this file in place of standard output, compressed if its name ends with .gz or .zst. It appears when it is complete."`
	generateLinks
}

// KindNames returns the kinds of data sets, for the help.
func KindNames() string { return strings.Join(dataset.Kinds(), ", ") }

func (c *GenerateCmd) Run(e *console.Env) error {
	if c.Links {
		return e.WithOutput(c.Output, func(e *console.Env) error { return c.writeLinks(e, c.Seed) })
	}
	// 1. Check the flags. The name of the file must not claim another syntax.
	if c.generateLinks != (generateLinks{}) {
		return console.Usagef("--pages, --hosts, --format and the like are for --links")
	}
	g, err := dataset.New(c.Kind, c.Seed, int64(c.Triples))
	if err != nil {
		return console.Usage(err)
	}
	written, err := syntax.ByMediaType(g.MediaType())
	if err != nil {
		return err
	}
	if named, ok := syntax.ByFile(c.Output); ok && named != written {
		return console.Usagef("--output %s: --kind %s is written as %s; name the file so", c.Output, c.Kind, written)
	}
	return e.WithOutput(c.Output, func(e *console.Env) error { return writeData(e, g) })
}

func writeData(e *console.Env, g dataset.Generator) error {
	out := bufio.NewWriterSize(e.Stdout, 1<<16)
	if _, err := g.Generate(e.Ctx, out); err != nil {
		return err
	}
	return out.Flush()
}

// generateLinks holds the flags of generate for links.
type generateLinks struct {
	Links        bool             `help:"Write the links of a made-up web, and not triples of a kind."`
	Pages        console.Quantity `placeholder:"N" help:"How many pages: 1M by default."`
	Hosts        console.Quantity `placeholder:"N" help:"How many hosts: one for 20 pages by default."`
	Degree       int              `placeholder:"N" help:"Mean number of links of a page; 18 by default."`
	LocalPercent int              `placeholder:"N" help:"How many of 100 links stay in their host; 75 by default."`
	Format       string           `placeholder:"F" help:"edges, lists, pages or nt; edges by default."`
	MaxLinks     console.Quantity `placeholder:"N" help:"End after so many links."`
}

func (c *generateLinks) writeLinks(e *console.Env, seed uint64) error {
	format := linkfile.Edges
	if c.Format != "" {
		var err error
		if format, err = linkfile.ByName(c.Format); err != nil {
			return console.Usagef("--format: %w", err)
		}
	}
	if c.Pages > math.MaxUint32 || c.Hosts > math.MaxUint32 {
		return console.Usagef("--pages and --hosts are at most %s", console.Number(math.MaxUint32))
	}
	g, err := linkgen.New(linkgen.Options{Pages: uint32(c.Pages), Hosts: uint32(c.Hosts), Links: c.Degree, LocalPercent: c.LocalPercent, Seed: seed})
	if err != nil {
		return console.Usage(err)
	}
	switch format {
	case linkfile.Edges, linkfile.Lists, linkfile.Pages, linkfile.NTriples:
	default:
		return console.Usagef("--format %s: links are written as edges, lists, pages or nt", c.Format)
	}
	_, err = g.Write(e.Ctx, e.Stdout, linkgen.WriteOptions{Format: format, Links: int64(c.MaxLinks)})
	return err
}
