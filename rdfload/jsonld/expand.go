// The expansion algorithm: documents, arrays and objects.

package jsonld

import (
	"fmt"
	"slices"
	"strings"
)

// An expanded value is a *node, *literal, *list, nil (null), or []any of the former three.

// node is a node object. Node objects with @graph only are graph objects.
type node struct {
	id       string
	hasID    bool // there is @id
	noName   bool // @id is null, so nothing can be said about the node
	hasGraph bool
	types    []string
	graph    []any
	included []any
	// reverse and properties have arrays, by IRI. In reverse the values are the subjects.
	reverse, properties map[string][]any
}

// isGraph reports whether a value is a graph object.
func isGraph(value any) bool {
	n, ok := value.(*node)
	return ok && n.hasGraph && len(n.types)+len(n.included)+len(n.reverse)+len(n.properties) == 0
}

// literal is a value object.
type literal struct {
	value               any    // JSON; a scalar unless typ is @json
	typ                 string // "" means none
	language, direction string // "" means none
}

// list is a list object.
type list struct{ items []any }

// top is the active property of values that are in no property: of the document and of a graph. The
// algorithm treats them alike.
const top = "@graph"

// included is the active property of included blocks. Unlike top it keeps values, which are errors
// there. No term has this name.
const included = ""

// expandDocument returns the expanded document as an array of node objects.
func (p *processor) expandDocument(document any) ([]any, error) {
	expanded, err := p.expand(&context{base: p.base}, top, document, false)
	if err != nil {
		return nil, err
	}
	// A document that is a graph and nothing else is that graph's content.
	if n, ok := expanded.(*node); ok && isGraph(n) && !n.hasID {
		return n.graph, nil
	}
	return expandedArray(expanded), nil
}

// expandedArray returns an expanded value as an array; null is an empty one.
func expandedArray(expanded any) []any {
	switch expanded := expanded.(type) {
	case nil:
		return nil
	case []any:
		return expanded
	}
	return []any{expanded}
}

// expand expands the value of a property (section 5.1.2). byIndex is set for the values in an index,
// because a context that does not propagate holds there.
func (p *processor) expand(active *context, property string, value any, byIndex bool) (any, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case []any:
		return p.expandArray(active, property, value, byIndex)
	case object:
		return p.expandObject(active, property, value, byIndex)
	}
	// A scalar outside of a property means nothing.
	if property == top {
		return nil, nil
	}
	active, err := p.inProperty(active, active, property)
	if err != nil {
		return nil, err
	}
	return active.expandScalar(property, value), nil
}

// inProperty applies to a context the scoped context of a property, as outer defines it.
func (p *processor) inProperty(active, outer *context, property string) (*context, error) {
	t := outer.term(property)
	if t == nil || !t.scoped {
		return active, nil
	}
	return p.scopedContext(active, t, scopeFlags{override: true})
}

func (p *processor) expandArray(active *context, property string, array []any, byIndex bool) (any, error) {
	t := active.term(property)
	lists := t != nil && t.container.has(containsList)
	result := make([]any, 0, len(array))
	for _, item := range array {
		expanded, err := p.expand(active, property, item, byIndex)
		if err != nil {
			return nil, err
		}
		// An array within a list is a list, too.
		if items, ok := expanded.([]any); ok && lists {
			expanded = &list{items}
		}
		result = append(result, expandedArray(expanded)...)
	}
	return result, nil
}

// expandObject expands an object.
func (p *processor) expandObject(active *context, property string, o object, byIndex bool) (any, error) {
	// 1. A context that does not propagate ends at a node object.
	outer := active
	if active.previous != nil && !byIndex && active.endsAt(o) {
		active = active.previous
	}
	// 2. The contexts of the property, of the object and of its types, in this order.
	active, err := p.inProperty(active, outer, property)
	if err != nil {
		return nil, err
	}
	if local, ok := o.get("@context"); ok {
		if active, err = p.process(active, local, p.url, scope{}); err != nil {
			return nil, err
		}
	}
	typed := active
	if active, err = p.inTypes(active, o); err != nil {
		return nil, err
	}
	// 3. The members, then what the object is.
	e := expansion{p: p, active: active, typed: typed, property: property, jsonType: active.hasJSONType(o)}
	if err := e.expand(o); err != nil {
		return nil, err
	}
	return e.result()
}

// endsAt reports whether a context that does not propagate ends at an object: unless it is a value
// object, or a reference to a node.
func (c *context) endsAt(o object) bool {
	for _, m := range o {
		switch c.property(m.name) {
		case "@value":
			return false
		case "@id":
			if len(o) == 1 {
				return false
			}
		}
	}
	return true
}

// inTypes applies the scoped contexts of an object's types, in the order of the names of types.
func (p *processor) inTypes(active *context, o object) (*context, error) {
	typed := active
	for _, m := range o {
		if typed.property(m.name) != "@type" {
			continue
		}
		var names []string
		for _, item := range asArray(m.value) {
			if name, ok := item.(string); ok {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			t := typed.term(name)
			if t == nil || !t.scoped {
				continue
			}
			var err error
			if active, err = p.scopedContext(active, t, scopeFlags{local: true}); err != nil {
				return nil, err
			}
		}
	}
	return active, nil
}

// hasJSONType reports whether an object is a value object with a JSON literal.
func (c *context) hasJSONType(o object) bool {
	for _, m := range o {
		if c.property(m.name) != "@type" {
			continue
		}
		all := asArray(m.value)
		if len(all) == 0 {
			return false
		}
		name, _ := all[len(all)-1].(string)
		return c.property(name) == "@json"
	}
	return false
}

// expandScalar returns the value object or reference of a scalar (section 5.3).
func (c *context) expandScalar(property string, value any) any {
	t := c.term(property)
	if t == nil {
		t = &definition{}
	}
	text, isText := value.(string)
	// 1. Strings may be references.
	if isText && (t.typ == "@id" || t.typ == "@vocab") {
		id, ok := c.iri(text, resolution{vocab: t.typ == "@vocab", document: true})
		return &node{id: id, hasID: true, noName: !ok}
	}
	// 2. All others are values, and strings without a type have the language of the context.
	l := &literal{value: value}
	switch {
	case t.typ != "" && t.typ != "@id" && t.typ != "@vocab" && t.typ != "@none":
		l.typ = t.typ
	case isText:
		l.language, l.direction = t.language.or(c.language), t.direction.or(c.direction)
	}
	return l
}

// isProperty reports whether an expanded name is that of a property. Others are ignored.
func isProperty(name string) bool { return strings.Contains(name, ":") }

// valueKind names an expanded value for a message.
func valueKind(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case *literal:
		return "a value"
	case *list:
		return "a list"
	case *node:
		return "a node"
	default:
		return fmt.Sprintf("%T", value)
	}
}
