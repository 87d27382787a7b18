// Triples of an expanded document.

package jsonld

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
)

// builder makes triples of an expanded document. It combines the algorithms "Node Map Generation"
// and "Deserialize JSON-LD to RDF". It need not gather the statements about a node, because a graph
// is a set.
type builder struct {
	blanks  blank.Nodes
	graph   triple.Term
	triples []triple.Triple
	source  string       // the document's name
	warn    func(string) // may be nil
}

// nodes adds the triples of node objects.
func (b *builder) nodes(all []any) error {
	for _, item := range all {
		if n, ok := item.(*node); ok {
			if _, err := b.node(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// node adds the triples of a node object and returns the node. It returns the zero Term if the node
// has no name, because nothing can be said about it.
func (b *builder) node(n *node) (triple.Term, error) {
	// 1. The node.
	subject := triple.Term{}
	switch {
	case n.noName:
	case n.hasID:
		var err error
		if subject, err = b.resource(n.id); err != nil {
			return subject, err
		}
	default:
		subject = b.blanks.Anonymous()
	}
	// 2. Its graph. The outer one must be restored, because the other members are in that.
	if n.hasGraph && !n.noName {
		outer := b.graph
		b.graph = subject
		err := b.nodes(n.graph)
		b.graph = outer
		if err != nil {
			return subject, err
		}
	}
	if err := b.nodes(n.included); err != nil {
		return subject, err
	}
	// 3. What it is the object of, its types, and its properties.
	for _, property := range slices.Sorted(maps.Keys(n.reverse)) {
		for _, item := range n.reverse[property] {
			object, err := b.object(item)
			if err == nil {
				err = b.add(object, property, subject)
			}
			if err != nil {
				return subject, err
			}
		}
	}
	for _, typ := range n.types {
		class, err := b.resource(typ)
		if err == nil {
			err = b.add(subject, triple.RDFType, class)
		}
		if err != nil {
			return subject, err
		}
	}
	for _, property := range slices.Sorted(maps.Keys(n.properties)) {
		for _, item := range n.properties[property] {
			object, err := b.object(item)
			if err == nil {
				err = b.add(subject, property, object)
			}
			if err != nil {
				return subject, err
			}
		}
	}
	return subject, nil
}

// object adds the triples of a value and returns its node or literal. It returns the zero Term for
// null.
func (b *builder) object(value any) (triple.Term, error) {
	switch value := value.(type) {
	case *literal:
		return value.term()
	case *list:
		return b.list(value.items)
	case *node:
		return b.node(value)
	}
	return triple.Term{}, nil
}

// list adds a list and returns its head. Null items are left out; an empty list is rdf:nil.
func (b *builder) list(items []any) (triple.Term, error) {
	end := triple.NewIRI(triple.RDFNil)
	var head, cell triple.Term
	for _, item := range items {
		object, err := b.object(item)
		if err != nil {
			return head, err
		}
		// A null item gets no cell.
		if object.IsZero() {
			continue
		}
		next := b.blanks.Anonymous()
		if head.IsZero() {
			head = next
		} else if err := b.add(cell, triple.RDFRest, next); err != nil {
			return head, err
		}
		cell = next
		if err := b.add(cell, triple.RDFFirst, object); err != nil {
			return head, err
		}
	}
	if head.IsZero() {
		return end, nil
	}
	return head, b.add(cell, triple.RDFRest, end)
}

// resource returns the IRI or blank node of an identifier. A relative IRI is an error.
func (b *builder) resource(s string) (triple.Term, error) {
	if label, ok := strings.CutPrefix(s, "_:"); ok {
		return b.blanks.Any(label), nil
	}
	if err := triple.CheckIRI(s); err != nil {
		return triple.Term{}, err
	}
	return triple.NewIRI(s), nil
}

// add adds a triple. It leaves it out if a term is null, or if its predicate is no IRI: a blank node,
// or a name with two '#', which a vocabulary that ends with one makes of "#name".
func (b *builder) add(subject triple.Term, predicate string, object triple.Term) error {
	if subject.IsZero() || object.IsZero() || strings.HasPrefix(predicate, "_:") {
		return nil
	}
	if first := strings.IndexByte(predicate, '#'); first >= 0 && strings.IndexByte(predicate[first+1:], '#') >= 0 {
		if b.warn != nil {
			b.warn(fmt.Sprintf("%s: JSON-LD with the property <%s>, which is no IRI because it has two '#': its values are left out", b.source, clip(predicate)))
			b.warn = nil // once a document
		}
		return nil
	}
	t := triple.Triple{Subject: subject, Predicate: triple.NewIRI(predicate), Object: object, Graph: b.graph}
	if err := t.Check(); err != nil {
		return err
	}
	if err := object.CheckLanguage(); err != nil {
		return fmt.Errorf("a value of <%s>: %w", clip(predicate), err)
	}
	b.triples = append(b.triples, t)
	return nil
}
