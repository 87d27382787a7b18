// Serve: a node from the opening of its store to its end.

package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/audit"
	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/memory"
	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// drainTimeout is the time that running requests get to end.
const drainTimeout = 20 * time.Second

// failedTimeout is that time if the store has failed, or if the cluster has excluded
// this machine: no request can succeed any more.
const failedTimeout = time.Second

// errRoom ends a run on a full disk when the disk has room again.
var errRoom = errors.New("the disk has room again")

// Serve opens the data directory dir, creates it if it is missing, and answers
// requests of clients at the HTTP endpoints until ctx ends. It then finishes running
// requests for up to 20 seconds, closes the store and returns nil.
//
// A node may form a cluster with others: [ServeOptions].Cluster names a member to
// join, and others may join this one. If the cluster goes on without this machine, its
// data is set aside, and it joins as a new machine. Serve also returns nil when the
// machine has left its cluster.
//
// If the disk is too full to open the store for changes, Serve answers reads until there
// is room, and opens the store again.
//
// Serve limits the heap of the process to its share of Options.Memory, unless the
// environment variable GOMEMLIMIT is set. One process may serve several directories.
func Serve(ctx context.Context, dir string, o ServeOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	o = o.withDefaults()
	// The limit is the process's, because terms are parsed in many places. So it is set before any is.
	if o.MaxNesting > 0 {
		triple.SetMaxNesting(o.MaxNesting)
	}
	secret, err := o.secret()
	if err != nil {
		return err
	}
	s := &service{ctx: ctx, dir: dir, ServeOptions: o, listen: o.Listen, closed: o.closed(), secret: secret, shares: o.shares()}
	s.shares.SetHeapLimit()
	for {
		members, err := s.run()
		if errors.Is(err, errRoom) {
			o.reportf("the disk has room again: the store is opened to write")
			continue
		}
		if err != nil || members == nil {
			return err
		}
		kept, err := directory.SetAside(nil, dir, members)
		if err != nil {
			return fmt.Errorf("serve: set aside the data of a machine that was excluded: %w", err)
		}
		o.reportf("the cluster went on without this machine; its data is in %s, and it joins as a new one", kept)
	}
}

// service serves one data directory, in one run after the other.
type service struct {
	ctx context.Context
	dir string
	ServeOptions
	shares memory.Shares
	// listen is the address of the next run: a port that the system chose stays the
	// same, because clients know it.
	listen string
	closed bool   // no other node may connect
	secret []byte // of the members
}

// run serves the data directory until the context ends or the node cannot go on. If
// the cluster has excluded the machine, it returns the addresses of other members.
func (s *service) run() (members []string, err error) {
	// 1. Open the store: read-only if the disk is full. The files of contexts may be wrong, so they come first.
	contexts, err := s.newContexts()
	if err != nil {
		return nil, err
	}
	defer contexts.Close()
	db, full, err := s.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	o := s.Options
	o.ReadOnly = o.ReadOnly || full != nil

	// 2. Start what answers: the tracer, the member of a cluster, the query engine, the links.
	tracer, err := s.startTracer(db.MachineID().String())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stopTracer(tracer)) }()
	back, err := s.startBackend(db, o.ReadOnly, tracer)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, back.close()) }()
	back.contexts = contexts
	triples, updates := back.triples, (*functions.Service)(nil)
	if back.node != nil {
		updates = s.openFunctions(back)
		defer func() { err = errors.Join(err, updates.Close()) }()
		triples = updates.Checked()
	}
	// Links need a node, and a read-only store has none.
	var graph *linkgraph.Graph
	var linksOf func(context.Context) (links.Graph, error)
	var edges func(context.Context, store.Reader) (links.Graph, error)
	if back.node != nil && !s.NoLinks {
		if graph, err = s.openLinks(db, back.node); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, graph.Close()) }()
		linksOf, edges = func(context.Context) (links.Graph, error) { return graph, nil }, graph.Edges
	}
	// So does the text index.
	var text *textsearch.Index
	if back.node != nil {
		if text, err = s.openText(db, back.node); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, text.Close()) }()
	}
	engine, err := o.newEngine(s.dir, triples, linksOf, edges, text, contexts)
	if err != nil {
		return nil, err
	}
	api := server.Options{
		Version: s.Version, Token: s.Token, OperatorToken: s.OperatorToken, Applications: s.Applications, Users: s.Users, OIDC: s.OIDC, ReadOnly: s.ReadOnly, Logger: s.Logger, Engine: engine, Contexts: contexts.Context,
		AllowOrigins: s.AllowOrigins, PublicURL: s.PublicURL, AcceptHosts: s.AcceptHosts, Cluster: back.cluster,
		Text: text, SlowQuery: s.SlowQuery, LogRequests: s.LogRequests, Tracer: tracer, MemoryBytes: s.shares.Documents, LoadMemoryBytes: s.shares.Load,
	}
	api.Collectors = append(api.Collectors, tracer)
	if s.AuditLog != "" {
		if api.Audit, err = audit.Open(s.AuditLog); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, api.Audit.Close()) }()
	}
	if graph != nil {
		api.Links, api.LinkPredicate = graph, s.linkPredicate()
	}
	if full != nil {
		api.Full = full
	}
	if updates != nil {
		api.Functions, api.Collectors = updates, append(api.Collectors, updates)
	}
	deliveries, stop, err := s.startSubscriptions(back, &api)
	if err != nil {
		return nil, err
	}
	defer stop()
	unwatch := s.watchFollowers(back, &followers{columnFollowers(db, back), graph, text, updates, deliveries}, &api)
	defer unwatch()

	// 3. Serve it at the HTTP endpoints.
	endpoints, err := server.New(triples, api)
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(endpoints, server.ServerOptions{Logger: s.Logger})
	if err != nil {
		return nil, err
	}
	address := back.listener.Addr().String()
	// The address is kept, because the store opens again when there is room.
	if full != nil {
		s.reportf("reads are answered, changes are refused until there is room")
		s.listen = address
	}
	err = s.serve(srv, endpoints, back, full, s.Cluster.scheme()+"://"+address)

	// 4. A machine that left or was excluded is no failure.
	switch {
	case errors.Is(err, cluster.ErrLeft):
		s.reportf("this machine has left the cluster, which has all that it held; the directory is not needed any more")
		return nil, nil
	case errors.Is(err, cluster.ErrExcluded) && s.ctx.Err() == nil:
		return back.members(), nil
	}
	return nil, err
}

// traceTimeout bounds the wait for the collector of traces at the end.
const traceTimeout = 3 * time.Second

// startTracer returns the tracer of a machine, nil if there are no traces.
func (s *service) startTracer(machine string) (*tracing.Tracer, error) {
	if s.Traces.Endpoint == "" {
		return nil, nil
	}
	o := s.tracing()
	o.Instance = machine
	return tracing.New(o)
}

func stopTracer(t *tracing.Tracer) error {
	ctx, cancel := context.WithTimeout(context.Background(), traceTimeout)
	defer cancel()
	return t.Shutdown(ctx)
}

// open opens the store. If the disk has no room to recover it, full is set and the store
// is read-only. The member of a cluster waits for room instead, because its lease needs
// durable writes.
func (s *service) open() (db *store.Store, full *database.NoRoomError, err error) {
	options := store.Options{ReadOnly: s.ReadOnly, Member: !s.ReadOnly, Watched: s.watched(),
		CacheBytes: s.shares.Cache, MemTableBytes: s.shares.MemTable, QueueBytes: s.shares.Queue,
		ColumnBytes: s.columnBytes(), MinFreeBytes: s.MinFreeBytes, FeedRetention: changefeed.Retention{Bytes: s.FeedBytes, Age: s.FeedAge},
		Logger: s.Logger, Version: s.Version}
	for {
		db, err = store.Open(s.dir, options)
		if err == nil || !errors.As(err, &full) {
			return db, nil, err
		}
		readOnly := store.Options{ReadOnly: true, ColumnBytes: s.columnBytes(), CacheBytes: s.shares.Cache, MemTableBytes: s.shares.MemTable, Logger: s.Logger, Version: s.Version}
		db, readErr := store.Open(s.dir, readOnly)
		if readErr == nil {
			return db, full, nil
		}
		if !errors.Is(readErr, store.ErrMember) {
			return nil, nil, err
		}
		if full.Wait(s.ctx, s.Logger) != nil {
			return nil, nil, err
		}
	}
}

// roomMade returns a channel that is closed when the disk has room to open the store; nil
// if it was not full.
func (s *service) roomMade(ctx context.Context, full *database.NoRoomError) <-chan struct{} {
	if full == nil {
		return nil
	}
	made := make(chan struct{})
	go func() {
		if full.Wait(ctx, s.Logger) == nil {
			close(made)
		}
	}()
	return made
}

// serve answers requests until the context ends, until the store fails for good, or
// until a disk that was too full has room. A machine that joins a cluster answers meanwhile, because
// operators and probes need it, but it is ready only when it is a member.
func (s *service) serve(srv *server.Server, api *server.API, back backend, full *database.NoRoomError, url string) error {
	// 1. Answer until there is a reason to end.
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var reloads sync.WaitGroup
	if s.Reload != nil {
		reloads.Go(func() { s.reload(ctx, api, back) })
		defer reloads.Wait()
		defer stop()
	}
	served := make(chan error, 1)
	processors.Spare()
	go func() { served <- srv.Serve(back.listener) }()
	var why error
	drain := drainTimeout
	made := s.roomMade(ctx, full)
	select {
	case <-back.joined:
	default:
		s.reportf("joining the cluster; until then %s answers its operators alone (/status, /metrics, /readyz)", url)
	}
	// The owner ends the service, the store failed, there is room again, or the server ended.
	for joined, ended := back.joined, false; !ended; {
		ended = true
		select {
		case <-joined:
			s.reportf("serving %s at %s", s.dir, url)
			s.Ready(url)
			joined, ended = nil, false
		case <-s.ctx.Done():
			s.reportf("ending: requests that run are finished, new ones are refused")
		case <-back.failed:
			drain = failedTimeout
			why = back.err() // the content of the disk is known when it is opened anew
		case <-made:
			why = errRoom
		case why = <-served:
			served <- nil
		}
	}

	// 2. Drain the requests that run. The context has ended, so they have one of their own.
	limited, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := srv.Shutdown(limited)
	if errors.Is(err, context.DeadlineExceeded) {
		s.reportf("requests that did not end within %s were cut off", drain)
		err = nil
	}
	// The server must have returned before the store is closed.
	if err := errors.Join(why, err, <-served); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	s.reportf("ended")
	return nil
}
