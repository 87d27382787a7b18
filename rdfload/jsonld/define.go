// The algorithm that creates term definitions.

package jsonld

import (
	"errors"
	"fmt"
	"strings"
)

// definer defines the terms of a local context in an active one (section 4.2).
type definer struct {
	p         *processor
	active    *context // changed
	local     object
	base      string // URL of the document that has the context
	protected bool   // default of the context
	scope     scope
	state     map[string]bool // false while a term is being defined, then true
}

// need defines a term if the context has it and it is not defined yet.
func (d *definer) need(name string) error {
	if d.state[name] {
		return nil
	}
	if _, ok := d.local.get(name); !ok {
		return nil
	}
	return d.define(name)
}

// define defines a term of the context. An error names it.
func (d *definer) define(name string) error {
	// 1. Terms may need others, but no circle of them.
	if done, begun := d.state[name]; done {
		return nil
	} else if begun {
		return failf(cyclicMapping, "the term %q depends on itself", clip(name))
	}
	d.state[name] = false
	if d.p.chain++; d.p.chain > maxChain {
		return fmt.Errorf("more than %d terms depend on each other; the term %q is one of them", maxChain, clip(name))
	}
	defer func() { d.p.chain-- }()
	if name == "" {
		return failf(invalidTerm, "a term is not empty")
	}
	value, _ := d.local.get(name)
	// 2. Keywords cannot be defined, except @type's container. What looks like one is ignored.
	if name == "@type" {
		if !isTypeDefinition(value) {
			return failf(keywordRedefinition, `@type may have "@container": "@set" and "@protected" only`)
		}
	} else if isKeyword(name) {
		return failf(keywordRedefinition, "%s is defined as a term", name)
	} else if isKeywordLike(name) {
		return nil
	}
	// 3. Expand the definition without an earlier one of the term.
	previous := d.active.term(name)
	if previous != nil {
		if err := d.p.spend(d.active.set(name, nil)); err != nil {
			return err
		}
	}
	t, err := d.definition(name, value)
	if err != nil {
		var known *problem
		if errors.As(err, &known) && !errors.Is(err, errNamed) {
			return &problem{known.code, fmt.Errorf("term %q: %w", clip(name), namedError{known.cause})}
		}
		return err
	}
	if t == nil {
		return nil
	}
	// 4. A protected term stays as it is.
	if previous != nil && previous.protected && !d.scope.override {
		if !t.equals(previous) {
			return failf(protectedRedefinition, "the term %q is protected", clip(name))
		}
		t = previous
	}
	d.state[name] = true
	return d.p.spend(d.active.set(name, t))
}

// isTypeDefinition reports whether a value may define @type.
func isTypeDefinition(value any) bool {
	entries, ok := value.(object)
	for _, entry := range entries {
		ok = ok && (entry.name == "@container" && entry.value == "@set" || entry.name == "@protected")
	}
	return ok && len(entries) > 0
}

// definition returns what a term means, or nil if it is ignored.
func (d *definer) definition(name string, value any) (*definition, error) {
	// 1. A string is short for @id, and so is null.
	var entries object
	simple := false
	switch value := value.(type) {
	case nil:
		entries = object{{"@id", nil}}
	case string:
		entries, simple = object{{"@id", value}}, true
	case object:
		entries = value
	default:
		return nil, failf(invalidTerm, "it is an IRI, an object or null, not %s", show(value))
	}
	t := &definition{protected: d.protected}
	if value, ok := entries.get("@protected"); ok {
		if t.protected, ok = value.(bool); !ok {
			return nil, failf(invalidProtected, "it is true or false, not %s", show(value))
		}
	}
	if err := d.typeMapping(t, entries); err != nil {
		return nil, err
	}
	// 2. @reverse has an IRI, and few others beside it.
	if value, ok := entries.get("@reverse"); ok {
		return d.reverse(t, entries, value)
	}
	// 3. The IRI, then what depends on it.
	known, err := d.mapping(t, name, entries, simple)
	if !known || err != nil {
		return nil, err
	}
	for _, step := range []func(*definition, string, object) error{d.containerMapping, d.indexMapping, d.scopedMapping, d.settings, d.prefixFlag} {
		if err := step(t, name, entries); err != nil {
			return nil, err
		}
	}
	// 4. Nothing else may be in it.
	for _, entry := range entries {
		switch entry.name {
		case "@id", "@reverse", "@container", "@context", "@direction", "@index", "@language", "@nest", "@prefix", "@protected", "@type":
		default:
			return nil, failf(invalidTerm, "a definition has no %q", clip(entry.name))
		}
	}
	return t, nil
}

// typeMapping sets the type of a term's values.
func (d *definer) typeMapping(t *definition, entries object) error {
	value, ok := entries.get("@type")
	if !ok {
		return nil
	}
	name, ok := value.(string)
	if !ok {
		return failf(invalidTypeMapping, "it is an IRI, not %s", show(value))
	}
	typ, ok, err := d.active.expandIRI(name, asProperty, d)
	if err != nil {
		return err
	}
	switch {
	case ok && (typ == "@id" || typ == "@json" || typ == "@none" || typ == "@vocab"):
	case !ok || isKeyword(typ) || strings.HasPrefix(typ, "_:") || !isIRI(typ):
		return failf(invalidTypeMapping, "%q is neither an IRI nor @id, @vocab, @json or @none", clip(name))
	}
	t.typ = typ
	return nil
}

// reverse returns the definition of a reverse property, or nil if it is ignored.
func (d *definer) reverse(t *definition, entries object, value any) (*definition, error) {
	// 1. Two kinds of entries contradict it.
	for _, name := range []string{"@id", "@nest"} {
		if _, ok := entries.get(name); ok {
			return nil, failf(invalidReverse, "%s cannot stand beside @reverse", name)
		}
	}
	reference, ok := value.(string)
	if !ok {
		return nil, failf(invalidMapping, "@reverse is an IRI, not %s", show(value))
	}
	if isKeywordLike(reference) && !isKeyword(reference) {
		return nil, nil
	}
	// 2. Its IRI, and its container, because only a set and an index have a meaning.
	expanded, ok, err := d.active.expandIRI(reference, asProperty, d)
	if err != nil {
		return nil, err
	}
	if !ok || !isIRI(expanded) {
		return nil, failf(invalidMapping, "%q of @reverse is no IRI", clip(reference))
	}
	t.iri, t.reverse = expanded, true
	if value, ok := entries.get("@container"); ok && value != nil {
		if value != "@set" && value != "@index" {
			return nil, failf(invalidReverse, "its container is @set or @index, not %s", show(value))
		}
		t.container = containers[value.(string)]
	}
	return t, nil
}

// mapping sets the IRI of a term. known is false if the term is ignored.
func (d *definer) mapping(t *definition, name string, entries object, simple bool) (known bool, err error) {
	// 1. @id, unless it only repeats the term.
	if value, ok := entries.get("@id"); ok && value != name {
		if value == nil {
			return true, nil // the term is not used
		}
		return d.identifier(t, name, value, simple)
	}
	// 2. A compact IRI as a term.
	if colon := strings.IndexByte(name, ':'); colon > 0 {
		prefix := name[:colon]
		if err := d.need(prefix); err != nil {
			return false, err
		}
		if p := d.active.term(prefix); p != nil {
			t.iri = p.iri + name[colon+1:]
		} else {
			t.iri = name
		}
		return true, nil
	}
	// 3. A relative IRI, @type, or a name of the vocabulary.
	switch {
	case strings.Contains(name, "/"):
		expanded, ok, err := d.active.expandIRI(name, asProperty, nil)
		if err != nil {
			return false, err
		}
		if !ok || !isIRI(expanded) {
			return false, failf(invalidMapping, "it is a relative IRI")
		}
		t.iri = expanded
	case name == "@type":
		t.iri = "@type"
	case d.active.vocab != "":
		t.iri = d.active.vocab + name
	default:
		return false, failf(invalidMapping, "it has no @id, and there is no @vocab")
	}
	return true, nil
}

// identifier sets the IRI of a term by its @id. known is false if the term is ignored.
func (d *definer) identifier(t *definition, name string, value any, simple bool) (known bool, err error) {
	reference, ok := value.(string)
	if !ok {
		return false, failf(invalidMapping, "@id is an IRI or null, not %s", show(value))
	}
	if isKeywordLike(reference) && !isKeyword(reference) {
		return false, nil
	}
	expanded, ok, err := d.active.expandIRI(reference, asProperty, d)
	if err != nil {
		return false, err
	}
	switch {
	case !ok || !isKeyword(expanded) && !isIRI(expanded):
		return false, failf(invalidMapping, "%q is no IRI", clip(reference))
	case expanded == "@context":
		return false, failf(invalidAlias, "@context has no alias")
	}
	t.iri = expanded
	// A term in the form of an IRI must mean that IRI.
	if inside := strings.IndexByte(name[1:], ':'); inside >= 0 && inside+2 < len(name) || strings.Contains(name, "/") {
		d.state[name] = true
		itself, _, err := d.active.expandIRI(name, asProperty, d)
		if err != nil {
			return false, err
		}
		if itself != expanded {
			return false, failf(invalidMapping, "it has the form of an IRI, and means another one, <%s>", clip(expanded))
		}
	}
	if simple && !strings.ContainsAny(name, ":/") {
		t.prefix = strings.HasPrefix(expanded, "_:") || strings.ContainsRune(":/?#[]@", rune(expanded[len(expanded)-1]))
	}
	return true, nil
}

// containerMapping sets the containers of a term.
func (d *definer) containerMapping(t *definition, _ string, entries object) error {
	value, ok := entries.get("@container")
	if !ok {
		return nil
	}
	for _, item := range asArray(value) {
		name, _ := item.(string)
		one := containers[name]
		if one == 0 {
			return failf(invalidContainer, "%s is none", show(item))
		}
		t.container |= one
	}
	if !t.container.valid() {
		return failf(invalidContainer, "%s cannot stand together", show(value))
	}
	if t.container.has(containsType) {
		if t.typ == "" {
			t.typ = "@id"
		}
		if t.typ != "@id" && t.typ != "@vocab" {
			return failf(invalidTypeMapping, "a container by type holds @id or @vocab, not %s", clip(t.typ))
		}
	}
	return nil
}

// indexMapping sets the property that an index stands for.
func (d *definer) indexMapping(t *definition, _ string, entries object) error {
	value, ok := entries.get("@index")
	if !ok {
		return nil
	}
	if !t.container.has(containsIndex) {
		return failf(invalidTerm, "@index needs a container by index")
	}
	name, ok := value.(string)
	if !ok {
		return failf(invalidTerm, "@index is an IRI, not %s", show(value))
	}
	expanded, ok, err := d.active.expandIRI(name, asProperty, d)
	if err != nil {
		return err
	}
	if !ok || isKeyword(expanded) || !isIRI(expanded) {
		return failf(invalidTerm, "%q of @index is no IRI", clip(name))
	}
	t.index = name
	return nil
}

// scopedMapping checks and keeps the scoped context of a term.
func (d *definer) scopedMapping(t *definition, _ string, entries object) error {
	value, ok := entries.get("@context")
	if !ok {
		return nil
	}
	// It is checked here, because it may never be used. Remote contexts in progress are skipped.
	flags := scopeFlags{override: true, trial: true}
	if _, err := d.p.process(d.active, value, d.base, scope{scopeFlags: flags, remote: d.scope.remote}); err != nil {
		var known *problem
		if errors.As(err, &known) && known.code == loadingFailed {
			return err
		}
		return &problem{invalidScoped, err}
	}
	t.scoped, t.context, t.base = true, value, d.base
	return nil
}

// settings sets language, direction and nesting of a term.
func (d *definer) settings(t *definition, _ string, entries object) error {
	_, typed := entries.get("@type")
	if value, ok := entries.get("@language"); ok && !typed {
		language, ok := value.(string)
		if !ok && value != nil {
			return failf(invalidLanguageMapping, "it is a language tag or null, not %s", show(value))
		}
		t.language = setting{true, language}
	}
	if value, ok := entries.get("@direction"); ok && !typed {
		direction, ok := directionOf(value)
		if !ok {
			return failf(invalidDirection, `it is "ltr", "rtl" or null, not %s`, show(value))
		}
		t.direction = setting{true, direction}
	}
	if value, ok := entries.get("@nest"); ok {
		nest, ok := value.(string)
		if !ok || isKeyword(nest) && nest != "@nest" {
			return failf(invalidNest, "it is @nest or a term, not %s", show(value))
		}
		t.nest = nest
	}
	return nil
}

// prefixFlag sets whether a term may be a prefix.
func (d *definer) prefixFlag(t *definition, name string, entries object) error {
	value, ok := entries.get("@prefix")
	if !ok {
		return nil
	}
	if strings.ContainsAny(name, ":/") {
		return failf(invalidTerm, "a prefix has neither ':' nor '/'")
	}
	if t.prefix, ok = value.(bool); !ok {
		return failf(invalidPrefix, "it is true or false, not %s", show(value))
	}
	if t.prefix && isKeyword(t.iri) {
		return failf(invalidTerm, "the alias of a keyword is no prefix")
	}
	return nil
}
