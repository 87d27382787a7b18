// Package load has trefoil load, of RDF and of link files, into a directory or through a server, and trefoil links
// update, which reads link files too.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/documents"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// Cmd loads files in bulk, into a directory or through a server.
type Cmd struct {
	target.StoreFlags
	target.DiskFlags
	documents.InputFlags
	linkLoadFlags
	KeepGoing bool             `help:"Leave malformed statements out instead of stopping at the first; the exit code is then 3."`
	Rejects   string           `placeholder:"F" help:"Write every statement left out, with its place and the reason, to this file."`
	Unchecked bool             `help:"Load into a server although it has checks among its update functions: loads are not checked."`
	Resume    bool             `help:"Go on with an interrupted load of the same, unchanged files."`
	Memory    console.ByteSize `placeholder:"SIZE" help:"Memory budget, 64MiB or more: 2GiB. A quarter of the machine's by default."`
	Graph     string           `placeholder:"IRI" help:"The graph of triples whose document names none."`
	JSON      bool             `help:"Print the summary as JSON."`
}

func (c *Cmd) Run(e *console.Env) error {
	// 1. Check the flags.
	local, err := c.Local()
	if err == nil {
		err = c.check(local)
	}
	if err != nil {
		return err
	}
	// 2. List the files, and choose one of three ways to load them.
	names := input.RDF
	if c.Links {
		names = c.linkFlags.names()
	}
	sources, err := c.List(e, names)
	if err != nil {
		return err
	}
	switch {
	case c.Links:
		return c.loadLinks(e, local, sources)
	case !local:
		return c.send(e, sources)
	}
	summary, err := c.load(e, sources)
	if err != nil {
		return c.explain(err, sources)
	}
	return c.report(e, summary)
}

func (c *Cmd) check(local bool) error {
	switch {
	case c.Rejects != "" && !c.KeepGoing:
		return console.Usagef("--rejects is for --keep-going: without it the first malformed statement stops the load")
	case !local && c.Resume:
		return console.Usagef("--resume is for --data: what is sent to a server is loaded or not, document by document")
	case c.Memory != 0 && c.Memory < rdfload.MinMemory:
		return console.Usagef("--memory %s: a load needs at least %s", console.Size(int64(c.Memory)), console.Size(rdfload.MinMemory))
	}
	if _, err := c.graph(); err != nil {
		return err
	}
	if err := c.checkLinks(); err != nil {
		return err
	}
	return c.InputFlags.Check()
}

// graph returns the graph name in --graph, with or without its brackets.
func (c *Cmd) graph() (triple.Term, error) {
	if c.Graph == "" {
		return triple.Term{}, nil
	}
	iri := strings.TrimSuffix(strings.TrimPrefix(c.Graph, "<"), ">")
	if err := triple.CheckIRI(iri); err != nil {
		return triple.Term{}, console.Usagef("--graph %s: %w", c.Graph, err)
	}
	return triple.NewIRI(iri), nil
}

// load loads into the data directory.
func (c *Cmd) load(e *console.Env, sources []input.Source) (summary rdfload.Summary, err error) {
	// 1. Translate the flags.
	opts := rdfload.Options{
		Memory: int64(c.Memory), KeepGoing: c.KeepGoing, Base: c.Base, MaxLine: int(c.MaxLine), Resume: c.Resume, RDFStar: c.RDFStar, Prefix: c.PrefixesFound().Add,
	}
	if opts.Syntax, err = c.Syntax(); err != nil {
		return summary, err
	}
	known, err := c.Contexts()
	if err != nil {
		return summary, err
	}
	opts.Contexts = known.Context
	if opts.Graph, err = c.graph(); err != nil {
		return summary, err
	}
	if err := opts.Validate(); err != nil {
		return summary, console.Usage(err)
	}
	// 2. Load into the store. It must be closed before the result is reported.
	store, end, err := c.openStore()
	if err != nil {
		return summary, err
	}
	defer func() { err = end(err) }()
	display := console.NewProgress(e.Stderr)
	opts.Progress = display.Show
	defer display.End()
	err = c.withRejects(func(rejects io.Writer) error {
		opts.Rejects = rejects
		summary, err = rdfload.Load(e.Ctx, store.Sink(), toLoad(e, sources), opts)
		return err
	})
	if err == nil {
		if err := prefixes.Keep(e.Ctx, store, c.PrefixesFound().Names()); err != nil {
			summary.Warnings = append(summary.Warnings, fmt.Sprintf("the triples are loaded, but not the prefixes of the documents: %v", err))
		}
	}
	return summary, err
}

// newDirectory returns a function that removes what was created in a directory since the call. If the
// directory had something in it, the function does nothing.
func newDirectory(dir string) func() error {
	before, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() error { return os.RemoveAll(dir) }
	case err != nil || len(before) > 0:
		return func() error { return nil }
	}
	return func() error {
		created, err := os.ReadDir(dir)
		for _, entry := range created {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
		return err
	}
}

// openStore opens the data directory for a load. end closes the store, and returns the error of the load
// and its own. If there is one, end removes a new store, unless the load can be resumed.
func (c *Cmd) openStore() (s *store.Store, end func(error) error, err error) {
	undo := newDirectory(c.Data)
	if c.Memory > 0 {
		// A load's memory is outside the collector's heap. This limit bounds the garbage beside it.
		debug.SetMemoryLimit(collectorFloor + int64(c.Memory)/8)
	}
	// Most memory is for the load, so the store's cache is small.
	s, err = store.Open(c.Data, store.Options{
		MinFreeBytes: c.MinFreeBytes(), FeedRetention: c.Retention(), CacheBytes: 16 << 20, MemTableBytes: 8 << 20, Version: console.ThisVersion().Version,
	})
	if err != nil && !errors.Is(err, store.ErrLocked) { // another process may have made it meanwhile
		err = errors.Join(err, undo())
	}
	return s, func(err error) error {
		err = errors.Join(err, s.Close())
		if err != nil && !errors.Is(err, rdfload.ErrKept) && !errors.As(err, new(keptError)) {
			err = errors.Join(err, undo())
		}
		return err
	}, err
}

// collectorFloor is the least memory of the collector's heap beside a load with a budget.
const collectorFloor = 64 << 20

// withRejects calls do with the file of --rejects; nil if there is none.
func (c *Cmd) withRejects(do func(io.Writer) error) error {
	if c.Rejects == "" {
		return do(nil)
	}
	f, err := os.Create(c.Rejects)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

// toLoad returns sources for a load. If one is standard input, it is the command's.
func toLoad(e *console.Env, sources []input.Source) []input.Source {
	sources = slices.Clone(sources)
	for i, s := range sources {
		sources[i].Open = func() (*input.Reader, error) { return e.Open(s) }
	}
	return sources
}

// explain adds the state of the store after a failed load, and the next step.
func (c *Cmd) explain(err error, sources []input.Source) error {
	const unchanged = "Nothing of this load is in the store. "
	resume := "Load it again."
	switch {
	case errors.Is(err, rdfload.ErrKept):
		resume = "To go on where it stopped: the same command with --resume."
	case slices.ContainsFunc(sources, input.Source.IsStdin):
		resume = "Standard input cannot be resumed: load it again."
	}
	switch {
	case errors.Is(err, context.Canceled):
		return console.WithHint(err, unchanged+resume)
	case fault.IsDiskFull(err):
		return console.WithHint(err, unchanged+"Make room first. "+resume)
	case errors.Is(err, rdfload.ErrRejected) && !c.KeepGoing:
		return console.WithHint(err, unchanged+cmp.Or(documents.OtherSyntax(err), "--keep-going loads the rest, --rejects F writes down what it leaves out."))
	case errors.Is(err, input.ErrTruncated):
		return console.WithHint(err, unchanged+"Get the file whole, or unpack the part that arrived (gzip -dc and the like) and load that.")
	case errors.Is(err, rdfload.ErrChanged):
		return console.WithHint(err, unchanged+"Load without --resume to start over.")
	case errors.Is(err, store.ErrLocked):
		return console.WithHint(err, "If a server has it open, load through the server: --to URL instead of --data.")
	}
	return err
}

// report prints the summary of a load that is done.
func (c *Cmd) report(e *console.Env, s rdfload.Summary) error {
	print := func() error { return printSummary(e.Stdout, s) }
	if c.JSON {
		print = func() error {
			s := s
			s.Warnings = c.WithSkipped(s.Warnings)
			return e.PrintJSON(s)
		}
	}
	if err := print(); err != nil {
		return err
	}
	for _, warning := range s.Warnings {
		e.Sayf("warning: %s", warning)
	}
	return c.reportRejected(e, s.Rejected)
}

// reportRejected reports the number of rejected statements, and returns [console.ErrRejected] if there are any.
func (c *Cmd) reportRejected(e *console.Env, rejected int64) error {
	switch {
	case rejected == 0:
		return nil
	case c.Rejects != "":
		e.Sayf("%s left out, see %s", console.Plural(rejected, "malformed statement"), c.Rejects)
	default:
		e.Sayf("%s left out; --rejects F writes them down", console.Plural(rejected, "malformed statement"))
	}
	return console.ErrRejected
}

func printSummary(w io.Writer, s rdfload.Summary) error {
	text := fmt.Sprintf("read       %s\nnew        %s\nduplicate  %s\nrejected   %s\nbytes      %s\ntime       %s (%s triples/s)\n",
		console.Number(s.Read), console.Number(s.New), console.Number(s.Duplicates), console.Number(s.Rejected), console.Size(s.Bytes), console.Seconds(s.Duration), console.Number(int64(s.Rate)))
	if s.Annotations > 0 {
		text += "annotated  " + console.Number(s.Annotations) + "\n"
	}
	if s.PeakMemory > 0 {
		text += "memory     " + console.Size(s.PeakMemory) + " at the peak\n"
	}
	if s.Resumed {
		text += "resumed    yes\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
