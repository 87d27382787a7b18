// Property elements.

package rdfxml

import (
	"encoding/xml"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// propertyElement is a property element with its attributes by kind.
type propertyElement struct {
	element
	subject   triple.Term
	predicate string
	statement triple.Term // the reified statement, from rdf:ID; zero if there is none
	reifier   triple.Term // from rdf:annotation or rdf:annotationNodeID; zero if there is none

	parseType, datatype       string
	hasParseType, hasDatatype bool
	object                    triple.Term // from rdf:resource or rdf:nodeID
	attrs                     []attribute // property attributes
}

// property parses a property element of subject. members counts the rdf:li so far.
func (p *parser) property(ctx context, subject triple.Term, e element, members *int) error {
	// 1. Find the predicate. rdf:li becomes the next membership property.
	predicate, err := p.nameIRI(e.at, e.name, notProperty, "property element")
	if err != nil {
		return err
	}
	if predicate == triple.RDF+"li" {
		*members++
		predicate = memberIRI(*members)
	}
	// 2. Sort the attributes by kind, then choose the production.
	ctx, attrs, err := p.enter(ctx, &e)
	if err != nil {
		return err
	}
	prop := propertyElement{element: e, subject: subject, predicate: predicate}
	if err := p.sortOut(ctx, &prop, attrs); err != nil {
		return err
	}
	switch {
	case prop.hasParseType:
		switch prop.parseType {
		case "Resource":
			return p.parseResource(ctx, prop)
		case "Collection":
			return p.parseCollection(ctx, prop)
		case "Triple":
			return p.parseTriple(ctx, prop)
		}
		// Every other parse type counts as Literal (section 7.2.20).
		text, err := p.xmlLiteral()
		if err != nil {
			return err
		}
		return p.emitProperty(prop, triple.NewTyped(text, triple.RDF+"XMLLiteral"))
	case !prop.object.IsZero() || len(prop.attrs) > 0:
		return p.emptyProperty(ctx, prop)
	}
	return p.content(ctx, prop)
}

// sortOut sets the fields of prop from its attributes. It rejects combinations that the grammar
// lacks.
func (p *parser) sortOut(ctx context, prop *propertyElement, attrs []attribute) error {
	// 1. Attributes of RDF's namespace are syntax if they are listed here, else properties.
	for _, a := range attrs {
		if a.space != triple.RDF {
			prop.attrs = append(prop.attrs, a)
			continue
		}
		var err error
		switch a.local {
		case "ID":
			prop.statement, err = p.id(ctx, prop.at, a.value)
		case "annotation", "annotationNodeID":
			err = p.annotation(ctx, prop, a)
		case "parseType":
			prop.parseType, prop.hasParseType = a.value, true
		case "datatype":
			var datatype triple.Term
			datatype, err = p.resource(ctx, prop.at, a.value)
			prop.datatype, prop.hasDatatype = datatype.Value(), true
		case "resource", "nodeID":
			if !prop.object.IsZero() {
				return p.failAt(prop.at, "<%s> has both rdf:resource and rdf:nodeID", clip(prop.raw()))
			}
			if a.local == "resource" {
				prop.object, err = p.resource(ctx, prop.at, a.value)
			} else {
				prop.object, err = p.nodeID(prop.at, a.value)
			}
		default:
			prop.attrs = append(prop.attrs, a)
		}
		if err != nil {
			return err
		}
	}
	// 2. rdf:parseType and rdf:datatype exclude most other attributes.
	others := prop.hasDatatype || !prop.object.IsZero() || len(prop.attrs) > 0
	if prop.hasParseType && others {
		return p.failAt(prop.at, "<%s> has other attributes beside rdf:parseType, rdf:ID and rdf:annotation", clip(prop.raw()))
	}
	if prop.hasDatatype && (!prop.object.IsZero() || len(prop.attrs) > 0) {
		return p.failAt(prop.at, "<%s> has other attributes beside rdf:datatype, rdf:ID and rdf:annotation", clip(prop.raw()))
	}
	return nil
}

// emitProperty yields the property's triple. If it has an rdf:ID, it also yields the four triples
// of its reification. If it has an annotation, it also yields its reifying triple.
func (p *parser) emitProperty(prop propertyElement, object triple.Term) error {
	if err := p.emit(prop.at, prop.subject, prop.predicate, object); err != nil {
		return err
	}
	// 1. The reifying triple of an annotation.
	if !prop.reifier.IsZero() {
		about := triple.NewTripleTerm(prop.subject, triple.NewIRI(prop.predicate), object)
		if err := p.emit(prop.at, prop.reifier, triple.RDFReifies, about); err != nil {
			return err
		}
	}
	// 2. The reification of RDF 1.0.
	if prop.statement.IsZero() {
		return nil
	}
	for _, t := range []struct {
		predicate string
		object    triple.Term
	}{
		{triple.RDFType, triple.NewIRI(triple.RDF + "Statement")},
		{triple.RDF + "subject", prop.subject},
		{triple.RDF + "predicate", triple.NewIRI(prop.predicate)},
		{triple.RDF + "object", object},
	} {
		if err := p.emit(prop.at, prop.statement, t.predicate, t.object); err != nil {
			return err
		}
	}
	return nil
}

// emptyProperty parses emptyPropertyElt with more than an rdf:ID.
func (p *parser) emptyProperty(ctx context, prop propertyElement) error {
	object := prop.object
	if object.IsZero() {
		object = p.blanks.Anonymous()
	}
	if err := p.emitProperty(prop, object); err != nil {
		return err
	}
	if err := p.propertyAttributes(ctx, prop.at, object, prop.attrs); err != nil {
		return err
	}
	child, err := p.child(false)
	if err == nil && child != nil {
		err = p.failAt(child.at, "<%s> stands in a property that has its object in an attribute", clip(child.raw()))
	}
	return err
}

// content parses resourcePropertyElt, literalPropertyElt and the empty element.
func (p *parser) content(ctx context, prop propertyElement) error {
	var text strings.Builder
	var object triple.Term
	// Collect text and at most one node until the end tag. Only then is it known which of the two
	// is the object.
	for {
		token, err := p.next()
		if err != nil {
			return err
		}
		// Comments and processing instructions are no content, so they have no case.
		switch token := token.(type) {
		case xml.CharData:
			if text.Len()+len(token) > triple.MaxTermBytes {
				return p.failAt(prop.at, "%v", triple.ErrTermTooLong)
			}
			text.Write(token)
		case element:
			switch {
			case prop.hasDatatype:
				return p.failAt(token.at, "<%s> stands in a literal of a datatype", clip(token.raw()))
			case !object.IsZero():
				return p.failAt(token.at, "a second node <%s> in one property", clip(token.raw()))
			}
			if object, err = p.node(ctx, token); err != nil {
				return err
			}
		case xml.EndElement:
			// White space around a node is ignored; other text must not be beside it.
			switch {
			case !object.IsZero():
				if strings.Trim(text.String(), " \t\r\n") != "" {
					return p.failAt(prop.at, "text and a node in one property <%s>", clip(prop.raw()))
				}
			case prop.hasDatatype:
				object = triple.NewTyped(text.String(), prop.datatype)
			default:
				object = p.plain(ctx, text.String())
			}
			return p.emitProperty(prop, object)
		}
	}
}

// parseResource parses parseTypeResourcePropertyElt: the property elements of an anonymous node.
func (p *parser) parseResource(ctx context, prop propertyElement) error {
	object := p.blanks.Anonymous()
	if err := p.emitProperty(prop, object); err != nil {
		return err
	}
	members := 0
	for {
		child, err := p.child(false)
		if err != nil || child == nil {
			return err
		}
		if err := p.property(ctx, object, *child, &members); err != nil {
			return err
		}
	}
}

// parseCollection parses parseTypeCollectionPropertyElt: the nodes of a list. An empty list is
// rdf:nil.
func (p *parser) parseCollection(ctx context, prop propertyElement) error {
	var head, cell triple.Term
	end := triple.NewIRI(triple.RDFNil)
	err := p.nodes(ctx, func(node triple.Term) error {
		next := p.blanks.Anonymous()
		if head.IsZero() {
			head = next
			if err := p.emitProperty(prop, head); err != nil {
				return err
			}
		} else if err := p.emit(prop.at, cell, triple.RDFRest, next); err != nil {
			return err
		}
		cell = next
		return p.emit(prop.at, cell, triple.RDFFirst, node)
	})
	switch {
	case err != nil:
		return err
	case head.IsZero():
		return p.emitProperty(prop, end)
	}
	return p.emit(prop.at, cell, triple.RDFRest, end)
}
