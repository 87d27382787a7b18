// trefoil queries: what runs at the members of a cluster, or at one server.

package query

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
)

// QueriesCmd lists the running queries, and stops one.
type QueriesCmd struct {
	target.ServerFlags
	Stop *string `placeholder:"ID" help:"Stop the query with this ID, of any member: its client gets an error. Of an update nothing is done on a node alone."`
	Slow bool    `help:"List the last slow queries (serve --slow-query) instead."`
	JSON bool    `help:"Print JSON."`
}

// Help returns what the help says behind the flags.
func (*QueriesCmd) Help() string {
	return `The list has queries, updates and streams of triples of all members of the cluster, the oldest first. A member that does not answer
is named on standard error, and the exit code is 1. Both need the operators' token if there is one.`
}

// Run lists the queries, or stops one.
func (c *QueriesCmd) Run(e *console.Env) error {
	switch {
	case c.Stop != nil && c.Slow:
		return console.Usagef("--stop stops a query, --slow lists ended ones: give one of the two")
	case c.Stop != nil && *c.Stop == "":
		return console.Usagef("--stop has an empty ID; trefoil queries lists those that run")
	}
	if c.Stop != nil {
		return c.Request(e, func(to *client.Client) error { return c.stop(e, to) })
	}
	return c.Request(e, func(to *client.Client) error { return c.list(e, to) })
}

func (c *QueriesCmd) list(e *console.Env, to *client.Client) error {
	// 1. Read the lists, and print one.
	all, err := to.Admin.Queries(e.Ctx)
	switch {
	case err != nil:
		return err
	case c.JSON && c.Slow:
		err = e.PrintJSON(all.Slow)
	case c.JSON:
		err = e.PrintJSON(all.Running)
	case c.Slow:
		err = printSlow(e.Stdout, all.Slow)
	default:
		err = printRunning(e.Stdout, all.Running)
	}
	// 2. A list without a member is printed, and an error.
	for _, m := range all.Absent {
		err = errors.Join(err, fmt.Errorf("the queries of %s (machine %s) are missing: %s", m.Node, m.Machine, m.Error))
	}
	return err
}

func (c *QueriesCmd) stop(e *console.Env, to *client.Client) error {
	q, err := to.Admin.StopQuery(e.Ctx, *c.Stop)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.PrintJSON(q)
	}
	e.Sayf("stopped the %s %s after %s, with %s", q.Kind, q.ID, elapsed(q.Milliseconds), console.Plural(q.Rows, "row"))
	return nil
}

func printRunning(out io.Writer, all []client.RunningQuery) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNODE\tKIND\tTIME\tROWS\tMEMORY\tUSER\tTEXT")
	for _, q := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", console.PlainLine(q.ID), console.PlainLine(q.Node), q.Kind, elapsed(q.Milliseconds), q.Rows, console.Size(q.Memory), q.User, console.PlainLine(q.Text))
	}
	return w.Flush()
}

func printSlow(out io.Writer, all []client.SlowQuery) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "START\tNODE\tKIND\tTIME\tROWS\tBYTES\tSTATUS\tUSER\tTEXT")
	for _, q := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\n", q.Start.Local().Format(time.DateTime), console.PlainLine(q.Node), q.Kind, elapsed(q.Milliseconds), q.Rows, console.Size(q.Bytes), q.Status, q.User, console.PlainLine(q.Text))
	}
	return w.Flush()
}

func elapsed(milliseconds int64) time.Duration { return time.Duration(milliseconds) * time.Millisecond }
