// The contract of a graph of links: its five parts, its errors and its capabilities.

package links

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// Errors of a [Graph]; test with errors.Is.
var (
	// ErrLoading is returned while the cells are not in memory yet. The caller may retry.
	ErrLoading = errors.New("the link graph is being built")
	// ErrMemory is returned if the graph does not fit into the memory that it may have. A retry does
	// not help.
	ErrMemory = errors.New("the link graph is too large for its memory")
	// ErrInvalid is returned if a request is wrong; the text gives the reason.
	ErrInvalid = errors.New("invalid")
	// ErrEpoch is returned if the graph has another epoch than the requested one.
	ErrEpoch = errors.New("another epoch")
	// ErrNoJob is returned if there is no such job.
	ErrNoJob = errors.New("no such job")
	// ErrBusy is returned if a job runs already.
	ErrBusy = errors.New("a job runs already")
)

// Graph is a graph of links, of one machine or of a cluster: the clerk of Najork, The
// Scalable Hyperlink Store (HT 2009, section 3). Every call takes thousands of pages.
//
// An unknown page has no links, URL "" and UID 0. The caller owns the slices that a call
// returns. An answer is complete, or there is an error. All methods may be called
// concurrently. Package linkstest has the conformance test.
type Graph interface {
	PageReader
	ListReader
	Updater
	Ranker
	// Capabilities returns the optional abilities of the graph.
	Capabilities() Capabilities
}

// Capabilities are the optional abilities of a [Graph]. A field is nil if the graph lacks
// the ability. They do not change while the graph is open, but a method may still return
// errors.ErrUnsupported if it says so.
type Capabilities struct {
	Loader      Loader
	Epoch       EpochHolder
	RemoteEpoch EpochFetcher
	Prefix      PrefixReader
	Partitions  PartitionReporter
}

// Stores is a set of stores of a graph: URLs, forward lists and backward lists.
type Stores = cell.Stores

// The stores.
const (
	URLStore      = cell.URLStore      // for UIDs of URLs, and URLs of UIDs
	ForwardStore  = cell.ForwardStore  // for forward links, labels and PageRank
	BackwardStore = cell.BackwardStore // for backward links
	AllStores     = cell.AllStores
)

// ParseStores returns the set of the stores with these names.
func ParseStores(names []string) (Stores, error) { return cell.ParseStores(names) }

// Loader loads and unloads stores of a graph on request. Requests and relinquishments are hints: a
// read loads what it needs and is not in memory, so they change its time and never its answer. All
// stores of a new graph are loaded. Without a Loader they always are.
type Loader interface {
	// Request loads stores, and returns when all machines have them in memory with all cells.
	Request(ctx context.Context, s Stores) error
	// Relinquish unloads stores. Each machine loads them again, cell by cell, when they are needed.
	Relinquish(ctx context.Context, s Stores) error
	// Stores returns what each machine has in memory.
	Stores(ctx context.Context) ([]ServerStores, error)
}

// EpochHolder returns the epoch without a message to another machine.
type EpochHolder interface {
	// Epoch returns the epoch of a read that begins now; 0 if it is not in memory.
	Epoch() uint64
}

// EpochFetcher fetches the epoch from other machines. If a graph has neither this ability
// nor [EpochHolder], Stats has the epoch.
type EpochFetcher interface {
	// CurrentEpoch returns the epoch, 0 for none. cached is the epoch that a client has,
	// or 0: to confirm that it is current is cheaper than to compute the epoch.
	CurrentEpoch(ctx context.Context, cached uint64) (uint64, error)
}

// PrefixReader reads lists up to a total length, without a request for their degrees.
type PrefixReader interface {
	// LinksPrefix returns the links of a prefix of pages whose total is at most maxLinks.
	// The prefix is empty if the first page alone may exceed it.
	LinksPrefix(ctx context.Context, d Direction, pages []uid.UID, maxLinks int) (Lists, error)
}

// PartitionReporter is a machine that holds some partitions of a graph.
type PartitionReporter interface {
	// Partitions returns the number of partitions that this machine answers for, and the number of
	// those that it must hold and does not hold yet.
	Partitions() (held, missing int)
}
