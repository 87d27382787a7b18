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
}

// nodes adds the triples of a node object, or of an array of them.
func (b *builder) nodes(value any) error {
	for _, item := range asArray(value) {
		object, ok := item.(map[string]any)
		if !ok {
			continue // a free-floating value
		}
		if _, ok := object["@value"]; ok {
			continue
		}
		if list, ok := object["@list"]; ok {
			if err := b.nodes(list); err != nil {
				return err
			}
			continue
		}
		if _, err := b.node(object); err != nil {
			return err
		}
	}
	return nil
}

// node adds the triples of a node object and returns the node.
func (b *builder) node(object map[string]any) (triple.Term, error) {
	subject := triple.Term{}
	if id, ok := object["@id"]; ok && id != nil {
		var err error
		if subject, err = b.resource(id); err != nil {
			return subject, err
		}
	} else {
		subject = b.blanks.Anonymous()
	}
	for _, property := range slices.Sorted(maps.Keys(object)) {
		if err := b.entry(subject, property, object[property]); err != nil {
			return subject, err
		}
	}
	return subject, nil
}

// entry adds the triples of one member of a node object.
func (b *builder) entry(subject triple.Term, property string, value any) error {
	// 1. Keywords have their own rules.
	switch property {
	case "@id", "@index":
		return nil
	case "@type":
		for _, class := range asArray(value) {
			object, err := b.resource(class)
			if err == nil {
				err = b.add(subject, triple.RDFType, object)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case "@graph":
		// The graph must be restored, because the outer node's other members are in the outer
		// graph.
		outer := b.graph
		b.graph = subject
		err := b.nodes(value)
		b.graph = outer
		return err
	case "@included":
		return b.nodes(value)
	case "@reverse":
		// In @reverse the value is the subject.
		reverse, _ := value.(map[string]any)
		for _, property := range slices.Sorted(maps.Keys(reverse)) {
			for _, item := range asArray(reverse[property]) {
				object, err := b.object(item)
				if err == nil && !object.IsZero() {
					err = b.add(object, property, subject)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	// 2. All other members are properties. A keyword must not be left over.
	if strings.HasPrefix(property, "@") {
		return fmt.Errorf("unexpected %q in a node", clip(property))
	}
	for _, item := range asArray(value) {
		object, err := b.object(item)
		if err == nil && !object.IsZero() {
			err = b.add(subject, property, object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// object adds the triples of a value and returns its node or literal. It returns the zero Term for
// null.
func (b *builder) object(value any) (triple.Term, error) {
	switch value := value.(type) {
	case nil:
		return triple.Term{}, nil
	case map[string]any:
		if _, ok := value["@value"]; ok {
			return b.literal(value)
		}
		if list, ok := value["@list"]; ok {
			return b.list(asArray(list))
		}
		return b.node(value)
	}
	return triple.Term{}, fmt.Errorf("unexpected %T in an expanded document", value)
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
func (b *builder) resource(id any) (triple.Term, error) {
	s, ok := id.(string)
	if !ok {
		return triple.Term{}, fmt.Errorf("expected an IRI, found %T", id)
	}
	if label, ok := strings.CutPrefix(s, "_:"); ok {
		return b.blanks.Any(label), nil
	}
	if err := triple.CheckIRI(s); err != nil {
		return triple.Term{}, err
	}
	return triple.NewIRI(s), nil
}

// add adds a triple. If its predicate is a blank node, it is left out because RDF has no such
// triples.
func (b *builder) add(subject triple.Term, predicate string, object triple.Term) error {
	if strings.HasPrefix(predicate, "_:") {
		return nil
	}
	t := triple.Triple{Subject: subject, Predicate: triple.NewIRI(predicate), Object: object, Graph: b.graph}
	if err := t.Check(); err != nil {
		return err
	}
	b.triples = append(b.triples, t)
	return nil
}

func asArray(value any) []any {
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		return value
	}
	return []any{value}
}
