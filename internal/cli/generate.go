package cli

import (
	"bufio"
	"strings"

	"github.com/trefoildb/trefoil/integration/workload"
)

// generateCmd writes a data set of integration/workload.
type generateCmd struct {
	Kind    string   `default:"lubm" placeholder:"KIND" help:"${kinds}; ${default} by default."`
	Triples quantity `default:"1M" placeholder:"N" help:"How many triples: 100000, 10M; ${default} by default."`
	Seed    uint64   `default:"1" placeholder:"S" help:"The same seed gives the same bytes; ${default} by default."`
	generateLinks
}

func kindNames() string { return strings.Join(workload.Kinds(), ", ") }

func (c *generateCmd) Run(e *env) error {
	if c.Links {
		return c.writeLinks(e, c.Seed)
	}
	if c.generateLinks != (generateLinks{}) {
		return usagef("--pages, --hosts, --format and the like are for --links")
	}
	g, err := workload.New(c.Kind, c.Seed, int64(c.Triples))
	if err != nil {
		return usageError{err}
	}
	out := bufio.NewWriterSize(e.stdout, 1<<16)
	if _, err := g.Generate(e.ctx, out); err != nil {
		return err
	}
	return out.Flush()
}
