package cli

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
)

// statusCmd shows what a store is and how it does, or the cluster that it is of.
type statusCmd struct {
	door
	JSON bool `help:"Print JSON."`
}

func (c *statusCmd) Run(e *env) (err error) {
	r, err := c.door.open(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	status, err := r.status(e.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.printJSON(status)
	}
	if status.Cluster != "" {
		return printCluster(e.stdout, status)
	}
	return printStatus(e, status)
}

// printStatus writes a status for people. What a store has none of is left out.
func printStatus(e *env, s status) error {
	out := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(out, name+"\t"+format+"\n", args...) }
	row("version", "%s", s.Version)
	row("epoch", "%d", s.Epoch)
	for _, m := range s.Members {
		row("member", "%s", strings.TrimRight(m.ID+" "+m.State+" "+m.Address, " "))
	}
	row("segments", "%s", number(int64(s.Segments)))
	row("triples", "about %s", number(s.Triples))
	if s.Annotations > 0 {
		row("annotations", "about %s", number(s.Annotations))
	}
	row("tables", "%s", size(s.Bytes))
	if s.FreeBytes >= 0 {
		row("free disk", "%s", size(s.FreeBytes))
	}
	row("rebuilding", "%d", s.Rebuilding)
	row("lost", "%d", s.Lost)
	if s.Corruptions > 0 {
		row("corruptions", "%d", s.Corruptions)
	}
	if s.Error != "" {
		row("no writes", "%s", s.Error)
	}
	return out.Flush()
}
