// trefoil status and trefoil version.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trefoildb/trefoil/client"
)

// statusCmd shows the state of a store, or of its cluster.
type statusCmd struct {
	storeFlags
	JSON  bool          `help:"Print JSON."`
	Ready bool          `help:"Print nothing, but fail if the server cannot work. Needs no token."`
	Wait  time.Duration `placeholder:"T" help:"With --ready: wait up to this time until the server can work, such as 30s."`
}

// Run prints the status.
func (c *statusCmd) Run(e *env) error {
	switch {
	case c.Ready:
		return c.ready(e)
	case c.Wait != 0:
		return usagef("--wait is for --ready")
	}
	return c.with(e, reading, func(s target) error {
		status, err := s.Status(e.ctx)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return e.printJSON(status)
		case status.Cluster != "":
			return printCluster(e.stdout, status)
		}
		return printStatus(e, status)
	})
}

// ready asks the server whether it can work.
func (c *statusCmd) ready(e *env) error {
	if local, err := c.local(); err != nil || local {
		return cmp.Or(err, usagef("--ready asks a server; --data opens a directory"))
	}
	// 1. Without --wait the client retries as it does for any request.
	ctx, options := e.ctx, client.Options{}
	if c.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Wait)
		defer cancel()
		options = client.Options{Retries: math.MaxInt, MaxBackoff: 500 * time.Millisecond}
	}
	// 2. Ask.
	r, err := c.dial(e, options)
	if err != nil {
		return err
	}
	return errors.Join(r.Ready(ctx), r.Close())
}

// printStatus writes a status for people. Lines that do not apply are left out.
func printStatus(e *env, s status) error {
	out := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(out, name+"\t"+format+"\n", args...) }
	// 1. What each store has.
	row("version", "%s", s.Version)
	row("epoch", "%d", s.Epoch)
	for _, m := range s.Members {
		row("member", "%s", strings.TrimRight(m.ID+" "+m.State+" "+m.Address, " "))
	}
	row("segments", "%s", number(int64(s.Segments)))
	row("triples", "%s", countText(s.Triples, s))
	if s.Annotations > 0 {
		row("annotations", "%s", countText(s.Annotations, s))
	}
	row("tables", "%s", size(s.Bytes))
	if s.FreeBytes >= 0 {
		row("free disk", "%s", size(s.FreeBytes))
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
func countText(n int64, s status) string {
	if s.Exact {
		return number(n)
	}
	return "about " + number(n)
}

// stalledText describes a part of the server that does not follow the change feed.
func stalledText(f client.StalledFollower) string {
	text := f.Follower + ", not current since " + f.Since.UTC().Format(time.RFC3339)
	if f.Error != "" {
		text += ": " + f.Error
	}
	return text
}

// versionCmd prints the version of the program.
type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

func (c *versionCmd) Run(e *env) error {
	v := thisVersion()
	if c.JSON {
		return e.printJSON(v)
	}
	text := "trefoil " + v.Version
	if v.Revision != "" {
		text += " " + v.Revision
	}
	if v.Modified {
		text += " (modified)"
	}
	_, err := fmt.Fprintf(e.stdout, "%s, protocol %s, %s, %s\n", text, v.Protocol, v.Go, v.Platform)
	return err
}
