// Options of an engine.

package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// ReadOnly rejects every update.
	ReadOnly bool
	// QueryMemory bounds the bytes held by the operators of one query; beyond it they spill to
	// files. 0 is 256 MiB.
	QueryMemory int64
	// UpdateMemory bounds the changes of one update, in bytes; 0 is 256 MiB.
	UpdateMemory int64
	// Memory bounds the bytes of all queries and updates together. 0 is QueryMemory for a quarter
	// of MaxQueries, and for one at least.
	Memory int64
	// Timeout bounds a query from its beginning to its last row, and an update. 0 is a minute; a
	// negative value is no limit.
	Timeout time.Duration
	// MaxQueries is the number of queries that may hold more than 2 MiB at a time. Others wait for
	// their turn, within their timeout. 0 is 16.
	MaxQueries int
	// SpillDir is the directory of temporary files; "" is the system's.
	SpillDir string
	// UnionDefaultGraph makes the default graph of queries the merge of all graphs.
	UnionDefaultGraph bool
	// AllowHosts are the allowed hosts of SERVICE and LOAD, in the form of [outbound.ParseHosts]. If
	// there are none, both are off. Redirects must lead to allowed hosts.
	AllowHosts []string
	// Contexts returns the JSON-LD contexts that documents of LOAD name by URL; nil means none.
	Contexts syntax.Contexts
	// Links returns the graph of hyperlinks for the functions of links, and may open it; nil turns them off.
	// Its errors end a query.
	Links func(context.Context) (links.Graph, error)
	// LinkEdges returns the links of a reader's default graph, as paths over LinkPredicate follow them. If it
	// returns an error, the path reads rows; nil is never queried.
	LinkEdges func(context.Context, store.Reader) (links.Graph, error)
	// LinkPredicate is the predicate of the links of LinkEdges.
	LinkPredicate string
	// Text is the index for text:matches; nil turns it off.
	Text *textsearch.Index
	// Logger gets failures that no answer reports; nil discards them.
	Logger *slog.Logger
}

// Validate returns an error if a limit is negative or an allowed host is malformed.
func (o Options) Validate() error {
	if o.QueryMemory < 0 || o.UpdateMemory < 0 || o.Memory < 0 || o.MaxQueries < 0 {
		return fmt.Errorf("engine: a limit is negative: query memory %d, update memory %d, memory of all %d, queries %d",
			o.QueryMemory, o.UpdateMemory, o.Memory, o.MaxQueries)
	}
	if _, err := outbound.ParseHosts(o.AllowHosts); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.QueryMemory == 0 {
		o.QueryMemory = 256 << 20
	}
	if o.UpdateMemory == 0 {
		o.UpdateMemory = 256 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.MaxQueries == 0 {
		o.MaxQueries = 16
	}
	if o.Memory == 0 {
		o.Memory = o.QueryMemory * int64(max(o.MaxQueries/4, 1))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = logs.WithRequests(o.Logger)
	return o
}
