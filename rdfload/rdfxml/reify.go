// Triple terms and annotations of RDF 1.2.

package rdfxml

import (
	"encoding/xml"

	"github.com/trefoildb/trefoil/triple"
)

// annotation sets the reifier of a property from its attribute.
func (p *parser) annotation(ctx context, prop *propertyElement, a attribute) (err error) {
	if !prop.reifier.IsZero() {
		return p.failAt(prop.at, "<%s> has both rdf:annotation and rdf:annotationNodeID", clip(prop.raw()))
	}
	if a.local == "annotation" {
		prop.reifier, err = p.resource(ctx, prop.at, a.value)
	} else {
		prop.reifier, err = p.nodeID(prop.at, a.value)
	}
	return err
}

// soleTriple is the only triple inside of an rdf:parseType="Triple".
type soleTriple struct {
	triple triple.Triple // zero if none has come; without an object if inner is set
	inner  *soleTriple   // the triple term that is the object
	size   int           // of the levels around it
	levels int           // around it, and its own
}

// equals reports whether two triples are equal. It does not recurse, because they are nested.
func (s *soleTriple) equals(t triple.Triple, inner *soleTriple) bool {
	for s.triple == t {
		if s.inner == nil || inner == nil {
			return s.inner == inner
		}
		s, t, inner = s.inner, inner.triple, inner.inner
	}
	return false
}

// term returns the triple term.
func (s *soleTriple) term() triple.Term {
	var b triple.TripleTermBuilder
	for {
		b.Add(s.triple.Subject, s.triple.Predicate)
		if s.inner == nil {
			return b.Term(s.triple.Object)
		}
		s = s.inner
	}
}

// addSole adds a triple to the open rdf:parseType="Triple". A graph may have a triple twice.
func (p *parser) addSole(at place, t triple.Triple, inner *soleTriple) error {
	if !p.sole.triple.Subject.IsZero() && !p.sole.equals(t, inner) {
		return p.failAt(at, "rdf:parseType=\"Triple\" has more than one triple inside; the second is %.200s", t)
	}
	p.sole.triple, p.sole.inner = t, inner
	return nil
}

// parseTriple parses parseTypeTriplePropertyElt: its nodes make one triple, and that is the object.
func (p *parser) parseTriple(ctx context, prop propertyElement) error {
	// 1. It is RDF 1.2, and has no meaning without the announcement.
	if !ctx.version12 {
		p.warnAt(prop.at, "rdf:parseType=\"Triple\" is ignored with its content, because no rdf:version=\"1.2\" is on this element or around it")
		return p.skipContent()
	}
	// 2. Collect the triple. Its size and depth are checked on the way down, because all levels are
	// in memory.
	outer := p.sole
	p.sole = &soleTriple{size: len(prop.subject.Value()) + len(prop.predicate), levels: 1}
	if outer != nil {
		p.sole.size += outer.size
		p.sole.levels += outer.levels
	}
	if err := triple.CheckNesting(p.sole.levels); err != nil {
		return p.failAt(prop.at, "%v", err)
	}
	if p.sole.size > triple.MaxTermBytes {
		return p.failAt(prop.at, "%v", triple.ErrTermTooLong)
	}
	err := p.nodes(ctx, func(triple.Term) error { return nil })
	sole := p.sole
	p.sole = outer
	switch {
	case err != nil:
		return err
	case sole.triple.Subject.IsZero():
		return p.failAt(prop.at, "rdf:parseType=\"Triple\" has no triple inside; it must have one")
	}
	// 3. A nested one is the object of the triple around it, which must be the only one, too.
	if outer == nil {
		return p.emitProperty(prop, sole.term())
	}
	if !prop.reifier.IsZero() || !prop.statement.IsZero() {
		return p.failAt(prop.at, "rdf:parseType=\"Triple\" has more than one triple inside, because <%s> is annotated", clip(prop.raw()))
	}
	return p.addSole(prop.at, triple.Triple{Subject: prop.subject, Predicate: triple.NewIRI(prop.predicate)}, sole)
}

// skipContent skips the content of the current element and its end.
func (p *parser) skipContent() error {
	outside := len(p.open) - 1
	for {
		token, err := p.next()
		if err != nil {
			return err
		}
		if _, ok := token.(xml.EndElement); ok && len(p.open) == outside {
			return nil
		}
	}
}
