// Directives and statements.

package turtle

import (
	"bytes"

	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// statement parses a directive, triples with their '.', or in TriG a graph block. It starts with
// the byte c at pos.
func (p *parser) statement(c int) error {
	// 1. A directive or a keyword of TriG. A word before ':' is a prefix, and no keyword.
	switch c {
	case '@':
		return p.atDirective()
	case 'p', 'P', 'b', 'B', 'g', 'G', 'v', 'V':
		word, err := p.keyword()
		if err != nil {
			return err
		}
		switch {
		case bytes.EqualFold(word, []byte("prefix")):
			p.pos += len(word)
			return p.prefixDirective()
		case bytes.EqualFold(word, []byte("base")):
			p.pos += len(word)
			return p.baseDirective()
		case bytes.EqualFold(word, []byte("version")):
			p.pos += len(word)
			return p.versionDirective()
		case p.opts.TriG && bytes.EqualFold(word, []byte("graph")):
			p.pos += len(word)
			return p.graphStatement()
		}
	case '{':
		if p.opts.TriG {
			return p.block(triple.Term{})
		}
	}
	// 2. Triples; in TriG their subject may be the name of a graph.
	if p.opts.TriG {
		return p.triplesOrGraph(c)
	}
	subject, alone, err := p.subject(c)
	if err != nil {
		return err
	}
	return p.restOfTriples(subject, alone)
}

// restOfTriples parses the rest of a statement after its subject at the top level. If alone is
// true, the predicates may be missing.
func (p *parser) restOfTriples(subject triple.Term, alone bool) error {
	if !alone || p.next() != '.' {
		if err := p.predicateObjects(subject); err != nil {
			return err
		}
	}
	return p.dot("'.', ';' or ','")
}

// dot consumes the '.' that ends a statement.
func (p *parser) dot(expected string) error {
	if p.next() != '.' {
		return p.expected(expected)
	}
	p.pos++
	return nil
}

// atDirective parses @prefix, @base and @version.
func (p *parser) atDirective() error {
	n := 1
	for c := p.peek(n); c >= 0 && ascii[c]&cLetter != 0 && n < 16; c = p.peek(n) {
		n++
	}
	var err error
	switch word := p.buf[p.pos : p.pos+n]; string(word) {
	case "@prefix":
		p.pos += n
		err = p.prefixDirective()
	case "@base":
		p.pos += n
		err = p.baseDirective()
	case "@version":
		p.pos += n
		err = p.versionDirective()
	default:
		return p.fail(0, "expected @prefix, @base or @version, found %q", word)
	}
	if err != nil {
		return err
	}
	return p.dot("'.'")
}

// prefixDirective parses the rest of a directive after the word prefix.
func (p *parser) prefixDirective() error {
	// 1. Read the name.
	p.next()
	n, err := p.prefixLen()
	if err != nil {
		return err
	}
	if p.peek(n) != ':' {
		return p.expected("a prefix with ':', such as \"ex:\"")
	}
	name := string(p.buf[p.pos : p.pos+n])
	p.pos += n + 1
	// 2. Forget its earlier meaning, because the name must not keep it if the rest is malformed.
	p.forgetPrefix(name)
	if p.next() != '<' {
		return p.expected("an IRI in <>")
	}
	// 3. Read the IRI. All prefixes together are limited.
	namespace, err := p.iriRef(false)
	if err != nil {
		return err
	}
	if p.prefixBytes += len(name) + len(namespace); p.prefixBytes > maxPrefixBytes {
		return p.fail(0, "prefixes of more than %d bytes together", maxPrefixBytes)
	}
	p.prefixes[name] = namespace
	if p.opts.Prefix != nil {
		p.opts.Prefix(name, namespace)
	}
	return nil
}

func (p *parser) forgetPrefix(name string) {
	if namespace, ok := p.prefixes[name]; ok {
		p.prefixBytes -= len(name) + len(namespace)
		delete(p.prefixes, name)
	}
}

// baseDirective parses the rest of a directive after the word base. If it fails, relative IRIs are
// errors from then on.
func (p *parser) baseDirective() error {
	old, lost := p.base, p.baseLost
	p.base, p.baseLost = iri.Base{}, true
	if p.next() != '<' {
		return p.expected("an IRI in <>")
	}
	p.base, p.baseLost = old, lost
	ref, err := p.iriRef(false)
	if err == nil {
		var base iri.Base
		if base, err = iri.NewBase(ref); err == nil {
			p.base, p.baseLost = base, false
			return nil
		}
		err = p.fail(0, "%v", err) // because the IRI is too long for a term, for example
	}
	p.base, p.baseLost = iri.Base{}, true
	return err
}

// versionDirective parses the rest of a directive after the word version: a string in one pair of
// quotes. Any version is accepted, because each statement is checked by itself.
func (p *parser) versionDirective() error {
	c := p.next()
	if c != '"' && c != '\'' || p.peek(1) == c && p.peek(2) == c {
		return p.expected("a version in single or double quotes, such as \"1.2\"")
	}
	_, err := p.quoted(byte(c))
	return err
}

// predicateObjects parses predicateObjectList: verb objectList (';' ...)*.
func (p *parser) predicateObjects(subject triple.Term) error {
	for {
		// 1. A verb and its objects.
		verb, err := p.verb()
		if err != nil {
			return err
		}
		for {
			object, err := p.object()
			if err != nil {
				return err
			}
			if err := p.add(subject, verb, object); err != nil {
				return err
			}
			if err := p.annotation(subject, verb, object); err != nil {
				return err
			}
			if p.next() != ',' {
				break
			}
			p.pos++
		}
		// 2. Empty ';' are allowed, also before the end.
		if p.next() != ';' {
			return nil
		}
		c := p.next()
		for c == ';' {
			p.pos++
			c = p.next()
		}
		if c == '.' || c == ']' || c == '}' || c == '|' || c < 0 {
			return nil
		}
	}
}
