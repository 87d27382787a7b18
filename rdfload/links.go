// Link files: each link becomes a triple.

package rdfload

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// Links are the options of a load if its sources are link files (package linkfile). Each link
// becomes the triple of its page, the predicate and its target. Other data of a link, such as a
// weight, are not loaded. All links of all files are added, even if a page has several whole lists;
// but see Superseded.
type Links struct {
	// Predicate is the predicate of the triples, an IRI. If it is "", it is
	// linkfile.DefaultPredicate.
	Predicate string
	// Reading holds the options for reading the files. The load sets its Source and From, and its
	// MaxLine if that is 0.
	Reading linkfile.Options
	// Superseded, if not nil, is called for each whole list and reports whether to leave it out,
	// because another list of the page replaces it. Malformed parts of such a list are then left
	// out silently. The list is given by the number of its source and by its offset: at grows from
	// list to list. Superseded may be called by several goroutines, must not keep page, and must
	// return the same result if it is called again.
	Superseded func(source int, at int64, page []byte) bool
}

// Validate returns an error if an option is invalid.
func (l *Links) Validate() error {
	if l.Predicate != "" {
		if err := triple.CheckIRI(l.Predicate); err != nil {
			return fmt.Errorf("predicate of links: %w", err)
		}
	}
	return l.Reading.Validate()
}

// predicate returns the predicate of the triples.
func (l *Links) predicate() string {
	if l.Predicate == "" {
		return linkfile.DefaultPredicate
	}
	return l.Predicate
}

func (l *Links) superseded(source int, at int64, page []byte) bool {
	return l.Superseded != nil && l.Superseded(source, at, page)
}

// settings returns the options as a string for the manifest, or "" if l is nil.
func (l *Links) settings() string {
	if l == nil {
		return ""
	}
	o := &l.Reading
	return fmt.Sprintf("predicate=%q format=%d take=%q bare=%t normalize=%t frames=%t schemes=%t superseded=%t", l.predicate(),
		o.Format, o.Predicate, o.BareHosts, o.Normalize, o.Frames, o.AllSchemes, l.Superseded != nil)
}

// LinkReader reads a link file. Only one goroutine may use it, but BytesIn may be called by any.
type LinkReader struct {
	*linkfile.Reader
	counts byteCounter
	total  func() int64 // bytes of text read so far, including the skipped ones
	close  []func() error
}

// OpenLinks opens a link file at a position; the zero position is its beginning. opts must hold all
// options except the source and the position. Reading ends when ctx is done. The caller must close
// the reader.
func OpenLinks(ctx context.Context, s input.Source, from linkfile.Position, opts linkfile.Options) (_ *LinkReader, err error) {
	l := &LinkReader{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	// 1. Without a position the reader starts at once, and finds the format itself.
	opts.Source = s.Name
	in, err := l.open(s)
	if err != nil {
		return nil, err
	}
	if from == (linkfile.Position{}) {
		l.Reader, err = linkfile.NewReader(&contextReader{ctx, in}, opts)
		return l, err
	}
	if opts.Format == 0 { // the bytes before the position determine it
		// 2. Find the format at the beginning of the file, then open the file again.
		probe, err := linkfile.NewReader(in, opts)
		if err != nil {
			return nil, err
		}
		opts.Format = probe.Format()
		if err := l.Close(); err != nil {
			return nil, err
		}
		if in, err = l.open(s); err != nil {
			return nil, err
		}
	}
	// 3. Skip to the position, and continue there.
	rest, err := l.restAfter(ctx, s, in, from.Offset)
	if err != nil {
		return nil, err
	}
	opts.From = from
	l.Reader, err = linkfile.NewReader(&contextReader{ctx, rest}, opts)
	return l, err
}

func (l *LinkReader) open(s input.Source) (*input.Reader, error) {
	in, err := s.Open()
	if err != nil {
		return nil, err
	}
	l.counts, l.total, l.close = in, in.BytesOut, append(l.close, in.Close)
	return in, nil
}

// restAfter returns the rest of a source after offset bytes. The source must be open, and nothing may
// have been read from it. A plain file is opened again, because it can seek.
func (l *LinkReader) restAfter(ctx context.Context, s input.Source, in *input.Reader, offset int64) (io.Reader, error) {
	if offset > 0 && in.Compression() == input.Plain && s.Path != "" {
		t, err := openTail(s.Path, offset)
		if err != nil {
			return nil, err
		}
		l.counts, l.total, l.close = t, t.BytesIn, append(l.close, t.file.Close)
		return t, nil
	}
	return in, discard(ctx, in, s.Name, offset)
}

// discard reads and drops the first bytes of an input. The error wraps ErrChanged if the input is
// shorter.
func discard(ctx context.Context, r io.Reader, name string, bytes int64) error {
	n, err := io.CopyN(io.Discard, &contextReader{ctx, r}, bytes)
	if err == io.EOF {
		return fmt.Errorf("%w: %s ends after %d bytes", ErrChanged, name, n)
	}
	return err
}

// BytesIn returns the number of stored (perhaps compressed) bytes that have been read.
func (l *LinkReader) BytesIn() int64 { return l.counts.BytesIn() }

// BytesOut returns the number of bytes of text, decompressed, that have been read, with those before its start.
func (l *LinkReader) BytesOut() int64 { return l.total() }

// Close closes the source; it may be called again.
func (l *LinkReader) Close() error {
	var errs []error
	for _, c := range l.close {
		errs = append(errs, c())
	}
	l.close = nil
	return errors.Join(errs...)
}

// linkUnit holds the links of a unit.
type linkUnit struct {
	text []byte // IRIs, one after the other
	// sizes holds, for each page or part of one: the length of its IRI, the number of its links,
	// and the lengths of their IRIs.
	sizes []uint32
	links int
}

// linkWeight is the size of a link in a unit besides its IRI. It is counted because a run must grow
// by unitGrowth at most for each byte of a unit.
const linkWeight = 8

func (u *unit) addLinks(p *linkfile.Page) {
	l := u.links
	l.text = append(l.text, p.Source...)
	l.sizes = append(l.sizes, uint32(len(p.Source)), uint32(len(p.Links)))
	for i := range p.Links {
		l.text = append(l.text, p.Links[i].Target...)
		l.sizes = append(l.sizes, uint32(len(p.Links[i].Target)))
		if p.Links[i].Weight != nil || p.Links[i].Text != nil {
			u.labelled++
		}
	}
	l.links += len(p.Links)
}

// size returns the approximate size of a unit in bytes.
func (u *unit) size() int {
	n := len(u.links.text) + linkWeight*u.links.links
	for i := range u.rejects {
		n += len(u.rejects[i].Text)
	}
	return n
}

// feedLinks sends the units of a link file that no earlier session has read.
func (f *feeder) feedLinks(ctx context.Context, watch func(byteCounter), send func(unit) error) (err error) {
	// 1. Open the file at the position of the last unit that is in a run.
	opts := f.options.Links.Reading
	opts.MaxLine = f.options.MaxLine
	from := linkfile.Position{}
	if f.from.Units > 0 {
		from = linkfile.Position{Offset: f.from.Offset, Line: f.from.Line, Skip: f.from.Skip}
	}
	rd, err := OpenLinks(ctx, f.input, from, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rd.Close()) }()
	watch(rd)
	u := unit{source: f.source, number: f.from.Units, links: &linkUnit{}}
	at, skipped := from.Offset, int64(0)
	// end sends the current unit and starts the next. The unit must carry the reader's position,
	// because a resumed load starts there.
	end := func(last bool) error {
		p := rd.Position()
		u.offset, u.line, u.skip, u.last = p.Offset, p.Line, p.Skip, last
		if last { // all of it, because the position may be inside an entry
			p.Offset = rd.total()
		}
		u.bytes, at = p.Offset-at, p.Offset
		u.skipped, skipped = rd.Counts().Skipped-skipped, rd.Counts().Skipped
		err := send(u)
		u = unit{source: f.source, number: u.number + 1, links: &linkUnit{}}
		return err
	}
	// 2. Collect pages into units. left is true while the current list is superseded.
	for left := false; ; {
		begin := rd.Position().Offset
		if rd.Scan() {
			p := rd.Page()
			if p.Replace {
				left = f.options.Links.superseded(f.source, begin, p.Source)
			}
			if !left {
				u.addLinks(p)
			}
			left = left && p.More // because the next page is another one
		} else {
			more, err := f.rejectLink(rd, &u, left)
			if err != nil {
				return err
			}
			if !more {
				return end(true)
			}
		}
		// 3. End the unit if it is full, but never in a list that is left out: a load that resumes
		// inside a list cannot know that it is left out.
		if !left && (u.size() >= f.block || u.links.links+len(u.rejects) >= f.options.limits.unitTriples) {
			if err := end(false); err != nil {
				return err
			}
		}
	}
}

// rejectLink adds the reader's malformed part to a unit, unless it is in a list that is left out.
// It then makes the reader continue. more is false at the end of the file.
func (f *feeder) rejectLink(rd *LinkReader, u *unit, left bool) (more bool, err error) {
	if err = rd.Err(); err == nil {
		return false, nil
	}
	var syntax *triple.SyntaxError
	if !errors.As(err, &syntax) || !left && !f.options.KeepGoing {
		return false, err
	}
	text, ok := rd.Recover()
	if !ok {
		return false, err
	}
	if !left {
		u.rejects = append(u.rejects, Reject{SyntaxError: syntax, Text: string(text)})
	}
	return true, nil
}

// tagIRI is the tag of IRIs in keys.
var tagIRI, _, _ = triple.RawTerm([]byte("<>"))

// links adds the links of a unit to the run. A page without links adds nothing.
func (w *worker) links(u *linkUnit) (n tally, err error) {
	w.begin()
	var q quad
	if q[triple.Predicate], err = w.term(triple.NewIRI(w.predicate)); err != nil {
		return n, err
	}
	if q, err = w.inGraph(q); err != nil {
		return n, err
	}
	// text and sizes are consumed together: cut must be called once for each size.
	text, sizes := u.text, u.sizes
	cut := func() (iri []byte) {
		iri, text = text[:sizes[0]], text[sizes[0]:]
		sizes = sizes[1:]
		return iri
	}
	// Look up the page once, then add one quad for each of its links.
	for len(sizes) > 0 {
		source := cut()
		links := sizes[0]
		if sizes = sizes[1:]; links == 0 {
			continue
		}
		if q[triple.Subject], err = w.iri(source); err != nil {
			return n, err
		}
		for range links {
			if q[triple.Object], err = w.iri(cut()); err != nil {
				return n, err
			}
			if err := w.quads.add(q); err != nil {
				return n, err
			}
			n.read++
		}
	}
	return n, nil
}

// iri returns the id of an IRI. The IRI must be well-formed.
func (w *worker) iri(text []byte) (uint32, error) {
	if id, ok := w.dictionary.find(w.dictionary.hash(tagIRI, text), tagIRI, text); ok {
		return id, nil
	}
	return w.term(triple.NewIRI(string(text)))
}
