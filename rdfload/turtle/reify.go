// Triple terms, reified triples and annotations of RDF 1.2.

package turtle

import "github.com/trefoildb/trefoil/triple"

const (
	expectInner     = "an IRI, a prefixed name, a blank node without properties or << triple >>"
	expectInnermost = "an IRI, a prefixed name, a blank node without properties, a literal, <<( triple )>> or << triple >>"
	expectTerm      = "an IRI, a prefixed name or a blank node without properties"
	expectTermIn    = "an IRI, a prefixed name, a blank node without properties, a literal or <<( triple )>>"
)

var termReifies = triple.NewIRI(triple.RDFReifies)

// startsReified reports whether a reified triple or a triple term is at pos, where '<' is.
func (p *parser) startsReified() bool { return p.peek(1) == '<' }

// startsTripleTerm reports whether a triple term is at pos, where '<' is.
func (p *parser) startsTripleTerm() bool { return p.peek(1) == '<' && p.peek(2) == '(' }

// tripleTerm parses the tripleTerm at pos. It does not recurse, because the limit of their depth can be raised.
func (p *parser) tripleTerm() (triple.Term, error) {
	var b triple.TripleTermBuilder
	var object triple.Term
	// 1. Down to the innermost object.
	depth := 0
	for object.IsZero() {
		if depth++; depth > triple.MaxNesting() {
			return object, p.fail(0, "%v", triple.CheckNesting(depth))
		}
		p.pos += len("<<(")
		subject, err := p.plainTerm(expectTerm)
		if err != nil {
			return object, err
		}
		verb, err := p.verb()
		if err != nil {
			return object, err
		}
		b.Add(subject, verb)
		if b.Len() > triple.MaxTermBytes {
			return object, p.fail(0, "%v", triple.ErrTermTooLong)
		}
		if p.next() == '<' && p.startsTripleTerm() {
			continue
		}
		if object, err = p.objectInTerm(expectTermIn); err != nil {
			return object, err
		}
	}
	// 2. The ends of all of them.
	for range depth {
		if p.next() != ')' || p.peek(1) != '>' || p.peek(2) != '>' {
			return object, p.expected("\")>>\" at the end of a triple term")
		}
		p.pos += len(")>>")
	}
	return p.sized(b.Term(object))
}

// sized returns a triple term, or an error if it is too long.
func (p *parser) sized(term triple.Term) (triple.Term, error) {
	if len(term.Value()) > triple.MaxTermBytes {
		return term, p.fail(0, "%v", triple.ErrTermTooLong)
	}
	if err := term.CheckNesting(); err != nil {
		return term, p.fail(0, "%v", err)
	}
	return term, nil
}

// plainTerm parses an IRI or a blank node without properties.
func (p *parser) plainTerm(expected string) (triple.Term, error) {
	c := p.next()
	switch {
	case c == '<' && p.startsReified(), c == '(':
		return triple.Term{}, p.expected(expected)
	case c == '[':
		return p.anon()
	case c == '<' || c == '_' || c == ':' || c >= 0 && ascii[c]&(cLetter|cHigh) != 0:
		term, _, err := p.subject(c)
		return term, err
	}
	return triple.Term{}, p.expected(expected)
}

// objectInTerm parses the object of a triple term or a reified triple, if it is no such triple itself.
func (p *parser) objectInTerm(expected string) (triple.Term, error) {
	switch c := p.next(); {
	case c == '[':
		return p.anon()
	case c == '(', c == '<' && p.startsReified():
		return triple.Term{}, p.expected(expected)
	}
	return p.object()
}

// reifiedTriple parses the reifiedTriple at pos, adds its reifying triple and returns the reifier.
func (p *parser) reifiedTriple() (triple.Term, error) {
	// The terms. A subject or an object may be a reified triple again.
	if err := p.enter(); err != nil {
		return triple.Term{}, err
	}
	p.pos += len("<<")
	subject, err := p.reifiedSubject()
	if err != nil {
		return triple.Term{}, err
	}
	verb, err := p.verb()
	if err != nil {
		return triple.Term{}, err
	}
	object, err := p.reifiedObject()
	if err != nil {
		return triple.Term{}, err
	}
	term, err := p.sized(triple.NewTripleTerm(subject, verb, object))
	if err != nil {
		return term, err
	}
	var reifier triple.Term
	named := p.next() == '~'
	if named {
		if reifier, err = p.reifier(); err != nil {
			return reifier, err
		}
	}
	if p.next() != '>' || p.peek(1) != '>' {
		return reifier, p.expected("\">>\" or '~' and a reifier at the end of a reified triple")
	}
	p.pos += len(">>")
	p.depth--
	if !named {
		return p.newReifier(term)
	}
	return reifier, p.add(reifier, termReifies, term)
}

// reifiedSubject parses rtSubject.
func (p *parser) reifiedSubject() (triple.Term, error) {
	if p.next() == '<' && p.startsReified() && !p.startsTripleTerm() {
		return p.reifiedTriple()
	}
	return p.plainTerm(expectInner)
}

// reifiedObject parses rtObject.
func (p *parser) reifiedObject() (triple.Term, error) {
	switch {
	case p.next() != '<' || !p.startsReified():
		return p.objectInTerm(expectInnermost)
	case p.startsTripleTerm():
		return p.tripleTerm()
	}
	return p.reifiedTriple()
}

// reifier parses '~' and the reifier after it. If there is none, it is a new blank node.
func (p *parser) reifier() (triple.Term, error) {
	p.pos++
	c := p.next()
	if c == '<' || c == '[' || c == '_' || c == ':' || c >= 0 && ascii[c]&(cLetter|cHigh) != 0 {
		return p.plainTerm(expectTerm)
	}
	return p.blanks.Anonymous(), nil
}

// annotation parses the reifiers and the annotation blocks after an object, and adds their triples.
func (p *parser) annotation(subject, verb, object triple.Term) error {
	var term, reifier triple.Term
	for {
		// 1. A block belongs to the reifier right before it, else it gets a new one.
		c := p.next()
		block := c == '{' && p.peek(1) == '|'
		if c != '~' && !block {
			return nil
		}
		if !block || reifier.IsZero() {
			var err error
			if term.IsZero() { // made once, because all reifiers share it
				if term, err = p.sized(triple.NewTripleTerm(subject, verb, object)); err != nil {
					return err
				}
			}
			if block {
				reifier, err = p.newReifier(term)
			} else if reifier, err = p.reifier(); err == nil {
				err = p.add(reifier, termReifies, term)
			}
			if err != nil {
				return err
			}
		}
		if !block {
			continue
		}
		// 2. The block's triples are about the reifier.
		if err := p.annotationBlock(reifier); err != nil {
			return err
		}
		reifier = triple.Term{}
	}
}

// annotationBlock parses the annotationBlock at pos.
func (p *parser) annotationBlock(reifier triple.Term) error {
	if err := p.enter(); err != nil {
		return err
	}
	p.pos += len("{|")
	if err := p.predicateObjects(reifier); err != nil {
		return err
	}
	if p.next() != '|' || p.peek(1) != '}' {
		return p.expected("\"|}\", ';' or ','")
	}
	p.pos += len("|}")
	p.depth--
	return nil
}
