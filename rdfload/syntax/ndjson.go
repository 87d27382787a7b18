// The parser of NDJSON: a triple with its annotations on each line.

package syntax

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
)

// jsonLines reads lines, and has the place of the current one.
type jsonLines struct {
	r      *bufio.Reader
	max    int
	source string

	line   []byte // without its end; if it is too long, its beginning
	number int    // from 1
	offset int64  // of the line
	next   int64  // offset of the next line
}

// read reads the next line. At the end of the document the error is io.EOF.
func (l *jsonLines) read() (tooLong bool, err error) {
	l.number, l.offset, l.line = l.number+1, l.next, l.line[:0]
	if cap(l.line) > keptLine {
		l.line = nil
	}
	for {
		part, err := l.r.ReadSlice('\n')
		l.next += int64(len(part))
		l.line = append(l.line, part[:min(len(part), max(l.max-len(l.line), 0))]...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && l.next > l.offset, err == nil:
			return l.next-l.offset > int64(l.max)+1, nil
		}
		return false, err
	}
}

// keptLine is the largest buffer that stays for the next line.
const keptLine = 1 << 20

// fail returns a syntax error at a byte of the line.
func (l *jsonLines) fail(at int, message string) *triple.SyntaxError {
	at = min(at, len(l.line))
	return &triple.SyntaxError{Source: l.source, Line: l.number, Column: 1 + utf8.RuneCount(l.line[:at]), Offset: l.offset + int64(at), Msg: message}
}

// parseNDJSON is Parse for NDJSON. Empty lines are skipped.
func parseNDJSON(r io.Reader, opts Options) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		if err := blank.CheckPrefix(opts.BlankPrefix); err != nil {
			yield(triple.Triple{}, err)
			return
		}
		lines := &jsonLines{r: bufio.NewReaderSize(r, 64<<10), max: opts.MaxLine, source: opts.Source}
		if lines.max == 0 {
			lines.max = triple.DefaultMaxLine
		}
		// A byte order mark must be skipped, because it is no JSON.
		if mark, _ := lines.r.Peek(3); string(mark) == "\xEF\xBB\xBF" {
			_, _ = lines.r.Discard(3) // they are in the buffer
			lines.next = 3
		}
		for {
			tooLong, err := lines.read()
			if err != nil {
				if err != io.EOF {
					yield(triple.Triple{}, fmt.Errorf("read %s: %w", opts.Source, err))
				}
				return
			}
			var failed *triple.SyntaxError
			var t triple.Triple
			var annotations []triple.ApplicationData
			switch {
			case tooLong:
				failed = lines.fail(0, fmt.Sprintf("a line of more than %d bytes", lines.max))
			case len(bytes.TrimSpace(lines.line)) == 0:
				continue
			default:
				t, annotations, err = triple.ParseAnnotatedJSON(lines.line)
				var place *triple.LineError
				if errors.As(err, &place) {
					failed = lines.fail(place.Offset, place.Error())
				} else if err := t.Object.CheckLanguage(); err != nil {
					failed = lines.fail(0, err.Error())
				}
			}
			// A bad line ends the triples, unless the caller keeps going.
			if failed != nil {
				if !opts.KeepGoing {
					yield(triple.Triple{}, failed)
					return
				}
				text := bytes.TrimRight(lines.line, "\r\n")
				if !yield(triple.Triple{}, &Reject{SyntaxError: failed, Text: string(text[:min(len(text), maxRejectText)])}) {
					return
				}
				continue
			}
			if opts.BlankPrefix != "" {
				if err := prefixBlanks(&t, opts.BlankPrefix); err != nil {
					yield(triple.Triple{}, err)
					return
				}
			}
			if len(annotations) > 0 && opts.Annotated != nil {
				opts.Annotated(annotations)
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}
