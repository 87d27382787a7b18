// trefoil load --links: link files in bulk, or as updates if a page replaces its list.
//
// Added links go through the bulk loader. Whole pages do so too if the store has no links yet; if a
// page is repeated, its last list counts. If the store has links, whole pages are sent as updates,
// because each list must replace the earlier one. Labels are annotations. The bulk loader does not
// write them, so a second reading of the files sets them after the load.

package load

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// linkLoadFlags holds the flags of load for link files.
type linkLoadFlags struct {
	Links         bool   `help:"The files are of hyperlinks (${linkformats}); each link becomes a triple."`
	LinkPredicate string `default:"${linkpredicate}" placeholder:"IRI" help:"The predicate of links; ${default} by default."`
	NoLabels      bool   `help:"Leave out what files say of links: weights and texts."`
	linkFlags
}

// lookMemory is the memory of the search for repeated pages if no memory budget is set.
const lookMemory = 1 << 30

// linkSummary is the result of a load of links.
type linkSummary struct {
	rdfload.Summary
	Deleted int64 `json:"deleted"` // links missing in whole pages
	Labels  int64 `json:"labels"`  // set on links
}

// linkLoad is a load of link files.
type linkLoad struct {
	*Cmd
	e         *console.Env
	sources   []input.Source
	predicate string
	reading   linkfile.Options
	replacing bool // some files have whole pages
	mixed     bool // and other files add links
	rejects   io.Writer
	display   console.Progress
	last      *lastPages
	batch     int // links in a batch; 0: batchLinks
	done      linkSummary
}

// checkLinks returns an error if a flag for links is wrong.
func (c *Cmd) checkLinks() error {
	if !c.Links {
		if c.linkFlags.given() || c.NoLabels || c.LinkPredicate != links.DefaultPredicate {
			return console.Usagef("--format, --link-predicate and the like are for --links; the syntax of RDF is --from")
		}
		return nil
	}
	if c.From != "" || c.Base != "" || c.Graph != "" || c.RDFStar {
		return console.Usagef("--from, --base, --graph and --rdf-star are for RDF; link files have --format, and their links are in the default graph")
	}
	if err := triple.CheckIRI(withoutBrackets(c.LinkPredicate)); err != nil {
		return console.Usagef("--link-predicate %s: %w", c.LinkPredicate, err)
	}
	_, err := c.reading(withoutBrackets(c.LinkPredicate), c.MaxLine)
	return err
}

// loadLinks loads link files.
func (c *Cmd) loadLinks(e *console.Env, local bool, listed []input.Source) error {
	// 1. Read the flags, and find the formats of the files.
	begun := time.Now()
	listed, cleanup, err := console.SpoolStdin(e, listed) // it may be read more than once
	if err != nil {
		return err
	}
	defer cleanup()
	l := &linkLoad{Cmd: c, e: e, sources: toLoad(e, listed), predicate: withoutBrackets(c.LinkPredicate)}
	if l.reading, err = c.reading(l.predicate, c.MaxLine); err != nil {
		return err
	}
	formats, err := formatsOf(e.Ctx, l.sources, l.reading)
	if err != nil {
		return c.explain(err, listed)
	}
	l.replacing = slices.ContainsFunc(formats, replaces)
	l.mixed = l.replacing && slices.ContainsFunc(formats, func(f linkfile.Format) bool { return !replaces(f) })
	// 2. Load them.
	l.display = console.NewProgress(e.Stderr)
	err = c.withRejects(func(rejects io.Writer) error {
		defer l.display.End()
		l.rejects = rejects
		if local {
			return l.intoDirectory()
		}
		return l.throughServer()
	})
	// 3. Explain an error, unless a step has done so; or print the result.
	switch {
	case console.HintOf(err) != "": // from a step that left data in the store
		return err
	case err != nil:
		return c.explain(err, listed)
	}
	l.done.Duration = time.Since(begun)
	l.done.Rate = float64(console.Rate(l.done.Read, l.done.Duration))
	return l.report()
}

// lookThrough finds the repeated pages.
func (l *linkLoad) lookThrough() (err error) {
	memory := int64(lookMemory)
	if l.Memory > 0 {
		memory = int64(l.Memory)
	}
	if l.last, err = findLast(l.e.Ctx, l.sources, l.reading, memory, l.display.Show); errors.Is(err, errManyTwice) {
		err = console.WithHint(err, "Raise --memory, or load the files one by one, in their order: whole pages replace those that are there.")
	}
	return err
}

// changes returns a reader of the files as changes.
func (l *linkLoad) changes(phase rdfload.Phase) *changeReader {
	return &changeReader{ctx: l.e.Ctx, sources: l.sources, reading: l.reading, keepGoing: l.KeepGoing, noLabels: l.NoLabels, most: l.batch,
		watch: func(p rdfload.Progress) {
			p.Phase = phase
			l.display.Show(p)
		}}
}

// The phases of a load besides those of the bulk loader.
const (
	updatePhase rdfload.Phase = "update"
	labelPhase  rdfload.Phase = "label"
)

// update sends all files from a place on as updates. record is called with each place when the
// changes before it are made.
func (l *linkLoad) update(to linkUpdater, from linkPlace, record func(linkPlace) error) error {
	changes := l.changes(updatePhase)
	changes.rejects = l.rejects
	before := l.done
	count := func() {
		l.done.Read = before.Read + changes.seen
		l.done.Rejected = before.Rejected + changes.rejected
		l.done.Skipped = before.Skipped + changes.skipped
		l.done.Duplicates = max(l.done.Read-l.done.New, 0)
	}
	err := changes.each(from, func(batch []links.Change, until linkPlace) error {
		r, err := to.Update(l.e.Ctx, batch)
		l.done.New += r.Added
		l.done.Deleted += r.Deleted
		if err != nil {
			return err
		}
		count()
		for i := range batch {
			l.done.Labels += labels(&batch[i])
		}
		return record(until)
	})
	count() // rejected statements behind the last batch
	return err
}

// label sets the labels of links in the store, from all files from a place on. Malformed parts were
// reported before.
func (l *linkLoad) label(set func([]links.Change) error, from linkPlace, record func(linkPlace) error) error {
	changes := l.changes(labelPhase)
	changes.keepGoing, changes.labelled, changes.last = true, true, l.last
	return changes.each(from, func(batch []links.Change, until linkPlace) error {
		if err := set(batch); err != nil {
			return err
		}
		for i := range batch {
			l.done.Labels += labels(&batch[i])
		}
		return record(until)
	})
}

// report prints the result of the load.
func (l *linkLoad) report() error {
	// 1. As JSON, or as text for people.
	if l.JSON {
		l.done.Warnings = l.WithSkipped(l.done.Warnings)
		if err := l.e.PrintJSON(l.done); err != nil {
			return err
		}
	} else {
		text := ""
		if l.done.Skipped > 0 {
			text += "no links   " + console.Number(l.done.Skipped) + "\n"
		}
		if l.done.Deleted > 0 {
			text += "deleted    " + console.Number(l.done.Deleted) + "\n"
		}
		if l.done.Labels > 0 {
			text += "labels     " + console.Number(l.done.Labels) + "\n"
		}
		if err := printSummary(l.e.Stdout, l.done.Summary); err != nil {
			return err
		}
		if _, err := io.WriteString(l.e.Stdout, text); err != nil {
			return err
		}
	}
	// 2. Warn if no statement was a link.
	if l.done.Read == 0 && l.done.Skipped > 0 {
		l.e.Sayf("nothing in these files is a link: of N-Triples, links are the statements of --nt-predicate, %s", l.reading.Predicate)
	}
	return l.reportRejected(l.e, l.done.Rejected)
}

// labels returns the number of labels in a change.
func labels(c *links.Change) (n int64) {
	for i := range c.Labels {
		if c.Labels[i] != cell.NoLabel {
			n++
		}
	}
	return n
}

// keptError is the error of a load that has stored a part.
type keptError struct{ error }

func (k keptError) Unwrap() error { return k.error }

// partStored adds a hint to an error, because the finished work stays.
func partStored(err error, hint string) error {
	if err == nil {
		return nil
	}
	return keptError{console.WithHint(err, hint)}
}

// bulk loads the links of all files into a store in this process.
func (l *linkLoad) bulk(sink rdfload.Sink) error {
	opts := rdfload.Options{Memory: int64(l.Memory), KeepGoing: l.KeepGoing, MaxLine: int(l.MaxLine), Resume: l.Resume, Rejects: l.rejects,
		Links: &rdfload.Links{Predicate: l.predicate, Reading: l.reading}, Progress: l.display.Show}
	if l.replacing {
		if err := l.lookThrough(); err != nil {
			return err
		}
		opts.Links.Superseded = l.last.superseded
		if opts.Memory > 0 {
			opts.Memory = max(opts.Memory-l.last.bytes(), rdfload.MinMemory)
		}
	}
	summary, err := rdfload.Load(l.e.Ctx, sink, l.sources, opts)
	l.done.Summary = summary
	if err != nil {
		return fmt.Errorf("load links: %w", err)
	}
	return nil
}
