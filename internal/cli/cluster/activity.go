// trefoil cluster activity: what each machine does and uses.

package cluster

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/retry"
)

type clusterActivityCmd struct {
	target.ServerFlags
	Every time.Duration `default:"1s" help:"The time over which rates are taken."`
	Watch bool          `short:"w" help:"Go on: redraw on a terminal, elsewhere write the table each time."`
	JSON  bool          `help:"Print the figures as JSON: counters since the start of each process, in place of rates. With --watch a line each time."`
}

// Help returns what the help says behind the flags.
func (*clusterActivityCmd) Help() string {
	return `Each machine is requested, so the table takes --every, and up to 2 seconds more if a machine does not answer. Such a machine is named on
standard error, and the exit code is 1. A rate is - if the machine was started meanwhile.`
}

// Run prints the activity once, or until it is interrupted.
func (c *clusterActivityCmd) Run(e *console.Env) (err error) {
	if c.Every <= 0 {
		return console.Usagef("--every %s: it must be more than 0", c.Every)
	}
	options := client.Options{}
	if c.Watch {
		options.Retries = -1 // the loop itself repeats the request
	}
	r, err := c.Dial(e, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	// 1. The first answer has no rates.
	before, err := r.Admin.Activity(e.Ctx)
	switch {
	case err != nil:
		return err
	case c.Watch:
		return c.watch(e, r, before)
	case c.JSON:
		return errors.Join(e.PrintJSON(before), absentActivity(before))
	}
	// 2. The second one has.
	if retry.Sleep(e.Ctx, c.Every) != nil {
		return e.Ctx.Err()
	}
	all, err := r.Admin.Activity(e.Ctx)
	if err != nil {
		return err
	}
	return errors.Join(printActivity(e.Stdout, before, all), absentActivity(all))
}

// watch prints the activity until ctx ends. An error is shown, and the request is repeated.
func (c *clusterActivityCmd) watch(e *console.Env, from *client.Client, before client.ActivityList) error {
	out := console.NewFrames(e.Stdout)
	for retry.Sleep(e.Ctx, c.Every) == nil {
		all, err := from.Admin.Activity(e.Ctx)
		if e.Ctx.Err() != nil {
			return nil
		}
		if err := c.show(e, out, before, all, err); err != nil {
			return err
		}
		if err == nil {
			before = all
		}
	}
	return nil
}

// show shows an activity, or the error if there is none. Members without an answer are named below the table.
func (c *clusterActivityCmd) show(e *console.Env, out *console.Frames, before, all client.ActivityList, err error) error {
	switch {
	case err != nil && c.JSON:
		e.Sayf("%v", err)
		return nil
	case c.JSON:
		return e.PrintJSON(all)
	}
	var text strings.Builder
	if err == nil {
		err = errors.Join(printActivity(&text, before, all), absentActivity(all))
	}
	if err != nil {
		fmt.Fprintln(&text, err)
	}
	return out.Show(text.String(), "\n"+strings.TrimSuffix(text.String(), "\n"))
}

// absentActivity returns an error that names the members without an answer.
func absentActivity(all client.ActivityList) (err error) {
	for _, m := range all.Absent {
		err = errors.Join(err, fmt.Errorf("the activity of %s (machine %s) is missing: %s", m.Node, m.Machine, m.Error))
	}
	return err
}

// printActivity writes a table with the rates between two answers.
func printActivity(w io.Writer, before, all client.ActivityList) error {
	earlier := map[string]client.Activity{}
	for _, m := range before.Members {
		earlier[m.Machine] = m
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tREQUESTS/S\tNOW\tQUERIES/S\tNOW\tROWS READ/S\tWRITTEN/S\tPROCESSORS\tMEMORY\tTO COMPACT")
	for _, m := range all.Members {
		fmt.Fprintln(table, strings.Join(activityCells(earlier[m.Machine], m), "\t"))
	}
	return table.Flush()
}

// activityCells returns the row of a machine. before is the zero Activity if there is no earlier answer.
func activityCells(before, m client.Activity) []string {
	seconds := m.Seconds - before.Seconds
	rate := func(grown float64, show func(float64) string) string {
		if before.Seconds == 0 || seconds <= 0 {
			return "-"
		}
		return show(grown / seconds)
	}
	one := func(n float64) string { return fmt.Sprintf("%.1f", n) }
	debt := "unknown"
	if m.CompactionDebt != nil {
		debt = console.Size(*m.CompactionDebt)
	}
	return []string{
		console.PlainLine(m.Node),
		rate(float64(m.Requests-before.Requests), one), console.Number(m.RequestsInFlight),
		rate(float64(m.Queries-before.Queries), one), console.Number(m.QueriesRunning),
		rate(float64(m.RowsRead-before.RowsRead), func(n float64) string { return console.Number(int64(n)) }),
		rate(float64(m.BytesWritten-before.BytesWritten), func(n float64) string { return console.Size(int64(n)) }),
		rate(m.ProcessorSeconds-before.ProcessorSeconds, func(n float64) string { return fmt.Sprintf("%.2f", n) }),
		console.Size(m.Memory), debt,
	}
}
