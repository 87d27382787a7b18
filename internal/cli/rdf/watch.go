// trefoil watch: follows the change feed of a server.

package rdf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/triple"
)

// WatchCmd prints changes while they are made.
type WatchCmd struct {
	target.PatternArgs
	target.ServerFlags
	Subscription string   `placeholder:"NAME" help:"What this subscription selects, reads included, in place of a pattern and --kinds."`
	Since        string   `placeholder:"POSITION" help:"Continue behind this position, which an earlier watch has printed; 0 is the oldest change that is kept. Default: from now on."`
	Kinds        []string `placeholder:"KIND,..." help:"Only these: add, delete, annotate, load, clear."`
	App          string   `placeholder:"ID" help:"Of annotations, only those of this application."`
	Expand       bool     `help:"Print the triples of bulk loads, too."`
	End          bool     `help:"Stop at the current end instead of waiting for more."`
	JSON         bool     `help:"A JSON object a line, as GET /changes sends them."`
}

// Run prints the changes, and the last position when it ends.
func (c *WatchCmd) Run(e *console.Env) (err error) {
	p, err := c.Parse(c.ServerNames(e))
	if err != nil {
		return err
	}
	wait := outage{Env: e}
	r, err := c.Dial(e, client.Options{Retries: watchRetries, Sleep: wait.sleep})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	// 1. The position goes to standard error, as cursors do, so that output stays clean.
	position := c.Since
	defer func() {
		if position != "" {
			fmt.Fprintf(e.Stderr, "position: %s\n", position)
		}
	}()
	// 2. Print each change at once if it is the last of its commit, because a person may watch.
	out := bufio.NewWriter(e.Stdout)
	defer out.Flush()
	o := client.ChangesOptions{Since: c.Since, Pattern: p, Kinds: c.Kinds, Application: c.App, Subscription: c.Subscription, Expand: c.Expand, End: c.End, Heartbeats: true}
	var line []byte
	for change, err := range r.Feed.Changes(e.Ctx, o) {
		if err != nil && e.Ctx.Err() != nil {
			return nil // the user ended it
		}
		var gone *client.Error
		if errors.As(err, &gone) && errors.Is(err, client.ErrGone) {
			position = "" // it has no use any more
			return console.WithHint(err, "Read the triples again (trefoil match), then continue with --since "+gone.Continue+".")
		}
		if err != nil {
			return err
		}
		wait.end()
		switch {
		case change.Kind == "heartbeat":
			line = line[:0]
		case c.JSON:
			line = append(append(line[:0], change.Line...), '\n')
		default:
			line = appendChange(line[:0], &change)
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
		if change.Position != "" {
			if err := out.Flush(); err != nil {
				return err
			}
			position = change.Position
		}
	}
	return nil
}

// watchRetries is the number of retries while a server that was there does not answer: some ten
// minutes, because it may be starting again. Before the first line there are firstRetries, because the
// address may be wrong.
const (
	watchRetries = 80
	firstRetries = 4
)

// outage makes the pauses between connections, and reports the first one.
type outage struct {
	*console.Env
	begun  bool // a line has arrived
	pauses int  // since the last line
}

// end must be called when a line has arrived.
func (o *outage) end() { o.begun, o.pauses = true, 0 }

// sleep waits before the next connection. Its error ends the retries.
func (o *outage) sleep(ctx context.Context, d time.Duration) error {
	switch o.pauses++; {
	case !o.begun && o.pauses > firstRetries:
		return errNoServer
	case o.begun && o.pauses == 1:
		o.Sayf("the connection is broken: connecting again")
	}
	return retry.Sleep(ctx, d)
}

var errNoServer = errors.New("no server answers")

// appendChange appends a change as a line of RDF Patch. What is no change of a triple is a comment.
func appendChange(dst []byte, c *client.Change) []byte {
	switch c.Kind {
	case "add":
		return triple.AppendNQuad(append(dst, "A "...), c.Triple)
	case "delete":
		return triple.AppendNQuad(append(dst, "D "...), c.Triple)
	case "annotate":
		if c.Removed {
			return triple.AppendNQuad(fmt.Appendf(dst, "# unannotated by %s: ", c.Application), c.Triple)
		}
		return triple.AppendNQuad(fmt.Appendf(dst, "# annotated by %s with %d bytes: ", c.Application, len(c.Data)), c.Triple)
	case "load":
		return fmt.Appendf(dst, "# load %s: %d new triples\n", c.Load, c.New)
	case "clear":
		if c.All {
			return append(dst, "# cleared all graphs\n"...)
		}
		if c.Default {
			dst = append(dst, "# cleared the default graph\n"...)
		}
		for _, g := range c.Graphs {
			dst = append(triple.AppendNT(append(dst, "# cleared graph "...), g), '\n')
		}
		return dst
	}
	return append(append(append(dst, "# "...), c.Line...), '\n')
}
