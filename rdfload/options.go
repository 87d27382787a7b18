// Options, progress and summary of a load, and the limits that follow from its memory.

package rdfload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/memory"
	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// Errors of loads; test with [errors.Is].
var (
	// ErrRejected means that a malformed statement stopped a load without KeepGoing. The error's
	// text has its place and reason, and a *triple.SyntaxError is in its chain.
	ErrRejected = errors.New("malformed statement")
	// ErrChanged means that an input has changed since the load began.
	ErrChanged = errors.New("input has changed since the load began")
	// ErrNoMemory means that the budget is too small for the input.
	ErrNoMemory = errors.New("the load's memory budget is too small for this input")

	// ErrKept is in the chain of an error if the same load can be resumed with Options.Resume.
	// Otherwise nothing is left of the load.
	ErrKept = errors.New("what is done so far is kept; resume with --resume")

	errBudget = errors.New("arena is full")
)

// MinMemory is the smallest memory budget of a load, in bytes.
const MinMemory = 64 << 20

// Options are the options of [Load]. The zero value is usable.
type Options struct {
	// Memory is the budget in bytes. If it is 0, it is a quarter of the machine's memory.
	Memory int64
	// Workers is the number of goroutines that parse and sort, at most 60. If it is 0, it is one
	// for each processor.
	Workers int
	// KeepGoing loads the rest of a document if it has malformed statements. They are written to
	// Rejects, if it is not nil: for each a line "# place: reason" and the statement's text.
	KeepGoing bool
	Rejects   io.Writer
	// Graph is the graph of statements that name none; if it is zero, the default graph.
	Graph triple.Term
	// Syntax is the syntax of all sources. If it is zero, each source's name or content determines
	// it.
	Syntax syntax.Syntax
	// Stored must be set if the terms of N-Triples and N-Quads are those of a store: labels of blank nodes stay, and so do
	// language tags of earlier releases. Otherwise the blank nodes of a load are new ones.
	Stored bool
	// RDFStar reads quoted triples of the drafts of RDF-star, see [syntax.Options].
	RDFStar bool
	// Contexts returns the JSON-LD contexts that documents name by URL; if it is nil, there are none.
	Contexts syntax.Contexts
	// Base resolves relative IRIs if a document has no base of its own.
	Base string
	// MaxLine limits a line of N-Triples and a token of other syntaxes, in bytes. If it is 0, it is
	// triple.DefaultMaxLine.
	MaxLine int
	// Links must be set if the sources are link files, and nil otherwise. If it is set, Syntax and
	// Base are ignored.
	Links *Links
	// Resume continues an earlier load of the same sources, if one has stopped. The sources must
	// have a modification time.
	Resume bool
	// CheckAnnotation, if not nil, is called for the application ID of each annotation. If it returns
	// an error, the load ends. It must be safe for concurrent use.
	CheckAnnotation func(applicationID string) error
	// CheckGraph, if not nil, is called for the names of graphs, once or more often for each. If it
	// returns an error, the load ends. It must be safe for concurrent use.
	CheckGraph func(graph triple.Term) error
	// BeforePublish, if not nil, is called once, when all input is read and sorted but before the
	// store has any of it. If it returns an error, the load ends.
	BeforePublish func(ctx context.Context) error
	// Prefix, if not nil, is called for each prefix that a document declares, see [syntax.Options]. It
	// must be safe for concurrent use. A resumed load also calls it for what it does not read again.
	Prefix func(name, iri string)
	// Progress, if not nil, is called a few times a second.
	Progress func(Progress)

	limits   limits
	warnings *warnings
}

// warnings are messages about documents. They are safe for concurrent use.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// maxWarnings bounds the warnings of a load.
const maxWarnings = 100

func (w *warnings) add(message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) < maxWarnings {
		w.list = append(w.list, message)
	}
}

// limits are sizes that only tests change. If one is 0, it follows from the options.
type limits struct {
	runQuads    int64 // of the first run
	levelRuns   int   // number of runs of one level that are merged into one of the next
	blockBytes  int   // of N-Triples and N-Quads
	unitTriples int   // of other syntaxes
	tableBytes  uint64
	progress    time.Duration // between calls of Progress
}

// firstRunQuads bounds the first run, because small runs sort in the processor's caches
// (DESIGN.md has the figures). A crash loses no more than one run. Later runs may be
// larger, see runLimit.
const firstRunQuads = 4 << 20

// runLimit returns the most quads of the next run. It grows with the number of runs, because the
// runs of a very large load must stay mergeable.
func (o *Options) runLimit(runs int) int64 {
	return min(o.limits.runQuads+o.limits.runQuads*int64(runs)/32, maxQuads/8)
}

// levelRuns returns how many runs of a level are merged into one of the next. It is limited because
// their readers must fit in half of the memory.
func (o *Options) levelRuns() int {
	if o.limits.levelRuns > 0 {
		return o.limits.levelRuns
	}
	return int(max(o.Memory/2/runReaderBytes/int64(o.Workers), 8))
}

// mergers returns how many goroutines may merge this number of runs at the same time. The readers
// must fit in three quarters of the memory.
func (o *Options) mergers(runs int) int {
	return int(min(max(o.Memory*3/4/runReaderBytes/int64(max(runs, 1)), 1), int64(o.Workers)))
}

// runBudget returns the part of the memory budget for a run, in bytes. The rest is for blocks in
// flight, tables being written and the decompressors.
func (o *Options) runBudget() int64 {
	return o.Memory - max(o.Memory/8, 24<<20)
}

// unitGrowth is the most bytes that a run grows by for one byte of text. A statement of three new
// terms of 5 bytes each takes 25 bytes. With room in the hash table it adds 272 bytes to the run.
const unitGrowth = 12

// reserve returns the most bytes that the units at work may still add to a run.
func (o *Options) reserve() int64 {
	return unitGrowth * int64(o.Workers) * int64(o.limits.blockBytes)
}

// Validate returns an error if an option is invalid.
func (o *Options) Validate() error {
	if o.Memory != 0 && o.Memory < MinMemory {
		return fmt.Errorf("a load needs at least %d MiB of memory, not %d bytes", MinMemory>>20, o.Memory)
	}
	if o.Workers < 0 || o.Workers > 60 {
		return fmt.Errorf("%d workers: it is 1 to 60, or 0 for one each processor", o.Workers)
	}
	if o.MaxLine < 0 {
		return fmt.Errorf("max line of %d bytes", o.MaxLine)
	}
	if k := o.Graph.Kind(); k == triple.Literal || k == triple.TripleTerm {
		return fmt.Errorf("the graph name is a %v, not an IRI or a blank node", k)
	}
	if !o.Graph.IsZero() {
		if err := o.Graph.Check(); err != nil {
			return fmt.Errorf("graph name: %w", err)
		}
	}
	if o.Links != nil {
		return o.Links.Validate()
	}
	return nil
}

// syntaxOf returns the syntax of an open source: of the options, else of the source, else by its
// name or content.
func (o *Options) syntaxOf(s input.Source, r *input.Reader) (syntax.Syntax, error) {
	switch {
	case o.Syntax != 0:
		return o.Syntax, nil
	case s.Syntax != 0:
		return s.Syntax, nil
	}
	return r.Syntax(s.Name, o.RDFStar)
}

// parsing returns the options for parsing a document; prefix is the prefix of its blank nodes.
func (o *Options) parsing(name, prefix string) syntax.Options {
	return syntax.Options{Source: name, Base: o.Base, BlankPrefix: prefix, KeepGoing: o.KeepGoing, MaxLine: o.MaxLine, RDFStar: o.RDFStar, Contexts: o.Contexts, Warn: o.warnings.add, Prefix: o.Prefix}
}

// withDefaults returns the options with a default for each zero field.
func (o Options) withDefaults() Options {
	o.warnings = &warnings{}
	// Memory and Workers come first, because the size of blocks depends on both.
	if o.Memory == 0 {
		o.Memory = max(memory.Available()/4, MinMemory)
	}
	if o.Workers == 0 {
		o.Workers = min(processors.Count(), 60)
	}
	if o.MaxLine == 0 {
		o.MaxLine = triple.DefaultMaxLine
	}
	l := &o.limits
	if l.runQuads == 0 {
		l.runQuads = firstRunQuads
	}
	if l.blockBytes == 0 { // blocks are small if the budget is small or there are many workers
		l.blockBytes = int(min(max(o.Memory/256/int64(o.Workers), 16<<10), triple.DefaultBlockBytes))
	}
	if l.unitTriples == 0 {
		l.unitTriples = unitTriples
	}
	if l.tableBytes == 0 {
		l.tableBytes = tableBytes
	}
	if l.progress == 0 {
		l.progress = progressEvery
	}
	return o
}

// Reject is a malformed statement that was left out.
type Reject = syntax.Reject

// Phase is the current activity of a load.
type Phase string

// The phases of a load, in their order.
const (
	Reading    Phase = "read"
	Sorting    Phase = "sort"
	Writing    Phase = "write"
	Merging    Phase = "merge"
	Publishing Phase = "publish"
)

// Progress is the state of a running load.
type Progress struct {
	Phase      Phase
	Bytes      int64   // of the inputs as they are stored, so compressed if they are compressed
	TotalBytes int64   // 0 if unknown
	Triples    int64   // statements read
	Rejected   int64   // malformed ones
	Done       float64 // share of the phase, 0 to 1; 0 if unknown
}

// Summary is the result of a load.
type Summary struct {
	Record
	Bytes      int64         `json:"bytes"` // read, decompressed
	Duration   time.Duration `json:"duration_ns"`
	Rate       float64       `json:"triples_per_second"` // statements read a second
	PeakMemory int64         `json:"peak_memory"`        // of the process, in bytes; 0 if unknown
	Runs       int           `json:"runs"`               // sorted parts that went to disk
	Skipped    int64         `json:"skipped,omitempty"`  // link files: well-formed but unwanted
	Labelled   int64         `json:"labelled,omitempty"` // link files: links with weight or text
	Resumed    bool          `json:"resumed"`            // true if it continued an interrupted load
	Warnings   []string      `json:"warnings,omitempty"` // documents that probably mean something else; at most 100
}
