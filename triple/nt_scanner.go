// The scanner of N-Triples and N-Quads, and tokens of triple terms.

package triple

import (
	"bytes"
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

// isTripleToken reports whether a token begins like a triple term or like the quoted triple of an
// old draft.
func isTripleToken(token []byte) bool {
	return len(token) > 1 && token[0] == '<' && token[1] == '<'
}

// quotedTriple is the message for the syntax of drafts of RDF-star.
const quotedTriple = "<< without ( is a quoted triple of the old RDF-star drafts: RDF 1.2 writes <<( s p o )>>; --rdf-star reads it"

// scanTripleToken returns the index after the triple term at b[i] (RDF 1.2 N-Triples, tripleTerm).
// It does not recurse, because the limit of their depth can be raised.
func scanTripleToken(b []byte, i int) (end int, err *tokenError) {
	_, end, err = eachTripleToken(b, i, func(int, []byte, int) *tokenError { return nil })
	return end, err
}

// eachTripleToken calls do for each token in the triple term at b[i], from the outside in, with the
// position of the token and its index in b. An object is passed only if it is no triple term. It
// returns the depth of nesting, from 1.
func eachTripleToken(b []byte, i int, do func(position int, token []byte, at int) *tokenError) (depth, end int, err *tokenError) {
	start := i
	// 1. Down to the innermost triple term.
	for position := Subject; position <= Object; {
		if position == Subject {
			if !bytes.HasPrefix(b[i:], []byte("<<(")) {
				return depth, i, tokenErrorf(i, quotedTriple)
			}
			if depth++; depth > MaxNesting() {
				return depth, i, tokenErrorf(i, "%s", tooDeep())
			}
			i += len("<<(")
		}
		i = skipSpace(b, i)
		if position == Object && isTripleToken(b[i:]) {
			position = Subject
			continue
		}
		if i < len(b) {
			if what := misplaced(b[i:], position); what != "" {
				return depth, i, tokenErrorf(i, "%s", what)
			}
		}
		if end, err = scanToken(b, i); err != nil {
			return depth, i, err
		}
		if err = do(position, b[i:end:end], i); err != nil {
			return depth, i, err
		}
		i = end
		position++
	}
	// 2. The ends of all of them.
	for range depth {
		i = skipSpace(b, i)
		if !bytes.HasPrefix(b[i:], []byte(")>>")) {
			return depth, i, tokenErrorf(i, "expected )>> at the end of the triple term that begins %d bytes before%s", i-start, found(b, i))
		}
		i += len(")>>")
	}
	return depth, i, nil
}

// decodeTripleToken decodes a token of scanTripleToken.
func decodeTripleToken(token, scratch []byte, stored bool) (Term, []byte, *tokenError) {
	var b TripleTermBuilder
	var terms [3]Term
	start := len(scratch) // before it are other terms of the statement
	_, _, err := eachTripleToken(token, 0, func(position int, inner []byte, at int) *tokenError {
		// The builder copies the terms, so the next level may use the same scratch.
		if position == Subject {
			scratch = scratch[:start]
		}
		var err *tokenError
		if terms[position], scratch, err = decodeToken(inner, scratch, stored); err != nil {
			err.at += at
			return err
		}
		if position == Predicate {
			b.Add(terms[Subject], terms[Predicate])
		}
		return nil
	})
	if err != nil {
		return Term{}, scratch, err
	}
	return b.Term(terms[Object]), scratch, nil
}

// RawTerm returns the bytes of a token's term in a key, the tag and the body, without a check of
// the token. ok is false if the token does not contain them unchanged: blank nodes, triple terms,
// and literals with escapes, language tag or datatype. A loader looks up the bytes among its terms. If a token
// is malformed, it is never found there; if it is new, it must go through [Block.Decode].
func RawTerm(token []byte) (tag byte, body []byte, ok bool) {
	switch last := len(token) - 1; {
	case isTripleToken(token):
		return 0, nil, false
	case token[0] == '<':
		return tagIRI, token[1:last], true
	case token[0] == '"' && token[last] == '"':
		body = token[1:last]
		if bytes.IndexByte(body, '\\') < 0 && bytes.IndexByte(body, 0) < 0 {
			return tagString, body, true
		}
	}
	return 0, nil, false
}

// RawBlank returns the label of a blank node's token; ok is false for other tokens.
func RawBlank(token []byte) (label []byte, ok bool) {
	if token[0] == '_' {
		return token[2:], true
	}
	return nil, false
}

// BlankTag is the tag of blank nodes in keys.
const BlankTag byte = tagBlank
