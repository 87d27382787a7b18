// A store that a program embeds.

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/contexts"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/links"
)

// Errors of a [Store]; test with [errors.Is]. They match those of package client, too, as those of a
// server do: [client.ErrNotFound] and the like. An error in the text of a query, an update
// or a document is a [*triple.SyntaxError], with line and column.
var (
	// ErrLocked is returned by Open if another process, or this one, has the directory
	// open.
	ErrLocked = store.ErrLocked
	// ErrMember is returned by Open if the directory belongs to the member of a cluster.
	// Only [Serve] may open it.
	ErrMember = store.ErrMember
	// ErrReadOnly is returned for a change if [Options].ReadOnly is set.
	ErrReadOnly = store.ErrReadOnly
	// ErrClosed is returned after Close.
	ErrClosed = store.ErrClosed
	// ErrDiskFull is returned for a change if the disk has too little room. Nothing of
	// the change was done.
	ErrDiskFull = store.ErrDiskFull
	// ErrUnknown is returned for a change that the disk holds up. It may be done.
	ErrUnknown = store.ErrUnknown
	// ErrNotFound is returned for an annotation of a triple that does not exist.
	ErrNotFound = store.ErrNotFound
	// ErrQueryTimeout is returned for a query or update beyond its time limit.
	ErrQueryTimeout = engine.ErrTimeout
	// ErrNoLinks is returned by Links if [Options].NoLinks or ReadOnly is set.
	ErrNoLinks = errors.New("the store keeps no graph of links")
)

// failure is an error of a store. It is also the error of package client for the kind that a server gives it,
// so that a program tests the errors of any [client.Store] in one way.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func (f failure) Is(target error) bool {
	return (&client.Error{Kind: string(problem.As(f.error).Kind)}).Is(target)
}

// failed returns err as a failure.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

// Store is a store in this process; [Open] returns one. It is a [client.Store]. All methods may be called
// concurrently. A change is durable when its method returns without an error.
type Store struct {
	// Annotations and Prefixes have the other verbs. They must not be changed.
	Annotations *Annotations
	Prefixes    *Prefixes

	options Options
	db      *store.Store
	engine  *engine.Engine
	// contexts are the JSON-LD contexts of documents that are loaded.
	contexts *contexts.Set

	mu     sync.Mutex // guards what follows
	graph  *linkgraph.Graph
	closed bool
}

var (
	_ client.Store           = (*Store)(nil)
	_ client.AnnotationStore = (*Annotations)(nil)
	_ client.PrefixStore     = (*Prefixes)(nil)
)

// Open opens the data directory dir, and creates it if it is missing. Until Close no
// other process can open it.
func Open(dir string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	shares := o.shares()
	db, err := store.Open(dir, store.Options{
		ReadOnly: o.ReadOnly, Watched: o.watched(),
		CacheBytes: shares.Cache, MemTableBytes: shares.MemTable, QueueBytes: shares.Queue,
		ColumnBytes: o.columnBytes(), MinFreeBytes: o.MinFreeBytes, FeedRetention: changefeed.Retention{Bytes: o.FeedBytes, Age: o.FeedAge},
		Logger: o.Logger, Version: o.Version,
	})
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, db: db}
	s.Annotations, s.Prefixes = &Annotations{s}, &Prefixes{s}
	if s.contexts, err = o.newContexts(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if s.engine, err = o.newEngine(dir, db, s.Links, s.linkEdges, nil, s.contexts); err != nil {
		s.contexts.Close()
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// Close ends the store. Changes that have begun are done, and later calls return
// [ErrClosed]. All loops over its iterators must have ended, and all snapshots must be
// closed, because Close waits for them for half a minute.
func (s *Store) Close() error {
	s.mu.Lock()
	graph := s.graph
	s.closed = true
	s.mu.Unlock()
	var err error
	if graph != nil {
		err = graph.Close() // first, because it reads the store
	}
	err = errors.Join(err, s.db.Close())
	s.contexts.Close() // last, because loads use them until the store is closed
	return err
}

// Links returns the graph of the hyperlinks in the store: the triples of the default
// graph with the predicate [Options].LinkPredicate. The first call builds it in memory,
// and every call waits until it is built. While it is open, pages of new links get UIDs,
// which are triples too. Close ends the graph.
func (s *Store) Links(ctx context.Context) (links.Graph, error) {
	graph, err := s.openLinks()
	if err != nil {
		return nil, err
	}
	return graph, graph.AwaitCells(ctx)
}

// linkEdges returns the links that a reader has, if the graph is open: a query must not wait for a build.
func (s *Store) linkEdges(ctx context.Context, r store.Reader) (links.Graph, error) {
	s.mu.Lock()
	graph := s.graph
	s.mu.Unlock()
	if graph == nil {
		return nil, ErrNoLinks
	}
	return graph.Edges(ctx, r)
}

// openLinks opens the graph if it is not open.
func (s *Store) openLinks() (*linkgraph.Graph, error) {
	if s.options.NoLinks || s.options.ReadOnly {
		return nil, ErrNoLinks
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("links: %w", ErrClosed)
	}
	if s.graph == nil {
		graph, err := linkgraph.Open(s.db, linkgraph.Options{Predicate: s.options.linkPredicate(), MemoryBytes: s.options.LinkMemory, Logger: s.options.Logger})
		if err != nil {
			return nil, err
		}
		s.graph = graph
	}
	return s.graph, nil
}

// Status returns the status of the store.
func (s *Store) Status(context.Context) (client.Status, error) { return s.db.Status(), nil }

// Check verifies all data of the store. It takes as long as reading all data, and changes nothing.
func (s *Store) Check(ctx context.Context) (client.CheckReport, error) {
	r, err := s.db.Check(ctx)
	return r, failed(err)
}

// Backup writes a tar archive of the store as it is now. Changes go on meanwhile.
func (s *Store) Backup(ctx context.Context, w io.Writer) error { return failed(s.db.Backup(ctx, w)) }

// BackupSince writes an increment: the changes behind the end of an earlier backup, whose position since is.
// If the change feed does not reach back to it, the error is [client.ErrGone].
func (s *Store) BackupSince(ctx context.Context, w io.Writer, since string) error {
	from, err := feed.ParsePosition(since)
	if err == nil {
		err = backup.Increment(ctx, s.db, from, s.options.Version, w)
	}
	return failed(err)
}

// Restore creates the data directory dir from an archive of [Store.Backup]. The directory
// must be missing or empty.
func Restore(ctx context.Context, dir string, r io.Reader) error {
	return store.Restore(ctx, dir, r)
}
