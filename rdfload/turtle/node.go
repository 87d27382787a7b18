// Subjects, objects, collections and blank nodes in brackets.

package turtle

import (
	"bytes"

	"github.com/trefoildb/trefoil/triple"
)

var (
	termType  = triple.NewIRI(triple.RDFType)
	termFirst = triple.NewIRI(triple.RDFFirst)
	termRest  = triple.NewIRI(triple.RDFRest)
	termNil   = triple.NewIRI(triple.RDFNil)
)

const (
	expectSubject = "a subject (an IRI, a prefixed name, a blank node, a list or << triple >>)"
	expectVerb    = "a predicate (an IRI, a prefixed name or 'a')"
	expectObject  = "an object (an IRI, a prefixed name, a blank node, a list, a literal, <<( triple )>> or << triple >>)"
)

// subject parses the subject that starts with the byte c at pos. alone is true if it is a
// blankNodePropertyList or a reifiedTriple, because those need no predicate after them.
func (p *parser) subject(c int) (term triple.Term, alone bool, err error) {
	// The first byte determines the kind; '<' is an IRI or a triple.
	switch {
	case c == '<' && p.startsReified():
		if p.startsTripleTerm() {
			return term, false, p.fail(0, "a triple term cannot be a subject; << triple >> can, and stands for its reifier")
		}
		term, err = p.reifiedTriple()
		return term, true, err
	case c == '<':
		ref, err := p.iriRef(false)
		return triple.NewIRI(ref), false, err
	case c == '_':
		term, err = p.blankLabel()
		return term, false, err
	case c == '[':
		return p.propertyList()
	case c == '(':
		term, err = p.collection()
		return term, false, err
	case c == ':' || c >= 0 && ascii[c]&(cLetter|cHigh) != 0:
		if word, err := p.keyword(); err != nil {
			return term, false, err
		} else if word != nil {
			return term, false, p.fail(0, "expected %s, found %q", expectSubject, word)
		}
		name, err := p.prefixedName(false)
		return triple.NewIRI(name), false, err
	}
	return term, false, p.expected(expectSubject)
}

// verb parses a predicate.
func (p *parser) verb() (triple.Term, error) {
	c := p.next()
	switch {
	case c == '<' && p.startsReified():
		return triple.Term{}, p.fail(0, "a triple cannot be a predicate")
	case c == '<':
		ref, err := p.iriRef(true)
		return triple.NewIRI(ref), err
	case c == ':' || c >= 0 && ascii[c]&(cLetter|cHigh) != 0:
		word, err := p.keyword()
		switch {
		case err != nil:
			return triple.Term{}, err
		case len(word) == 1 && word[0] == 'a':
			p.pos++
			return termType, nil
		case word != nil:
			return triple.Term{}, p.fail(0, "expected %s, found %q", expectVerb, word)
		}
		name, err := p.prefixedName(true)
		return triple.NewIRI(name), err
	}
	return triple.Term{}, p.expected(expectVerb)
}

// object parses an object. Its first byte determines its kind.
func (p *parser) object() (triple.Term, error) {
	// A word must be true, false or a prefixed name.
	c := p.next()
	switch {
	case c == '<' && p.startsReified():
		if p.startsTripleTerm() {
			return p.tripleTerm()
		}
		return p.reifiedTriple()
	case c == '<':
		ref, err := p.iriRef(false)
		return triple.NewIRI(ref), err
	case c == '"' || c == '\'':
		return p.literal(byte(c))
	case c == ':' || c >= 0 && ascii[c]&(cLetter|cHigh) != 0:
		word, err := p.keyword()
		switch {
		case err != nil:
			return triple.Term{}, err
		case word == nil:
			name, err := p.prefixedName(false)
			return triple.NewIRI(name), err
		case bytes.Equal(word, []byte("true")), bytes.Equal(word, []byte("false")):
			p.pos += len(word)
			return triple.NewTyped(string(word), triple.XSDBoolean), nil
		}
		return triple.Term{}, p.fail(0, "expected %s, found %q", expectObject, word)
	// A '.' may start a decimal, such as .5.
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		return p.number()
	case c == '_':
		return p.blankLabel()
	case c == '[':
		term, _, err := p.propertyList()
		return term, err
	case c == '(':
		return p.collection()
	}
	return triple.Term{}, p.expected(expectObject)
}

// propertyList parses '[' predicateObjectList? ']'. filled is false if it is empty, ANON.
func (p *parser) propertyList() (node triple.Term, filled bool, err error) {
	if err := p.enter(); err != nil {
		return node, false, err
	}
	p.pos++
	node = p.blanks.Anonymous()
	if p.next() != ']' {
		filled = true
		if err := p.predicateObjects(node); err != nil {
			return node, true, err
		}
		if p.next() != ']' {
			return node, true, p.expected("']', ';' or ','")
		}
	}
	p.pos++
	p.depth--
	return node, filled, nil
}

// collection parses '(' object* ')'. An empty one is rdf:nil.
func (p *parser) collection() (triple.Term, error) {
	// 1. Each item gets a cell. The first cell is the head, and each later one is the rest of the
	// one before.
	if err := p.enter(); err != nil {
		return triple.Term{}, err
	}
	p.pos++
	var head, node triple.Term
	for p.next() != ')' {
		if p.next() < 0 {
			return head, p.expected("')' or " + expectObject)
		}
		cell := p.blanks.Anonymous()
		if head.IsZero() {
			head = cell
		} else if err := p.add(node, termRest, cell); err != nil {
			return head, err
		}
		node = cell
		item, err := p.object()
		if err != nil {
			return head, err
		}
		if err := p.add(node, termFirst, item); err != nil {
			return head, err
		}
	}
	// 2. Close the list with rdf:nil.
	p.pos++
	p.depth--
	if head.IsZero() {
		return termNil, nil
	}
	return head, p.add(node, termRest, termNil)
}

// enter goes one level deeper. The caller must undo it with p.depth--; after an error reject does.
func (p *parser) enter() error {
	if p.depth >= p.opts.MaxDepth {
		return p.fail(0, "[ ], ( ), << >> and {| |} nested more than %d deep", p.opts.MaxDepth)
	}
	p.depth++
	return nil
}
