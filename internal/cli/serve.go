package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/trefoildb/trefoil/internal/memory"
	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/cluster"
	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/node/httpapi"
	"github.com/trefoildb/trefoil/node/port"
)

// serveCmd serves a store over HTTP until it is told to end.
type serveCmd struct {
	Data              string    `required:"" placeholder:"DIR" help:"The data directory; made where it is absent."`
	Listen            string    `default:"127.0.0.1:7333" placeholder:"ADDR" help:"Where to listen, ${default} by default; port 0 takes any free one. Other than loopback only with a token, or --insecure."`
	ReadOnly          bool      `help:"Take no changes."`
	TokenFile         string    `placeholder:"F" help:"File with the token that clients must send (Authorization: Bearer)."`
	OperatorTokenFile string    `placeholder:"F" help:"File with the token of operators: only with it machines leave, are removed and losses accepted. Nodes without certificates know each other by it, instead of by that of --token-file."`
	Insecure          bool      `help:"Listen beyond loopback without a token: everyone who reaches the port may read and change everything."`
	CORS              []string  `name:"cors" placeholder:"ORIGIN" help:"Origins whose web pages may read answers and change data, such as https://app.example.org; * lets all pages read, and those named change."`
	PublicURL         string    `placeholder:"URL" help:"Where clients reach the node, such as https://data.example.org: links and graph IRIs begin with it. What the Host header says by default."`
	AcceptHost        []string  `placeholder:"HOST" help:"A name that requests to loopback may have in Host, beside localhost, addresses, this machine's name and that of --public-url; repeatable."`
	Memory            *byteSize `placeholder:"SIZE" help:"Memory of the process, which all limits follow; by default that of the container, or of the machine."`
	sparqlFlags
	graphFlags
	clusterFlags
	Verbose bool `short:"v" help:"Log every request."`
}

// sparqlFlags are the limits of queries and updates.
type sparqlFlags struct {
	QueryMemory       *byteSize     `placeholder:"SIZE" help:"Memory of one query before it uses temporary files; 256 MiB by default, a sixteenth of --memory if that is less."`
	QueryTimeout      time.Duration `default:"60s" placeholder:"D" help:"Longest run of a query or update, ${default} by default; 0 is no limit."`
	UpdateMemory      *byteSize     `placeholder:"SIZE" help:"The most that one update may change at once; as --query-memory by default."`
	MaxQueries        int           `default:"16" placeholder:"N" help:"Queries that hold more than 2 MiB at a time, ${default} by default; more wait. Others take turns beside them."`
	SpillDir          string        `placeholder:"DIR" help:"Where queries make temporary files; DATA/tmp by default."`
	UnionDefaultGraph bool          `help:"The default graph of queries is the merge of all graphs."`
	AllowHost         []string      `placeholder:"HOST" help:"A host that SERVICE and LOAD may ask: example.org, example.org:8890, *.example.org, 10.0.0.0/8; repeatable. Both are off without one."`
}

// engine returns the engine that the flags describe.
func (f *sparqlFlags) engine(data string, store engine.Store, readOnly bool, shares memory.Shares, logger *slog.Logger) (*engine.Engine, error) {
	if f.MaxQueries <= 0 {
		return nil, usagef("--max-queries %d: it is more than 0", f.MaxQueries)
	}
	query, err := sizeOr("--query-memory", f.QueryMemory, shares.Query)
	if err != nil {
		return nil, err
	}
	update, err := sizeOr("--update-memory", f.UpdateMemory, shares.Update)
	if err != nil {
		return nil, err
	}
	opts := engine.Options{
		QueryMemory: query, UpdateMemory: update, Memory: max(shares.Queries, query), Timeout: f.QueryTimeout, MaxQueries: f.MaxQueries,
		SpillDir: f.SpillDir, UnionDefaultGraph: f.UnionDefaultGraph, AllowHosts: f.AllowHost, Logger: logger,
	}
	if opts.Timeout <= 0 {
		opts.Timeout = -1
	}
	if opts.SpillDir == "" {
		opts.SpillDir = spillDir(data, readOnly)
	} else if info, err := os.Stat(opts.SpillDir); err != nil {
		return nil, fmt.Errorf("--spill-dir: %w", err)
	} else if !info.IsDir() {
		return nil, usagef("--spill-dir %s: it is no directory", opts.SpillDir)
	}
	if err := opts.Validate(); err != nil {
		return nil, usageError{err}
	}
	return engine.New(store, opts)
}

// sizeOr returns the value of a flag that is more than 0, or what it is without the
// flag.
func sizeOr(name string, flag *byteSize, otherwise int64) (int64, error) {
	if flag == nil {
		return otherwise, nil
	}
	if *flag <= 0 {
		return 0, usagef("%s %d: it is more than 0", name, *flag)
	}
	return int64(*flag), nil
}

// drainTimeout bounds how long requests that run may take to end.
const drainTimeout = 20 * time.Second

// failedTimeout is the same where the store has failed or the cluster has gone on
// without this machine: they can only be told so.
const failedTimeout = time.Second

func (c *serveCmd) Run(e *env) (err error) {
	var tokens serveTokens
	if tokens, err = c.tokens(); err != nil {
		return err
	}
	if err := (httpapi.Options{AllowOrigins: c.CORS, PublicURL: c.PublicURL, AcceptHosts: c.AcceptHost}).Validate(); err != nil {
		return usageError{err}
	}
	if err := httpapi.CheckListen(c.Listen, tokens.client != "", c.Insecure); err != nil {
		return usageError{err}
	}
	config, err := c.clusterFlags.config(c.Listen, tokens.node(), c.Insecure)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if c.Verbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
	for {
		members, err := c.run(e, config, tokens, logger)
		if errors.Is(err, errRoom) {
			e.sayf("the disk has room again: the store is opened to write")
			continue
		}
		if err != nil || members == nil {
			return err
		}
		kept, err := node.SetAside(nil, c.Data, members)
		if err != nil {
			return fmt.Errorf("serve: set aside the data of a machine that was excluded: %w", err)
		}
		e.sayf("the cluster went on without this machine; its data is in %s, and it joins as a new one", kept)
	}
}

// open opens the store. If the disk has no room to recover it, full is set and the store
// is open to read only. A member of a cluster cannot serve so, because its lease needs
// durable writes: it waits for room.
func (c *serveCmd) open(e *env, shares memory.Shares, logger *slog.Logger) (store *node.Store, full *node.NoRoomError, err error) {
	journal, journalBytes := c.journal()
	journalBytes = cmp.Or(journalBytes, shares.Queue)
	options := node.Options{ReadOnly: c.ReadOnly, Member: !c.ReadOnly, Feed: c.feed(), CountChanges: !c.ReadOnly && !c.NoLinks,
		CacheBytes: shares.Cache, MemTableBytes: shares.MemTable, QueueBytes: shares.Queue,
		Journal: journal, JournalBytes: journalBytes, Logger: logger, Version: thisVersion().Version}
	for {
		store, err = node.Open(c.Data, options)
		if err == nil || !errors.As(err, &full) {
			return store, nil, err
		}
		readOnly := node.Options{ReadOnly: true, CacheBytes: shares.Cache, MemTableBytes: shares.MemTable, Logger: logger, Version: options.Version}
		store, readErr := node.Open(c.Data, readOnly)
		if readErr == nil {
			return store, full, nil
		}
		if !errors.Is(readErr, node.ErrMember) {
			return nil, nil, err
		}
		if full.Wait(e.ctx, logger) != nil {
			return nil, nil, err
		}
	}
}

// errRoom ends a run in which the disk had no room, because now it has.
var errRoom = errors.New("the disk has room again")

// serveTokens are the tokens that a node asks for; "" is none.
type serveTokens struct{ client, operator string }

// node returns the token that nodes know each other by: the operators', if they have
// one of their own, so that a client's makes no node.
func (t serveTokens) node() string {
	if t.operator != "" {
		return t.operator
	}
	return t.client
}

func (c *serveCmd) tokens() (t serveTokens, err error) {
	if c.TokenFile != "" {
		if t.client, err = readToken(c.TokenFile); err != nil {
			return t, err
		}
	}
	if c.OperatorTokenFile != "" {
		t.operator, err = readToken(c.OperatorTokenFile)
	}
	return t, err
}

// run serves the data directory until a signal or a failure.
func (c *serveCmd) run(e *env, config clusterConfig, tokens serveTokens, logger *slog.Logger) (members []string, err error) {
	total, err := sizeOr("--memory", c.Memory, memory.Available())
	if err != nil {
		return nil, err
	}
	shares := memory.Divide(total)
	shares.SetHeapLimit()
	store, full, err := c.open(e, shares, logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	serving := c
	if full != nil {
		readOnly := *c
		readOnly.ReadOnly = true
		c = &readOnly
	}
	back, err := c.back(e, store, config, logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, back.close()) }()
	engine, err := c.engine(c.Data, back.queries, c.ReadOnly, shares, logger)
	if err != nil {
		return nil, err
	}
	options := httpapi.Options{
		Token: tokens.client, OperatorToken: tokens.operator, ReadOnly: c.ReadOnly && full == nil, Logger: logger, Engine: engine, AllowOrigins: c.CORS, PublicURL: c.PublicURL,
		AcceptHosts: c.AcceptHost, Cluster: back.cluster, MemoryBytes: shares.Documents, LoadMemoryBytes: shares.Load,
	}
	if full != nil {
		options.Full = full
	}
	if graph, err := c.graph(store, back.node, logger); err != nil {
		return nil, err
	} else if graph != nil {
		defer func() { err = errors.Join(err, graph.Close()) }()
		options.Links = graph
	}
	api, err := httpapi.New(back.doors, options)
	if err != nil {
		return nil, err
	}
	server, err := httpapi.NewServer(api, httpapi.ServerOptions{Logger: logger})
	if err != nil {
		return nil, err
	}
	if full != nil {
		e.sayf("reads are answered, changes are refused until there is room")
		serving.Listen = back.listener.Addr().String() // clients find it there again
	}
	e.sayf("serving %s at %s://%s", c.Data, config.scheme(), back.listener.Addr())
	err = c.serve(e, server, back, full, logger)
	switch {
	case errors.Is(err, cluster.ErrLeft):
		e.sayf("this machine has left the cluster, which has all that it held; the directory is not needed any more")
		return nil, nil
	case errors.Is(err, cluster.ErrExcluded) && e.ctx.Err() == nil:
		return back.members(), nil
	}
	return nil, err
}

// roomMade returns a channel that is closed when there is room to open a store that the
// disk was too full for; nil if it was not.
func roomMade(ctx context.Context, full *node.NoRoomError, logger *slog.Logger) <-chan struct{} {
	if full == nil {
		return nil
	}
	made := make(chan struct{})
	go func() {
		if full.Wait(ctx, logger) == nil {
			close(made)
		}
	}()
	return made
}

// backend is what the doors open to.
type backend struct {
	doors    httpapi.Store
	queries  engine.Store
	cluster  httpapi.Cluster // nil where the node is no member and cannot be one
	node     *cluster.Node   // likewise
	listener net.Listener
	failed   <-chan struct{} // closed when it can go on no more
	err      func() error    // why
	close    func() error
	members  func() []string // addresses of other machines
}

// back returns the backend: a node that is a member of a cluster or may become one,
// or, to read only, the store by itself.
func (c *serveCmd) back(e *env, store *node.Store, config clusterConfig, logger *slog.Logger) (b backend, err error) {
	if c.ReadOnly {
		b = backend{doors: httpapi.NodeStore(store), queries: engine.StoreOf(store), failed: store.Failed(), err: store.Err}
		err = b.listen(e.ctx, c.Listen, config.tls(), logger)
		return b, err
	}
	return startNode(e, store, c.Listen, config, logger)
}

// listen opens the port of a store that no other node talks to.
func (b *backend) listen(ctx context.Context, address string, tls *port.TLS, logger *slog.Logger) error {
	p, err := port.Listen(ctx, port.Options{Listen: address, Closed: true, TLS: tls, Logger: logger})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve() }()
	b.listener = p.HTTP()
	b.close = func() error { return errors.Join(p.Close(), <-served) }
	return nil
}

// serve answers requests until a signal, until the store fails for good, or until the
// disk has room for a store that it was too full for.
func (c *serveCmd) serve(e *env, server *httpapi.Server, back backend, full *node.NoRoomError, logger *slog.Logger) error {
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	served := make(chan error, 1)
	processors.Spare()
	go func() { served <- server.Serve(back.listener) }()
	var why error
	drain := drainTimeout
	select {
	case <-e.ctx.Done():
		e.sayf("ending: requests that run are finished, new ones are refused")
	case <-back.failed:
		drain = failedTimeout
		why = back.err() // what the disk holds is known only when it is opened anew
	case <-roomMade(ctx, full, logger):
		why = errRoom
	case why = <-served:
		served <- nil
	}
	limited, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := server.Shutdown(limited)
	if errors.Is(err, context.DeadlineExceeded) {
		e.sayf("requests that did not end within %s were cut off", drain)
		err = nil
	}
	if err := errors.Join(why, err, <-served); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	e.sayf("ended")
	return nil
}
