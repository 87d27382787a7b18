// The reader of a document: it decompresses, counts and limits.

package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// Errors of a [Reader]; test with [errors.Is].
var (
	ErrTruncated = errors.New("the compressed data ends too soon (a truncated file?)")
	ErrBomb      = errors.New("the compressed data is far larger than it looks (a decompression bomb?)")
	ErrSyntax    = errors.New("the syntax is not known")
)

// Limits bound the output of a [Reader]. The zero value has the defaults.
type Limits struct {
	// MaxRatio is the most output bytes for one compressed byte; 0 means 2000.
	MaxRatio int64
	// RatioFrom is the output in bytes from which MaxRatio is checked; 0 means 64 MiB.
	RatioFrom int64
	// MaxBytes is the most bytes of a document, decompressed; 0 means no limit.
	MaxBytes int64
}

const (
	defaultMaxRatio = 2000
	ratioFrom       = 64 << 20
)

// Reader reads a document decompressed. Only one goroutine may use it, but BytesIn and BytesOut may
// be called by any.
type Reader struct {
	name    string
	limits  Limits
	kind    Compression
	in      *countingReader
	plain   io.Reader     // the decompressor, or the input itself
	peeked  *bufio.Reader // over the counted document
	closers []func() error
	out     atomic.Int64
	err     error
}

// open opens a file. Close of the reader closes it.
func open(name, path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(file, name, Limits{})
	if err != nil {
		file.Close()
		return nil, err
	}
	r.closers = append(r.closers, file.Close)
	return r, nil
}

// NewReader returns a reader of the document in in, decompressed if necessary; name is for errors.
// It reads in's first bytes at once. The caller must close the reader, but Close does not close in.
func NewReader(in io.Reader, name string, limits Limits) (*Reader, error) {
	if limits.MaxRatio <= 0 {
		limits.MaxRatio = defaultMaxRatio
	}
	if limits.RatioFrom <= 0 {
		limits.RatioFrom = ratioFrom
	}
	r := &Reader{name: name, limits: limits, in: &countingReader{r: in}}
	buffered := bufio.NewReaderSize(r.in, 64<<10)
	head, err := buffered.Peek(magicBytes)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	r.kind = Detect(head)
	plain, closer, err := decompress(r.kind, buffered)
	if err != nil {
		return nil, r.explain(err)
	}
	r.plain = plain
	if closer != nil {
		r.closers = append(r.closers, closer)
	}
	r.peeked = bufio.NewReaderSize(readerFunc(r.readCounted), syntax.SniffBytes)
	return r, nil
}

// Compression returns the compression of the document.
func (r *Reader) Compression() Compression { return r.kind }

// BytesIn returns the number of stored (perhaps compressed) bytes that have been read.
func (r *Reader) BytesIn() int64 { return r.in.n.Load() }

// BytesOut returns the number of decompressed bytes that have been read.
func (r *Reader) BytesOut() int64 { return r.out.Load() }

// Read reads the document. Errors other than io.EOF have the document's name.
func (r *Reader) Read(p []byte) (int, error) { return r.peeked.Read(p) }

// Close releases the decompressor, and closes the file if the source opened it. Later reads fail.
func (r *Reader) Close() error {
	var errs []error
	for _, closer := range r.closers {
		errs = append(errs, closer())
	}
	r.closers = nil
	if r.err == nil {
		r.err = fmt.Errorf("read %s: %w", r.name, os.ErrClosed)
	}
	return errors.Join(errs...)
}

// Syntax returns the document's syntax: by the source's name if it has a known suffix, else by its
// first bytes (see [syntax.Sniff]). If neither determines it, the error wraps [ErrSyntax]. So it does
// if the suffix is one of RDF-star and rdfStar is not set. It must be called before the first Read.
func (r *Reader) Syntax(name string, rdfStar bool) (syntax.Syntax, error) {
	if s, ok := syntax.ByStarFile(name); ok {
		if !rdfStar {
			return 0, fmt.Errorf("%s: %w: the name is that of a document of the RDF-star drafts; --rdf-star reads its quoted triples, or name a syntax to read it as RDF 1.2", r.name, ErrSyntax)
		}
		return s, nil
	}
	if s, ok := syntax.ByFile(name); ok {
		return s, nil
	}
	head, err := r.peeked.Peek(syntax.SniffBytes)
	if err != nil && err != io.EOF {
		return 0, err
	}
	if s, ok := syntax.Sniff(head, err == io.EOF); ok {
		return s, nil
	}
	return 0, fmt.Errorf("%s: %w; name it: %s", r.name, ErrSyntax, syntax.Names())
}

// readCounted reads from the decompressor, within the limits. After an error it always returns that
// error.
func (r *Reader) readCounted(p []byte) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	defer func() {
		// A decompressor may panic, because its input comes from strangers.
		if what := recover(); what != nil {
			r.err = fmt.Errorf("read %s: the %v data is damaged: %v", r.name, r.kind, what)
			n, err = 0, r.err
		}
	}()
	n, err = r.plain.Read(p)
	out := r.out.Add(int64(n))
	switch {
	case r.limits.MaxBytes > 0 && out > r.limits.MaxBytes:
		n = max(n-int(out-r.limits.MaxBytes), 0)
		r.err = fmt.Errorf("read %s: the document is larger than %d bytes", r.name, r.limits.MaxBytes)
	case r.kind != Plain && out > r.limits.RatioFrom && out/r.limits.MaxRatio > r.BytesIn():
		r.err = fmt.Errorf("read %s: %w: %d bytes came out of %d", r.name, ErrBomb, out, r.BytesIn())
	case err != nil && err != io.EOF:
		r.err = r.explain(err)
	default:
		r.err = err // nil or io.EOF
	}
	return n, r.err
}

// explain returns err with the document's name, and as [ErrTruncated] if the data end too soon.
func (r *Reader) explain(err error) error {
	switch {
	case r.in.err != nil:
		return fmt.Errorf("read %s: %w", r.name, r.in.err)
	case r.kind != Plain && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
		return fmt.Errorf("read %s: %v: %w", r.name, r.kind, ErrTruncated)
	case r.kind != Plain:
		return fmt.Errorf("read %s: %v: %w", r.name, r.kind, err)
	}
	return fmt.Errorf("read %s: %w", r.name, err)
}

// countingReader counts the bytes that it reads. It keeps an error other than io.EOF, because not
// every decompressor returns it unchanged.
type countingReader struct {
	r   io.Reader
	n   atomic.Int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// readerFunc makes a function an io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
