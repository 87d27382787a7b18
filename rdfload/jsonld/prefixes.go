// The prefixes that the contexts of a document define.

package jsonld

import (
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// prefixesOf calls found with the prefixes in the contexts of a document's outermost objects: terms with
// "@prefix": true, and simple terms whose IRI ends with a delimiter (JSON-LD 1.1, section 4.1.5).
func prefixesOf(document any, found func(name, iri string)) {
	for _, item := range asArray(document) {
		document, _ := item.(object)
		local, _ := document.get("@context")
		for _, c := range asArray(local) {
			context, _ := c.(object)
			for _, m := range context {
				iri, simple := m.value.(string)
				definition, _ := m.value.(object)
				if !simple {
					id, _ := definition.get("@id")
					iri, _ = id.(string)
				}
				scheme, _, _ := strings.Cut(iri, ":")
				_, compact := context.get(scheme) // the IRI has a prefix of the context itself
				flag, _ := definition.get("@prefix")
				isPrefix := flag == true || simple && iri != "" && strings.ContainsRune(":/?#[]@", rune(iri[len(iri)-1]))
				if isPrefix && !compact && triple.CheckIRI(iri) == nil {
					found(m.name, iri)
				}
			}
		}
	}
}
