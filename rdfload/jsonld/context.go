// Active contexts and term definitions.

package jsonld

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple/iri"
)

// context is an active context (section 4.1 of the recommendation). It must not change once
// [processor.process] returned it, because later contexts share its terms.
type context struct {
	terms     map[string]*definition
	shared    bool     // terms belongs to another context and must be copied before a change
	base      iri.Base // zero: a relative reference has no IRI
	vocab     string   // "" means none
	language  string   // default language; "" means none
	direction string   // default base direction; "" means none
	// previous is the context to return to at the next node object; nil if this one propagates.
	previous *context
}

// derive returns a copy that may be changed.
func (c *context) derive() *context {
	derived := *c
	derived.shared = true
	return &derived
}

// term returns the definition of a term, or nil.
func (c *context) term(name string) *definition { return c.terms[name] }

// protected returns the first protected term in the order of names, or "".
func (c *context) protected() (first string) {
	for name, d := range c.terms {
		if d.protected && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// definition is the definition of a term. It must not change once it is in a context.
type definition struct {
	iri       string // "" means null: the term is ignored
	typ       string // type mapping; "" means none
	language  setting
	direction setting
	container container
	index     string // property of an index; "" means @index
	nest      string
	scoped    bool   // there is a scoped context, which may be null
	context   any    // the scoped context as written
	base      string // base of relative URLs in the scoped context
	reverse   bool
	prefix    bool // the term may be the prefix of a compact IRI
	protected bool
}

// setting is a string that may be absent, or null (set and "").
type setting struct {
	set   bool
	value string
}

// or returns the setting, or a default if it is absent.
func (s setting) or(value string) string {
	if s.set {
		return s.value
	}
	return value
}

// equals reports whether two definitions differ in protection only.
func (d *definition) equals(other *definition) bool {
	a, b := *d, *other
	a.context, b.context = nil, nil
	a.protected, b.protected = false, false
	a.base, b.base = "", ""
	return a == b && reflect.DeepEqual(d.context, other.context)
}

// container is a set of container mappings.
type container uint8

const (
	containsGraph container = 1 << iota
	containsID
	containsIndex
	containsLanguage
	containsList
	containsSet
	containsType
)

var containers = map[string]container{
	"@graph": containsGraph, "@id": containsID, "@index": containsIndex, "@language": containsLanguage,
	"@list": containsList, "@set": containsSet, "@type": containsType,
}

// has reports whether c has one of some mappings.
func (c container) has(any container) bool { return c&any != 0 }

// valid reports whether a term may have these mappings together (section 4.2.2, step 21).
func (c container) valid() bool {
	switch rest := c &^ containsSet; rest {
	case 0, containsGraph, containsID, containsIndex, containsLanguage, containsType,
		containsGraph | containsID, containsGraph | containsIndex:
		return true
	default:
		return c == containsList
	}
}

// keyword is a set of keywords, the words with "@" that have a meaning.
type keyword uint32

const (
	kwDirection keyword = 1 << iota
	kwGraph
	kwID
	kwIncluded
	kwIndex
	kwLanguage
	kwList
	kwNest
	kwReverse
	kwSet
	kwType
	kwValue
	kwOther // in contexts, or as a value
)

var keywords = map[string]keyword{
	"@base": kwOther, "@container": kwOther, "@context": kwOther, "@direction": kwDirection, "@graph": kwGraph, "@id": kwID,
	"@import": kwOther, "@included": kwIncluded, "@index": kwIndex, "@json": kwOther, "@language": kwLanguage, "@list": kwList,
	"@nest": kwNest, "@none": kwOther, "@prefix": kwOther, "@propagate": kwOther, "@protected": kwOther, "@reverse": kwReverse,
	"@set": kwSet, "@type": kwType, "@value": kwValue, "@version": kwOther, "@vocab": kwOther,
}

func (k keyword) has(any keyword) bool { return k&any != 0 }

func isKeyword(s string) bool { return strings.HasPrefix(s, "@") && keywords[s] != 0 }

// isKeywordLike reports whether s is "@" and letters. Such words are reserved, so they are ignored
// if they are no keywords.
func isKeywordLike(s string) bool {
	if len(s) < 2 || s[0] != '@' {
		return false
	}
	for _, c := range []byte(s[1:]) {
		if c |= 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// isIRI reports whether s has the form of an absolute IRI or of a blank node.
func isIRI(s string) bool { return strings.HasPrefix(s, "_:") || iri.HasScheme(s) }

// resolution says how an IRI is expanded beside its terms and prefixes.
type resolution struct {
	vocab    bool // by terms and the vocabulary mapping
	document bool // by the base
}

var (
	asProperty  = resolution{vocab: true}
	asReference = resolution{document: true}
	asType      = resolution{vocab: true, document: true}
)

// iri expands an IRI, a compact IRI or a term (section 5.2). ok is false if the result is null. The
// result may be relative, or a keyword.
func (c *context) iri(value string, how resolution) (expanded string, ok bool) {
	expanded, ok, _ = c.expandIRI(value, how, nil)
	return expanded, ok
}

// property is iri for the names of members. It returns "" for null.
func (c *context) property(name string) string {
	expanded, _ := c.iri(name, asProperty)
	return expanded
}

// expandIRI is iri while d defines terms; d may be nil. It then defines what the value depends on,
// and only then it may return an error.
func (c *context) expandIRI(value string, how resolution, d *definer) (expanded string, ok bool, err error) {
	// 1. Keywords are themselves, and what looks like one is null.
	if isKeywordLike(value) {
		return value, keywords[value] != 0, nil
	}
	if d != nil {
		if err := d.need(value); err != nil {
			return "", false, err
		}
	}
	// 2. A term may be an alias of a keyword everywhere, and an IRI where the vocabulary applies.
	if t := c.terms[value]; t != nil && (how.vocab || isKeyword(t.iri)) {
		return t.iri, t.iri != "", nil
	}
	// 3. A colon makes it a blank node, an absolute IRI or a compact one.
	if colon := strings.IndexByte(value, ':'); colon > 0 {
		prefix, suffix := value[:colon], value[colon+1:]
		if prefix == "_" || strings.HasPrefix(suffix, "//") {
			return value, true, nil
		}
		if d != nil {
			if err := d.need(prefix); err != nil {
				return "", false, err
			}
		}
		if t := c.terms[prefix]; t != nil && t.prefix && t.iri != "" {
			return t.iri + suffix, true, nil
		}
		if iri.HasScheme(value) {
			return value, true, nil
		}
	}
	// 4. All others are relative. The vocabulary takes precedence over the base.
	switch {
	case how.vocab && c.vocab != "":
		return c.vocab + value, true, nil
	case how.document:
		return c.base.Resolve(value), true, nil
	}
	return value, true, nil
}

// set stores a definition. It returns the number of terms that had to be copied.
func (c *context) set(name string, d *definition) (copied int) {
	if c.shared || c.terms == nil {
		copied = len(c.terms)
		if c.terms = maps.Clone(c.terms); c.terms == nil {
			c.terms = make(map[string]*definition)
		}
		c.shared = false
	}
	if d == nil {
		delete(c.terms, name)
	} else {
		c.terms[name] = d
	}
	return copied
}

// asArray returns an array as it is, and any other value as an array of one.
func asArray(value any) []any {
	if array, ok := value.([]any); ok {
		return array
	}
	return []any{value}
}

// contains reports whether a list has a string.
func contains(list []string, s string) bool { return slices.Contains(list, s) }
