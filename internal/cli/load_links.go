// trefoil load --links: link files in bulk, or as updates if a page replaces its list.
//
// Added links go through the bulk loader. Whole pages do so too if the store has no links yet; if a
// page is repeated, its last list counts. If the store has links, whole pages are sent as updates,
// because each list must replace the earlier one. Labels are annotations. The bulk loader does not
// write them, so a second reading of the files sets them after the load.

package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

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
	*loadCmd
	e         *env
	sources   []input.Source
	predicate string
	reading   linkfile.Options
	replacing bool // some files have whole pages
	mixed     bool // and other files add links
	rejects   io.Writer
	display   progress
	last      *lastPages
	batch     int // links in a batch; 0: batchLinks
	done      linkSummary
}

// checkLinks returns an error if a flag for links is wrong.
func (c *loadCmd) checkLinks() error {
	if !c.Links {
		if c.linkFlags.given() || c.NoLabels || c.LinkPredicate != links.DefaultPredicate {
			return usagef("--format, --link-predicate and the like are for --links; the syntax of RDF is --from")
		}
		return nil
	}
	if c.From != "" || c.Base != "" || c.Graph != "" || c.RDFStar {
		return usagef("--from, --base, --graph and --rdf-star are for RDF; link files have --format, and their links are in the default graph")
	}
	if err := triple.CheckIRI(withoutBrackets(c.LinkPredicate)); err != nil {
		return usagef("--link-predicate %s: %w", c.LinkPredicate, err)
	}
	_, err := c.reading(withoutBrackets(c.LinkPredicate), c.MaxLine)
	return err
}

// loadLinks loads link files.
func (c *loadCmd) loadLinks(e *env, local bool, listed []input.Source) error {
	// 1. Read the flags, and find the formats of the files.
	begun := time.Now()
	listed, cleanup, err := spoolStdin(e, listed) // it may be read more than once
	if err != nil {
		return err
	}
	defer cleanup()
	l := &linkLoad{loadCmd: c, e: e, sources: toLoad(e, listed), predicate: withoutBrackets(c.LinkPredicate)}
	if l.reading, err = c.reading(l.predicate, c.MaxLine); err != nil {
		return err
	}
	formats, err := formatsOf(e.ctx, l.sources, l.reading)
	if err != nil {
		return c.explain(err, listed)
	}
	l.replacing = slices.ContainsFunc(formats, replaces)
	l.mixed = l.replacing && slices.ContainsFunc(formats, func(f linkfile.Format) bool { return !replaces(f) })
	// 2. Load them.
	l.display = newProgress(e.stderr)
	err = c.withRejects(func(rejects io.Writer) error {
		defer l.display.end()
		l.rejects = rejects
		if local {
			return l.intoDirectory()
		}
		return l.throughServer()
	})
	// 3. Explain an error, unless a step has done so; or print the result.
	switch {
	case hintOf(err) != "": // from a step that left data in the store
		return err
	case err != nil:
		return c.explain(err, listed)
	}
	l.done.Duration = time.Since(begun)
	l.done.Rate = float64(rate(l.done.Read, l.done.Duration))
	return l.report()
}

// lookThrough finds the repeated pages.
func (l *linkLoad) lookThrough() (err error) {
	memory := int64(lookMemory)
	if l.Memory > 0 {
		memory = int64(l.Memory)
	}
	if l.last, err = findLast(l.e.ctx, l.sources, l.reading, memory, l.display.show); errors.Is(err, errManyTwice) {
		err = withHint(err, "Raise --memory, or load the files one by one, in their order: whole pages replace those that are there.")
	}
	return err
}

// changes returns a reader of the files as changes.
func (l *linkLoad) changes(phase rdfload.Phase) *changeReader {
	return &changeReader{ctx: l.e.ctx, sources: l.sources, reading: l.reading, keepGoing: l.KeepGoing, noLabels: l.NoLabels, most: l.batch,
		watch: func(p rdfload.Progress) {
			p.Phase = phase
			l.display.show(p)
		}}
}

// The phases of a load besides those of the bulk loader.
const (
	updatePhase rdfload.Phase = "update"
	labelPhase  rdfload.Phase = "label"
)

// update sends all files from a place on as updates. noted is called with each place when the
// changes before it are made.
func (l *linkLoad) update(to linkUpdater, from linkPlace, noted func(linkPlace) error) error {
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
		r, err := to.Update(l.e.ctx, batch)
		l.done.New += r.Added
		l.done.Deleted += r.Deleted
		if err != nil {
			return err
		}
		count()
		for i := range batch {
			l.done.Labels += labels(&batch[i])
		}
		return noted(until)
	})
	count() // rejected statements behind the last batch
	return err
}

// label sets the labels of links in the store, from all files from a place on. Malformed parts were
// reported before.
func (l *linkLoad) label(note func([]links.Change) error, from linkPlace, noted func(linkPlace) error) error {
	changes := l.changes(labelPhase)
	changes.keepGoing, changes.labelled, changes.last = true, true, l.last
	return changes.each(from, func(batch []links.Change, until linkPlace) error {
		if err := note(batch); err != nil {
			return err
		}
		for i := range batch {
			l.done.Labels += labels(&batch[i])
		}
		return noted(until)
	})
}

// report prints the result of the load.
func (l *linkLoad) report() error {
	// 1. As JSON, or as text for people.
	if l.JSON {
		l.done.Warnings = l.withSkipped(l.done.Warnings)
		if err := l.e.printJSON(l.done); err != nil {
			return err
		}
	} else {
		text := ""
		if l.done.Skipped > 0 {
			text += "no links   " + number(l.done.Skipped) + "\n"
		}
		if l.done.Deleted > 0 {
			text += "deleted    " + number(l.done.Deleted) + "\n"
		}
		if l.done.Labels > 0 {
			text += "labels     " + number(l.done.Labels) + "\n"
		}
		if err := printSummary(l.e.stdout, l.done.Summary); err != nil {
			return err
		}
		if _, err := io.WriteString(l.e.stdout, text); err != nil {
			return err
		}
	}
	// 2. Warn if no statement was a link.
	if l.done.Read == 0 && l.done.Skipped > 0 {
		l.e.sayf("nothing in these files is a link: of N-Triples, links are the statements of --nt-predicate, %s", l.reading.Predicate)
	}
	return l.tellRejected(l.e, l.done.Rejected)
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

// kept adds a hint to an error, because the finished work stays.
func kept(err error, hint string) error {
	if err == nil {
		return nil
	}
	return keptError{withHint(err, hint)}
}

// bulk loads the links of all files into a store in this process.
func (l *linkLoad) bulk(sink rdfload.Sink) error {
	opts := rdfload.Options{Memory: int64(l.Memory), KeepGoing: l.KeepGoing, MaxLine: int(l.MaxLine), Resume: l.Resume, Rejects: l.rejects,
		Links: &rdfload.Links{Predicate: l.predicate, Reading: l.reading}, Progress: l.display.show}
	if l.replacing {
		if err := l.lookThrough(); err != nil {
			return err
		}
		opts.Links.Superseded = l.last.superseded
		if opts.Memory > 0 {
			opts.Memory = max(opts.Memory-l.last.bytes(), rdfload.MinMemory)
		}
	}
	summary, err := rdfload.Load(l.e.ctx, sink, l.sources, opts)
	l.done.Summary = summary
	if err != nil {
		return fmt.Errorf("load links: %w", err)
	}
	return nil
}
