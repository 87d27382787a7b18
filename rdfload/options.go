package rdfload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/trefoildb/trefoil/internal/memory"
	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// Errors of loads; test with [errors.Is].
var (
	// ErrRejected: a malformed statement stopped a load without KeepGoing. The
	// error's text says where and what; a *triple.SyntaxError is in its chain.
	ErrRejected = errors.New("malformed statement")
	// ErrChanged: an input is not what it was when the load began.
	ErrChanged = errors.New("input has changed since the load began")
	// ErrNoMemory: the budget is too small for the input.
	ErrNoMemory = errors.New("the load's memory budget is too small for this input")

	// ErrKept is in the chain of an error that stopped a load, where the same load
	// with Options.Resume goes on. Without it nothing is left of the load.
	ErrKept = errors.New("what is done so far is kept; resume with --resume")

	errBudget = errors.New("arena is full")
)

// MinMemory is the least memory budget of a load.
const MinMemory = 64 << 20

// Options are the options of [Load]. The zero value is usable.
type Options struct {
	// Memory is the budget in bytes; 0: a quarter of the machine's memory.
	Memory int64
	// Workers parse and sort at the same time; 0: one for each processor.
	Workers int
	// KeepGoing loads the rest of a document with malformed statements, which are
	// written to Rejects, if it is not nil: for each a line "# place: reason" and
	// the statement's text.
	KeepGoing bool
	Rejects   io.Writer
	// Graph is the graph of statements that name none; zero: the default graph.
	Graph triple.Term
	// Syntax is that of all sources; zero: each by its name or content.
	Syntax syntax.Syntax
	// Base resolves relative IRIs of documents that have no base of their own.
	Base string
	// MaxLine limits a line of N-Triples and a token of other syntaxes, in bytes;
	// 0: triple.DefaultMaxLine.
	MaxLine int
	// Links, if not nil, says that all sources are link files; Syntax and Base
	// then mean nothing.
	Links *Links
	// Resume goes on with an earlier load of the same sources that stopped, if
	// there is one. It needs sources whose time of modification is known.
	Resume bool
	// BeforePublish, if not nil, is called once, when all is read and sorted and before any
	// of it is in the store. Its error ends the load.
	BeforePublish func(ctx context.Context) error
	// Progress, if not nil, is called a few times a second.
	Progress func(Progress)

	limits limits
}

// limits are sizes that only tests change; those that are 0 follow from the
// options.
type limits struct {
	runQuads    int64 // of the first run
	levelRuns   int   // of one level that are merged into one of the next
	blockBytes  int   // of N-Triples and N-Quads
	unitTriples int   // of other syntaxes
	tableBytes  uint64
	progress    time.Duration // between calls of Progress
}

// firstRunQuads bounds the first run, whatever the budget: small runs sort in
// the processor's caches (docs/ARCHITECTURE.md has the figures), and a crash
// loses no more than one. Later runs may be larger, see runLimit.
const firstRunQuads = 4 << 20

// runLimit returns how many quads the next run may have. It grows with the number
// of runs, so that the runs of a very large load stay mergeable.
func (o *Options) runLimit(runs int) int64 {
	return min(o.limits.runQuads+o.limits.runQuads*int64(runs)/32, maxQuads/8)
}

// levelRuns returns how many runs of a level are merged into one of the next, for
// the memory of their readers.
func (o *Options) levelRuns() int {
	if o.limits.levelRuns > 0 {
		return o.limits.levelRuns
	}
	return int(max(o.Memory/2/runReaderBytes/int64(o.Workers), 8))
}

// mergers returns how many goroutines may merge so many runs at the same time.
func (o *Options) mergers(runs int) int {
	return int(min(max(o.Memory*3/4/runReaderBytes/int64(max(runs, 1)), 1), int64(o.Workers)))
}

// runBudget returns what a run may take of the memory budget: the rest is for
// blocks in flight, tables being written and the decompressors.
func (o *Options) runBudget() int64 {
	return o.Memory - max(o.Memory/8, 24<<20)
}

// unitGrowth is how many bytes a run grows by, at most, for one byte of text: a
// statement of three new terms of 5 bytes each takes 25 bytes and, with room in
// the hash table, 272.
const unitGrowth = 12

// reserve returns what the units that are being worked on may still add to a run.
func (o *Options) reserve() int64 {
	return unitGrowth * int64(o.Workers) * int64(o.limits.blockBytes)
}

// Validate returns what is wrong with the options.
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
	if o.Graph.Kind() == triple.Literal {
		return errors.New("the graph name is a literal, not an IRI or a blank node")
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

// syntaxOf returns the syntax of a source that is open.
func (o *Options) syntaxOf(s Source, r *input.Reader) (syntax.Syntax, error) {
	switch {
	case o.Syntax != 0:
		return o.Syntax, nil
	case s.Syntax != 0:
		return s.Syntax, nil
	}
	return r.Syntax(s.Name)
}

// parsing returns how a document is parsed; prefix is that of its blank nodes.
func (o *Options) parsing(name, prefix string) syntax.Options {
	return syntax.Options{Source: name, Base: o.Base, BlankPrefix: prefix, KeepGoing: o.KeepGoing, MaxLine: o.MaxLine}
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
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
	if l.blockBytes == 0 { // small budgets, and many workers, have small blocks
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

// Phase is what a load is doing.
type Phase string

// The phases of a load, in their order.
const (
	Reading    Phase = "read"
	Sorting    Phase = "sort"
	Writing    Phase = "write"
	Merging    Phase = "merge"
	Publishing Phase = "publish"
)

// Progress is how far a load is.
type Progress struct {
	Phase      Phase
	Bytes      int64   // of the inputs, as they are stored (compressed ones compressed)
	TotalBytes int64   // 0 where it is not known
	Triples    int64   // statements read
	Rejected   int64   // malformed ones
	Done       float64 // share of the phase, 0 to 1, where it is known
}

// Summary is what a load did.
type Summary struct {
	Record
	Bytes      int64         `json:"bytes"` // read, decompressed
	Duration   time.Duration `json:"duration_ns"`
	Rate       float64       `json:"triples_per_second"` // statements read a second
	PeakMemory int64         `json:"peak_memory"`        // of the process, in bytes; 0 where it is not known
	Runs       int           `json:"runs"`               // sorted parts that went to disk
	Skipped    int64         `json:"skipped,omitempty"`  // link files: statements, links and records that are well-formed and not wanted
	Labelled   int64         `json:"labelled,omitempty"` // link files: links of which more is said, a weight or a text
	Resumed    bool          `json:"resumed"`            // it went on with an interrupted load
}
