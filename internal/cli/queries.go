// trefoil queries: what runs at a server.

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trefoildb/trefoil/client"
)

// queriesCmd lists the running queries of a server, and stops one.
type queriesCmd struct {
	serverFlags
	Stop uint64 `placeholder:"ID" help:"Stop the query with this ID: its client gets an error. Of an update nothing is done on a node alone."`
	Slow bool   `help:"List the last slow queries (serve --slow-query) instead."`
	JSON bool   `help:"Print JSON."`
}

// Help returns what the help says behind the flags.
func (*queriesCmd) Help() string {
	return `The list has queries, updates and streams of triples of the server at --to, the oldest first; not those of other members of its cluster.
Both need the operators' token if there is one.`
}

// Run lists the queries, or stops one.
func (c *queriesCmd) Run(e *env) (err error) {
	if c.Stop != 0 && c.Slow {
		return usagef("--stop stops a query, --slow lists ended ones: give one of the two")
	}
	r, err := c.connect(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	// 1. Stop one.
	if c.Stop != 0 {
		q, err := r.client.StopQuery(e.ctx, c.Stop)
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(q)
		}
		e.sayf("stopped the %s %d after %s, with %s", q.Kind, q.ID, elapsed(q), plural(q.Rows, "row"))
		return nil
	}
	// 2. List them.
	all, err := r.client.Queries(e.ctx)
	switch {
	case err != nil:
		return err
	case c.JSON && c.Slow:
		return e.printJSON(all.Slow)
	case c.JSON:
		return e.printJSON(all.Running)
	case c.Slow:
		return printSlow(e.stdout, all.Slow)
	}
	return printRunning(e.stdout, all.Running)
}

func printRunning(out io.Writer, all []client.RunningQuery) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKIND\tTIME\tROWS\tMEMORY\tUSER\tTEXT")
	for _, q := range all {
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", q.ID, q.Kind, elapsed(q), q.Rows, size(q.Memory), q.User, plainLine(q.Text))
	}
	return w.Flush()
}

func printSlow(out io.Writer, all []client.SlowQuery) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "START\tKIND\tTIME\tROWS\tBYTES\tSTATUS\tUSER\tTEXT")
	for _, q := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\n", q.Start.Local().Format(time.DateTime), q.Kind, elapsed(q.RunningQuery), q.Rows, size(q.Bytes), q.Status, q.User, plainLine(q.Text))
	}
	return w.Flush()
}

func elapsed(q client.RunningQuery) time.Duration {
	return time.Duration(q.Milliseconds) * time.Millisecond
}

// plainLine returns a text of a server as one line, without characters that a terminal would obey.
func plainLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return -1
		}
		return c
	}, strings.Join(strings.Fields(text), " "))
}
