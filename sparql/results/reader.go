// The reader of results, whichever the format.

package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// Errors of readers; test with [errors.Is].
var (
	// ErrSyntax: a document does not conform to its format.
	ErrSyntax = errors.New("malformed results")
	// ErrLimit: a document beyond the limits of a reader.
	ErrLimit = errors.New("results beyond the reader's limits")
)

// Limits of readers. A term has at most [triple.MaxTermBytes].
const (
	maxVars     = 10000
	maxNesting  = 64       // of skipped JSON and XML
	maxRowBytes = 64 << 20 // of a line of CSV or TSV, and of rows before the head
)

// Reader reads the result of a SELECT solution by solution, or the result of an ASK:
//
//	r, err := results.NewReader(in, results.JSON)
//	for r.Next() {
//		use(r.Vars(), r.Row())
//	}
//	if err := r.Err(); err != nil { ...
//
// It belongs to one goroutine.
type Reader struct {
	decoder  decoder
	head     header
	row      []triple.Term
	finished bool
	err      error
}

// header is the state of a decoder before the first solution.
type header struct {
	vars    []string
	columns map[string]int
	links   []string
	boolean *bool
}

// decoder reads one format.
type decoder interface {
	// begin reads up to the first solution.
	begin(h *header) error
	// next reads a solution into row, whose terms are zero; false at the end of the
	// document.
	next(h *header, row []triple.Term) (bool, error)
}

// NewReader reads the head of a document. A Table is not read.
func NewReader(in io.Reader, format Format) (*Reader, error) {
	r := &Reader{}
	buffered := bufio.NewReaderSize(in, 32<<10)
	switch format {
	case JSON:
		r.decoder = &jsonDecoder{lex: newJSONLexer(buffered)}
	case XML:
		r.decoder = newXMLDecoder(buffered)
	case CSV:
		r.decoder = &csvDecoder{in: buffered}
	case TSV:
		r.decoder = &tsvDecoder{in: buffered}
	default:
		return nil, fmt.Errorf("results in the format %s are not read", format)
	}
	r.head.columns = make(map[string]int)
	if err := r.decoder.begin(&r.head); err != nil {
		return nil, fmt.Errorf("reading %s results: %w", format, err)
	}
	r.row = make([]triple.Term, len(r.head.vars))
	return r, nil
}

// Vars returns the names of the variables, nil for an ASK. They are the reader's.
func (r *Reader) Vars() []string { return r.head.vars }

// Links returns the links of the head, IRIs as they were written.
func (r *Reader) Links() []string { return r.head.links }

// Boolean returns the result of an ASK; ok is false for a SELECT.
func (r *Reader) Boolean() (value, ok bool) {
	if r.head.boolean == nil {
		return false, false
	}
	return *r.head.boolean, true
}

// Next reads the next solution. It returns false at the end and at an error.
func (r *Reader) Next() bool {
	if r.finished || r.head.boolean != nil {
		return false
	}
	clear(r.row)
	ok, err := r.decoder.next(&r.head, r.row)
	if err != nil || !ok {
		r.err, r.finished = err, true
		return false
	}
	return true
}

// Row returns the solution of the last Next: a term for each variable, zero if unbound. The
// slice is valid until the next Next; the terms stay.
func (r *Reader) Row() []triple.Term { return r.row }

// Err returns the error if one ended Next: it wraps [ErrSyntax] or [ErrLimit], or is one of the
// document's reader. It is nil at the document's end.
func (r *Reader) Err() error { return r.err }

// addVar adds a variable.
func (h *header) addVar(name string) error {
	if len(h.vars) == maxVars {
		return fmt.Errorf("%w: more than %d variables", ErrLimit, maxVars)
	}
	if _, ok := h.columns[name]; ok || name == "" {
		return syntaxf("variable %q is empty, or there twice", name)
	}
	h.columns[name] = len(h.vars)
	h.vars = append(h.vars, name)
	return nil
}

// bind puts a term into the column of its variable.
func (h *header) bind(row []triple.Term, name string, t triple.Term) error {
	i, ok := h.columns[name]
	switch {
	case !ok:
		return syntaxf("a binding of %q, which is no variable of the head", name)
	case !row[i].IsZero():
		return syntaxf("two bindings of %q", name)
	}
	row[i] = t
	return nil
}

func syntaxf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrSyntax}, args...)...)
}

// unexpectedEnd makes the end of the document an error.
func unexpectedEnd(err error) error {
	if err == io.EOF {
		return syntaxf("the document ends too early: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// checked returns t if it is a term.
func checked(t triple.Term) (triple.Term, error) {
	if err := t.Check(); err != nil {
		return triple.Term{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return t, nil
}

// blank returns the blank node of a label. The label need not be valid in N-Triples.
func blank(label string) triple.Term {
	t := triple.NewBlank(label)
	if t.Check() != nil || strings.HasPrefix(label, "xx") {
		return triple.NewBlank(fmt.Sprintf("xx%x", label)) // no two labels become one
	}
	return t
}

// isEnd reports whether err means the document's end.
func isEnd(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
