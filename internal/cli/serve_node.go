package cli

import (
	"errors"
	"log/slog"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/cluster"
	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/node/httpapi"
	"github.com/trefoildb/trefoil/node/port"
)

// scheme is that of the URLs of the doors.
func (c *clusterConfig) scheme() string {
	if c.Cert != "" {
		return "https"
	}
	return "http"
}

// tls returns the files of the node's certificate, nil if it has none.
func (c *clusterConfig) tls() *port.TLS {
	if c.Cert == "" {
		return nil
	}
	return &port.TLS{CA: c.CA, Cert: c.Cert, Key: c.Key}
}

// startNode starts the node of a store and returns what its doors open to. Where
// it joins a cluster, that takes until it is a member.
func startNode(e *env, store *node.Store, listen string, c clusterConfig, logger *slog.Logger) (backend, error) {
	config := cluster.Config{
		Store: store, Listen: listen, Advertise: c.Advertise, Join: c.Join, Spare: c.Spare, Copies: c.Copies, Name: c.Name,
		TLS: c.tls(), Secret: c.Secret, Closed: c.Closed, Lease: c.Lease, Patience: c.Patience,
		RebuildShare: c.RebuildShare, PurgeEvery: c.PurgeEvery, ScrubEvery: c.ScrubEvery, ScrubRate: c.ScrubRate, Logger: logger,
	}
	if _, member := store.Identity(); !member && len(c.Join) > 0 {
		e.sayf("joining cluster %s at %s", c.Name, c.Join)
	}
	n, err := cluster.Start(e.ctx, config)
	if err != nil {
		return backend{}, err
	}
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		select {
		case <-n.Failed():
		case <-n.Closed():
		case <-store.Failed():
		}
	}()
	return backend{
		doors: httpapi.StoreOf[cluster.Snapshot](n), queries: engine.StoreOf[cluster.Snapshot](n), cluster: n, node: n,
		listener: n.Port().HTTP(), failed: failed, close: n.Close, members: n.Members,
		err: func() error { return errors.Join(store.Err(), n.Err()) },
	}, nil
}
