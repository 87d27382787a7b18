// Options of a store that a program opens or serves, and their errors.

package node

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/trefoildb/trefoil/internal/contexts"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/memory"
	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// Options are the parameters of [Open], and the part of [ServeOptions] that both share.
// The zero value is ready to use.
type Options struct {
	// ReadOnly opens a store that must exist, and rejects changes.
	ReadOnly bool
	// Memory is how many bytes the process may use. Caches, queries, updates and loads
	// get shares of it. 0 is the limit of the container or, if there is none, the
	// memory of the machine.
	Memory int64

	// MinFreeBytes is the space on the disk that adds leave free, because the store needs it to
	// compact rows. 0 is a fiftieth of the disk, from 64 MiB to 2 GiB; a negative value is none.
	MinFreeBytes int64

	// FeedBytes and FeedAge limit the change feed: a change is kept until it is older, or until
	// more bytes have followed. 0 is 256 MiB and 24 hours.
	FeedBytes int64
	FeedAge   time.Duration

	// ColumnMemory bounds the columns that joins compare instead of rows, in bytes: those of the store
	// or, in a cluster, of the whole cluster. If all would be larger, there are those of the predicates that
	// queries use most. 0 is a 32nd of Memory, a 16th from 16 GiB on, and none
	// below 1 GiB; a negative value is none.
	ColumnMemory int64

	// QueryMemory is how many bytes a query may hold before it uses temporary files.
	// 0 is 256 MiB, or a sixteenth of Memory if that is less.
	QueryMemory int64
	// UpdateMemory is the maximum of bytes that one update may change; 0 is as for
	// QueryMemory.
	UpdateMemory int64
	// QueryTimeout is the maximum duration of a query or update. 0 is a minute, and a
	// negative value is no limit.
	QueryTimeout time.Duration
	// MaxQueries is the maximum of queries at a time with more than 2 MiB of memory
	// each; others wait. 0 is 16.
	MaxQueries int
	// SpillDir is a directory for temporary files of queries. "" is tmp in the data
	// directory or, if the store is read-only, the directory of the system.
	SpillDir string
	// UnionDefaultGraph makes the merge of all graphs the default graph of queries.
	UnionDefaultGraph bool
	// AllowHosts are the hosts that SERVICE, LOAD and contexts of JSON-LD may request: example.org,
	// example.org:8890, *.example.org, 10.0.0.0/8. If there is none, all are off.
	AllowHosts []string
	// JSONLDContexts is a directory with the JSON-LD contexts that documents name by URL: files, and
	// contexts.json with an object of their names by URL. Other contexts are fetched from AllowHosts.
	JSONLDContexts string

	// LinkPredicate is the IRI of the predicate of hyperlinks; "" is
	// [links.DefaultPredicate].
	LinkPredicate string
	// LinkMemory bounds the memory of the graph of links on this machine; 0 means no bound. A graph
	// that does not fit is refused, and triples are served all the same.
	LinkMemory int64
	// TextMemory bounds the memory of the text index on this machine; 0 is an eighth of Memory. If the index
	// does not fit, searches are refused.
	TextMemory int64
	// NoLinks turns the graph of links off.
	NoLinks bool

	// Warning, if set, is called for each answer of a query that is empty because filters were errors in
	// every row that they met; see [client.Options]. A served node sends the text to its clients instead.
	Warning func(text string)
	// Logger receives messages; nil discards them.
	Logger *slog.Logger
	// Version is the version of the program, for the status and for backups.
	Version string
}

// Validate returns an error if an option is invalid: an [*OptionError], or one that
// names the option in its text.
func (o Options) Validate() error {
	switch {
	case o.Memory < 0:
		return invalid("{Memory} %d: it must be more than 0", o.Memory)
	case o.FeedBytes < 0 || o.FeedAge < 0:
		return invalid("{FeedBytes} %d and {FeedAge} %s: they must be more than 0", o.FeedBytes, o.FeedAge)
	case o.QueryMemory < 0:
		return invalid("{QueryMemory} %d: it must be more than 0", o.QueryMemory)
	case o.UpdateMemory < 0:
		return invalid("{UpdateMemory} %d: it must be more than 0", o.UpdateMemory)
	case o.LinkMemory < 0:
		return invalid("{LinkMemory} %d: it must be more than 0", o.LinkMemory)
	case o.TextMemory < 0:
		return invalid("{TextMemory} %d: it must be more than 0", o.TextMemory)
	case o.MaxQueries < 0:
		return invalid("{MaxQueries} %d: it must be more than 0", o.MaxQueries)
	}
	if err := triple.NewIRI(o.linkPredicate()).Check(); err != nil {
		return invalid("{LinkPredicate}: %v", err)
	}
	if err := (engine.Options{AllowHosts: o.AllowHosts}).Validate(); err != nil {
		return invalid("%v", err)
	}
	return nil
}

// newContexts returns the JSON-LD contexts. The caller must close them.
func (o Options) newContexts() (*contexts.Set, error) {
	opts := contexts.Options{Dir: o.JSONLDContexts, Logger: o.Logger, Hint: func(url string) string {
		return fmt.Sprintf("the operator can add it to the directory of serve --jsonld-contexts, or allow its host (serve --allow-host %s)", contexts.Host(url))
	}}
	if len(o.AllowHosts) > 0 {
		hosts, err := outbound.ParseHosts(o.AllowHosts)
		if err != nil {
			return nil, invalid("%v", err)
		}
		opts.Hosts = hosts
	}
	set, err := contexts.New(opts)
	if err != nil {
		return nil, invalid("{JSONLDContexts}: %v", err)
	}
	return set, nil
}

func (o Options) linkPredicate() string { return cmp.Or(o.LinkPredicate, links.DefaultPredicate) }

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// shares returns what each part of the process may use of its memory.
func (o Options) shares() memory.Shares {
	return memory.Divide(cmp.Or(o.Memory, memory.Available()))
}

// columnBytes returns ColumnMemory as store.Options.ColumnBytes.
func (o Options) columnBytes() int64 { return max(cmp.Or(o.ColumnMemory, o.shares().Columns), 0) }

// watched returns the predicates whose changes the store keeps in its feed.
func (o Options) watched() []string {
	if o.NoLinks || o.ReadOnly {
		return nil
	}
	return []string{o.linkPredicate()}
}

// newEngine returns the query engine of a store in a data directory. graph returns the graph of its links,
// and edges the links that a reader has. text may be nil. documents are the contexts of LOAD.
func (o Options) newEngine(dir string, triples engine.Store, graph func(context.Context) (links.Graph, error),
	edges func(context.Context, store.Reader) (links.Graph, error), text *textsearch.Index, documents *contexts.Set) (*engine.Engine, error) {
	shares := o.shares()
	query := cmp.Or(o.QueryMemory, shares.Query)
	spill, err := o.spillDir(dir)
	if err != nil {
		return nil, err
	}
	if o.NoLinks || o.ReadOnly {
		graph, edges = nil, nil
	}
	return engine.New(triples, engine.Options{
		QueryMemory: query, UpdateMemory: cmp.Or(o.UpdateMemory, shares.Update), Memory: max(shares.Queries, query),
		Timeout: o.QueryTimeout, MaxQueries: o.MaxQueries, SpillDir: spill,
		ReadOnly: o.ReadOnly, UnionDefaultGraph: o.UnionDefaultGraph, AllowHosts: o.AllowHosts, Contexts: documents.Context, Links: graph, LinkEdges: edges, LinkPredicate: o.linkPredicate(), Text: text, Logger: o.logger(),
	})
}

// spillDir returns the directory of temporary files. By default it is in the data
// directory, because the directory of the system may be in memory.
func (o Options) spillDir(data string) (string, error) {
	if o.SpillDir == "" {
		dir := filepath.Join(data, "tmp")
		if info, err := os.Stat(dir); o.ReadOnly || err != nil || !info.IsDir() {
			return "", nil
		}
		return dir, nil
	}
	info, err := os.Stat(o.SpillDir)
	if err != nil {
		return "", invalid("{SpillDir}: %v", err)
	}
	if !info.IsDir() {
		return "", invalid("{SpillDir} %s: it is no directory", o.SpillDir)
	}
	return o.SpillDir, nil
}

// OptionError reports an option that is invalid, or options that contradict each other.
// Test with [errors.As].
type OptionError struct {
	format string // of fmt; {Name} stands for an option
	args   []any
}

// optionName is the place of an option in the format of an OptionError.
var optionName = regexp.MustCompile(`\{[A-Za-z]+\}`)

func invalid(format string, args ...any) error { return &OptionError{format, args} }

// Error returns the message with the options by their names in Go.
func (e *OptionError) Error() string {
	return "options: " + e.Message(func(option string) string { return option })
}

// Message returns the message with each option under the name that name returns. A
// program uses it to show its own name of an option, such as that of a flag.
func (e *OptionError) Message(name func(option string) string) string {
	format := optionName.ReplaceAllStringFunc(e.format, func(s string) string { return name(s[1 : len(s)-1]) })
	return fmt.Sprintf(format, e.args...)
}
