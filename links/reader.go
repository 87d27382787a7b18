// Reading pages and lists: interfaces, and the values that they return.

package links

import (
	"context"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Direction is the direction of a page's links.
type Direction = cell.Direction

// The directions.
const (
	Forward  = cell.Forward  // from the page to others
	Backward = cell.Backward // from others to the page
)

// Label is the weight and the anchor text of a link.
type Label = cell.Label

// Lists are lists of UIDs, one after the other. Each list ascends.
type Lists = rank.Lists[uid.UID]

// PageReader reads pages and the statistics of a graph.
type PageReader interface {
	// UIDs returns the UIDs of pages.
	UIDs(ctx context.Context, urls []string) ([]uid.UID, error)
	// URLs returns the URLs of pages.
	URLs(ctx context.Context, pages []uid.UID) ([]string, error)
	// Pages returns the pages with links that have the next n UIDs after a UID, fewer at the end.
	Pages(ctx context.Context, after uid.UID, n int) ([]uid.UID, error)
	// PageLabels returns the labels of the pages themselves; cell.NoLabel if a page has none. They
	// are no part of the epoch.
	PageLabels(ctx context.Context, pages []uid.UID) ([]Label, error)
	// Stats returns the sizes of the graph.
	Stats(ctx context.Context) (Stats, error)
}

// ListReader reads the lists of pages.
type ListReader interface {
	// Links returns the links of pages.
	Links(ctx context.Context, d Direction, pages []uid.UID) (Lists, error)
	// Labels returns the labels of the links of pages, in the order of Links; cell.NoLabel if a
	// link has none. A link that is deleted meanwhile may be in a backward list without its label.
	Labels(ctx context.Context, d Direction, pages []uid.UID) (rank.Lists[Label], error)
	// SampleLinks returns samples of the links of pages.
	SampleLinks(ctx context.Context, d Direction, pages []uid.UID, s sample.Spec) (Lists, error)
	// Degrees returns the number of links of each page.
	Degrees(ctx context.Context, d Direction, pages []uid.UID) ([]int, error)
}

// MinClusterEpoch is the minimum epoch of a cluster. A lone machine has a smaller one.
const MinClusterEpoch = 1 << 52

// Stats is the sizes and the state of a graph.
type Stats struct {
	ServerStats // of all servers together; MinUID and MaxUID too
	// Epoch identifies the state of the graph when the call began. It must change when the graph
	// changes. On a lone machine it grows. In a cluster it is any number from MinClusterEpoch on
	// and below twice as much. It may change there without a change of the graph. 0 means not
	// known.
	Epoch   uint64        `json:"epoch"`
	Servers []ServerStats `json:"servers"`
	// Loading is true if cells are being built or read.
	Loading bool `json:"loading"`
	// Progress describes the progress of Loading, in words.
	Progress string `json:"progress,omitempty"`
}

// ServerStats is the sizes of one server's part.
type ServerStats struct {
	// ID and Address are the machine's. Both are "" in a sum.
	ID      string `json:"id,omitempty"`
	Address string `json:"address,omitempty"`
	// Pages is the number of pages with links, Links of links from these pages, Linked of links to them.
	Pages  int64 `json:"pages"`
	Links  int64 `json:"links"`
	Linked int64 `json:"linked"`
	// MaxOut and MaxIn are the greatest degrees.
	MaxOut int `json:"maxOut"`
	MaxIn  int `json:"maxIn"`
	// MinUID and MaxUID are the least and the greatest UID of these pages, 0 if there is no page.
	MinUID uid.UID `json:"minUid,string"`
	MaxUID uid.UID `json:"maxUid,string"`
	Cells  int     `json:"cells"`
	// Memory in bytes, without that of stores that are not loaded: of all cells; the parts of this for URLs, forward lists and backward lists
	// with their ghosts; and of changes since.
	Bytes         int64 `json:"bytes"`
	URLBytes      int64 `json:"urlBytes"`
	ForwardBytes  int64 `json:"forwardBytes"`
	BackwardBytes int64 `json:"backwardBytes"`
	DeltaBytes    int64 `json:"deltaBytes"`
}

// ServerStores is what one server has in memory.
type ServerStores struct {
	// ID and Address are the machine's.
	ID      string `json:"id,omitempty"`
	Address string `json:"address,omitempty"`
	Cells   int    `json:"cells"`
	// Relinquished is the stores that new cells drop from memory.
	Relinquished Stores      `json:"relinquished"`
	URLs         StoreMemory `json:"urls"`
	Forward      StoreMemory `json:"forward"`
	Backward     StoreMemory `json:"backward"`
	// Bytes is the memory of all cells, with what belongs to no store, and DeltaBytes that of changes
	// since.
	Bytes      int64 `json:"bytes"`
	DeltaBytes int64 `json:"deltaBytes"`
}

// StoreMemory is the memory of one store.
type StoreMemory struct {
	Cells     int   `json:"cells"`     // that have it in memory
	Bytes     int64 `json:"bytes"`     // of these
	FileBytes int64 `json:"fileBytes"` // of all cells, in memory or not
}
