// The expansion algorithm: the values of a property, in its containers.

package jsonld

// member expands a member whose name is that of a property.
func (e *expansion) member(name, property string, value any) error {
	t := e.active.term(name)
	if t == nil {
		t = &definition{}
	}
	// 1. Expand the value as the term's type and container say.
	var expanded any
	var err error
	o, isObject := value.(object)
	switch {
	case t.typ == "@json":
		expanded = &literal{value: value, typ: "@json"}
	case isObject && t.container.has(containsLanguage):
		expanded, err = e.languages(t, o)
	case isObject && t.container.has(containsIndex|containsType|containsID):
		expanded, err = e.index(t, name, o)
	default:
		expanded, err = e.p.expand(e.active, name, value, false)
	}
	if expanded == nil || err != nil {
		return err
	}
	// 2. A list is one value, and each value of a graph container is a graph.
	if _, ok := expanded.(*list); t.container.has(containsList) && !ok {
		expanded = &list{expandedArray(expanded)}
	}
	items := expandedArray(expanded)
	if t.container.has(containsGraph) && !t.container.has(containsID|containsIndex) {
		graphs := make([]any, len(items))
		for i, item := range items {
			graphs[i] = &node{hasGraph: true, graph: []any{item}}
		}
		items = graphs
	}
	// 3. Add them.
	if t.reverse {
		return e.addReversed(property, items)
	}
	e.add(property, items)
	return nil
}

// languages expands an object of strings by language.
func (e *expansion) languages(t *definition, o object) (any, error) {
	result := []any{}
	for _, m := range o {
		language := m.name
		if language == "@none" || e.active.property(language) == "@none" {
			language = ""
		}
		for _, item := range asArray(m.value) {
			switch item.(type) {
			case nil:
				continue
			case string:
				result = append(result, &literal{value: item, language: language, direction: t.direction.or(e.active.direction)})
			default:
				return nil, failf(invalidLanguageMap, "%q has strings, not %s", clip(m.name), show(item))
			}
		}
	}
	return result, nil
}

// index expands an object of values by an index, a type or an ID.
func (e *expansion) index(t *definition, name string, o object) (any, error) {
	result := []any{}
	for _, m := range o {
		// 1. By ID or type a value is a new node, so a context that does not propagate ends.
		active := e.active
		if t.container.has(containsID|containsType) && active.previous != nil {
			active = active.previous
		}
		if typ := active.term(m.name); t.container.has(containsType) && typ != nil && typ.scoped {
			var err error
			if active, err = e.p.scopedContext(active, typ, scopeFlags{}); err != nil {
				return nil, err
			}
		}
		// 2. Expand the values, and give each what its place in the index says.
		expanded, err := e.p.expand(active, name, asArray(m.value), true)
		if err != nil {
			return nil, err
		}
		for _, item := range expandedArray(expanded) {
			if t.container.has(containsGraph) && !isGraph(item) {
				item = &node{hasGraph: true, graph: []any{item}}
			}
			if err := e.place(t, item, m.name); err != nil {
				return nil, err
			}
			result = append(result, item)
		}
	}
	return result, nil
}

// place gives a value of an index what its name in the index says. @none says nothing, and an index
// without a property is not in the triples.
func (e *expansion) place(t *definition, item any, name string) error {
	key := e.active.property(name)
	if key == "@none" {
		return nil
	}
	n, isNode := item.(*node)
	switch {
	case t.container.has(containsIndex):
		if t.index == "" {
			return nil
		}
		if !isNode {
			return failf(invalidValueObject, "%s cannot have the index <%s>", valueKind(item), clip(t.index))
		}
		// The recommendation puts it before the values that are there.
		property := e.active.property(t.index)
		if n.properties == nil {
			n.properties = make(map[string][]any)
		}
		n.properties[property] = append([]any{e.active.expandScalar(t.index, name)}, n.properties[property]...)
	case t.container.has(containsID):
		if isNode && !n.hasID {
			id, ok := e.active.iri(name, asReference)
			n.id, n.hasID, n.noName = id, true, !ok
		}
	case isNode: // by type
		n.types = append([]string{key}, n.types...)
	}
	return nil
}
