// trefoil cluster where: the machines of one triple.

package cluster

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
)

// clusterWhereCmd shows which machines have which version of a triple, and why.
type clusterWhereCmd struct {
	target.PatternArgs
	target.ServerFlags
	JSON bool `help:"Print JSON."`
}

func (c *clusterWhereCmd) Run(e *console.Env) error {
	names := c.ServerNames(e)
	t, err := c.Triple(names)
	if err != nil {
		return names.Cause(err)
	}
	return c.Request(e, func(to *client.Client) error {
		w, err := to.Admin.Where(e.Ctx, t)
		return console.Print(e, c.JSON, w, err, printWhere)
	})
}

// printWhere writes the places of a triple for people.
func printWhere(w io.Writer, at client.Whereabouts) error {
	// 1. The triple as a whole.
	switch {
	case at.Unknown != "":
		fmt.Fprintf(w, "It is not known if the triple is stored: %s\n", at.Unknown)
	case at.Stored:
		fmt.Fprintf(w, "The triple is stored on %s; %d must have it.\n", console.Plural(int64(at.Holding), "machine"), at.Required)
	default:
		fmt.Fprintf(w, "The triple is not stored. These would be its places:\n")
	}
	// 2. Its places, one a line.
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nVERSION\tMACHINE\tADDRESS\tSTATE\tRING\tSEGMENT\tPARTITION\tROW\tWHY")
	for _, p := range at.Places {
		segment, partition, row := "-", "-", p.Row
		if p.Segment != nil {
			segment, partition = console.Number(int64(p.Segment.ID)), console.Number(int64(p.Segment.Partition))
		}
		if p.Error != "" {
			row += ": " + p.Error
		}
		cells := []string{p.Version, p.Machine, console.OrElse(p.Address, "-"), p.State, fmt.Sprint(p.Ring), segment, partition, row, p.Why}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}
