// Graph blocks of TriG.

package turtle

import "github.com/trefoildb/trefoil/triple"

// graphStatement parses the rest of a statement after the word GRAPH.
func (p *parser) graphStatement() error {
	name, err := p.graphName(p.next())
	if err != nil {
		return err
	}
	return p.block(name)
}

// graphName parses labelOrSubject: an IRI or a blank node.
func (p *parser) graphName(c int) (triple.Term, error) {
	switch c {
	case '(':
		return triple.Term{}, p.expected("a graph name")
	case '<':
		if p.startsReified() {
			return triple.Term{}, p.fail(0, "a triple cannot be a graph name")
		}
	case '[':
		return p.anon()
	}
	name, _, err := p.subject(c)
	return name, err
}

// anon parses the token ANON: an empty [ ].
func (p *parser) anon() (triple.Term, error) {
	p.pos++
	if p.next() != ']' {
		return triple.Term{}, p.expected("']'")
	}
	p.pos++
	return p.blanks.Anonymous(), nil
}

// triplesOrGraph parses a statement at the top level of TriG. It must neither be a directive nor
// start with a keyword or '{'.
func (p *parser) triplesOrGraph(c int) error {
	subject, alone, err := p.subject(c)
	if err != nil {
		return err
	}
	if c != '(' && !alone && p.next() == '{' {
		return p.block(subject)
	}
	return p.restOfTriples(subject, alone)
}

// block parses a graph's '{' ... '}'. Each of its statements is yielded or rejected by itself.
func (p *parser) block(graph triple.Term) error {
	if p.next() != '{' {
		return p.expected("'{'")
	}
	p.pos++
	p.graph = graph
	defer func() { p.graph = triple.Term{} }()
	for {
		// 1. Each statement has its own text, because it may be rejected alone.
		c := p.next()
		p.beginText()
		if p.inAnnotations() {
			p.begin = p.placeOf(p.pos)
		}
		switch c {
		case '}':
			p.pos++
			return nil
		case -1:
			return p.expected("'}'")
		}
		// 2. Yield the statement, or reject it and continue in the block, unless recovery has found
		// the block's end.
		err := p.blockStatement(c)
		if err == nil {
			if err = p.release(); err != nil {
				return err
			}
			continue
		}
		if !p.opts.KeepGoing {
			return err
		}
		if !p.reject(err, true) {
			return errStopped
		}
		if p.closed {
			return nil
		}
	}
}

// blockStatement parses triples in a block with their '.'. Before '}' the '.' may be missing.
func (p *parser) blockStatement(c int) error {
	subject, alone, err := p.subject(c)
	if err != nil {
		return err
	}
	if !alone || p.next() != '.' && p.next() != '}' {
		if err := p.predicateObjects(subject); err != nil {
			return err
		}
	}
	if p.next() == '}' {
		return nil
	}
	return p.dot("'.', ';', ',' or '}'")
}
