// The backend of a served node: the member of a cluster, or a store that stays alone.

package node

import (
	"cmp"
	"errors"
	"net"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/contexts"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/tracing"
)

// backend answers the requests of the endpoints.
type backend struct {
	triples  store.Triples
	cluster  server.Cluster // nil if the store is read-only, and so no member
	node     *cluster.Node  // likewise
	port     *port.Port
	listener net.Listener
	joined   <-chan struct{} // closed when it is a member of the cluster that it joins, if any
	failed   <-chan struct{} // closed when the backend cannot go on
	err      func() error    // the reason
	close    func() error
	members  func() []string // addresses of other members
	contexts *contexts.Set   // for reloads; the service closes it
}

// startBackend returns the backend of a store: a node that is a member of a cluster or
// may become one or, if it is read-only, the store by itself.
func (s *service) startBackend(db *store.Store, readOnly bool, tracer *tracing.Tracer) (backend, error) {
	if !readOnly {
		return s.startMember(db, tracer)
	}
	p, err := port.Listen(s.ctx, port.Options{Listen: s.listen, Closed: true, TLS: s.Cluster.tls(), Logger: s.Logger})
	if err != nil {
		return backend{}, err
	}
	served, joined := make(chan error, 1), make(chan struct{})
	go func() { served <- p.Serve() }()
	close(joined)
	return backend{
		triples: db, port: p, listener: p.HTTP(), joined: joined, failed: db.Failed(), err: db.Err,
		close: func() error { return errors.Join(p.Close(), <-served) },
	}, nil
}

// startMember starts the node of a store. If it joins a cluster, the node is a member only later.
func (s *service) startMember(lone *store.Store, tracer *tracing.Tracer) (backend, error) {
	db, err := replica.New(lone, replica.Options{})
	if err != nil {
		return backend{}, err
	}
	c := &s.Cluster
	// Only a directory without identity joins. A member starts again in its cluster.
	if _, member := db.Identity(); !member && len(c.Join) > 0 {
		s.reportf("joining cluster %s at %s", c.Name, c.Join)
	}
	n, err := cluster.Start(s.ctx, cluster.Config{
		Store: db, Listen: s.listen, Advertise: c.Advertise, Join: c.Join, Spare: c.Spare, NoLinks: s.NoLinks, Copies: c.Copies, Name: c.Name,
		TLS: c.tls(), Secret: s.secret, Closed: s.closed,
		// The lease of a silent machine must end, with some drift of the clocks, before
		// the leader excludes the machine.
		Lease: c.FailureTimeout * 2 / 3, FailureTimeout: c.FailureTimeout,
		ColumnMemory: s.columnBytes(), RebuildShare: float64(c.RebuildShare) / 100, PurgeEvery: c.PurgeEvery,
		ScrubEvery: c.ScrubEvery, ScrubRate: c.ScrubRate, SlowQuery: cmp.Or(s.SlowQuery, time.Second), Tracer: tracer, Logger: s.Logger,
	})
	if err != nil {
		return backend{}, err
	}
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		select {
		case <-n.Failed():
		case <-n.Closed():
		case <-db.Failed():
		}
	}()
	return backend{
		triples: n, cluster: n, node: n, port: n.Port(), joined: n.Joined(),
		listener: n.Port().HTTP(), failed: failed, close: n.Close, members: n.Members,
		err: func() error { return errors.Join(db.Err(), n.Err()) },
	}, nil
}
