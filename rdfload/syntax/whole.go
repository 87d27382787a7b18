// Documents that are rejected as a whole.

package syntax

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/trefoildb/trefoil/triple"
)

// heldBytes is the size up to which a document's triples are held in memory. If there are more,
// they go to a temporary file.
const heldBytes = 16 << 20

// wholeOrReject yields the triples of seq after it has ended without an error. If it ends with a
// syntax error, wholeOrReject yields only one *Reject for the document.
func wholeOrReject(seq iter.Seq2[triple.Triple, error], tempDir string) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		// 1. Hold all triples back: nothing may be yielded if the document is rejected later.
		held := &spool{dir: tempDir}
		defer held.close()
		for t, err := range seq {
			if err == nil {
				err = held.add(t)
			}
			if err != nil {
				var syntax *triple.SyntaxError
				if errors.As(err, &syntax) {
					err = &Reject{SyntaxError: syntax}
				}
				yield(triple.Triple{}, err)
				return
			}
		}
		// 2. The document is good: yield its triples.
		r, err := held.reader()
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		sc := triple.NewScanner(r, triple.ScanOptions{Source: "temporary file", Quads: true, MaxLine: 1 << 30})
		for sc.Scan() {
			if !yield(sc.Triple().Clone(), nil) {
				return
			}
		}
		if err := sc.Err(); err != nil {
			yield(triple.Triple{}, err)
		}
	}
}

// spool holds triples as N-Quads, in memory and then in a file.
type spool struct {
	dir  string
	buf  []byte
	file *os.File
	w    *bufio.Writer
}

func (s *spool) add(t triple.Triple) error {
	s.buf = triple.AppendNQuad(s.buf, t)
	if len(s.buf) < heldBytes && s.file == nil {
		return nil
	}
	if s.file == nil {
		file, err := os.CreateTemp(s.dir, "trefoil-*.nq")
		if err != nil {
			return fmt.Errorf("hold a document back: %w", err)
		}
		s.file, s.w = file, bufio.NewWriterSize(file, 256<<10)
	}
	if _, err := s.w.Write(s.buf); err != nil {
		return fmt.Errorf("hold a document back: %w", err)
	}
	s.buf = s.buf[:0]
	return nil
}

// reader returns a reader of all added triples. Nothing may be added afterwards.
func (s *spool) reader() (io.Reader, error) {
	if s.file == nil {
		return bytes.NewReader(s.buf), nil
	}
	err := s.w.Flush()
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("hold a document back: %w", err)
	}
	return s.file, nil
}

// close closes and removes the file. Its errors are ignored because the file is temporary.
func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
