// The scanner of N-Triples and N-Quads.

package triple

import (
	"errors"
	"io"
)

// Scanner reads the triples of an N-Triples or N-Quads document one by one:
//
//	sc := triple.NewScanner(r, triple.ScanOptions{Source: "links.nt"})
//	for sc.Scan() {
//		use(sc.Triple())
//	}
//	if err := sc.Err(); err != nil { ...
//
// It checks all rules of the grammars (RDF 1.1 N-Triples and N-Quads). Only one goroutine may use
// it.
type Scanner struct {
	blocks  *BlockReader
	block   *Block
	st      RawStatement
	scratch []byte
	triple  Triple
	err     error

	annotations []ApplicationData // of triple
}

// NewScanner returns a scanner of the document r.
func NewScanner(r io.Reader, opts ScanOptions) *Scanner {
	return &Scanner{blocks: NewBlockReader(r, opts)}
}

// Scan reads the next triple. It returns false at the end and at an error.
func (s *Scanner) Scan() bool {
	if s.err != nil {
		return false
	}
	for {
		// The next block is read only when the current one has no more statements.
		if s.block != nil {
			var more bool
			var err *SyntaxError
			more, s.scratch, err = s.block.nextTriple(&s.st, &s.triple, &s.annotations, s.scratch[:0])
			if err != nil {
				s.err = err
				return false
			}
			if more {
				return true
			}
		}
		block, err := s.blocks.Next()
		if err != nil {
			s.err = err
			return false
		}
		s.block = block
	}
}

// Triple returns the triple of the last Scan. Its strings are valid until the next Scan; they must
// be cloned to be kept.
func (s *Scanner) Triple() Triple { return s.triple }

// Annotations returns the annotations on the triple's line, if the document begins with
// [AnnotationsHeader]. The caller owns them.
func (s *Scanner) Annotations() []ApplicationData { return s.annotations }

// Err returns the error that ended Scan: a [*SyntaxError], or the error of the document's reader.
// It returns nil at the document's end.
func (s *Scanner) Err() error {
	if s.err == io.EOF { // only io.EOF itself is the end, not an error that wraps it
		return nil
	}
	return s.err
}

// Recover makes the scanner continue after a rejected statement. It returns the statement's text,
// valid until the next Scan. It returns false if the error is not a [*SyntaxError], because the
// scanner cannot continue then.
func (s *Scanner) Recover() (rejected []byte, ok bool) {
	var syntax *SyntaxError
	if !errors.As(s.err, &syntax) {
		return nil, false
	}
	s.err = nil
	return s.block.Rejected(), true
}
