// The context processing algorithm.

package jsonld

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/triple/iri"
)

// Limits of contexts. They bound time and memory, because a short document may have contexts that
// copy each other's terms, or name the same remote context again and again.
const (
	// maxTerms bounds the definitions of one context.
	maxTerms = 50_000
	// maxChain bounds the definitions that refer to each other, because they are made by recursion.
	maxChain = 10_000
	// maxWork bounds the work for all contexts of a document: definitions made and copied.
	maxWork = 50_000_000
	// maxRemote bounds the remote contexts that include each other.
	maxRemote = 32
	// termWork is the share of maxWork that making a definition takes; copying one takes 1.
	termWork = 4
	// remoteWork is the share of maxWork that one use of a remote context takes.
	remoteWork = 1000
	// maxKept bounds the terms of the contexts that are kept for their next use.
	maxKept = 1_000_000
)

// processor expands one document. It is not safe for concurrent use.
type processor struct {
	base   iri.Base // of the document
	url    string   // of the document; "" if it has none. Relative URLs of contexts begin there
	load   Loader
	loaded map[string]*Context
	work   int // in the unit of maxWork

	kept      map[reuse]*context // results of contexts that a document may use many times
	keptTerms int
	chain     int // definitions in progress
}

// reuse identifies the result of a context: the active one, and what is applied to it.
type reuse struct {
	active *context
	term   *definition // with a scoped context, or nil
	url    string      // of a remote context
	scope  scopeFlags
}

// scope says how a context is applied.
type scope struct {
	scopeFlags
	remote []string // URLs of the remote contexts around it
}

type scopeFlags struct {
	// override allows to redefine protected terms, in a property's scoped context.
	override bool
	// local means that the context ends at the next node object, unless it says otherwise.
	local bool
	// trial means that a scoped context is only checked: its remote contexts may be in progress.
	trial bool
}

// spend adds to the work of the document, and returns an error if it is too much.
func (p *processor) spend(work int) error {
	if p.work += work; p.work > maxWork {
		return fmt.Errorf("the contexts of the document are too many to process: together more than %d definitions; use one at the top", maxWork/termWork)
	}
	return nil
}

// keep returns the result of make, or that of an earlier call with the same key.
func (p *processor) keep(key reuse, make func() (*context, error)) (*context, error) {
	if result := p.kept[key]; result != nil {
		return result, nil
	}
	result, err := make()
	if err != nil {
		return nil, err
	}
	if p.keptTerms += len(result.terms) + 1; p.keptTerms > maxKept {
		clear(p.kept)
		p.keptTerms = len(result.terms) + 1
	}
	p.kept[key] = result
	return result, nil
}

// scopedContext applies the scoped context of a term.
func (p *processor) scopedContext(active *context, term *definition, flags scopeFlags) (*context, error) {
	return p.keep(reuse{active: active, term: term, scope: flags}, func() (*context, error) {
		return p.process(active, term.context, term.base, scope{scopeFlags: flags})
	})
}

// process applies a local context, as written, to an active one (section 4.1.2). base is the URL of
// the document that has it.
func (p *processor) process(active *context, local any, base string, s scope) (*context, error) {
	// 1. A context that does not propagate remembers the one before it.
	result := active
	propagate := !s.local
	if entries, ok := local.(object); ok {
		if value, ok := entries.get("@propagate"); ok {
			propagate = value == true
		}
	}
	if !propagate && result.previous == nil {
		result = result.derive()
		result.previous = active
	}
	// 2. An array of contexts is applied one by one.
	for _, item := range asArray(local) {
		var err error
		switch item := item.(type) {
		case nil:
			if err := p.spend(len(result.terms)); err != nil {
				return nil, err
			}
			if name := result.protected(); name != "" && !s.override {
				return nil, failf(invalidNullification, "null would remove the protected term %q", clip(name))
			}
			empty := &context{base: p.base}
			if !propagate {
				empty.previous = result
			}
			result = empty
		case string:
			result, err = p.remote(result, item, base, s)
		case object:
			result, err = p.entries(result, item, base, s)
		default:
			return nil, failf(invalidLocalContext, "it is an object, a URL, null or an array of them, not %s", show(item))
		}
		if err != nil {
			return nil, err
		}
	}
	return result, nil
}

// remote applies the context with a URL.
func (p *processor) remote(active *context, reference, base string, s scope) (*context, error) {
	url, err := contextURL(reference, base)
	if err != nil {
		return nil, err
	}
	// A scoped context may name a context around it. It is checked already, because it is in progress.
	if contains(s.remote, url) {
		if s.trial {
			return active, nil
		}
		return nil, failf(contextOverflow, "the context <%s> includes itself", clip(url))
	}
	if len(s.remote) == maxRemote {
		return nil, failf(contextOverflow, "more than %d contexts include each other, up to <%s>", maxRemote, clip(url))
	}
	if err := p.spend(remoteWork); err != nil {
		return nil, err
	}
	inner := scope{scopeFlags: scopeFlags{override: s.override, trial: s.trial}, remote: append(slices.Clip(s.remote), url)}
	process := func() (*context, error) {
		loaded, err := p.fetch(url)
		if err != nil {
			return nil, err
		}
		return p.process(active, loaded.local, cmp.Or(loaded.URL, url), inner)
	}
	if s.trial || len(s.remote) > 0 {
		return process() // its result depends on those around it
	}
	return p.keep(reuse{active: active, url: url, scope: inner.scopeFlags}, process)
}

// contextURL returns the absolute URL of a context.
func contextURL(reference, base string) (string, error) {
	if iri.HasScheme(reference) {
		return reference, nil
	}
	if base == "" {
		return "", failf(loadingFailed, "the context <%s> is relative and the document has no base", clip(reference))
	}
	return iri.Resolve(base, reference)
}

// fetch returns the context with a URL.
func (p *processor) fetch(url string) (*Context, error) {
	if loaded := p.loaded[url]; loaded != nil {
		return loaded, nil
	}
	loaded, err := p.load(url)
	if err != nil {
		var known *problem
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, &problem{loadingFailed, fmt.Errorf("context <%s>: %w", clip(url), err)}
	}
	p.loaded[url] = loaded
	return loaded, nil
}

// entries applies a context that is an object.
func (p *processor) entries(active *context, local object, base string, s scope) (*context, error) {
	// 1. An imported context comes first, so that its entries can be replaced.
	if err := checkVersion(local); err != nil {
		return nil, err
	}
	if value, ok := local.get("@propagate"); ok {
		if _, ok := value.(bool); !ok {
			return nil, failf(invalidPropagate, "it is true or false, not %s", show(value))
		}
	}
	if value, ok := local.get("@import"); ok {
		var err error
		if local, err = p.imported(local, value, base); err != nil {
			return nil, err
		}
	}
	if len(local)+len(active.terms) > maxTerms {
		return nil, fmt.Errorf("a context of %d definitions; at most %d are supported", len(local)+len(active.terms), maxTerms)
	}
	if err := p.spend(termWork * len(local)); err != nil {
		return nil, err
	}
	// 2. The settings of all terms. A remote context cannot change the base.
	result := active.derive()
	if value, ok := local.get("@base"); ok && len(s.remote) == 0 {
		var err error
		if result.base, err = baseOf(value, active.base); err != nil {
			return nil, err
		}
	}
	if err := result.applyDefaults(local); err != nil {
		return nil, err
	}
	protected := false
	if value, ok := local.get("@protected"); ok {
		if protected, ok = value.(bool); !ok {
			return nil, failf(invalidProtected, "it is true or false, not %s", show(value))
		}
	}
	// 3. The terms. A definition may need later ones, which are then made first.
	d := definer{p: p, active: result, local: local, base: base, protected: protected, scope: s, state: make(map[string]bool, len(local))}
	for _, entry := range local {
		switch entry.name {
		case "@base", "@direction", "@import", "@language", "@propagate", "@protected", "@version", "@vocab":
			continue
		}
		if err := d.define(entry.name); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// imported returns a context with the entries of the one that it imports.
func (p *processor) imported(local object, reference any, base string) (object, error) {
	name, ok := reference.(string)
	if !ok {
		return nil, failf(invalidImport, "it is a URL, not %s", show(reference))
	}
	url, err := contextURL(name, base)
	if err != nil {
		return nil, err
	}
	if err := p.spend(remoteWork); err != nil {
		return nil, err
	}
	loaded, err := p.fetch(url)
	if err != nil {
		return nil, err
	}
	imported, ok := loaded.local.(object)
	if !ok {
		return nil, failf(invalidRemote, "the imported <%s> is no object", clip(url))
	}
	if _, ok := imported.get("@import"); ok {
		return nil, failf(invalidEntry, "the imported <%s> has @import itself", clip(url))
	}
	return imported.merge(local), nil
}

// checkVersion returns an error if a context is for another version.
func checkVersion(local object) error {
	value, ok := local.get("@version")
	if !ok {
		return nil
	}
	text, _ := value.(number)
	if version, err := strconv.ParseFloat(string(text), 64); err != nil || math.Abs(version-1.1) > 1e-9 {
		return failf(invalidVersion, "it is 1.1, not %s", show(value))
	}
	return nil
}

// baseOf returns the base that @base sets.
func baseOf(value any, outer iri.Base) (iri.Base, error) {
	switch value := value.(type) {
	case nil:
		return iri.Base{}, nil
	case string:
		if !iri.HasScheme(value) && outer.IsZero() {
			return outer, failf(invalidBase, "%q is relative and there is no base", clip(value))
		}
		base, err := iri.NewBase(outer.Resolve(value))
		if err != nil {
			return base, &problem{invalidBase, err}
		}
		return base, nil
	}
	return outer, failf(invalidBase, "it is an IRI or null, not %s", show(value))
}

// applyDefaults sets the vocabulary, the language and the direction of a context.
func (c *context) applyDefaults(local object) error {
	if value, ok := local.get("@vocab"); ok {
		switch value := value.(type) {
		case nil:
			c.vocab = ""
		case string:
			// It may be relative to the outer vocabulary, or to the base.
			expanded, ok := c.iri(value, asType)
			if !ok {
				return failf(invalidVocab, "%q is no IRI", clip(value))
			}
			c.vocab = expanded
		default:
			return failf(invalidVocab, "it is an IRI or null, not %s", show(value))
		}
	}
	if value, ok := local.get("@language"); ok {
		language, ok := value.(string)
		if !ok && value != nil {
			return failf(invalidDefaultLanguage, "it is a language tag or null, not %s", show(value))
		}
		c.language = language
	}
	if value, ok := local.get("@direction"); ok {
		direction, ok := directionOf(value)
		if !ok {
			return failf(invalidDirection, `it is "ltr", "rtl" or null, not %s`, show(value))
		}
		c.direction = direction
	}
	return nil
}

// directionOf returns a base direction; "" for null.
func directionOf(value any) (direction string, ok bool) {
	direction, _ = value.(string)
	return direction, value == nil || direction == "ltr" || direction == "rtl"
}
