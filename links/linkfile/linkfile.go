// This file holds the reader's API: options, pages, positions and counts.

package linkfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/trefoildb/trefoil/triple"
)

// DefaultPredicate is the predicate of links.
const DefaultPredicate = "urn:trefoil:linksTo"

// AnyPredicate, as Options.Predicate, makes links of all statements.
const AnyPredicate = "*"

// Errors of readers; test with [errors.Is].
var (
	// ErrFormat: the format of a file is not told and not safe to guess.
	ErrFormat = errors.New("the format of this link file is not known")
	// ErrPosition: Options.From is no place of this file; it may have changed.
	ErrPosition = errors.New("this file has no such position")
)

// Limits of one part of a page: a part ends with the link that reaches one.
const (
	partLinks = 1024
	partBytes = 1 << 20
)

// keptOfReject is how much is kept of a rejected text, in bytes.
const keptOfReject = 64 << 10

// keptOf returns how much is kept of a text that is over a limit.
func keptOf(limit int) int { return min(keptOfReject, limit) }

// Options are the options of [NewReader]. The zero value is usable.
type Options struct {
	Source string // the file's name for messages, and to tell the format
	Format Format // 0: told by the file, see the package comment
	// MaxLine is the greatest length in bytes of a line of edges, a field of lists
	// and pages, a statement, and a WARC record; 0: triple.DefaultMaxLine.
	MaxLine int
	// From is where the reader begins in its file, of a known format: where
	// [Reader.Position] once was. The file's reader stands at From.Offset.
	From Position

	Predicate  string // of links in N-Triples; "": DefaultPredicate; AnyPredicate: all
	BareHosts  bool   // fields without a scheme are host names
	Normalize  bool   // make IRIs of http and https what a browser asks for
	Frames     bool   // WAT: frames are links too
	AllSchemes bool   // WAT: links of all schemes but javascript

	// blockBytes is the size of blocks of N-Triples; only tests change it.
	blockBytes int
}

// Validate returns what is wrong with the options.
func (o *Options) Validate() error {
	switch {
	case o.Format > lastFormat:
		return fmt.Errorf("%w: format %d", ErrFormat, o.Format)
	case o.MaxLine < 0 || o.MaxLine > math.MaxInt32:
		return fmt.Errorf("max line of %d bytes: it is 1 to %d, or 0 for %d", o.MaxLine, math.MaxInt32, triple.DefaultMaxLine)
	case o.From.Offset < 0 || o.From.Line < 0 || o.From.Skip < 0:
		return fmt.Errorf("position %+v is negative", o.From)
	case o.From != Position{} && o.Format == 0:
		return fmt.Errorf("%w: a reader that begins in the middle of a file cannot tell", ErrFormat)
	case o.Predicate != "" && o.Predicate != AnyPredicate:
		if err := triple.CheckIRI(o.Predicate); err != nil {
			return fmt.Errorf("predicate: %w", err)
		}
	}
	return nil
}

// Link is a link of a page. The slices are the page's.
type Link struct {
	Target   []byte // an IRI as [triple.CheckIRI] takes it
	Weight   []byte // a number, as the file writes it; nil: none
	Text     []byte // the anchor text in UTF-8; nil: none
	NoFollow bool   // the page asks crawlers not to follow the link
}

// Page is a page with links, or a part of one. Links come in the file's order,
// duplicates and links to the page itself among them.
type Page struct {
	Source []byte // an IRI
	Links  []Link
	// Replace tells that here begins the whole list of the page's links, which takes
	// the place of an earlier one. It is set in the first part only.
	Replace bool
	// More tells that the list goes on in the next page that is read, which has the
	// same source and may be without links. It is never set where links are added
	// line by line.
	More bool
}

// Position is a place in a file, in bytes of what is decompressed.
type Position struct {
	Offset int64 // where a line, a WARC record or a block of statements begins
	Line   int   // the line there, from 1; 0 in the zero Position
	// Skip says how much of it is done: 0 is nothing; else it is the number of
	// statements, or 1 and the number of links, rejected ones among them.
	Skip int64
}

// Counts are what was read so far.
type Counts struct {
	Links    int64
	Skipped  int64 // statements, links and WAT records that are well-formed and no links
	Changed  int64 // IRIs in which characters were percent-encoded
	Rejected int64
}

// Reader reads the pages of a link file one by one:
//
//	for rd.Scan() {
//		use(rd.Page())
//	}
//	if err := rd.Err(); err != nil { ...
//
// Where it begins and ends pages depends on the file and the options only.
type Reader struct {
	parser parser
	format Format
	page   Page
	counts Counts
	err    error
}

// parser reads one format.
type parser interface {
	// next appends to page, which is empty. At the end it returns io.EOF. A
	// *triple.SyntaxError is of what it has skipped.
	next(page *Page) error
	// position returns where the next call begins.
	position() Position
	// rejected returns the text that the last error was of; it is valid until next.
	rejected() []byte
}

// NewReader returns a reader of the link file r. It reads the file's beginning
// where it has to tell the format.
func NewReader(r io.Reader, opts Options) (*Reader, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Format == 0 {
		head := make([]byte, sniffBytes)
		n, err := io.ReadFull(r, head)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		if opts.Format, err = Detect(opts.Source, head[:n], err != nil); err != nil {
			return nil, err
		}
		r = io.MultiReader(bytes.NewReader(head[:n]), r)
	}
	if opts.MaxLine == 0 {
		opts.MaxLine = triple.DefaultMaxLine
	}
	if opts.Predicate == "" {
		opts.Predicate = DefaultPredicate
	}
	rd := &Reader{format: opts.Format}
	switch opts.Format {
	case Edges, Hosts:
		rd.parser = newEdgeParser(r, opts, &rd.counts)
	case Lists, Pages:
		rd.parser = newListParser(r, opts, &rd.counts)
	case NTriples, NQuads:
		rd.parser = newTripleParser(r, opts, &rd.counts)
	default:
		rd.parser = newWATParser(r, opts, &rd.counts)
	}
	return rd, nil
}

// Format returns the file's format.
func (rd *Reader) Format() Format { return rd.format }

// Scan reads the next page, or the next part of one. It returns false at the end
// and at an error.
func (rd *Reader) Scan() bool {
	if rd.err != nil {
		return false
	}
	clear(rd.page.Links)
	rd.page = Page{Links: rd.page.Links[:0]}
	if rd.err = rd.parser.next(&rd.page); rd.err != nil {
		return false
	}
	rd.counts.Links += int64(len(rd.page.Links))
	return true
}

// Page returns what Scan read. It is valid, slices and all, until the next Scan.
func (rd *Reader) Page() *Page { return &rd.page }

// Err returns the error that ended Scan: a [*triple.SyntaxError], or the error of
// the file's reader; nil at the file's end.
func (rd *Reader) Err() error {
	if rd.err == io.EOF { // an error that wraps io.EOF is no end
		return nil
	}
	return rd.err
}

// Recover makes the reader go on after a reject and returns its text, the first
// 64 KiB of it, which is valid until the next Scan. It returns false where the
// error was not a [*triple.SyntaxError]: there is nothing to go on with.
func (rd *Reader) Recover() (rejected []byte, ok bool) {
	var syntax *triple.SyntaxError
	if !errors.As(rd.err, &syntax) {
		return nil, false
	}
	rd.err = nil
	rd.counts.Rejected++
	text := rd.parser.rejected()
	return text[:min(len(text), keptOfReject)], true
}

// Position returns where a reader would go on behind the page or the reject that
// was read last.
func (rd *Reader) Position() Position { return rd.parser.position() }

// Counts returns what was read so far, since this reader began.
func (rd *Reader) Counts() Counts { return rd.counts }

// Reject is what could not be read, as an error.
type Reject struct {
	*triple.SyntaxError
	Text string // the first 64 KiB
}

// Unwrap returns the syntax error.
func (r *Reject) Unwrap() error { return r.SyntaxError }

// All yields what is left of the file: pages, which are valid until the next one,
// and rejects, as a [*Reject] without a page. Any other error is the last.
func (rd *Reader) All() iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		for {
			for rd.Scan() {
				if !yield(&rd.page, nil) {
					return
				}
			}
			err := rd.Err()
			if err == nil {
				return
			}
			var syntax *triple.SyntaxError
			errors.As(err, &syntax)
			text, ok := rd.Recover()
			if ok {
				err = &Reject{SyntaxError: syntax, Text: string(text)}
			}
			if !yield(nil, err) || !ok {
				return
			}
		}
	}
}
