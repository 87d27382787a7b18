// The reader's API: options, pages, positions and counts.

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

// The errors of readers. Test with [errors.Is].
var (
	// ErrFormat is wrapped if the format of a file is not given and not safe to guess.
	ErrFormat = errors.New("the format of this link file is not known")
	// ErrPosition is wrapped if the file has no position Options.From. It may have changed.
	ErrPosition = errors.New("this file has no such position")
)

// Limits of one part of a page. A part ends when a link reaches one of them.
const (
	partLinks = 1024
	partBytes = 1 << 20
)

// keptOfReject is the number of bytes kept of a rejected text.
const keptOfReject = 64 << 10

// keptOf returns the number of bytes kept of a text over a limit.
func keptOf(limit int) int { return min(keptOfReject, limit) }

// Options are the options of [NewReader]. The zero value is usable.
type Options struct {
	Source string // the file's name, for messages and for [Detect]
	Format Format // 0: detected, see the package comment
	// MaxLine is the maximum length in bytes of a line of edges, a field of lists and pages, a
	// statement, and a WARC record. 0 means triple.DefaultMaxLine.
	MaxLine int
	// From is the start of reading: a result of [Reader.Position] for the same file. Format must
	// be set then. The caller must pass a reader positioned at From.Offset.
	From Position

	Predicate  string // of links in N-Triples; "": DefaultPredicate; AnyPredicate: all
	BareHosts  bool   // fields without a scheme are host names
	Normalize  bool   // normalize IRIs of http and https, see the package comment
	Frames     bool   // WAT: frames are links too
	AllSchemes bool   // WAT: links of all schemes but javascript

	// blockBytes is the size of blocks of N-Triples. Only tests change it.
	blockBytes int
}

// Validate returns an error if an option is wrong.
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

// Link is a link of a page. Its slices belong to the page.
type Link struct {
	Target   []byte // an IRI, valid for [triple.CheckIRI]
	Weight   []byte // a number, as the file writes it; nil: none
	Text     []byte // the anchor text in UTF-8; nil: none
	NoFollow bool   // the page asks crawlers not to follow the link
}

// Page is a page with links, or a part of one. Links come in the file's order, with duplicates
// and links to the page itself.
type Page struct {
	Source []byte // an IRI
	Links  []Link
	// Replace is true if the page's whole list begins here and replaces an earlier one. Only the
	// first part of a list may have it set.
	Replace bool
	// More is true if the list continues in the next page. The next page has the same source and
	// may have no links. More is never set if the format adds links line by line.
	More bool
}

// Position is a place in a file, in decompressed bytes.
type Position struct {
	Offset int64 // of a line, a WARC record or a block of statements
	Line   int   // the line there, from 1; 0 in the zero Position
	// Skip is how much of it is already read. 0 means nothing. Otherwise it is the number of
	// statements, or 1 plus the number of links. Rejected ones count.
	Skip int64
}

// Counts are the totals read so far.
type Counts struct {
	Links    int64
	Skipped  int64 // well-formed statements, links and WAT records that are no links
	Changed  int64 // IRIs in which characters were percent-encoded
	Rejected int64
}

// Reader reads the pages of a link file one by one. It must be used by one goroutine at a time:
//
//	for rd.Scan() {
//		use(rd.Page())
//	}
//	if err := rd.Err(); err != nil { ...
//
// The borders of pages depend on the file and the options only.
type Reader struct {
	parser parser
	format Format
	page   Page
	counts Counts
	err    error
}

// parser reads one format.
type parser interface {
	// next appends to page, which must be empty. At the end it returns io.EOF. If it returns a
	// *triple.SyntaxError, it has skipped the rejected text.
	next(page *Page) error
	// position returns the start of the next call.
	position() Position
	// rejected returns the text of the last error. It is valid until next.
	rejected() []byte
}

// NewReader returns a reader of the link file r. If opts.Format is 0, it reads the beginning of
// the file to detect the format.
func NewReader(r io.Reader, opts Options) (*Reader, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	// 1. Detect the format. The parser must get the bytes read for it once more.
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
	// 2. Apply the defaults and choose the parser.
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

// Scan reads the next page, or the next part of one. It returns false at the end and when an
// error occurs.
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

// Page returns the page of the last Scan. Its slices are valid until the next Scan.
func (rd *Reader) Page() *Page { return &rd.page }

// Err returns the error that ended Scan: a [*triple.SyntaxError] or the error of the file's
// reader. At the file's end it returns nil.
func (rd *Reader) Err() error {
	if rd.err == io.EOF { // an error that wraps io.EOF is no end
		return nil
	}
	return rd.err
}

// Recover makes the reader continue after a reject. It returns the first 64 KiB of the rejected
// text, valid until the next Scan. It returns false if the error was not a [*triple.SyntaxError],
// because reading cannot continue then.
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

// Position returns the place behind the last page or reject. A new reader may start there.
func (rd *Reader) Position() Position { return rd.parser.position() }

// Counts returns the totals since this reader began.
func (rd *Reader) Counts() Counts { return rd.counts }

// Reject is an unreadable part of a file, as an error.
type Reject struct {
	*triple.SyntaxError
	Text string // the first 64 KiB
}

// Unwrap returns the syntax error.
func (r *Reject) Unwrap() error { return r.SyntaxError }

// All yields the rest of the file. A page is valid until the next one. A reject comes as a
// [*Reject] without a page. Any other error is the last element.
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
