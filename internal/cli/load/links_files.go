// Link files as changes of a graph of links.

package load

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// linkFlags holds the flags for reading link files.
type linkFlags struct {
	Format      string `placeholder:"F" help:"${linkformats}; by the file's first line, name or content where that tells it."`
	NTPredicate string `name:"nt-predicate" placeholder:"IRI" help:"In N-Triples, the predicate of links; * is any."`
	BareHosts   bool   `help:"A field without a scheme is a host name."`
	Normalize   bool   `help:"Normalize IRIs of http and https as a browser does."`
	Frames      bool   `help:"WAT: frames are links too."`
	AllSchemes  bool   `help:"WAT: links of all schemes but javascript."`
}

// names selects the link files of directories: those with names of link formats, or all files if a
// flag sets the format.
func (f *linkFlags) names() input.Names {
	return input.Names{What: "a link format", Hint: "--format takes all files", Are: func(name string) bool {
		_, ok := linkfile.ByFile(name)
		return ok || f.Format != ""
	}}
}

// given reports whether one of the flags is set.
func (f *linkFlags) given() bool { return *f != linkFlags{} }

// reading returns the options of readers. predicate is that of links in N-Triples if no flag sets
// it; "" is the default.
func (f *linkFlags) reading(predicate string, maxLine console.ByteSize) (o linkfile.Options, err error) {
	o = linkfile.Options{Predicate: withoutBrackets(f.NTPredicate), BareHosts: f.BareHosts, Normalize: f.Normalize,
		Frames: f.Frames, AllSchemes: f.AllSchemes}
	if o.Predicate == "" {
		o.Predicate = predicate
	}
	if f.Format != "" {
		if o.Format, err = linkfile.ByName(f.Format); err != nil {
			return o, console.Usagef("--format: %w", err)
		}
	}
	if maxLine > math.MaxInt32 {
		return o, console.Usagef("--max-line %s: it is at most %s for link files", console.Size(int64(maxLine)), console.Size(math.MaxInt32))
	}
	o.MaxLine = int(maxLine)
	if err := o.Validate(); err != nil {
		return o, console.Usagef("--nt-predicate: %w", err)
	}
	return o, nil
}

func withoutBrackets(iri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(iri, "<"), ">")
}

// replaces reports whether files of a format contain whole lists of pages.
func replaces(f linkfile.Format) bool { return f == linkfile.Pages || f == linkfile.WAT }

// formatsOf returns the formats of link files, by their beginnings unless the options set one.
func formatsOf(ctx context.Context, sources []input.Source, opts linkfile.Options) ([]linkfile.Format, error) {
	formats := make([]linkfile.Format, len(sources))
	for i, s := range sources {
		if formats[i] = opts.Format; opts.Format != 0 {
			continue
		}
		rd, err := rdfload.OpenLinks(ctx, s, linkfile.Position{}, opts)
		if err != nil {
			return nil, err
		}
		formats[i] = rd.Format()
		if err := rd.Close(); err != nil {
			return nil, err
		}
	}
	return formats, nil
}

// A batch of changes has about this many links, or bytes of URLs and texts. A page's list is split
// only if it is many times longer.
const (
	batchLinks     = 10_000
	batchLinkBytes = 4 << 20
	wholeList      = 16
)

// linkPlace is a position in a list of link files.
type linkPlace struct {
	Source   int               `json:"source"`
	Position linkfile.Position `json:"position"`
}

// changeReader reads link files as batches of changes.
type changeReader struct {
	ctx       context.Context
	sources   []input.Source
	reading   linkfile.Options
	keepGoing bool
	rejects   io.Writer // nil if none are written
	deletes   bool      // links are deleted instead of added
	labelled  bool      // only links with labels count, and they are added
	noLabels  bool
	last      *lastPages // if not nil, only the last list of a repeated page counts
	watch     func(rdfload.Progress)
	most      int // links of a batch; 0: batchLinks

	rejected, skipped, seen int64
	done, total             int64 // bytes of sources as stored; total is 0 if unknown

	batch   []links.Change
	kinds   map[string]links.ChangeKind // of the batch's pages
	inBatch int                         // links
	bytes   int
	lastOne string // the last page, if its list continues
}

// each calls do with all changes from a place on, and with their end. The batch is valid until do
// returns. A page appears at most once in a batch for each kind of change.
func (c *changeReader) each(from linkPlace, do func(batch []links.Change, until linkPlace) error) error {
	if c.most == 0 {
		c.most = batchLinks
	}
	for i, s := range c.sources {
		if s.Size < 0 {
			c.total = 0
			break
		}
		c.total += s.Size
		if i < from.Source {
			c.done += s.Size
		}
	}
	for i := from.Source; i < len(c.sources); i++ {
		if err := c.readFile(i, from.Position, do); err != nil {
			return err
		}
		from.Position = linkfile.Position{}
		c.done += max(c.sources[i].Size, 0)
	}
	return nil
}

// readFile reads one file.
func (c *changeReader) readFile(source int, from linkfile.Position, do func([]links.Change, linkPlace) error) (err error) {
	// 1. Open the file. Whole pages cannot be deleted link by link.
	rd, err := rdfload.OpenLinks(c.ctx, c.sources[source], from, c.reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rd.Close()) }()
	if c.deletes && replaces(rd.Format()) {
		return console.Usagef("%s is of whole pages: to delete links, give edges, lists or N-Triples; a page without links in a file of pages deletes all of its links",
			c.sources[source].Name)
	}
	// 2. flush sends the batch, up to a position of the reader.
	flush := func(until linkfile.Position) error {
		if len(c.batch) == 0 {
			return nil
		}
		err := do(c.batch, linkPlace{source, until})
		// Even if do failed, the batch is emptied, because the reader has gone on.
		clear(c.batch)
		clear(c.kinds)
		c.batch, c.inBatch, c.bytes, c.lastOne = c.batch[:0], 0, 0, ""
		c.show(rd)
		return err
	}
	// 3. Read page by page. left is set while the list of a superseded page is skipped.
	for left := false; ; {
		begin := rd.Position()
		// The end, or a malformed part. reject returns nil if reading may go on.
		if !rd.Scan() {
			if err := rd.Err(); err != nil {
				if err := c.reject(rd, err, left); err != nil {
					return err
				}
				continue
			}
			c.skipped += rd.Counts().Skipped
			return flush(begin)
		}
		p := rd.Page()
		if p.Replace {
			left = c.last.superseded(source, begin.Offset, p.Source)
		}
		// A new list for a page of the batch must wait until the batch is sent.
		if !left {
			if c.clashes(p) {
				if err := flush(begin); err != nil {
					return err
				}
			}
			c.add(p)
		}
		left = left && p.More
		// A list is seldom cut: its page must end first, unless the batch is far over its size.
		full := max(c.inBatch/c.most, c.bytes/batchLinkBytes)
		if full >= wholeList || full > 0 && !p.More {
			if err := flush(rd.Position()); err != nil {
				return err
			}
		}
	}
}

// clashes reports whether a page is in the batch already and its new change must come after the old
// one.
func (c *changeReader) clashes(p *linkfile.Page) bool {
	kind, ok := c.kinds[string(p.Source)]
	return ok && !c.continues(p) && (p.Replace || kind == links.ReplaceLinks)
}

// continues reports whether p continues the list of the last page.
func (c *changeReader) continues(p *linkfile.Page) bool {
	return !p.Replace && c.lastOne != "" && c.lastOne == string(p.Source)
}

// add adds a page's links to the batch.
func (c *changeReader) add(p *linkfile.Page) {
	// 1. Find the change of the page: the last one if the list continues, or a new one.
	kind := links.AddLinks
	switch {
	case c.deletes:
		kind = links.DeleteLinks
	case p.Replace && !c.labelled:
		kind = links.ReplaceLinks
	}
	var change *links.Change
	if n := len(c.batch); n > 0 && c.batch[n-1].Source == string(p.Source) && (c.continues(p) || c.batch[n-1].Kind == kind && !p.Replace) {
		change = &c.batch[n-1]
	} else {
		change = &links.Change{Kind: kind, Source: string(p.Source)}
	}
	// 2. Add the links. Labels are made only when the first link has one.
	before := len(change.Targets)
	for i := range p.Links {
		l := &p.Links[i]
		label := cell.NoLabel
		if !c.noLabels {
			label = labelOf(l)
		}
		// In the pass over labels, links without one count for nothing.
		if c.labelled && label == cell.NoLabel {
			continue
		}
		change.Targets = append(change.Targets, string(l.Target))
		// The links before the first label have none, and the two slices must have equal lengths.
		if label != cell.NoLabel && change.Labels == nil {
			change.Labels = make([]links.Label, len(change.Targets)-1, cap(change.Targets))
			for j := range change.Labels {
				change.Labels[j] = cell.NoLabel
			}
		}
		if change.Labels != nil {
			change.Labels = append(change.Labels, label)
		}
		// 16 bytes stand for the string header of a target.
		c.bytes += len(l.Target) + len(label.Anchor) + 16
	}
	// 3. Count, and append the change if it is new and not empty.
	c.lastOne = ""
	if p.More {
		c.lastOne = change.Source
	}
	c.inBatch += len(change.Targets) - before
	c.seen += int64(len(change.Targets) - before)
	// An empty change does nothing, except a replacement: it deletes all links of its page.
	if n := len(c.batch); n > 0 && change == &c.batch[n-1] || len(change.Targets) == 0 && kind != links.ReplaceLinks {
		return
	}
	c.bytes += len(change.Source)
	c.batch = append(c.batch, *change)
	if c.kinds == nil {
		c.kinds = make(map[string]links.ChangeKind)
	}
	c.kinds[change.Source] = kind
}

// labelOf returns the label of a link in a file.
func labelOf(l *linkfile.Link) links.Label {
	label := links.Label{Weight: 1, Anchor: string(l.Text[:min(len(l.Text), lists.MaxAnchor)])}
	if l.Weight != nil {
		w, err := strconv.ParseFloat(string(l.Weight), 64)
		if err != nil { // beyond the range of float64
			w = math.Copysign(math.MaxFloat64, w)
		}
		label.Weight = w
	}
	return label
}

// reject records a malformed part and makes the reader continue, if that is allowed. In a skipped
// list it is not recorded.
func (c *changeReader) reject(rd *rdfload.LinkReader, err error, left bool) error {
	var syntax *triple.SyntaxError
	if !errors.As(err, &syntax) || !left && !c.keepGoing {
		return err
	}
	text, ok := rd.Recover()
	if !ok {
		return err
	}
	if left {
		return nil
	}
	c.rejected++
	return writeLinkReject(c.rejects, syntax, text)
}

// show reports the progress of reading.
func (c *changeReader) show(rd *rdfload.LinkReader) {
	if c.watch == nil {
		return
	}
	p := rdfload.Progress{Bytes: c.done + rd.BytesIn(), TotalBytes: c.total, Triples: c.seen, Rejected: c.rejected}
	if c.total > 0 {
		p.Done = min(float64(p.Bytes)/float64(c.total), 1)
	}
	c.watch(p)
}
