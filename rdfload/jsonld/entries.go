// The expansion algorithm: the members of an object.

package jsonld

// expansion expands the members of one object (section 5.1.2, steps 13 to 20).
type expansion struct {
	p        *processor
	active   *context
	typed    *context // without the contexts of the object's types, because it expands the types
	property string   // active property
	jsonType bool

	node
	seen keyword // the object's keywords that mean something

	// What value, list and set objects have.
	value     any
	typeArray bool // @type is an array
	language  string
	direction string
	list, set []any
}

// expand expands the members of an object, and of those nested in it.
func (e *expansion) expand(o object) error {
	var nests []string
	for _, m := range o {
		if m.name == "@context" {
			continue
		}
		name := e.active.property(m.name)
		var err error
		switch {
		case name == "@nest" && e.property != "@reverse":
			nests = append(nests, m.name)
		case isKeyword(name):
			err = e.keyword(name, m.value)
		case isProperty(name):
			err = e.member(m.name, name, m.value)
		}
		if err != nil {
			return err
		}
	}
	// Nested members come last, because the outer ones take precedence as keywords.
	for _, name := range nests {
		nested, _ := o.get(name)
		if err := e.nested(name, nested); err != nil {
			return err
		}
	}
	return nil
}

// nested expands the members of an object, or an array of them, as if they were of the outer one.
func (e *expansion) nested(name string, value any) error {
	// The alias of @nest may have a scoped context, which holds for the nested members.
	outer := e.active
	active, err := e.p.inProperty(outer, outer, name)
	if err != nil {
		return err
	}
	e.active = active
	defer func() { e.active = outer }()
	for _, item := range asArray(value) {
		o, ok := item.(object)
		if !ok {
			return failf(invalidNest, "%q has an object, not %s", clip(name), show(item))
		}
		for _, m := range o {
			if active.property(m.name) == "@value" {
				return failf(invalidNest, "%q has a value object", clip(name))
			}
		}
		if err := e.expand(o); err != nil {
			return err
		}
	}
	return nil
}

// keyword expands the value of a keyword.
func (e *expansion) keyword(name string, value any) (err error) {
	// 1. A keyword may be there once, but for those whose values add up.
	if e.property == "@reverse" {
		return failf(invalidReverseMap, "%s in a map of reverse properties", name)
	}
	k := keywords[name]
	if e.seen.has(k) && !k.has(kwIncluded|kwType|kwReverse|kwOther) {
		return failf(collidingKeywords, "%s and an alias of it in one object", name)
	}
	e.seen |= k
	// 2. Each has its own rules. Those without a rule mean nothing in a document.
	switch k {
	case kwID:
		id, ok := value.(string)
		if !ok {
			return failf(invalidID, "it is an IRI, not %s", show(value))
		}
		id, ok = e.active.iri(id, asReference)
		e.id, e.hasID, e.noName = id, true, !ok
	case kwType:
		return e.addTypes(value)
	case kwGraph:
		e.hasGraph = true
		e.graph, err = e.array(top, value)
	case kwIncluded:
		return e.addIncluded(value)
	case kwValue:
		switch value.(type) {
		case object, []any:
			if !e.jsonType {
				return failf(invalidValueValue, "@value is a string, a number, true, false or null, not %s", show(value))
			}
		}
		e.value = value
	case kwLanguage:
		language, ok := value.(string)
		if !ok {
			return failf(invalidLanguageString, "@language is a language tag, not %s", show(value))
		}
		e.language = language
	case kwDirection:
		direction, ok := directionOf(value)
		if !ok || value == nil {
			return failf(invalidDirection, `it is "ltr" or "rtl", not %s`, show(value))
		}
		e.direction = direction
	case kwIndex:
		if _, ok := value.(string); !ok {
			return failf(invalidIndex, "it is a string, not %s", show(value))
		}
	case kwList:
		// A list outside of a property means nothing.
		if e.property == top {
			e.seen &^= k
			return nil
		}
		e.list, err = e.array(e.property, value)
	case kwSet:
		e.set, err = e.array(e.property, value)
	case kwReverse:
		return e.addReverse(value)
	}
	return err
}

// array expands a value to an array.
func (e *expansion) array(property string, value any) ([]any, error) {
	expanded, err := e.p.expand(e.active, property, value, false)
	return expandedArray(expanded), err
}

func (e *expansion) addTypes(value any) error {
	_, isArray := value.([]any)
	e.typeArray = e.typeArray || isArray
	for _, item := range asArray(value) {
		name, ok := item.(string)
		if !ok {
			return failf(invalidType, "@type is an IRI or an array of them, not %s", show(item))
		}
		if typ, ok := e.typed.iri(name, asType); ok {
			e.types = append(e.types, typ)
		}
	}
	return nil
}

func (e *expansion) addIncluded(value any) error {
	// Scalars would be ignored outside of a property, so they are looked for first.
	for _, item := range asArray(value) {
		if _, ok := item.(object); !ok {
			return failf(invalidIncluded, "it has nodes, not %s", show(item))
		}
	}
	for _, item := range asArray(value) {
		expanded, err := e.p.expand(e.active, included, item, false)
		if err != nil {
			return err
		}
		for _, one := range expandedArray(expanded) {
			if _, ok := one.(*node); !ok {
				return failf(invalidIncluded, "it has nodes, not %s", valueKind(one))
			}
			e.included = append(e.included, one)
		}
	}
	return nil
}

// addReverse adds the members of @reverse.
func (e *expansion) addReverse(value any) error {
	o, ok := value.(object)
	if !ok {
		return failf(invalidReverseValue, "it is an object, not %s", show(value))
	}
	expanded, err := e.p.expand(e.active, "@reverse", o, false)
	if err != nil {
		return err
	}
	n, ok := expanded.(*node)
	if !ok {
		return nil
	}
	// What is reversed twice is an ordinary property.
	for property, items := range n.reverse {
		e.add(property, items)
	}
	for property, items := range n.properties {
		if err := e.addReversed(property, items); err != nil {
			return err
		}
	}
	return nil
}

// add adds values of a property.
func (e *expansion) add(property string, items []any) {
	if e.properties == nil {
		e.properties = make(map[string][]any)
	}
	e.properties[property] = append(e.properties[property], items...)
}

// addReversed adds subjects of a property, which must be nodes.
func (e *expansion) addReversed(property string, items []any) error {
	for _, item := range items {
		if _, ok := item.(*node); !ok {
			return failf(invalidReverseTarget, "%s as the subject of <%s>", valueKind(item), clip(property))
		}
	}
	if e.reverse == nil {
		e.reverse = make(map[string][]any)
	}
	e.reverse[property] = append(e.reverse[property], items...)
	return nil
}

// result returns what the object is. It returns nil if it means nothing.
func (e *expansion) result() (any, error) {
	properties := len(e.properties) + len(e.reverse)
	switch {
	case e.seen.has(kwValue):
		l, err := e.literal(properties)
		if l == nil || err != nil || e.property == top {
			return nil, err
		}
		return l, nil
	case e.seen.has(kwList | kwSet):
		if rest := e.seen &^ kwIndex; properties > 0 || rest != kwList && rest != kwSet {
			return nil, failf(invalidSetOrList, "only @index may stand beside @set or @list")
		}
		if e.seen.has(kwSet) {
			return e.set, nil
		}
		return &list{e.list}, nil
	}
	// A node object needs more than a language, and outside of a property more than a name.
	if properties == 0 && (e.seen == kwLanguage || e.property == top && (e.seen == 0 || e.seen == kwID)) {
		return nil, nil
	}
	n := e.node
	return &n, nil
}

// literal returns the value object, or nil for null. properties is the number of its properties,
// which must be 0.
func (e *expansion) literal(properties int) (*literal, error) {
	// 1. Only some keywords may be beside @value.
	if properties > 0 || e.seen.has(^(kwDirection | kwIndex | kwLanguage | kwType | kwValue)) {
		return nil, failf(invalidValueObject, "only @type, @language, @direction and @index may stand beside @value")
	}
	if e.seen.has(kwType) && e.seen.has(kwLanguage|kwDirection) {
		return nil, failf(invalidValueObject, "@type beside @language or @direction")
	}
	l := &literal{value: e.value, language: e.language, direction: e.direction}
	// 2. The value must fit them.
	if e.jsonType {
		l.typ = "@json"
		return l, nil
	}
	if l.value == nil {
		return nil, nil
	}
	if _, ok := l.value.(string); !ok && e.seen.has(kwLanguage) {
		return nil, failf(invalidLanguageValue, "%s has a language", show(l.value))
	}
	if e.seen.has(kwType) {
		if e.typeArray || len(e.types) != 1 || isKeyword(e.types[0]) || !isIRI(e.types[0]) {
			return nil, failf(invalidTypedValue, "the @type of a value is one IRI")
		}
		l.typ = e.types[0]
	}
	return l, nil
}
