// The writer of results, whichever the format.

package results

import (
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/triple"
)

// encoder appends the parts of a document to a buffer.
type encoder interface {
	head(dst []byte, vars []string) []byte
	// row appends a solution; first is true if it is the first one.
	row(dst []byte, row []triple.Term, first bool) []byte
	tail(dst []byte) []byte
}

// flushBytes is how much a Writer buffers.
const flushBytes = 32 << 10

// ErrRowLength: the number of terms in a row is not the number of variables.
var ErrRowLength = errors.New("a row of another length than the header")

// Writer writes the solutions of a SELECT. It belongs to one goroutine.
//
//	w := results.NewWriter(out, results.JSON, []string{"s", "p"})
//	for each solution {
//		if err := w.Write(row); err != nil { ...
//	}
//	err := w.Close()
type Writer struct {
	out     io.Writer
	encoder encoder
	columns int
	rows    int64
	buf     []byte
	err     error // of out; later writes do nothing
	closed  bool
}

// NewWriter returns a writer to out of solutions of the variables with these
// names (without "?"). Nothing is written before the first Write, Flush or Close. If the
// format is unknown, each of them returns an error.
func NewWriter(out io.Writer, format Format, vars []string) *Writer {
	var e encoder
	switch format {
	case XML:
		e = &xmlEncoder{}
	case CSV:
		e = &csvEncoder{}
	case TSV:
		e = &tsvEncoder{}
	case Table:
		e = &tableEncoder{}
	case JSON:
		e = &jsonEncoder{}
	default:
		return &Writer{err: errUnknown(format)}
	}
	return newWriter(out, e, vars)
}

func newWriter(out io.Writer, e encoder, vars []string) *Writer {
	return &Writer{out: out, encoder: e, columns: len(vars), buf: e.head(nil, vars)}
}

// Reuse makes the writer use the memory of a buffer, which grows several times otherwise. The buffer of
// the closed writer is that of Buffer.
func (w *Writer) Reuse(buffer []byte) { w.buf = append(buffer[:0], w.buf...) }

// Buffer returns the buffer of a closed writer for the next one. It is nil if a large row made it large.
func (w *Writer) Buffer() []byte {
	if cap(w.buf) > 4*flushBytes {
		return nil
	}
	return w.buf[:0]
}

// Write writes a solution: a term for each variable, zero if it is unbound. It keeps neither
// the row nor the memory of its strings.
func (w *Writer) Write(row []triple.Term) error {
	if w.err != nil {
		return w.err
	}
	if len(row) != w.columns {
		return fmt.Errorf("%w: %d terms for %d variables", ErrRowLength, len(row), w.columns)
	}
	w.buf = w.encoder.row(w.buf, row, w.rows == 0)
	w.rows++
	if len(w.buf) >= flushBytes {
		return w.Flush()
	}
	return nil
}

// Rows returns how many solutions were written.
func (w *Writer) Rows() int64 { return w.rows }

// Flush writes the buffered bytes to the writer below. A table keeps its first rows until it
// has measured them.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	_, w.err = w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return w.err
}

// Close ends the document and flushes it; it does not close the writer below. Close must be
// called, because a document is cut short without it. Its reader detects the cut if the format
// is JSON or XML.
func (w *Writer) Close() error {
	if !w.closed && w.err == nil {
		w.closed = true
		w.buf = w.encoder.tail(w.buf)
	}
	return w.Flush()
}

// WriteBoolean writes the result of an ASK, a whole document.
func WriteBoolean(out io.Writer, format Format, value bool) error {
	var err error
	switch format {
	case JSON:
		_, err = fmt.Fprintf(out, "{\"head\":{},\"boolean\":%t}\n", value)
	case XML:
		_, err = fmt.Fprintf(out, "%s  <head/>\n  <boolean>%t</boolean>\n</sparql>\n", xmlStart, value)
	case CSV:
		_, err = fmt.Fprintf(out, "%t\r\n", value)
	case TSV, Table:
		_, err = fmt.Fprintf(out, "%t\n", value)
	default:
		err = errUnknown(format)
	}
	return err
}

// errUnknown returns the error for a Format that is none of the constants.
func errUnknown(f Format) error { return fmt.Errorf("unknown %s of results", f) }
