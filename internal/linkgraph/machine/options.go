// Options of the graph, their checks and defaults.

package machine

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/recovery"
)

// LoadedPages is the number of pages from which a bulk load is faster than commits. Most of
// their cost is compaction, because UIDs lie among all other triples.
const LoadedPages = 50_000

const (
	// BatchPages is the number of pages in a batch from a reader. batchPageBytes bounds the
	// length of their URLs, but the last one may exceed it. aheadPages is the number of batches
	// that may wait for each reader.
	BatchPages     = 1 << 10
	BatchPageBytes = 1 << 18
	AheadPages     = 4
	// HeldBytes bounds the URLs of a cell that is begun while pages are read. If a cell is
	// larger, its pages are read again.
	HeldBytes = 128 << 20
)

// loadedLinks is the number of rows of links in loads from which all cells are built again.
const loadedLinks = 100_000

// Options are the options of [Open]. The zero value is ready to use.
type Options struct {
	// Predicate is the predicate of links; "" means links.DefaultPredicate. The store
	// should watch it, because adds are faster then.
	Predicate string
	// Dir is the directory of cells. For [Open], "" means links in the store's directory.
	Dir string
	// Copies is the number of other machines that keep the cells of a partition, to answer if its
	// first one is down: 0 to [MaxCopies], or CopiesOfView.
	Copies int
	// CellPages is about the number of pages of a cell; 0 means 262,144. A slot is never split.
	CellPages int
	// Lists is the encoding of cells. If its codec is 0, it is lists.Auto: each cell has for each
	// direction the codec that pays.
	Lists lists.Options
	// BuildBytes bounds the memory of links in a build, and of copies of them in a PageRank; 0
	// means 1 GiB.
	BuildBytes int64
	// MemoryBytes bounds the memory of the cells of this machine and of their changes; 0 means no
	// bound. See keep/memory.go for what happens at the bound.
	MemoryBytes int64
	// MessageBytes is about the greatest size of a message between machines, and of the memory of one
	// answer at a machine that is queried; 0 means 8 MiB. What is larger is divided.
	MessageBytes int
	// Workers is the number of goroutines of a build; 0 means one for each processor.
	Workers int
	// Logger receives messages; nil discards them.
	Logger *slog.Logger

	Limits Limits
}

// Limits are sizes that only tests change.
type Limits struct{ LoadedPages, HeldBytes, LoadedLinks int }

const (
	defaultCellPages  = 1 << 18
	defaultBuildBytes = 1 << 30
	// A message may have one URL more than its size, and must stay below peer.MaxBody.
	defaultMessageBytes, maxMessageBytes = 8 << 20, 16 << 20
)

// CopiesOfView is the value of Options.Copies that follows the cluster's number of copies: lists
// survive the loss of the same number of machines as triples.
const CopiesOfView = -1

// MaxCopies is the greatest number of other machines with the cells of a partition.
const MaxCopies = recovery.MaxCopies - 1

// Validate returns links.ErrInvalid if a number is out of range.
func (o Options) Validate() error {
	switch {
	case o.Copies < CopiesOfView || o.Copies > MaxCopies:
		return fmt.Errorf("%w: %d copies of cells on other machines; at most %d", links.ErrInvalid, o.Copies, MaxCopies)
	case o.CellPages < 0:
		return fmt.Errorf("%w: CellPages is %d", links.ErrInvalid, o.CellPages)
	case o.BuildBytes < 0:
		return fmt.Errorf("%w: BuildBytes is %d", links.ErrInvalid, o.BuildBytes)
	case o.MemoryBytes < 0:
		return fmt.Errorf("%w: MemoryBytes is %d", links.ErrInvalid, o.MemoryBytes)
	case o.MessageBytes < 0 || o.MessageBytes > maxMessageBytes:
		return fmt.Errorf("%w: MessageBytes is %d; at most %d", links.ErrInvalid, o.MessageBytes, maxMessageBytes)
	case o.Workers < 0:
		return fmt.Errorf("%w: Workers is %d", links.ErrInvalid, o.Workers)
	}
	return nil
}

func (o Options) WithDefaults() Options {
	// Each zero value gets its default.
	if o.Predicate == "" {
		o.Predicate = links.DefaultPredicate
	}
	if o.Lists.Codec == 0 {
		o.Lists.Codec = lists.Auto
	}
	if o.CellPages == 0 {
		o.CellPages = defaultCellPages
	}
	if o.BuildBytes == 0 {
		o.BuildBytes = defaultBuildBytes
	}
	if o.MessageBytes == 0 {
		o.MessageBytes = defaultMessageBytes
	}
	if o.Workers == 0 {
		o.Workers = processors.Count()
	}
	if o.Limits == (Limits{}) {
		o.Limits = Limits{LoadedPages, HeldBytes, loadedLinks}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// MakeDir makes the directory of cells.
func (o Options) MakeDir() error { return os.MkdirAll(o.Dir, 0o755) }

// A message has about Options.MessageBytes, whatever the lists are:
//
//   - A request has a prefix of the items, as far as they fit. The next request has the next ones.
//   - An answer has the lists of a prefix of these items, one at least.
//   - If a prefix of the items will do, the query bounds the links of the answer.
//   - A list that alone is longer comes in parts, by UID: the answer has the last UID of a part as
//     number, and the next request has it as after. So a link that exists all the time is in
//     exactly one part, whatever is added and deleted meanwhile.

// LinkBytes is the memory of a link in a message.
const LinkBytes = 8

// MessageLinks is the number of links that a message may have.
func (o *Options) MessageLinks() int { return max(o.MessageBytes/LinkBytes, 1) }
