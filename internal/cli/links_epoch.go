package cli

// This file holds how links commands read the graph of one epoch.

import (
	"context"
	"fmt"
	"strconv"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/links"
)

// linksReader holds the flags of links commands that read.
type linksReader struct {
	server
	Epoch string `placeholder:"N" help:"All of the answer is of the graph at this epoch (trefoil links epoch), or it fails; now is the present one."`
}

// epochGraph is a graph that can be read at one epoch.
type epochGraph interface {
	Epoch(ctx context.Context) (uint64, error)
	AtEpoch(epoch uint64) *client.Links
}

// askGraph is that of server, at the epoch that the flags name.
func (r *linksReader) askGraph(e *env, ask func(links.Graph) error) error {
	if r.Epoch == "" {
		return r.server.askGraph(e, ask)
	}
	epoch, err := strconv.ParseUint(r.Epoch, 10, 64)
	if err != nil && r.Epoch != "now" {
		return usagef("--epoch: %q is no number, and not now", r.Epoch)
	}
	return r.server.askGraph(e, func(g links.Graph) error {
		of, ok := g.(epochGraph)
		if !ok {
			return usagef("--epoch is for servers")
		}
		if r.Epoch == "now" {
			if epoch, err = of.Epoch(e.ctx); err != nil {
				return err
			}
		}
		return ask(of.AtEpoch(epoch))
	})
}

type linksEpochCmd struct{ server }

func (c *linksEpochCmd) Run(e *env) error {
	return c.askGraph(e, func(g links.Graph) error {
		of, ok := g.(epochGraph)
		if !ok {
			return usagef("only servers tell epochs")
		}
		epoch, err := of.Epoch(e.ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.stdout, epoch)
		return err
	})
}
