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
// It checks everything that the grammars demand (RDF 1.1 N-Triples and N-Quads).
type Scanner struct {
	blocks  *BlockReader
	block   *Block
	st      RawStatement
	scratch []byte
	triple  Triple
	err     error
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
		if s.block != nil {
			ok, err := s.block.Next(&s.st)
			if err == nil && ok {
				err = s.decode()
			}
			if err != nil {
				s.err = err
				return false
			}
			if ok {
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

func (s *Scanner) decode() (err *SyntaxError) {
	s.scratch = s.scratch[:0]
	s.triple = Triple{}
	for position, token := range s.st.Tokens {
		if token == nil {
			continue
		}
		if *s.triple.term(position), s.scratch, err = s.block.Decode(&s.st, position, s.scratch); err != nil {
			return err
		}
	}
	return nil
}

// Triple returns the triple that Scan read. Its strings are valid until the next
// Scan; Clone it to keep it.
func (s *Scanner) Triple() Triple { return s.triple }

// Err returns the error that ended Scan: a [*SyntaxError], or the error of the
// document's reader; nil at the document's end.
func (s *Scanner) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// Recover makes the scanner go on after a rejected statement and returns its
// text, which is valid until the next Scan. It returns false where the error
// was not a [*SyntaxError]: there is nothing to go on with.
func (s *Scanner) Recover() (rejected []byte, ok bool) {
	var syntax *SyntaxError
	if !errors.As(s.err, &syntax) {
		return nil, false
	}
	s.err = nil
	return s.block.Rejected(), true
}
