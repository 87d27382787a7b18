// Tokens of triple terms in N-Triples.

package triple

import "bytes"

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
