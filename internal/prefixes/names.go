// Prefixes and their IRIs: limits, well-known ones, names to IRIs and back.

package prefixes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

// Limits of the prefixes of a store.
const (
	MaxPrefixes  = 2048 // of a store
	MaxNameBytes = 64
	MaxIRIBytes  = 1024
	maxFound     = 1024 // of one load
)

// WellKnown are the prefixes that every store has.
func WellKnown() Names { return maps.Clone(wellKnown) }

var wellKnown = Names{
	"rdf":     triple.RDF,
	"rdfs":    "http://www.w3.org/2000/01/rdf-schema#",
	"xsd":     triple.XSD,
	"owl":     "http://www.w3.org/2002/07/owl#",
	"skos":    "http://www.w3.org/2004/02/skos/core#",
	"foaf":    "http://xmlns.com/foaf/0.1/",
	"schema":  "https://schema.org/",
	"dc":      "http://purl.org/dc/elements/1.1/",
	"dcterms": "http://purl.org/dc/terms/",
	"dcat":    "http://www.w3.org/ns/dcat#",
	"prov":    "http://www.w3.org/ns/prov#",
	"sh":      "http://www.w3.org/ns/shacl#",
	"void":    "http://rdfs.org/ns/void#",
	"geo":     "http://www.opengis.net/ont/geosparql#",
	"vcard":   "http://www.w3.org/2006/vcard/ns#",
	"time":    "http://www.w3.org/2006/time#",
	"org":     "http://www.w3.org/ns/org#",
}

// fixed are the prefixes that terms of HTTP parameters have (package triple), so they must not change.
var fixed = []string{"rdf", "rdfs", "xsd"}

// schemes are names that begin IRIs. As prefixes they would give http://example.org two meanings.
var schemes = []string{"http", "https", "urn", "mailto", "file", "ftp", "tag", "data", "ws", "wss"}

// Names maps prefixes, without ':', to IRIs.
type Names map[string]string

// Check returns an error if a store cannot have a prefix: a name is an ASCII letter, and then letters,
// digits, '_' and '-'.
func Check(name, iri string) error {
	switch {
	case name == "" || len(name) > MaxNameBytes:
		return fmt.Errorf("the prefix %q has %d bytes: it has 1 to %d", clip(name), len(name), MaxNameBytes)
	case slices.Contains(schemes, name):
		return fmt.Errorf("the prefix %s begins IRIs, so it is no prefix", name)
	case slices.Contains(fixed, name) && iri != wellKnown[name]:
		return fmt.Errorf("the prefix %s always is <%s>", name, wellKnown[name])
	case len(iri) > MaxIRIBytes:
		return fmt.Errorf("the IRI of the prefix %s has %d bytes: it has at most %d", name, len(iri), MaxIRIBytes)
	}
	for i := range len(name) {
		letter := name[i]|0x20 >= 'a' && name[i]|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789_-", rune(name[i]))) {
			return fmt.Errorf("the prefix %q: use ASCII letters, digits, '_' and '-', and a letter first", name)
		}
	}
	if err := triple.CheckIRI(iri); err != nil {
		return fmt.Errorf("the prefix %s: %w", name, err)
	}
	return nil
}

func clip(text string) string {
	if len(text) > MaxNameBytes {
		return text[:MaxNameBytes] + "..."
	}
	return text
}

// All returns the prefixes of a store and the well-known ones that they do not replace.
func (n Names) All() Names {
	all := WellKnown()
	maps.Copy(all, n)
	return all
}

// With returns the prefixes of a document and those of n whose names and IRIs it does not declare.
func (n Names) With(declared map[string]string) Names {
	merged, taken := Names{}, map[string]bool{}
	for name, iri := range declared {
		merged[name], taken[iri] = iri, true
	}
	for name, iri := range n {
		if _, ok := merged[name]; !ok && !taken[iri] {
			merged[name] = iri
		}
	}
	return merged
}

// Shortener returns a function that writes an IRI as a prefixed name of Turtle and SPARQL, if one fits.
// It prefers the longest IRI of a prefix, and then the first name.
func (n Names) Shortener() func(iri string) (name string, ok bool) {
	byIRI, lengths := map[string]string{}, []int{}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(n))) {
		byIRI[n[name]] = name
		lengths = append(lengths, len(n[name]))
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	return func(iri string) (string, bool) {
		for _, length := range slices.Backward(lengths) {
			if length >= len(iri) {
				continue
			}
			if name, ok := byIRI[iri[:length]]; ok && isLocal(iri[length:]) {
				return name + ":" + iri[length:], true
			}
		}
		return "", false
	}
}

// isLocal reports whether the rest of an IRI needs no escapes in a prefixed name.
func isLocal(rest string) bool {
	for i := range len(rest) {
		c := rest[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' && i > 0 {
			continue
		}
		return false
	}
	return true
}

// Found collects the prefixes that documents declare. If a name is declared twice, the first one
// stays. It holds a bounded number, and none that a store cannot have or that is well-known. It is safe
// for concurrent use; its zero value is empty.
type Found struct {
	mu    sync.Mutex
	names Names
}

// Add adds a prefix, without ':', and its IRI.
func (f *Found) Add(name, iri string) {
	if _, ok := wellKnown[name]; ok || len(name) > MaxNameBytes {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.names[name]; ok || len(f.names) >= maxFound || Check(name, iri) != nil {
		return
	}
	if f.names == nil {
		f.names = Names{}
	}
	f.names[strings.Clone(name)] = strings.Clone(iri)
}

// Names returns the collected prefixes.
func (f *Found) Names() Names {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.names)
}
