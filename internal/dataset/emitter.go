// The writer under all generators: lines are appended to a buffer and written in blocks.

package dataset

import (
	"context"
	"io"
	"strconv"
)

const (
	flushBytes = 64 << 10
	xsd        = "http://www.w3.org/2001/XMLSchema#"
	rdfType    = " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
	rdfsLabel  = " <http://www.w3.org/2000/01/rdf-schema#label> "
)

// emitter collects lines: it keeps the next left lines, and drops all others. Subjects, predicates and objects must be in N-Triples syntax; predicates must have a
// space on either side.
//
// Invariant: buf[:line] are whole lines to be written; buf[line:] is the current line.
type emitter struct {
	ctx     context.Context
	w       io.Writer
	buf     []byte
	line    int
	left    int64
	kept    int64 // lines in buf
	written Counts
	err     error
}

func newEmitter(ctx context.Context, w io.Writer, count int64) *emitter {
	return &emitter{ctx: ctx, w: w, buf: make([]byte, 0, flushBytes+16<<10), left: count}
}

// done reports whether further lines would be dropped.
func (e *emitter) done() bool { return e.left <= 0 }

// endLine ends the current line; its newline must be in buf.
func (e *emitter) endLine() {
	if e.left <= 0 {
		e.buf = e.buf[:e.line]
		return
	}
	e.left--
	e.kept++
	e.line = len(e.buf)
	if e.line >= flushBytes {
		e.flush()
	}
}

// flush writes the whole lines in buf. If an error occurs, the emitter drops all further lines.
func (e *emitter) flush() {
	if e.err == nil {
		e.err = e.ctx.Err()
	}
	if e.err == nil && e.line > 0 {
		var n int
		n, e.err = e.w.Write(e.buf[:e.line])
		e.written.Bytes += int64(n)
		if e.err == nil {
			e.written.Statements += e.kept
		}
	}
	if e.err != nil {
		e.left = 0
	}
	e.buf = e.buf[:copy(e.buf, e.buf[e.line:])]
	e.line, e.kept = 0, 0
}

// open begins a line with a subject and a predicate. The caller must append the object to buf and
// call end.
func (e *emitter) open(s []byte, p string) {
	e.buf = append(e.buf, s...)
	e.buf = append(e.buf, p...)
}

// end ends a line after its object.
func (e *emitter) end() {
	e.buf = append(e.buf, " .\n"...)
	e.endLine()
}

// term writes a line; its object is a complete term.
func (e *emitter) term(s []byte, p, o string) {
	e.open(s, p)
	e.buf = append(e.buf, o...)
	e.end()
}

// ref is term for an object in bytes.
func (e *emitter) ref(s []byte, p string, o []byte) {
	e.open(s, p)
	e.buf = append(e.buf, o...)
	e.end()
}

// text writes a line; its object is a language string. text must be escaped already.
func (e *emitter) text(s []byte, p, text, tag string) {
	e.open(s, p)
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, text...)
	e.endText(tag)
}

// endText ends a line inside a language string.
func (e *emitter) endText(tag string) {
	e.buf = append(e.buf, `"@`...)
	e.buf = append(e.buf, tag...)
	e.end()
}

// number appends a decimal number to the current line.
func (e *emitter) number(n int) { e.buf = strconv.AppendInt(e.buf, int64(n), 10) }

func (e *emitter) integer(s []byte, p string, n int) {
	e.open(s, p)
	e.buf = appendInteger(e.buf, n)
	e.end()
}

// decimal writes a number of hundredths. It must not be negative.
func (e *emitter) decimal(s []byte, p string, hundredths int) {
	e.open(s, p)
	e.buf = append(e.buf, '"')
	e.number(hundredths / 100)
	e.buf = append(e.buf, '.')
	e.buf = appendTwo(e.buf, hundredths%100)
	e.buf = append(e.buf, `"^^<`+xsd+`decimal>`...)
	e.end()
}

func (e *emitter) boolean(s []byte, p string, b bool) {
	e.term(s, p, booleanTerm(b))
}

func (e *emitter) date(s []byte, p string, year, month, day int) {
	e.open(s, p)
	e.buf = appendDate(e.buf, year, month, day)
	e.end()
}

func (e *emitter) dateTime(s []byte, p string, year, month, day, second int) {
	e.open(s, p)
	e.buf = appendDateTime(e.buf, year, month, day, second)
	e.end()
}

func booleanTerm(b bool) string {
	if b {
		return `"true"^^<` + xsd + `boolean>`
	}
	return `"false"^^<` + xsd + `boolean>`
}

func appendInteger(dst []byte, n int) []byte {
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, `"^^<`+xsd+`integer>`...)
}

func appendTwo(dst []byte, n int) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

func appendDay(dst []byte, year, month, day int) []byte {
	dst = append(dst, '"')
	dst = appendTwo(dst, year/100)
	dst = appendTwo(dst, year%100)
	dst = append(dst, '-')
	dst = appendTwo(dst, month)
	dst = append(dst, '-')
	return appendTwo(dst, day)
}

func appendDate(dst []byte, year, month, day int) []byte {
	dst = appendDay(dst, year, month, day)
	return append(dst, `"^^<`+xsd+`date>`...)
}

// appendDateTime appends a moment in UTC; second counts from midnight.
func appendDateTime(dst []byte, year, month, day, second int) []byte {
	dst = appendDay(dst, year, month, day)
	dst = append(dst, 'T')
	dst = appendTwo(dst, second/3600)
	dst = append(dst, ':')
	dst = appendTwo(dst, second/60%60)
	dst = append(dst, ':')
	dst = appendTwo(dst, second%60)
	return append(dst, `Z"^^<`+xsd+`dateTime>`...)
}
