// trefoil status and trefoil version.

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
)

// StatusCmd shows the state of a store, or of its cluster.
type StatusCmd struct {
	target.StoreFlags
	JSON  bool          `help:"Print JSON."`
	Ready bool          `help:"Print nothing, but fail if the server cannot work. Needs no token."`
	Wait  time.Duration `placeholder:"T" help:"With --ready: wait up to this time until the server can work, such as 30s."`
}

// Run prints the status.
func (c *StatusCmd) Run(e *console.Env) error {
	switch {
	case c.Ready:
		return c.ready(e)
	case c.Wait != 0:
		return console.Usagef("--wait is for --ready")
	}
	return c.With(e, target.Reading, func(s target.Store) error {
		status, err := s.Status(e.Ctx)
		print := printStatus
		if status.Cluster != "" {
			print = printCluster
		}
		return console.Print(e, c.JSON, status, err, print)
	})
}

// ready requests whether the server can work.
func (c *StatusCmd) ready(e *console.Env) error {
	if local, err := c.Local(); err != nil || local {
		return cmp.Or(err, console.Usagef("--ready asks a server; --data opens a directory"))
	}
	// 1. Without --wait the client retries as it does for any request.
	ctx, options := e.Ctx, client.Options{}
	if c.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Wait)
		defer cancel()
		options = client.Options{Retries: math.MaxInt, MaxBackoff: 500 * time.Millisecond}
	}
	r, err := c.Dial(e, options)
	if err != nil {
		return err
	}
	return errors.Join(r.Ready(ctx), r.Close())
}

// printStatus writes a status for people. Lines that do not apply are left out.
func printStatus(w io.Writer, s client.Status) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(out, name+"\t"+format+"\n", args...) }
	// 1. What each store has.
	row("version", "%s", s.Version)
	row("epoch", "%d", s.Epoch)
	for _, m := range s.Members {
		row("member", "%s", strings.TrimRight(m.ID+" "+m.State+" "+m.Address, " "))
	}
	row("segments", "%s", console.Number(int64(s.Segments)))
	row("triples", "%s", countText(s.Triples, s))
	if s.Annotations > 0 {
		row("annotations", "%s", countText(s.Annotations, s))
	}
	row("tables", "%s", console.Size(s.Bytes))
	if s.FreeBytes >= 0 {
		row("free disk", "%s", console.Size(s.FreeBytes))
	}
	row("rebuilding", "%d", s.Rebuilding)
	row("lost", "%d", s.Lost)
	// 2. What is wrong comes last, because a terminal shows the end.
	if s.Corruptions > 0 {
		row("corruptions", "%d", s.Corruptions)
	}
	if s.Error != "" {
		row("no writes", "%s", s.Error)
	}
	for _, f := range s.Stalled {
		row("stalled", "%s", stalledText(f))
	}
	return out.Flush()
}

// countText returns a number of a status, and whether it is an estimate.
func countText(n int64, s client.Status) string {
	if s.Exact {
		return console.Number(n)
	}
	return "about " + console.Number(n)
}

// stalledText describes a part of the server that does not follow the change feed.
func stalledText(f client.StalledFollower) string {
	text := f.Follower + ", not current since " + f.Since.UTC().Format(time.RFC3339)
	if f.Error != "" {
		text += ": " + f.Error
	}
	return text
}

// VersionCmd prints the version of the program.
type VersionCmd struct {
	JSON bool `help:"Print JSON."`
}

func (c *VersionCmd) Run(e *console.Env) error {
	v := console.ThisVersion()
	if c.JSON {
		return e.PrintJSON(v)
	}
	text := "trefoil " + v.Version
	if v.Revision != "" {
		text += " " + v.Revision
	}
	if v.Modified {
		text += " (modified)"
	}
	_, err := fmt.Fprintf(e.Stdout, "%s, protocol %s, %s, %s\n", text, v.Protocol, v.Go, v.Platform)
	return err
}
