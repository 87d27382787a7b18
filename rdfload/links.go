package rdfload

// This file reads link files: each link becomes a triple.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// Links says that the sources of a load are link files, and how they are read
// (package linkfile). Each link is the triple of its page, the predicate and its
// target; what else is known of it, as a weight, is not loaded. All links of all
// files are added: a page's whole list replaces none, but see Superseded.
type Links struct {
	// Predicate is that of the triples: an IRI; "": linkfile.DefaultPredicate.
	Predicate string
	// Reading says how files are read. Its Source, From and, where it is 0,
	// MaxLine are the load's.
	Reading linkfile.Options
	// Superseded, if not nil, is asked for each whole list whether it is left out,
	// because another one of the page replaces it; what is malformed in it is then
	// left out without a word. The list is that of a page in a source, by its
	// number, and begins where a reader stands at: at grows from list to list. It
	// is called by several goroutines, does not keep page, and answers alike
	// whenever it is asked.
	Superseded func(source int, at int64, page []byte) bool
}

// Validate returns what is wrong with the options.
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

// settings returns the options as the manifest keeps them.
func (l *Links) settings() string {
	if l == nil {
		return ""
	}
	o := &l.Reading
	return fmt.Sprintf("predicate=%q format=%d take=%q bare=%t normalize=%t frames=%t schemes=%t superseded=%t", l.predicate(),
		o.Format, o.Predicate, o.BareHosts, o.Normalize, o.Frames, o.AllSchemes, l.Superseded != nil)
}

// LinkReader reads a link file. It is used by one goroutine, but for BytesIn.
type LinkReader struct {
	*linkfile.Reader
	counts byteCounter
	total  func() int64 // bytes of text that are read, or were before
	close  []func() error
}

// OpenLinks opens a link file from a position in it on; the zero position is its
// beginning. opts say all but the source and the position. Reading ends with ctx.
// The caller closes the reader.
func OpenLinks(ctx context.Context, s Source, from linkfile.Position, opts linkfile.Options) (_ *LinkReader, err error) {
	l := &LinkReader{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	opts.Source = s.Name
	in, err := l.open(s)
	if err != nil {
		return nil, err
	}
	if from == (linkfile.Position{}) {
		l.Reader, err = linkfile.NewReader(&contextReader{ctx, in}, opts)
		return l, err
	}
	if opts.Format == 0 { // what is before the position tells it
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
	rest, err := l.behind(ctx, s, in, from.Offset)
	if err != nil {
		return nil, err
	}
	opts.From = from
	l.Reader, err = linkfile.NewReader(&contextReader{ctx, rest}, opts)
	return l, err
}

func (l *LinkReader) open(s Source) (*input.Reader, error) {
	in, err := s.Open()
	if err != nil {
		return nil, err
	}
	l.counts, l.total, l.close = in, in.BytesOut, append(l.close, in.Close)
	return in, nil
}

// behind returns what follows the first bytes of a source that is open and has not
// been read from.
func (l *LinkReader) behind(ctx context.Context, s Source, in *input.Reader, offset int64) (io.Reader, error) {
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

// discard reads over the first bytes of an input.
func discard(ctx context.Context, r io.Reader, name string, bytes int64) error {
	n, err := io.CopyN(io.Discard, &contextReader{ctx, r}, bytes)
	if err == io.EOF {
		return fmt.Errorf("%w: %s ends after %d bytes", ErrChanged, name, n)
	}
	return err
}

// BytesIn returns how many bytes of the source, as it is stored, have been read.
func (l *LinkReader) BytesIn() int64 { return l.counts.BytesIn() }

// Close closes the source.
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
	// sizes are, for each page or part of one, the length of its IRI, the number of
	// its links and the lengths of theirs.
	sizes []uint32
	links int
}

// linkWeight is what a link adds to the size of a unit beside its IRI, so that a
// run grows by unitGrowth for each byte of a unit at most.
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

// size returns about what a unit takes.
func (u *unit) size() int {
	n := len(u.links.text) + linkWeight*u.links.links
	for i := range u.rejects {
		n += len(u.rejects[i].Text)
	}
	return n
}

// feedLinks sends the units of a link file that are not read yet.
func (f *feeder) feedLinks(ctx context.Context, watch func(byteCounter), send func(unit) error) (err error) {
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
	end := func(last bool) error {
		p := rd.Position()
		u.offset, u.line, u.skip, u.last = p.Offset, p.Line, p.Skip, last
		if last { // all of what the position may be in the midst of
			p.Offset = rd.total()
		}
		u.bytes, at = p.Offset-at, p.Offset
		u.skipped, skipped = rd.Counts().Skipped-skipped, rd.Counts().Skipped
		err := send(u)
		u = unit{source: f.source, number: u.number + 1, links: &linkUnit{}}
		return err
	}
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
			left = left && p.More // what follows is of another page
		} else {
			more, err := f.rejectLink(rd, &u, left)
			if err != nil {
				return err
			}
			if !more {
				return end(true)
			}
		}
		// A list that is left out is passed over as a whole: who resumes in the
		// middle of a list need not know.
		if !left && (u.size() >= f.block || u.links.links+len(u.rejects) >= f.options.limits.unitTriples) {
			if err := end(false); err != nil {
				return err
			}
		}
	}
}

// rejectLink adds to a unit what the reader could not read, unless it is in a list
// that is left out, and makes the reader go on. more is false at the file's end.
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

// links adds the links of a unit.
func (w *worker) links(u *linkUnit) (n tally, err error) {
	w.begin()
	var q quad
	if q[triple.Predicate], err = w.term(triple.NewIRI(w.predicate)); err != nil {
		return n, err
	}
	if q, err = w.inGraph(q); err != nil {
		return n, err
	}
	text, sizes := u.text, u.sizes
	cut := func() (iri []byte) {
		iri, text = text[:sizes[0]], text[sizes[0]:]
		sizes = sizes[1:]
		return iri
	}
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

// iri returns the id of an IRI, which is well-formed.
func (w *worker) iri(text []byte) (uint32, error) {
	if id, ok := w.dictionary.find(w.dictionary.hash(tagIRI, text), tagIRI, text); ok {
		return id, nil
	}
	return w.term(triple.NewIRI(string(text)))
}
