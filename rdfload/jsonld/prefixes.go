// The prefixes that the contexts of a document define.

package jsonld

import (
	"maps"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// prefixesOf calls found with the prefixes in the contexts of a document's outermost objects: terms with
// "@prefix": true, and simple terms whose IRI ends with a delimiter (JSON-LD 1.1, section 4.1.5).
func prefixesOf(document any, found func(name, iri string)) {
	for _, item := range asArray(document) {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		for _, c := range asArray(object["@context"]) {
			context, _ := c.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(context)) {
				iri, simple := context[name].(string)
				definition, _ := context[name].(map[string]any)
				if !simple {
					iri, _ = definition["@id"].(string)
				}
				scheme, _, _ := strings.Cut(iri, ":")
				_, compact := context[scheme] // the IRI has a prefix of the context itself
				isPrefix := definition["@prefix"] == true || simple && iri != "" && strings.ContainsRune(":/?#[]@", rune(iri[len(iri)-1]))
				if isPrefix && !compact && triple.CheckIRI(iri) == nil {
					found(name, iri)
				}
			}
		}
	}
}
